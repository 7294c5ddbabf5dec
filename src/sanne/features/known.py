"""The nodes that a fit knew, by their ids: links to them describe a node, whichever graph it is in."""

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.graph.graph import Graph, IntArray
from sanne.graph.ids import match_ids

_FEW = 1000  # ids; more are matched with the known ones at once


class KnownNodes:
    """Ids in the order of the fitted graph."""

    def __init__(self, ids: list[Any]) -> None:
        try:
            self._ids = pa.array(ids, pa.int64() if ids and isinstance(ids[0], int) else pa.string())
        except (pa.ArrowException, OverflowError, UnicodeError, TypeError):
            raise InputError("the ids of known nodes are neither all integers nor all text") from None

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> list[Any]:
        listed: list[Any] = self._ids.to_pylist()
        return listed

    def links(self, graph: Graph, nodes: IntArray | None, *, weighted: bool = False, itself: bool = False) -> Any:
        """A CSR matrix (nodes, known nodes) of links to known nodes, whatever their direction.

        `weighted`: their weights, rather than ones. `itself`: one more for the node itself, if it is known.
        """
        arcs = graph.adjacency("both")
        links = arcs.to_scipy() if nodes is None else arcs.rows(np.asarray(nodes))
        ends = np.arange(graph.num_nodes) if nodes is None else np.union1d(links.indices, nodes)
        places = self._find(graph.node_ids[ends])
        columns = places[links.indices if nodes is None else np.searchsorted(ends, links.indices)]
        rows = np.repeat(np.arange(links.shape[0]), np.diff(links.indptr))
        values = links.data if weighted else np.ones(links.nnz, np.float32)
        if itself:
            own = places if nodes is None else places[np.searchsorted(ends, nodes)]
            rows, columns = np.append(rows, np.arange(links.shape[0])), np.append(columns, own)
            values = np.append(values, np.ones(links.shape[0], np.float32))
        found = columns >= 0
        shape = (links.shape[0], len(self))
        return sp.csr_matrix((values[found], (rows[found], columns[found])), shape)

    def _find(self, ids: Any) -> IntArray:
        """The places of ids among the known ones, -1 where there is none; integers and their text are the same."""
        if len(ids) > _FEW:
            return match_ids(pa.array(ids), self._ids)
        return np.array([self._places.get(str(name), -1) for name in ids.tolist()], np.int64)

    @cached_property
    def _places(self) -> dict[str, int]:
        """For a server that looks up a few ids at a time."""
        return {str(name): place for place, name in enumerate(self.ids)}
