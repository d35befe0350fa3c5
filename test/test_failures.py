"""What goes wrong is told on one line: expected errors with code 2, bugs with a file to send."""

import argparse
import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.commands import LateParser
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.failures import REMEDIES, complain, expected, without_secrets

HUGE = "99999999999999999999999999"
NO_NUMBERS = ("³", "-1", HUGE)
NO_NAMES = ("a b", "\udcff", "x" * 300, "/proc/nope/x", "file", "latin.yaml", "loop.yaml")
HOSTILE_FILES = {
    "file": b"x",
    "latin.yaml": b"a: \xff\n",
    "date.yaml": b"arm: {ros__parameters: {kortex.username: 2026-01-01}}\n",
    "list.yaml": b"- 1\n",
    "deep.yaml": b"a: " + b"[" * 3000,
    "loop.yaml": b"arm: &a {ros__parameters: *a}\n",
    "number.yaml": b"arm: {ros__parameters: 5}\n",
    "python.yaml": b"a: !!python/object/apply:os.getpid []\n",
}


class WorkError(BaseException):
    """A command's arguments were all in order, and its work began."""


def begin(*arguments, **options):
    raise WorkError


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder of files that are none of ours."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in HOSTILE_FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def no_work(monkeypatch, hostile):
    """Commands that check their arguments and begin no work."""
    for where in (
        "bringup.up.run_nodes",
        "bringup.up.prepare",
        "experiments.arm.command.prepare",
        "experiments.parked.command.learn",
        "experiments.engine.running.work_of",
        "experiments.surface.learn_encoder",
        "learning.prepare.prepare",
        "tasks.arm.demos.collect",
        "tasks.arm.demos.success_rate",
        "tasks.arm.view.film",
        "tasks.arm.view.show",
        "nodes.replay_command.rclpy.init",
    ):
        monkeypatch.setattr(f"bayes_curiosity_ros.{where}", begin)
    monkeypatch.chdir(hostile)


def commands(parser, words=()):
    """Every command with its parser, those below others too."""
    if isinstance(parser, LateParser):
        parser.load()
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in below:
        for name, each in action.choices.items():
            yield from commands(each, (*words, name))
    if not below:
        yield words, parser


def lines_of(words, parser, folder):
    """Command lines with one hostile value each."""
    places = [a for a in parser._actions if not a.option_strings]
    options = [a for a in parser._actions if a.option_strings and a.nargs != 0]
    usual = [sorted(a.choices)[0] if a.choices else "nothing" for a in places]
    needed = [word for a in options if a.required for word in (a.option_strings[0], "nothing")]
    needed += [f"--output={folder}"] if any(a.dest == "output" for a in options) else []
    for index, place in enumerate(places):
        for value in values_for(place):
            yield [*words, *usual[:index], value, *usual[index + 1 :], *needed]
    for option in options:
        for value in values_for(option):
            yield [*words, *usual, *needed, f"{option.option_strings[0]}={value}"]


def values_for(action):
    """Few where a command line is refused by what argparse knows."""
    if action.choices:
        return ("³",)
    return NO_NUMBERS if action.type not in (None, Path) else ("³", *NO_NAMES)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_no_value_of_any_option_is_answered_with_more_than_a_line(name, no_work, tmp_path, capsys):
    """Each is refused with code 2, or taken: then work begins. Never a bug of ours."""
    below = commands(cli.build_parser()._subparsers._group_actions[0].choices[name], (name,))
    for line in (line for each in below for line in lines_of(*each, tmp_path / "out")):
        try:
            code = cli.main(line)
        except SystemExit as ending:
            code = ending.code
        except WorkError:
            code = 0
        said = capsys.readouterr().err
        assert code in (0, 2), (line, said)
        assert "Traceback" not in said, (line, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["up", "--seed", "³"], "seed = '³' must be a whole number from 0 to 9223372036854775807"),
        (["up", "--seed", str(2**64)], "seed = '18446744073709551616' must be a whole"),
        (["up", "--timesteps", "9" * 20], "timesteps = '99999999999999999999' must be a whole"),
        (["up", "--timesteps", "0"], "timesteps = '0' must be a whole number from 1"),
        (["up", "--namespace", "a b"], "namespace = 'a b' must be names of letters"),
        (["up", "--namespace", "1x"], "namespace = '1x' must be"),
        (["up", "--namespace", "//"], "namespace = '//' must be"),
        (["up", "--policy", "nothing.pt"], "--policy nothing.pt: there is no such file"),
        (["up", "--params-file", "latin.yaml"], "latin.yaml: not YAML of plain values"),
        (["up", "--params-file", "loop.yaml"], "loop.yaml: not YAML of plain values"),
        (["up", "--params-file", "~nobody_at_all/x"], "there is no such home"),
        (["explore", "--seed=-1"], "--seed = '-1' must be a whole"),
        (["up", "--scratch", "--output", "file"], "a file is where a folder should be"),
        (["explore", "--output", "file/x"], "Not a directory; a file is where"),
        (["demos", "reach", "--output", "file/x.npz"], "file: File exists; a file is"),
        (["bag", "info", "\udcff"], "is not UTF-8"),
    ],
)
def test_what_a_user_can_mend_is_one_line(words, said, hostile, monkeypatch, capsys):
    monkeypatch.chdir(hostile)
    monkeypatch.setattr("bayes_curiosity_ros.tasks.arm.demos.collect", lambda *_: None)
    assert cli.main(words) == 2
    told = capsys.readouterr().err.splitlines()
    assert said in told[-1]


