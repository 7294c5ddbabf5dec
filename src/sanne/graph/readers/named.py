"""Open tables, and find the columns that hold ids, weights, texts, features and labels."""

import difflib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import InputError
from sanne.graph.ids import is_text
from sanne.graph.readers.columns import Block, Table, is_numeric, read_features, read_labels, read_texts, read_weights
from sanne.graph.readers.delimited import COMPRESSED, ending, open_delimited
from sanne.graph.readers.kinds import Kinds, KindWeights
from sanne.graph.readers.typed_tables import (
    TypedTable,
    is_table,
    open_excel,
    open_json,
    open_memory_table,
    open_parquet,
)

logger = logging.getLogger(__name__)

_OPENERS: dict[str, Callable[[Path], Table]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), open_delimited),
    **dict.fromkeys((".parquet", ".pq"), open_parquet),
    **dict.fromkeys((".jsonl", ".ndjson"), open_json),
    ".xlsx": open_excel,
}
TABLES = tuple(_OPENERS)  # endings
Unknown = Literal["refuse", "drop", "add"]
_ENDPOINTS = (("src", "dst"), ("source", "target"), ("from", "to"))
_WORD = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]{2}|\p{L}[\p{L}\p{N}]+"
_WORDS = 4  # on average, at least; names have fewer
_LISTED = 12  # columns that a message names
_LOOKED_AT = 1000  # rows that are inspected to find text columns


def open_table(source: Any, name: str) -> Table:
    """Open a path by its ending, or a table in memory, which messages call `name`."""
    if isinstance(source, Table):
        return source
    if isinstance(source, str | Path):
        path = Path(source)
        if (kind := ending(path)) not in (*_OPENERS, ".txt"):
            endings = f"{', '.join(TABLES)} (text also {', '.join(COMPRESSED)})"
            raise InputError(f"{path}: unknown table format; expected {endings}")
        return _OPENERS.get(kind, open_delimited)(path)
    if is_table(source):
        return open_memory_table(source, name)
    kind = type(source).__name__
    raise InputError(f"the {name} is a {kind}; expected the path of a table, a pandas DataFrame or a pyarrow Table")


@dataclass(frozen=True)
class Asked:
    """The options of `load_graph` about an edge and a node table."""

    text: str | Sequence[str] | None = None
    features: str | Sequence[str] | None = None
    label: str | None = None
    weight: str | bool | None = None
    directed: bool = False
    src: str | None = None
    dst: str | None = None
    id: str | None = None
    kind: str | None = None
    kind_weights: KindWeights | None = None
    unknown: Unknown | None = None  # as "refuse"

    def check(self, nodes: Any) -> None:
        """Refuse options that need a node table where there is none."""
        if self.unknown not in (None, *get_args(Unknown)):
            raise InputError(f"unknown={self.unknown!r}: choose {', '.join(get_args(Unknown))}")
        if nodes is not None:
            return
        if self.unknown in ("drop", "add"):
            raise InputError("unknown is about edges to nodes without a row: leave it out, or give a node table")
        if any(given is not None for given in (self.text, self.features, self.label, self.id)):
            raise InputError("text, features, label and id name columns of a node table: give node_table= as well")


@dataclass(frozen=True)
class EdgeColumns:
    """The roles of an edge table's columns."""

    source: str
    target: str
    weight: str | None
    kinds: Kinds | None = None

    @classmethod
    def of(cls, table: Table, asked: Asked, kinds: Kinds | None = None) -> "EdgeColumns":
        """The columns by their usual names, or those named; True and False as `weight` ask for one or none."""
        src, dst, weight = asked.src, asked.dst, asked.weight
        for what, name in (("edge", src), ("edge", dst), ("weight", weight), ("kind", kinds and kinds.column)):
            check_columns(table, [name] if isinstance(name, str) else [], what)
        for pair in _ENDPOINTS:
            source, target = src or conventional(table, pair[0]), dst or conventional(table, pair[1])
            if source is not None and target is not None:
                break
        else:
            raise InputError(
                f"{table.name}: expected the columns src,dst (or source,target) and perhaps weight; "
                f"{columns_of(table)}. Name them with --src and --dst (src= and dst= in Python), or add a header line."
            )
        if source == target:
            raise InputError(f"{table.name}: column {source!r} is both ends of an edge; name two with --src and --dst")
        if not isinstance(weight, str):
            column = None if weight is False else conventional(table, "weight")
            if weight is True and column is None:
                raise InputError(f"{table.name}: no column 'weight'; {columns_of(table)}")
            weight = column
        found = cls(source, target, weight, kinds)
        _log_unread(table, f"edges from columns {_listed(found.wanted)}", found.wanted)
        return found

    @property
    def weighted(self) -> bool:
        return self.weight is not None or (self.kinds is not None and self.kinds.weighted)

    def weights(self, block: Block) -> npt.NDArray[np.float64] | None:
        """The weights of rows, 0 if their kind is dropped; kinds to be weighted by likeness count 1."""
        values = None if self.weight is None else read_weights(block, self.weight)
        if self.kinds is None:
            return values
        codes, names = self.kinds.read(block)
        factors: npt.NDArray[np.float64] = self.kinds.given(names)[codes]
        return factors if values is None else values * factors

    @property
    def strings(self) -> list[str]:
        """Those that are text, whatever they look like."""
        return [self.source, self.target]

    @property
    def wanted(self) -> list[str]:
        return [*self.strings, *([self.weight] if self.weight else []), *([self.kinds.column] if self.kinds else [])]


