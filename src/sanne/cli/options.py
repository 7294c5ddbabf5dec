"""What the commands share: options, notes on stderr, results on stdout."""

import functools
import inspect
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from sanne.cli.clock import Notes, running_clock
from sanne.errors import InputError

if TYPE_CHECKING:
    from sanne.graph.graph import Graph

logger = logging.getLogger(__name__)
notes = Notes(stderr=True, highlight=False, soft_wrap=True, markup=False)

TIMED = ("build", "fit", "embed", "predict", "similar", "explain", "evaluate", "compare", "plot", "export")

VectorType = Annotated[
    Literal["float32", "float16"],
    typer.Option("--dtype", help="Type of the written numbers; float16 halves the size of Parquet and .npy files."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Recipe = Annotated[str, typer.Option(help="Named settings: best, fast or paper.")]
NodeTable = Annotated[Path | None, typer.Option(help="Table with a column id, and text or features.")]
CurrentGraph = Annotated[
    str | None, typer.Option("--graph", help="The current graph. Default: the one that was fitted.")
]
NodeList = Annotated[
    Path | None, typer.Option("--nodes", help="One node id per line, or a table with a column id. Default: all nodes.")
]
Labels = Annotated[Path | None, typer.Option(help="Table with the columns id and label.")]
LabelColumn = Annotated[
    str | None, typer.Option("--label", metavar="COLUMN", help="Column of --labels with the labels. Default: label.")
]
ListId = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column of --nodes with ids. Default: id.")]
LabelId = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="Column of --labels with ids. Default: id.")
]
LabelShare = Annotated[
    float | None,
    typer.Option(help="Share of each class to train on, such as 0.1. Default: 20 nodes per class.", min=0.001, max=0.9),
]
Picture = Annotated[Path, typer.Option(help="map.png, .svg, .pdf, or .html for an interactive page.")]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder written by sanne fit.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.", min=0)]
Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting of the recipe.")]
KnownText = Annotated[
    list[str] | None, typer.Option("--text", help="Column with text, if the model does not record it; may be repeated.")
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Memory limit, such as 8GiB: larger arrays are kept on disk, next to --out."),
]
Estimated = Annotated[bool, typer.Option("--estimate", help="Estimate time and memory, run nothing.")]
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


def program_options(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log progress on stderr.")] = False,
) -> None:
    """Options of the program, before the name of a command."""
    if verbose:
        logging.getLogger("sanne").setLevel(logging.INFO)
    if context.invoked_subcommand in TIMED and "--help" not in sys.argv and "-h" not in sys.argv:
        context.with_resource(running_clock(str(context.invoked_subcommand)))


def require_labels(labels: Path | None, *named: str | None) -> None:
    """Refuse column names for a label table that is not given."""
    if labels is None and any(named):
        raise InputError("--label and --id name columns of the label table: give --labels labels.csv")


def require_out(out: Path | None, example: str) -> Path:
    """The value of `--out`, which is optional only with `--estimate`."""
    if out is None:
        raise InputError(f"missing --out: give --out {example}, or --estimate to estimate time and memory")
    return out


def confirm_replacing(out: Path, content: str) -> None:
    """Ask before a folder's content is replaced; without a terminal, refuse."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"{out} already has a {content}: --force replaces it, or give another --out")
    with tqdm.external_write_mode(file=sys.stderr):  # the clock waits
        replaces = typer.confirm(f"{out} already has a {content}. Replace it?", err=True)
    if not replaces:
        raise typer.Exit(2)


def limited(memory: str | None, out: Path) -> AbstractContextManager[None]:
    """The limit set by --memory, with temporary files next to the output."""
    from sanne.files.scratch import memory_limit
    from sanne.graph.folder.build import parse_size

    return memory_limit(None if memory is None else parse_size(memory), out.absolute().parent)


def parse_settings(pairs: list[str] | None) -> dict[str, Any] | None:
    """Pairs from `--set` as a dictionary; None if there are none."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--set {pair!r}: write it as name=value, as in --set epochs=3")
        settings[name.strip().replace("-", "_")] = value.strip()
    return settings or None


