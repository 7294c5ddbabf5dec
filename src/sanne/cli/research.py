"""`sanne reproduce` and `sanne bench`: commands of the research package `sanne_lab`, where that is installed."""

from typing import Any

import typer

from sanne.errors import SanneError
from sanne.research import WHERE, research_module

_COMMANDS = ("bench", "reproduce")  # those of `sanne_lab.cli.APPS`


def add_research(app: typer.Typer) -> None:
    """Add the research commands; without the package they only say how to get them, and are not listed."""
    if (commands := research_module("cli")) is not None:
        for name, group in commands.APPS.items():
            app.add_typer(group, name=name)
        return
    anything: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
    for name in _COMMANDS:
        app.command(name, hidden=True, add_help_option=False, context_settings=anything)(_explain)


def _explain(context: typer.Context) -> None:
    raise SanneError(f"sanne {context.info_name} is {WHERE}")