@dataclass(frozen=True)
class NodeColumns:
    """The roles of a node table's columns."""

    key: str
    text: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    label: str | None = None

    @classmethod
    def of(cls, table: Table, asked: Asked) -> "NodeColumns":
        """The requested columns, which must exist; by default columns of text, or else all numeric ones."""
        texts, numbers, label = as_names(asked.text), as_names(asked.features), asked.label
        key = key_column(table, asked.id)
        if label is None:
            label = "label" if "label" in table.columns else None
        else:
            check_columns(table, [label], "label")
        check_columns(table, texts, "text")
        check_columns(table, numbers, "feature")
        if label is not None and label in numbers:
            raise InputError(f"column {label!r} is the label, so it cannot be a feature as well")
        if asked.text is None and asked.features is None:
            texts, numbers = _readable(table, [name for name in table.columns if name not in (key, label)])
        parts = {"ids": [key], "text": texts, "numbers": numbers, "labels": [label] if label else []}
        read = "; ".join(f"{what} from {_listed(names)}" for what, names in parts.items() if names)
        found = cls(key, texts, numbers, label)
        _log_unread(table, read, found.wanted, " (--text, --features or --label reads them)")
        return found

    @property
    def strings(self) -> list[str]:
        """Those that are text, whatever they look like."""
        return [self.key, *self.text, *([self.label] if self.label else [])]

    @property
    def wanted(self) -> list[str]:
        return list(dict.fromkeys([*self.strings, *self.features]))

    def names(self, features: Any) -> tuple[str, ...] | None:
        """The names of the columns of features, unless lists hold several without names."""
        return None if features is None or features.shape[1] != len(self.features) else self.features

    def read(self, block: Block, *, infer: bool) -> dict[str, Any]:
        """Texts, features and labels of a block; with `infer`, labels of digits are numbers."""
        return {
            "texts": read_texts(block, self.text) if self.text else None,
            "features": read_features(block, self.features, self.key) if self.features else None,
            "labels": read_labels(block, self.label, infer=infer) if self.label else None,
        }


def _readable(table: Table, names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns whose first rows look like text, or else the numeric ones."""
    schema = table.schema()
    numbers = [name for name in names if is_numeric(schema.field(name).type)]
    words = [name for name in names if name not in numbers and is_text(schema.field(name).type)]
    first = next(table.batches(words, words, _LOOKED_AT), None) if words else None
    texts = [] if first is None else [name for name in words if _has_sentences(first.column(name))]
    return (tuple(texts), ()) if texts else ((), tuple(numbers))


def _has_sentences(column: pa.ChunkedArray) -> bool:
    """Whether values have several words and are mostly distinct."""
    given = column.cast(pa.large_string()).drop_null()
    given = given.filter(pc.not_equal(given, ""))
    if len(given) == 0 or 2 * len(given.unique()) <= len(given):
        return False
    return bool(pc.mean(pc.count_substring_regex(given, _WORD)).as_py() >= _WORDS)


def _log_unread(table: Table, read: str, names: Sequence[str], remedy: str = "") -> None:
    """Log which columns of a table are read, and which are not."""
    unread = [name for name in table.columns if name not in names]
    logger.info("%s: %s%s", table.name, read, f"; not read: {_listed(unread)}{remedy}" if unread else "")


def key_column(table: Table, id: str | None = None) -> str:
    """The column with node ids; without one, a named index."""
    index = table.index if isinstance(table, TypedTable) else None
    if id is not None and id != index:
        check_columns(table, [id], "id")
    key = id or conventional(table, "id") or index
    if key is None:
        raise InputError(f"{table.name}: no column 'id'; {columns_of(table)}. Name another with --id (id= in Python).")
    return key


def as_names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def conventional(table: Table, name: str) -> str | None:
    """The column of this name, ignoring case."""
    if name in table.columns:
        return name
    return next((column for column in table.columns if column.lower() == name), None)


def check_columns(table: Table, names: Sequence[str], what: str, why: str = "") -> None:
    for name in names:
        if name not in table.columns:
            close = difflib.get_close_matches(name, table.columns, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise InputError(f"{table.name}: no {what} column {name!r}{why}; {hint}{columns_of(table)}")


def columns_of(table: Table) -> str:
    return f"found the columns {_listed(table.columns)}" if table.columns else "found no columns"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED + 1 else f"{shown}, ..., {names[-1]} ({len(names)} columns)"
