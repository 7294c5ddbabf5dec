"""The model folder: config.json, features.json and model.safetensors; no pickle, everything checked when read."""

import json
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib import metadata
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from safetensors.numpy import save_file

from sanne.config import Config
from sanne.errors import InputError, ModelFolderError, first_line, import_extra
from sanne.features.base import FeatureMap
from sanne.features.choose import restore_features
from sanne.files.atomic import check_target, read_unreplaced
from sanne.graph.folder.store import check_graph_target, is_graph_folder
from sanne.graph.graph import FloatArray, Graph, IntArray
from sanne.model.classifier import Classifier, check_state
from sanne.model.hidden import HiddenModel
from sanne.model.model import Model
from sanne.model.safe_files import Shapes, check_shapes, digest_of, read_tensors, require_regular, tensor_shapes, under

FORMAT_VERSION = 4
VECTORS = "vectors.parquet"  # the vectors of the training nodes, written by the estimator
GRAPH = "graph"  # the graph folder of a bundle
_TENSORS = "model.safetensors"
_FILES = (_TENSORS, "features.json", VECTORS)
_CLASSIFIER = ("classifier.json", "classifier.safetensors")  # of a model that predicts labels too
_DAMAGE = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)  # of contents
_LARGEST_CONFIG = 64 * 2**20  # bytes
_LARGEST_KEPT = 2**28  # bytes of the features of a whole graph, up to which those of some nodes are kept


class _SomeRows:
    """Rows of a graph's nodes, computed when they are first asked for; pages of others take no memory."""

    def __init__(self, num_nodes: int, width: int) -> None:
        self._rows = np.empty((num_nodes, width), np.float32)
        self._known = np.zeros(num_nodes, bool)

    def having(self, nodes: IntArray, compute: Callable[[IntArray], FloatArray]) -> FloatArray:
        """All rows, those of some nodes filled in."""
        missing = nodes[~self._known[nodes]]
        if len(missing):
            missing = np.unique(missing)
            self._rows[missing] = compute(missing)
            self._known[missing] = True  # after the rows: another thread may be reading
        return self._rows