def parse_kind_weights(pairs: list[str] | None) -> dict[str, float] | str | None:
    """Pairs from `--kind-weight` as a dictionary; "auto" and None unchanged."""
    if not pairs or pairs == ["auto"]:
        return pairs[0] if pairs else None
    weights = {}
    for pair in ",".join(pairs).split(","):
        name, _, number = pair.rpartition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name.strip():
            raise InputError(f"--kind-weight {pair!r}: write it as kind=number, as in --kind-weight cites=2, or auto")
    return weights


Columns = dict[str, Any]  # see `reads_graph`


def _graph_columns(
    node_table: NodeTable = None,
    text: Annotated[
        list[str] | None, typer.Option(help="Column with text; may be repeated. Default: what looks like text.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(help="Feature column; may be repeated. Default: without text, all numeric columns."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column with classes, not used as a feature. Default: label.")
    ] = None,
    src: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of edge sources. Default: src.")] = None,
    dst: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of edge targets. Default: dst.")] = None,
    id: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with node ids. Default: id.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="COLUMN", help="Edge column with the edge type.")] = None,
    kind_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=NUMBER",
            help="Weights of edge types, such as cites=2,mentions=0.5; 0 drops a type. Or auto.",
        ),
    ] = None,
    unknown: Annotated[
        Literal["refuse", "drop", "add"] | None,
        typer.Option(help="Edges to nodes without a row: refuse them, drop them, or add the nodes."),
    ] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Treat edges as directed.")] = False,
) -> Columns:
    """The column options of a command as arguments of `load_graph`; readers will log what they read."""
    logging.getLogger("sanne.graph").setLevel(logging.INFO)
    columns = {"text": text or None, "features": features or None, "label": label, "src": src, "dst": dst, "id": id}
    weights = parse_kind_weights(kind_weight)
    edges = {"kind": kind, "kind_weights": weights, "unknown": unknown, "directed": directed}
    return {"node_table": node_table, **columns, **edges}


def reads_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_graph_columns`, in place of its argument `columns`, which gets the result."""
    own, more = (inspect.signature(function).parameters for function in (command, _graph_columns))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        columns = _graph_columns(**{name: given.pop(name) for name in more})
        command(**given, columns=columns)

    parts = [more.values() if name == "columns" else [parameter] for name, parameter in own.items()]
    listed = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in parts for parameter in part]
    run.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return run


def show(result: dict[str, Any], as_json: bool, note: str | None = None) -> None:
    """Print a result as JSON, or as a table after a note, leaving out None."""
    if as_json:
        print_json(result)
        return
    if note:
        notes.print(note)
    print_table((), [_in_words(name, value) for name, value in result.items() if value is not None])


def _in_words(name: str, value: Any) -> tuple[str, str]:
    """A row of a table, with memory and time in readable units."""
    words = name.replace("_", " ")
    if name.endswith("seconds"):
        return words.removesuffix("seconds").strip() or "time", duration(value)
    if name.endswith("bytes"):
        size = f"{value / 1e9:.1f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
        return words.replace("peak bytes", "peak memory"), size
    return words, f"{value:,}" if type(value) is int else f"{value:.4g}" if type(value) is float else str(value)


def duration(seconds: float) -> str:
    """A readable time: 0.4 s, 43 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    large, small = (("min", 60), ("s", 1)) if whole < 3600 else (("h", 3600), ("min", 60))
    return f"{whole // large[1]} {large[0]} {whole % large[1] // small[1]} {small[0]}"


def note_alone(graph: "Graph", ids: Sequence[Any] | None) -> int:
    """Print how many of the nodes have no links, and return it."""
    if count := len(graph.without_links(None if ids is None else graph.nodes_of(ids))):
        few = "1 node has" if count == 1 else f"{count:,} nodes have"
        notes.print(f"{few} no links: a vector is then made of the node's own text or numbers, if it has any")
    return count


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(*header, show_header=bool(header))
    for row in rows:
        table.add_row(*row)
    with tqdm.external_write_mode(file=sys.stderr):
        Console(markup=False).print(table)  # labels and ids may have brackets


def print_json(result: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(_plain(result)) + "\n")


def _plain(value: Any) -> Any:
    """The value with numpy's numbers as Python's, and NaN, which JSON lacks, as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if value != value else value


def seconds_since(started: float) -> float:
    return round(time.perf_counter() - started, 2)
