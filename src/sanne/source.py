"""Where a model's graph came from: written into the model folder by fit, read back by the other commands."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from sanne.datasets import dataset_names
from sanne.errors import InputError
from sanne.graph.folder.store import is_graph_folder
from sanne.graph.graph import Graph
from sanne.graph.ids import refuse_control_character
from sanne.graph.load import load_graph
from sanne.graph.readers.typed_tables import open_parquet
from sanne.model.artifact import Artifact


@dataclass(frozen=True)
class ModelSource:
    """What `load_graph` needs to read a graph again."""

    source: str
    node_table: str | None = None
    text: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    label: str | None = None
    directed: bool = False

    @classmethod
    def of(
        cls,
        source: str,
        *,
        node_table: Path | None = None,
        text: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        label: str | None = None,
        directed: bool = False,
    ) -> Self:
        """A source as a command line gives it; paths are made absolute, so that they hold from other folders."""
        return cls(
            source=_absolute(source),
            node_table=None if node_table is None else _absolute(str(node_table)),
            text=tuple(text) if text else None,
            features=tuple(features) if features else None,
            label=label,
            directed=directed,
        )

    @classmethod
    def remembered(cls, artifact: Artifact) -> Self:
        """The source that fit read."""
        kept = artifact.record.get("source")
        if not isinstance(kept, dict) or not isinstance(kept.get("source"), str):
            return cls(source="")
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in kept.items()
            if name in cls.__dataclass_fields__
        }
        return cls(**known)

    def changed(self, source: str | None, node_table: Path | None, text: Sequence[str] | None = None) -> Self:
        """Another graph (or node table) read in the same way, or with other columns of text."""
        new = self
        if source is not None and is_graph_folder(source):  # it knows its columns and direction itself
            new = type(self)(source=_absolute(source))
        elif source is not None:
            keep_table = self.node_table if Path(source).is_file() else None
            new = replace(new, source=_absolute(source), node_table=keep_table)
        if node_table is not None:
            new = replace(new, node_table=_absolute(str(node_table)))
        return replace(new, text=tuple(text)) if text else new

    @property
    def dataset(self) -> str | None:
        """The dataset's name, if it is one."""
        return self.source if self.source in dataset_names() else None

    def load(self) -> Graph:
        """Read the graph."""
        if not self.source:
            raise InputError("the model does not know which graph it was fitted on: name it with --graph")
        return load_graph(
            self.source,
            node_table=self.node_table,
            text=None if self.text is None else list(self.text),
            features=None if self.features is None else list(self.features),
            label=self.label,
            directed=self.directed,
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def read_node_list(path: Path) -> list[Any]:
    """Node ids from the column `id` of a Parquet file, or from a text file, one a line; blank lines do not count."""
    if path.suffix == ".parquet":
        return _read_id_column(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; write one node id a line into it") from None
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: not readable as UTF-8 text ({error})") from None
    stripped = [line.strip() for line in lines]
    refuse_control_character(pa.array(stripped), lambda row: f"{path}, line {row + 1}")
    ids = [line for line in stripped if line]
    if not ids:
        raise InputError(f"{path}: no node ids in it; write one a line, or leave --nodes out for all nodes")
    return ids


def _read_id_column(path: Path) -> list[Any]:
    table = open_parquet(path)
    if "id" not in table.columns:
        raise InputError(f"{path}: no column 'id'; found {', '.join(table.columns) or 'none'}")
    column = table.read(["id"])["id"]
    refuse_control_character(column, lambda row: f"{path}, row {row + 1}")
    ids: list[Any] = column.to_pylist()
    if not ids:
        raise InputError(f"{path}: no node ids in it; leave --nodes out for all nodes")
    return ids


def _absolute(source: str) -> str:
    return source if source in dataset_names() else str(Path(source).absolute())
