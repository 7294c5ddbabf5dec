"""`sanne reproduce` and `sanne bench`: commands of the research package `sanne_lab`, where that is installed."""

import importlib
import importlib.util
from typing import Any

import typer

from sanne.errors import SanneError

_PACKAGE = "sanne_lab"
_COMMANDS = ("bench", "reproduce")  # those of `sanne_lab.cli.APPS`


def add_research(app: typer.Typer) -> None:
    """Add the research commands; without the package they only say how to get them, and are not listed."""
    if importlib.util.find_spec(_PACKAGE) is not None:
        apps: dict[str, typer.Typer] = importlib.import_module(f"{_PACKAGE}.cli").APPS
        for name, commands in apps.items():
            app.add_typer(commands, name=name)
        return
    anything: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
    for name in _COMMANDS:
        app.command(name, hidden=True, add_help_option=False, context_settings=anything)(_explain)


def _explain(context: typer.Context) -> None:
    raise SanneError(
        f"sanne {context.info_name} is in the research package sanne_lab, which only the source repository has: "
        "run make in a checkout of it, or pip install -e research"
    )
