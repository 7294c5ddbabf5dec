"""The command line: `main` is the program `sanne`."""

from sanne.cli.commands import main

__all__ = ["main"]
