"""The command line: a thin door to every room, which owns no logic of its own."""

from trueup.cli.entry import main as main
