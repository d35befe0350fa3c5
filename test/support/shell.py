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
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.nodes.background import BackgroundNode
from support.pages import PAGES, ROOT, passages
from support.processes import die_with_parent
from support.waiting import WAIT_S, wait_for

LINKED = ("bayes_curiosity_interfaces", "config", "launch", "package.xml", "rviz", "urdf")


class Shell:
    """Runs commands, keeps nodes running to the end of a passage, repeats nothing.

    Args:
        folder: an empty one.
        ways: how to run the commands that fit a pattern; the first pattern that fits counts.
        files: texts of small settings that make commands short, by file name.
    """

    def __init__(self, folder: Path, ways: Mapping[str, Way], files: Mapping[str, str]) -> None:
        self.folder = folder
        self.background = BackgroundNode("reader_of_the_docs")
        self._ways = ways
        self._done: set[str] = set()
        self._nodes: dict[str, subprocess.Popen] = {}
        self._hand: Hand | None = None
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "config/robots/jaco.yaml", folder / "my_cell.yaml")
        for name, text in files.items():
            (folder / name).write_text(text)
        for code in (passage.code for page in PAGES for passage in passages(page)):
            if name := re.match(r"# (\w+\.py)\n", code):
                (folder / name[1]).write_text(code)

    def run(self, command: str) -> None:
        """Run a command as the table says.

        Raises:
            AssertionError: it failed, or the table does not know it.
        """
        for pattern, way in self._ways.items():
            if re.fullmatch(pattern, command):
                way(self, command)
                return
        raise AssertionError(f"no entry in test/support/ways.py says how to run: {command}")

    def bayes_curiosity(self, words: list[str], more: str = "") -> None:
        """Run the command with options that make it short, unless it was run before."""
        self.understood(words)
        words = [*words, *shlex.split(more)]
        meaning = repr(sorted(vars(self.understood(words)).items(), key=str))
        if meaning in self._done:
            return
        with contextlib.chdir(self.folder):
            code = cli.main(words)
        assert code == 0, f"bayes-curiosity {shlex.join(words)}: exit code {code}"
        self._done.add(meaning)

    def understood(self, words: list[str]) -> Any:
        """Parse the command line, and run nothing."""
        try:
            return cli.build_parser().parse_args(words)
        except SystemExit:
            pytest.fail(f"not understood: bayes-curiosity {shlex.join(words)}")

    def start(self, executable: str, *arguments: str) -> None:
        """Start a node, as `ros2 run` would, and come back once the graph has it."""
        if executable in self._nodes:
            return
        assert (ROOT / "resource/executables" / executable).is_file(), executable
        with (self.folder / f"{executable}.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"bayes_curiosity_ros.nodes.{executable}_node", *arguments],
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,
            )
        self._nodes[executable] = process

        def met() -> bool:
            assert process.poll() is None, self._said(executable)
            return executable in self.background.node.get_node_names()

        wait_for(met, f"{executable} on the graph")

    def call(self, name: str, kind: str) -> Any:
        """Call a service, which must have the documented type, and return its answer."""
        package, _, service = kind.partition("/srv/")
        known = self.background.node.get_service_names_and_types
        wait_for(lambda: (name, [kind]) in known(), f"service {name} of type {kind}")
        made = getattr(import_module(f"{package}.srv"), service)
        return self.background.call(made, name, made.Request(), timeout_s=WAIT_S)

    def guide_the_arm(self) -> None:
        """Have somebody lead the arm by hand from now to the end of the passage."""
        self._hand = self._hand or Hand()

    def end_passage(self) -> None:
        """Press Ctrl-C in every terminal; each node must end well, a learner before its time."""
        if self._hand is not None:
            self._hand.close()
        ended, self._nodes, self._hand = self._nodes, {}, None
        for process in ended.values():
            process.send_signal(signal.SIGINT)
        for name, process in ended.items():
            try:
                code = process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            allowed = (0, 128 + signal.SIGINT) if name == "learner" else (0,)
            assert code in allowed, f"{name} ended with {code}: {self._said(name)}"
            assert "Traceback" not in self._said(name), self._said(name)

    def close(self) -> None:
        """Leave nothing running."""
        for process in self._nodes.values():
            process.kill()
            process.wait()
        self.background.close()

    def _said(self, executable: str) -> str:
        return (self.folder / f"{executable}.log").read_text()


Way = Callable[[Shell, str], None]


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