@dataclass(frozen=True)
class Artifact:
    """A fitted model: all that is needed to embed nodes, and a record of how it was made."""

    config: Config
    seed: int
    feature_map: FeatureMap
    model: Model
    num_nodes: int  # of the training graph
    record: dict[str, Any] = field(default_factory=dict)  # recipe, data, losses, seconds, versions: for the card
    sha256: dict[str, str] = field(default_factory=dict)  # of the files that it was read from
    classifier: Classifier | None = None
    _kept: WeakKeyDictionary[Graph, FloatArray] = field(default_factory=WeakKeyDictionary, init=False, compare=False)
    _ordered: WeakKeyDictionary[Graph, Graph] = field(default_factory=WeakKeyDictionary, init=False, compare=False)
    _some: WeakKeyDictionary[Graph, "_SomeRows"] = field(default_factory=WeakKeyDictionary, init=False, compare=False)

    def as_fitted(self, graph: Graph) -> Graph:
        """The graph with its feature columns in the order in which they were fitted, as far as they have names."""
        names = self.record.get("feature_names")
        if not names:
            return graph
        if (kept := self._ordered.get(graph)) is not None:
            return kept
        if (ordered := graph.with_columns(names)) is not graph:
            self._ordered[graph] = ordered
        return ordered

    def rows(self, graph: Graph) -> FloatArray:
        """Features of all nodes, (nodes, width); kept while the graph is in use, if costly, and read-only then."""
        rows = self._kept.get(graph)
        return self.keep(graph, self.feature_map.transform(graph)) if rows is None else rows

    def table(self, graph: Graph, nodes: IntArray) -> tuple[FloatArray, IntArray]:
        """An array with the features of some nodes, and where they are in it.

        They are kept if the graph is not large: nodes that are read one after the other share neighbours.
        """
        rows = self._kept.get(graph)
        if rows is not None:
            return rows, nodes
        whole = 4 * graph.num_nodes * self.feature_map.width
        if whole > _LARGEST_KEPT or self.feature_map.rows_stay_on_disk(graph):
            return np.ascontiguousarray(self.feature_map.transform(graph, nodes)), np.arange(len(nodes))
        some = self._some.get(graph)
        if some is None:
            some = self._some[graph] = _SomeRows(graph.num_nodes, self.feature_map.width)
        return some.having(nodes, lambda missing: self.feature_map.transform(graph, missing)), nodes

    def keep(self, graph: Graph, rows: FloatArray) -> FloatArray:
        """Keep the features of all nodes of a graph, if they are costly; returns them."""
        if self.feature_map.costly:
            self._kept[graph] = rows = rows.view()
            rows.flags.writeable = False
        return rows

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy keeps no features."""
        return Artifact, tuple(getattr(self, part.name) for part in fields(self) if part.init)

    def write(self, folder: Path) -> None:
        """Write the files of the model into an existing folder; vectors that are already there get a checksum too."""
        description, arrays = self.feature_map.state()
        named = {f"model/{name}": array for name, array in self.model.arrays().items()}
        named |= {f"features/{name}": array for name, array in arrays.items()}
        _save(named, folder / _TENSORS)
        _write_json(folder / "features.json", {"name": self.feature_map.name, "state": description})
        if self.classifier is not None:
            labels, numbers = self.classifier.state()
            _write_json(folder / "classifier.json", labels)
            _save(numbers, folder / "classifier.safetensors")
        for path in folder.glob("*.safetensors"):  # which safetensors makes readable by its owner only
            shutil.copymode(folder / "features.json", path)
        files = {name: digest_of(folder / name) for name in (*_FILES, *_CLASSIFIER) if (folder / name).is_file()}
        _write_json(
            folder / "config.json",
            {
                "format": "sanne",
                "format_version": FORMAT_VERSION,
                "seed": self.seed,
                "num_nodes": self.num_nodes,
                "settings": self.config.to_dict(),
                "record": self.record,
                "sha256": files,
            },
        )

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a model folder; a ModelFolderError says what is missing, damaged or of another version."""
        return read_unreplaced(folder, lambda: cls._read(Path(folder)))

    @classmethod
    def _read(cls, place: Path) -> Self:
        header = _read_header(place)
        digests = header["sha256"]
        for name in _FILES:
            if name != VECTORS or name in digests or os.path.lexists(place / name):
                _check_file(place / name, digests)
        try:
            config = Config.from_dict(header["settings"])
            features = json.loads((place / "features.json").read_text(encoding="utf-8"))
            model = _model_of_shapes(header, config, features, tensor_shapes(place / _TENSORS))
            tensors = read_tensors(place / _TENSORS)
            feature_map = restore_features(features["name"], features["state"], under("features/", tensors))
            model.fill(under("model/", tensors))
            classifier = _read_classifier(place, digests, model.vector_dim)
        except (*_DAMAGE, RuntimeError, OSError, MemoryError) as error:
            raise ModelFolderError(f"{place}: the model folder is damaged ({first_line(error)}): fit again") from None
        counts, record = header["num_nodes"], header["record"]
        if is_graph_folder(place / GRAPH):  # of a bundle, which may have been moved
            record["source"] = record.get("source", {}) | {"source": str(place.resolve() / GRAPH)}
        return cls(config, header["seed"], feature_map, model, counts, record, digests, classifier)


def check_model_target(folder: str | Path) -> Path:
    """Refuse a place that `save` must not replace: anything but a new folder, an empty one or an earlier model."""
    target = check_target(folder, folder=True)
    if not target.is_dir():
        return target
    names = {path.name for path in target.iterdir()}
    if GRAPH in names:
        check_graph_target(target / GRAPH)
    if foreign := sorted(names - {*_FILES, *_CLASSIFIER, GRAPH, "config.json", "README.md"}):
        raise InputError(f"{folder}: there are other files in this folder ({foreign[0]}); choose an empty or a new one")
    if names:
        try:
            _read_header(target, older=True)
        except ModelFolderError as error:
            raise InputError(f"{error}; {folder} is not replaced: choose an empty or a new folder") from None
    return target


