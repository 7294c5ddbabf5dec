"""Where a model's graph came from: recorded in the model folder by fit, used by the other commands."""

import json
import logging
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt
import pyarrow as pa

from sanne.datasets.catalogue import dataset_names, named_classes
from sanne.errors import InputError
from sanne.files.atomic import replaced_folder
from sanne.graph.folder.store import is_graph_folder, save_graph
from sanne.graph.graph import Graph
from sanne.graph.ids import refuse_control_character
from sanne.graph.load import EDGE_LISTS, load_graph, tables_in
from sanne.graph.readers.delimited import check_is_file, check_utf8, ending, near, open_text
from sanne.graph.readers.named import TABLES, Asked, as_names, check_columns, key_column, open_table
from sanne.graph.readers.tables import read_columns
from sanne.infer.embed import embed
from sanne.model.artifact import GRAPH, Artifact

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ModelSource(Asked):
    """What `load_graph` needs to read a graph again."""

    source: str
    node_table: str | None = None
    remembered: bool = False  # recorded by a model, so files may have moved since

    @classmethod
    def of(cls, source: str, *, node_table: Path | None = None, **options: Any) -> Self:
        """A source from the command line; paths are made absolute, so that they are valid from other folders."""
        table = None if node_table is None else _absolute(str(node_table))
        return cls(source=_absolute(source), node_table=table, **_tuples(options))

    @classmethod
    def of_model(
        cls,
        artifact: Artifact,
        source: str | None = None,
        node_table: Path | None = None,
        text: Sequence[str] | None = None,
    ) -> Self:
        """What fit read, or another graph or node table read the same way, or with other text columns."""
        kept = artifact.record.get("source")
        if not isinstance(kept, dict) or not isinstance(kept.get("source"), str):
            kept = {"source": ""}
        known = {name: value for name, value in kept.items() if name in cls.__dataclass_fields__}
        new = cls(**_tuples(known | {"remembered": True}))
        if is_graph_folder(place := new.source if source is None else source):  # it knows its columns itself
            new = cls(source=_absolute(place))
        elif source is not None:
            keep_table = new.node_table if Path(source).is_file() else None
            new = replace(new, source=_absolute(source), node_table=keep_table)
        if node_table is not None:
            new = replace(new, node_table=_absolute(str(node_table)))
        return replace(new, text=tuple(text)) if text else new

    @property
    def dataset(self) -> str | None:
        return self.source if self.source in dataset_names() else None

    def load(self) -> Graph:
        if not self.source:
            raise InputError("the model does not know which graph it was fitted on: name it with --graph")
        for option, place in (("--graph", self.source), ("--node-table", self.node_table)):
            if self.remembered and place and place not in dataset_names() and not Path(place).exists():
                hint = near(Path(place))
                raise InputError(
                    f"{place}: not found; if it has moved since the fit, name its new place with {option}{hint}"
                )
        if self.text and not self.node_table and not self._has_tables():
            raise InputError(f"{self.source} has no node table whose column --text could name: leave it out")
        logger.info("reading %s", self.source)
        options = self.to_dict()
        if self.remembered and self.node_table:
            table = open_table(self.node_table, "")
            check_columns(table, as_names(self.features), "feature", ", which the model was fitted on")
            if self.label not in table.columns:
                options["label"] = None  # new nodes come without
        return load_graph(**options)

    def _has_tables(self) -> bool:
        """Whether its nodes may be read from a table, or an error will say that there is none."""
        place = Path(self.source)
        return not (self.dataset or is_graph_folder(place) or ending(place) in EDGE_LISTS)

    def columns(self, node_ids: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """The node table's other columns for these nodes, to colour a map by."""
        folder, table = Path(self.source), self.node_table
        if self.source and folder.is_dir():
            table = tables_in(folder, table)[1]
        used = (*as_names(self.text), self.label or "label")
        return {} if table is None else read_columns(table, node_ids, used, self.id)

    def to_dict(self) -> dict[str, Any]:
        """The arguments of `load_graph`."""
        return {name: value for name, value in asdict(self).items() if name != "remembered"}


def write_bundle(model: Path, artifact: Artifact, origin: ModelSource, target: Path) -> Graph:
    """Write a model folder that contains its graph; `target` may be the model's own folder. Returns the graph.

    The record of the bundle has no paths of this machine.
    """
    graph = origin.load()
    embed(artifact, graph, graph.node_ids[:1])  # an error if the graph lacks what the model reads
    if origin.dataset and graph.labels is not None:
        graph = replace(graph, labels=named_classes(origin.dataset, graph.labels))
    with replaced_folder(target) as part:
        for file in model.iterdir():
            if file.is_file():
                shutil.copy(file, part)
        save_graph(graph, part / GRAPH)
        config = json.loads((part / "config.json").read_text(encoding="utf-8"))
        config["record"]["source"] = {**artifact.record.get("source", {}), "source": GRAPH, "node_table": None}
        (part / "config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return graph


def read_node_list(path: Path, id: str | None = None) -> list[Any]:
    """Node ids from a column of a table (`id` by default), or from the non-blank lines of a text file."""
    if ending(path) in TABLES:
        table = open_table(path, "list of nodes")
        key = key_column(table, id)
        listed, unit = table.read([key], [key])[key], "row"
    else:
        check_is_file(path)
        check_utf8(path)
        with open_text(path) as lines:
            listed, unit = pa.array([line.strip() for line in lines], pa.string()), "line"
    refuse_control_character(listed, lambda row: f"{path}, {unit} {row + 1}")
    ids = [node_id for node_id in listed.to_pylist() if node_id != ""]
    if not ids:
        raise InputError(f"{path}: no node ids in it; write one per {unit}, or leave --nodes out for all nodes")
    return ids


def _tuples(options: dict[str, Any]) -> dict[str, Any]:
    """The options, with lists as tuples and None for an empty one."""
    return {name: tuple(value) or None if isinstance(value, list) else value for name, value in options.items()}


def _absolute(source: str) -> str:
    path = Path(source)
    return source if source in dataset_names() or not path.exists() else str(path.absolute())
