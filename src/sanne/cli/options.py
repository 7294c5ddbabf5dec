"""What the commands share: options, the notes on stderr, results on stdout."""

import json
import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from sanne.errors import InputError

notes = Console(stderr=True, highlight=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
NodeTable = Annotated[Path | None, typer.Option(help="CSV, TSV or Parquet with a column id, features or text.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that sanne fit wrote.")]
Seed = Annotated[int, typer.Option(help="Same seed, same vectors.", min=0)]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe.")]
Text = Annotated[list[str] | None, typer.Option(help="Column with documents; repeat it for several.")]
KnownText = Annotated[
    list[str] | None,
    typer.Option("--text", help="Column with documents, where the model does not know; repeat it for several."),
]
Features = Annotated[list[str] | None, typer.Option(help="Feature columns; default: every numeric one.")]
Label = Annotated[str | None, typer.Option(help="Column with classes; never a feature. Default: label.")]
Directed = Annotated[bool, typer.Option("--directed", help="Keep the direction of edges.")]
Estimated = Annotated[
    bool, typer.Option("--estimate", help="Do not run: try a little, then say how long and how much memory.")
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", help="A dataset (cora), an edge file, a folder with edges.* and nodes.*, or a graph folder."
    ),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"sanne {version('sanne')}\n")
        raise typer.Exit


def before_the_command(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, on stderr.")] = False,
) -> None:
    """Options of the program, before the name of a command."""
    if verbose:
        logging.getLogger("sanne").setLevel(logging.INFO)


def parse_settings(pairs: list[str] | None) -> dict[str, Any] | None:
    """Pairs from `--set` as a dictionary; None if there are none."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set {pair!r}: write it as name=value, as in --set epochs=3")
        settings[name.strip().replace("-", "_")] = value.strip()
    return settings or None


def show(result: dict[str, Any], as_json: bool, note: str | None = None) -> None:
    """A result as JSON, or as a table after a note."""
    if as_json:
        print_json(result)
        return
    if note:
        notes.print(note)
    print_pairs(result)


def print_pairs(result: dict[str, Any]) -> None:
    """Names and values as a table."""
    table = Table(show_header=False)
    for name, value in result.items():
        if value is None:
            continue
        table.add_row(name.replace("_", " "), f"{value:,}" if type(value) is int else str(value))
    Console().print(table)


def print_json(result: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(json.dumps(_finite(result), default=plain) + "\n")


def _finite(value: Any) -> Any:
    """NaN has no place in JSON: null stands for it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and value != value else value


def plain(value: Any) -> Any:
    """A numpy value as Python's own."""
    return value.item() if hasattr(value, "item") else value