def versions(*others: str) -> dict[str, str]:
    """The versions that a result depends on."""
    names = ("sanne", "numpy", "scipy", "scikit-learn", "numba", *others)
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def _read_header(place: Path, *, older: bool = False) -> dict[str, Any]:
    if place.is_file():
        raise ModelFolderError(f"{place} is a file, not a model folder: name a folder that sanne fit wrote")
    if not place.is_dir():
        raise ModelFolderError(f"{place}: no such model folder; make one with sanne fit SOURCE --out {place}")
    _check_file(place / "config.json")
    try:
        if (place / "config.json").stat().st_size > _LARGEST_CONFIG:
            raise ValueError(f"larger than {_LARGEST_CONFIG // 2**20} MiB")
        header = json.loads((place / "config.json").read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ModelFolderError(f"{place / 'config.json'}: not readable as JSON ({error}): fit again") from None
    if not isinstance(header, dict) or header.get("format") != "sanne":
        raise ModelFolderError(f"{place / 'config.json'}: not a sanne model; name a folder that sanne fit wrote")
    version = header.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise ModelFolderError(
            f"{place}: written by a newer sanne (format {version}, this one reads {FORMAT_VERSION}): upgrade sanne"
        )
    if version < FORMAT_VERSION and not older:
        raise ModelFolderError(
            f"{place}: written by an older sanne (format {version}, this one reads {FORMAT_VERSION}): fit again"
        )
    expected = {"seed": int, "num_nodes": int, "settings": dict, "record": dict, "sha256": dict}
    for name, kind in expected.items():
        value = header.get(name)
        if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
            raise ModelFolderError(f"{place / 'config.json'}: damaged (no valid {name!r}): fit again")
    return header


def _model_of_shapes(header: dict[str, Any], config: Config, features: Any, shapes: Shapes) -> Model:
    """An empty model for tensors of exactly these shapes; raises an error before any of them is read."""
    stand_ins = {name: np.broadcast_to(np.float32(0), shape) for name, shape in under("features/", shapes).items()}
    feature_map = restore_features(features["name"], features["state"], stand_ins)
    kind = model_kind(config)
    model = kind.empty(config, feature_map, header["num_nodes"], header["seed"], under("model/", shapes))
    expected = {f"features/{name}": array.shape for name, array in feature_map.state()[1].items()}
    expected |= {f"model/{name}": array.shape for name, array in model.arrays().items()}
    check_shapes(shapes, expected)
    return model


def _read_classifier(place: Path, digests: dict[str, Any], dim: int) -> Classifier | None:
    """The classifier of a model folder, if it has one."""
    if not any(name in digests or os.path.lexists(place / name) for name in _CLASSIFIER):
        return None
    for name in _CLASSIFIER:
        _check_file(place / name, digests)
    described = json.loads((place / "classifier.json").read_text(encoding="utf-8"))
    check_state(described, tensor_shapes(place / "classifier.safetensors"), dim)
    return Classifier.restore(described, read_tensors(place / "classifier.safetensors"))


def _check_file(path: Path, digests: dict[str, Any] | None = None) -> None:
    """Refuse a file that is missing, no regular one, or not the one that config.json has a checksum of."""
    if not os.path.lexists(path):
        raise ModelFolderError(f"{path.parent}: incomplete model folder, {path.name} is missing: fit again")
    try:
        require_regular(path)
        found = None if digests is None else digest_of(path)
    except OSError as error:
        raise ModelFolderError(f"{path}: cannot be read ({error}): fit again") from None
    if digests is not None and path.name not in digests:
        raise ModelFolderError(f"{path}: damaged (config.json has no checksum of it): fit again")
    if digests is not None and found != digests[path.name]:
        raise ModelFolderError(f"{path}: damaged (its checksum differs from config.json): fit again")


def _save(arrays: dict[str, FloatArray], path: Path) -> None:
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def model_kind(config: Config) -> type[Model]:
    """The class for the setting `objective`, whose settings are checked: all but `hidden` are trained on walks."""
    if config.objective.objective == HiddenModel.name:
        return HiddenModel
    import_extra("torch", "paper", "the walk transformer of the recipe 'paper'")
    from sanne.paper.objective import objective_kind
    from sanne.paper.walk_model import WalkModel

    objective_kind(config)
    return WalkModel