def test_a_value_that_looks_like_a_date_is_a_text(no_work):
    with pytest.raises(WorkError):
        cli.main(["up", "--params-file", "date.yaml", "--output", "dated"])


@pytest.mark.parametrize("number", sorted(REMEDIES))
def test_an_error_of_the_machine_says_where_and_what_to_do(number):
    said = expected(OSError(number, os.strerror(number), "/where"))
    assert said == f"/where: {os.strerror(number)}; {REMEDIES[number]}"


def test_an_error_that_no_user_can_mend_is_none_of_the_expected():
    assert expected(OSError(errno.EINVAL, "Invalid argument")) is None
    assert expected(KeyError("x")) is None


def test_a_bug_is_one_line_that_names_a_report_without_secrets(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("KORTEX_PASSWORD", "from-the-environment")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "orig_argv", ["arm", "-p", "kortex.password:=on-the-line"])
    with pytest.raises(KeyError) as raised:
        raise KeyError("from-the-environment", "on-the-line")
    assert complain(raised.value, "arm") == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("arm: KeyError")
    report = Path(re.search(r"send us (\S+\.txt)", told)[1]).read_text()
    for wanted in ("Traceback", "numpy: ", "Python 3", "command: arm -p kortex.password:=…"):
        assert wanted in report
    for secret in ("from-the-environment", "on-the-line"):
        assert secret not in report + told


def test_a_report_that_no_file_takes_is_printed(monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", "/proc/nope")
    assert complain(KeyError("x"), "arm") == 1
    assert "command: " in capsys.readouterr().err


def test_secrets_are_left_out_of_texts_however_they_are_given():
    text = without_secrets("--token abc x_secret=def password:=ghi name=jkl")
    assert text == "--token … x_secret=… password:=… name=jkl"


def test_a_bug_in_a_command_is_reported(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("bayes_curiosity_ros.bags.command.BagReader", lambda bag: {}["bug"])
    assert cli.main(["bag", "info", "x"]) == 1
    assert "KeyError: 'bug'; a bug of ours. Please send us" in capsys.readouterr().err


def test_an_interrupted_command_ends_with_the_signals_code(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt(15)

    monkeypatch.setattr("bayes_curiosity_ros.bags.command.BagReader", interrupt)
    assert cli.main(["bag", "info", "x"]) == 143


PRINTING = (
    "import sys\n"
    "from bayes_curiosity_ros import cli\n"
    "from bayes_curiosity_ros.bags import command\n"
    "command.info = lambda arguments: print('σ² → ' + 'x' * 100_000) or 0\n"
    "sys.exit(cli.main(['bag', 'info', 'x']))\n"
)


@pytest.mark.parametrize(
    ("redirection", "code", "out", "error"),
    [
        ("", 0, "\\u03c3\\xb2 \\u2192", ""),
        ("| true; exit ${PIPESTATUS[0]}", 141, "", ""),
        (">&-", 0, "", ""),
        ("> /dev/full", 2, "", "bayes-curiosity: No space left on device; free some space"),
    ],
    ids=["ascii", "nobody reads", "closed", "full"],
)
def test_any_standard_output_will_do(redirection, code, out, error):
    line = f'"$0" -c "$1" {redirection}'
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        ["bash", "-c", line, sys.executable, PRINTING],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(out)
    assert done.stderr.startswith(error)
    assert done.stderr.count("\n") == bool(error)


def test_config_errors_are_what_they_say(capsys):
    assert complain(ConfigError("a = 1; at most 0"), "up") == 2
    assert capsys.readouterr().err == "up: a = 1; at most 0\n"
