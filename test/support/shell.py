"""A folder like a fresh clone, in which the documented commands run one after the other."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path

import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.nodes.background import BackgroundNode
from support.pages import PAGES, ROOT, passages

PATIENCE_S = 120.0
LINKED = ("bayes_curiosity_interfaces", "config", "launch", "package.xml", "rviz", "urdf")
SMALL_CURVES = """
points: 2
tasks:
  grasp:
    timesteps: 200
    parallel: 2
    min_steps: 100
    demonstrations: {count: 60}
    imitation: {epochs: 1}
    embedding: {max_epochs: 1}
    bonuses: {curiosity: {weight: 0.1}, none: }
"""
SMALL_ABLATIONS = """
curves: small_curves.yaml
task: grasp
variants: {random_encoder: {embedding: random}}
panels: {encoder: [random_encoder]}
"""


class Shell:
    """Runs commands, keeps nodes running to the end of a passage, repeats nothing.

    Args:
        folder: an empty one.
        die_with_parent: called in every new process.
    """

    def __init__(self, folder: Path, die_with_parent) -> None:
        self.folder = folder
        self.background = BackgroundNode("reader_of_the_docs")
        self._die_with_parent = die_with_parent
        self._done: set[str] = set()
        self._nodes: dict[str, subprocess.Popen] = {}
        self._hand: Hand | None = None
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "config/robots" / "jaco.yaml", folder / "my_cell.yaml")
        (folder / "small_curves.yaml").write_text(SMALL_CURVES)
        (folder / "small_ablations.yaml").write_text(SMALL_ABLATIONS)
        for code in (passage.code for page in PAGES for passage in passages(page)):
            if name := re.match(r"# (\w+\.py)\n", code):
                (folder / name[1]).write_text(code)

    def bayes_curiosity(self, words: list[str], more: str = "") -> None:
        """The command with options that make it short; not again what was run before."""
        self.understood(words)
        words = [*words, *shlex.split(more)]
        meaning = repr(sorted(vars(self.understood(words)).items(), key=str))
        if meaning in self._done:
            return
        with contextlib.chdir(self.folder):
            code = cli.main(words)
        assert code == 0, f"bayes-curiosity {shlex.join(words)}: exit code {code}"
        self._done.add(meaning)

    def understood(self, words: list[str]):
        """What the command line means."""
        try:
            return cli.build_parser(words[0]).parse_args(words)
        except SystemExit:
            pytest.fail(f"not understood: bayes-curiosity {shlex.join(words)}")

    def start(self, executable: str, *arguments: str) -> None:
        """A node, as `ros2 run` would start it; back once the graph has it."""
        if executable in self._nodes:
            return
        scripts = distribution("bayes_curiosity_ros").entry_points.select(group="console_scripts")
        module = scripts[executable].module
        with (self.folder / f"{executable}.log").open("w") as log:
            self._nodes[executable] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=self._die_with_parent,
            )

        def met() -> bool:
            assert self._nodes[executable].poll() is None, self._said(executable)
            return executable in self.background.node.get_node_names()

        self.until(met, f"{executable} on the graph")

    def call(self, name: str, kind: str):
        """What a service answers; its type must be the documented one."""
        package, _, service = kind.partition("/srv/")
        node = self.background.node
        self.until(
            lambda: [kind] in [types for known, types in node.get_service_names_and_types()
                               if known == name],
            f"a service {name} of type {kind}",
        )  # fmt: skip
        made = getattr(import_module(f"{package}.srv"), service)
        return self.background.call(made, name, made.Request(), timeout_s=PATIENCE_S)

    def guide_the_arm(self) -> None:
        """Somebody leads the arm by hand from now to the end of the passage."""
        self._hand = self._hand or Hand()

    def until(self, condition, what: str) -> None:
        """Wait, but not for ever."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"no {what} within {PATIENCE_S} s"
            time.sleep(0.05)

    def end_passage(self) -> None:
        """Ctrl-C in every terminal; each node must end well."""
        if self._hand is not None:
            self._hand.close()
        ended, self._nodes, self._hand = self._nodes, {}, None
        for process in ended.values():
            process.send_signal(signal.SIGINT)
        for name, process in ended.items():
            try:
                code = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            assert code == 0, f"{name} ended with {code}: {self._said(name)}"
            assert "Traceback" not in self._said(name), self._said(name)

    def close(self) -> None:
        """Leave nothing running."""
        for process in self._nodes.values():
            process.kill()
            process.wait()
        self.background.close()

    def _said(self, executable: str) -> str:
        return (self.folder / f"{executable}.log").read_text()


class Hand:
    """Moves an arm's joints evenly, and a cylinder stands in front of it."""

    PERIOD_S = 0.02

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._background = BackgroundNode("hand")
        self._thread = threading.Thread(target=self._move)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        self._background.close()

    def _move(self) -> None:
        node = self._background.node
        joints = node.create_publisher(JointState, "joint_states", 10)
        cylinder = node.create_publisher(PoseStamped, "object_pose", 10)
        names, angle = [f"joint_{number}" for number in range(1, 7)], 0.0
        while not self._ending.wait(self.PERIOD_S):
            angle += 0.002
            joints.publish(JointState(name=names, position=[angle] * len(names)))
            cylinder.publish(PoseStamped())
