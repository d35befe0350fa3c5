"""What README and docs/ tell people to type, typed; what they quote, looked up."""

from __future__ import annotations

import argparse
import ast
import re
from contextlib import chdir
from pathlib import Path

import pytest

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.commands import LateParser
from support import plugin
from support.pages import PAGES, ROOT, Passage, commands_of, passages
from support.shell import Shell
from support.ways import FILES, WAYS
from support.ways_commands import BAG, bag_of

PASSAGES = {passage.where: passage for page in PAGES for passage in passages(page)}
COMMANDS = [command for passage in PASSAGES.values() for command in passage.commands]
NODES = ROOT / "bayes_curiosity_ros/nodes"
# Whose names of topics and services are in a second file.
CLIENTS = {
    "arm": ("arm_watchers", "takeover"),
    "learner": ("arm_client", "curiosity_client", "episode_runner"),
}


def one_test_each(wanted: list[Passage]) -> list:
    """A test for each passage, named by page and line."""
    return [pytest.param(passage, id=passage.where) for passage in wanted]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("clone"), WAYS, FILES)
    yield shell
    shell.close()


@pytest.mark.parametrize("passage", one_test_each([p for p in PASSAGES.values() if p.commands]))
def test_commands_run(shell, passage):
    try:
        for command in passage.commands:
            shell.run(command)
    finally:
        shell.end_passage()


@pytest.mark.parametrize("passage", one_test_each([p for p in PASSAGES.values() if p.code]))
def test_examples_run(shell, passage, capsys):
    code = passage.code
    if passage.where.startswith(plugin.PAGE.name):
        pytest.skip("test_extending.py installs and runs it")
    if file := re.match(r"# (\w+\.py)\n", code):
        assert f"python {file[1]}" in COMMANDS  # which runs it
        return
    if re.search(BAG, code):
        code = re.sub(BAG, str(bag_of(shell)), code)
    if "lerobot" in code:  # gigabytes; test_lerobot.py checks the layout
        pytest.importorskip("lerobot")
    with chdir(shell.folder):
        exec(code, {"__name__": "__main__"})
    if "curiosity.observe" in code:
        before, after = (float(line) for line in capsys.readouterr().out.split())
        assert after < before / 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    """To anchors, too: `make docs`, which has an environment of its own."""
    links = re.findall(r"\]\((?!\w+:|#)([^)\s#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).is_file()] == []


def test_what_the_table_does_not_know_is_not_left_out(shell):
    with pytest.raises(AssertionError, match="no entry"):
        shell.run("bayes-curiosity dance")


def test_the_table_has_no_entry_too_many():
    first = {
        next(pattern for pattern in WAYS if re.fullmatch(pattern, command)) for command in COMMANDS
    }
    assert first == set(WAYS)


def test_comments_prompts_and_broken_lines():
    body = "# first\n$ make run   # a comment\nros2 launch a \\\n    b:=#c\n\npip x && pip y\n"
    assert commands_of(body) == ("make run", "ros2 launch a b:=#c", "pip x", "pip y")


def texts(*paths: Path) -> list[str]:
    """Every text in these files, with … where a value is put in."""
    found = []
    for path in paths:
        for part in ast.walk(ast.parse(path.read_text())):
            if isinstance(part, ast.JoinedStr):
                values = [getattr(value, "value", None) for value in part.values]
                found.append("".join(v if isinstance(v, str) else "…" for v in values))
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                found.append(re.sub(r"\{\w+\}", "…", part.value))
    return found


def edges() -> list[tuple[str, str, str]]:
    """Of the diagram: from, name of a topic or service, to."""
    diagram = (ROOT / "docs/architecture.md").read_text().split("```mermaid")[1].split("```")[0]
    arrows = re.findall(r"(\w+) -- \"(.+?)(?: \(.*\))?\" --> (\w+)", diagram)
    return [(a, name, b) for a, names, b in arrows for name in names.split(", ")]


@pytest.mark.parametrize(("sender", "name", "receiver"), edges())
def test_the_diagram_is_true(sender, name, receiver):
    for node in (sender, receiver):
        files = [NODES / f"{part}.py" for part in (f"{node}_node", *CLIENTS.get(node, ()))]
        first, _, last = name.rpartition("/")
        known = {re.sub("camera/(color|depth)/", "camera/…/", text) for text in texts(*files)}
        assert name in known or {f"{first}/…", last} <= known, node


def quotes() -> list[str]:
    """Messages in the first columns of the tables in docs/troubleshooting.md."""
    text = (ROOT / "docs/troubleshooting.md").read_text()
    cells = re.findall(r"^\| (`.+?`) .*?\|", text, flags=re.MULTILINE)
    return [quote for cell in cells for quote in re.findall(r"`([^`]+)`", cell)]


def test_quoted_messages_are_in_the_source():
    source = texts(*(ROOT / "bayes_curiosity_ros").rglob("*.py"), ROOT / "tools/setup_env.py")
    assert len(quotes()) > 40
    assert [quote for quote in quotes() if not any(quote in text for text in source)] == []


def options(parser: LateParser) -> list[tuple[str, argparse.Action]]:
    """Options of a command and of those below it."""
    found = []
    for action in parser.load()._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [pair for below in action.choices.values() for pair in options(below)]
        else:
            found.append((f"{parser.prog} {action.dest}", action))
    return found


def subcommands(parser: argparse.ArgumentParser) -> dict[str, LateParser]:
    """Parsers of the commands below one."""
    found = [a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found[0])


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_option_is_explained(command):
    found = options(subcommands(cli.build_parser())[command])
    assert [name for name, action in found if not action.help] == []
