"""Commands whose modules are imported only when they are chosen: help stays quick."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from typing import Any

# name: (module, one-line help). The module has `add_arguments(parser)` and, unless it adds
# commands of its own there, `run(arguments) -> int`.
Commands = Mapping[str, tuple[str, str]]


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows a default where there is something to show."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        empty = action.default is None or action.default is False or action.default in ("", [])
        return action.help if empty else super()._get_help_string(action)


class LateParser(argparse.ArgumentParser):
    """A command's parser, which learns its options from its module when it is first used.

    Attributes:
        module: dotted name of the module; empty for a parser that has its options already.
    """

    module = ""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, **options})

    def load(self) -> LateParser:
        """Import the module and take its options, once."""
        module, self.module = self.module, ""
        if module:
            command = importlib.import_module(module)
            self.set_defaults(run=getattr(command, "run", None))
            command.add_arguments(self)
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.load()
        return super().parse_known_args(args, namespace)


def add_commands(parser: argparse.ArgumentParser, commands: Commands, what: str) -> None:
    """Give a parser commands, of which one must be chosen.

    Args:
        parser: parser of the command above them.
        commands: modules and help by name.
        what: what a command is, for help and errors, such as "experiment".
    """
    below = parser.add_subparsers(
        dest=what, required=True, metavar=what.upper(), parser_class=LateParser
    )
    for name, (module, summary) in commands.items():
        below.add_parser(name, help=summary, description=summary).module = module


def complete(parser: argparse.ArgumentParser, line: str) -> None:
    """Answer a shell that asks what could come next, and end.

    Args:
        parser: parser of the whole command line.
        line: what was typed so far; argcomplete looks for options before they are parsed, so the
            commands named in it are loaded first.
    """
    import argcomplete  # here, as nobody else needs it

    chosen = parser
    for word in line.split():
        for action in chosen._actions:
            if isinstance(action, argparse._SubParsersAction) and word in action.choices:
                chosen = action.choices[word].load()
                break
    argcomplete.autocomplete(parser)
