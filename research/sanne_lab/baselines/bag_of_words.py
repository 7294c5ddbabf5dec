"""Nodes' words as a sparse matrix, the same columns for present and new nodes."""

from typing import Any, Self

from sanne.errors import InputError
from sanne.features.text import fit_word_counts, word_counts
from sanne.features.words import word_counter
from sanne.graph.graph import Graph, IntArray

_MAX_WORDS = 50_000  # most frequent words kept when text is read


class BagOfWords:
    """Reads a graph's texts by the vocabulary of fit, or its matrix of word counts as it is."""

    def __init__(self, vocabulary: list[str] | None, width: int) -> None:
        self._vocabulary = vocabulary
        self.width = width

    @classmethod
    def fit(cls, graph: Graph) -> Self:
        """Learn the vocabulary, if the graph has texts."""
        vocabulary, counts = fit_word_counts(graph, _MAX_WORDS)
        return cls(vocabulary, counts.shape[1])

    def read(self, graph: Graph, nodes: IntArray | None = None) -> Any:
        """A CSR matrix (nodes, width) of positive counts."""
        counts = word_counts(graph, nodes, word_counter(self._vocabulary))
        if counts.shape[1] != self.width:
            raise InputError(
                f"the graph has {counts.shape[1]} feature columns but {self.width} were fitted; "
                "give the columns that fit read, in the same order"
            )
        return counts
