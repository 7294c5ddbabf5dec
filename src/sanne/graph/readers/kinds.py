"""Kinds of links (edge types) and their weights, given or chosen without labels."""

import difflib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import InputError
from sanne.graph.graph import usable_weights
from sanne.graph.readers.columns import Block
from sanne.seeds import numpy_stream

KindWeights = dict[str, float] | Literal["auto"]

_SAMPLED = 2000  # links per kind that are compared
_FULL = 0.5  # share of the average likeness from which a kind has full weight
_LEAST = 0.05  # smallest weight, so that nodes joined by this kind alone stay joined


@dataclass(frozen=True, eq=False)
class Kinds:
    """The column with the kind of a link, and the weight of each kind: 1, or as in `weights`."""

    column: str
    weights: dict[str, float]
    auto: bool  # weighted by likeness, once all links are there
    seen: Counter[str] = field(default_factory=Counter)  # links read so far

    @classmethod
    def of(cls, column: str | None, weights: Any) -> "Kinds | None":
        """The kinds of a column, with weights that are numbers."""
        if column is None:
            if weights:
                raise InputError("weights of edge types need the column of types: give --kind (kind= in Python)")
            return None
        if not weights or weights == "auto":
            return cls(column, {}, weights == "auto")
        if not isinstance(weights, dict):
            raise InputError(f"kind_weights must be a dictionary of edge types and numbers, or 'auto', not {weights!r}")
        for name, weight in weights.items():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not number or not (weight == 0 or usable_weights(np.array(weight))):
                raise InputError(f"edge type {name!r} has weight {weight!r}: give a positive number, or 0 to drop it")
        return cls(column, {str(name): float(weight) for name, weight in weights.items()}, False)

    @property
    def weighted(self) -> bool:
        return self.auto or any(weight not in (0, 1) for weight in self.weights.values())

    def read(self, block: Block) -> tuple[npt.NDArray[np.int64], list[str]]:
        """The kind of every row as a code, and the names of the codes."""
        column = block.column(self.column)
        try:
            texts = pc.utf8_trim_whitespace(pc.fill_null(column.cast(pa.string()), ""))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"{block.table.name}: column {self.column!r} ({column.type}) holds no edge types"
            ) from None
        coded = texts.combine_chunks().dictionary_encode()
        codes, names = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary.to_pylist()
        self.seen.update(dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True)))
        return codes, names

    def given(self, names: list[str]) -> npt.NDArray[np.float64]:
        """The weights of kinds, ignoring case."""
        asked = {name.lower(): weight for name, weight in self.weights.items()}
        return np.array([asked.get(name.lower(), 1.0) for name in names])

    def check(self, table: str) -> None:
        """Refuse a weight for a kind that no row has; called after all rows were read."""
        known = [name.lower() for name in self.seen]
        for name in self.weights:
            if name.lower() not in known:
                close = difflib.get_close_matches(name.lower(), known, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                found = ", ".join(name for name, _ in self.seen.most_common(12))
                raise InputError(f"{table}: no edge has the type {name!r}; {hint}found {found}")
        if not any(weight > 0 for weight in self.given(list(self.seen))):
            raise InputError(f"{table}: every edge type has weight 0; give one of them a weight above 0")


def weights_by_likeness(
    codes: npt.NDArray[np.int64], count: int, sources: Any, targets: Any, texts: Any, features: Any
) -> npt.NDArray[np.float64]:
    """Weights of `count` kinds by how similar, in words or numbers, the nodes are that their links join.

    Similar beyond random pairs, that is. A kind has full weight from half of the average on: uninformative links
    are nearly dropped, and nothing else changes.
    """
    if texts is None and features is None:
        raise InputError("kinds are weighted by the words or numbers that linked nodes share: give a node table")
    other = np.asarray(sources != targets)
    codes, sources, targets = codes[other], sources[other], targets[other]
    stream = numpy_stream(0, "kinds")
    links = [stream.permutation(np.flatnonzero(codes == kind))[:_SAMPLED] for kind in range(count)]
    nodes = np.unique(np.concatenate([ends[some] for some in links for ends in (sources, targets)]))
    rows = _rows(nodes, texts, features)
    common = float(np.square(np.asarray(rows.mean(axis=0))).sum())
    alike = np.empty(count)
    for kind, some in enumerate(links):
        one, two = (rows[np.searchsorted(nodes, ends[some])] for ends in (sources, targets))
        products = one.multiply(two).sum() if texts is not None else np.vdot(one, two)
        alike[kind] = float(products) / max(len(some), 1) - common
    average = float(np.bincount(codes, weights=alike[codes]).sum() / len(codes)) if len(codes) else 0.0
    return np.ones(count) if average <= 0 else np.clip(alike / (_FULL * average), _LEAST, 1).round(3)


def _rows(nodes: npt.NDArray[np.int64], texts: Any, features: Any) -> Any:
    """Nodes as rows of unit length: TF-IDF of words (sparse), or standardised numbers."""
    if texts is None:
        values = np.asarray(features[nodes], np.float64)
        values = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12)
        return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    counts = HashingVectorizer(alternate_sign=False, norm=None).transform([str(texts[node]) for node in nodes])
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts)
