"""The page at /, and the routes it needs besides the engine's: the map, new nodes on it, and a search."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from fastapi import FastAPI, Query, Response
from pydantic import BaseModel, Field

from sanne.draw.colours import NO_COLOUR
from sanne.draw.page import FILES
from sanne.draw.picture import COMMUNITY, LABEL, PREDICTED
from sanne.draw.regions import Region
from sanne.errors import FieldError
from sanne.graph.graph import Graph
from sanne.model.classifier import Label
from sanne.serve.engine.engine import Engine
from sanne.serve.explorer.map import NodeMap
from sanne.serve.explorer.search import Hit, NodeSearch
from sanne.serve.http.app import Route, add_routes, json_response
from sanne.serve.http.pages import add_page
from sanne.serve.http.schemas import Number, Strict
from sanne.serve.http.work import to_json

_PLACED_AT_ONCE = 200  # new nodes; the page asks again for more
_CACHED = {"cache-control": "private, max-age=31536000, immutable"}
_NOT_CACHED = {"cache-control": "no-store"}
UNCERTAINTY = "uncertainty"
_BINARY = "application/octet-stream"
Answer = dict[str, Any]  # what the page reads is described in docs/page.md


class PlacedNode(Strict):
    vector: list[Number]


class PlaceQuery(Strict):
    """Vectors, from /v1/embed for example, to place on the map."""

    nodes: list[PlacedNode] = Field(min_length=1, max_length=16)


class FoundNodes(BaseModel):
    nodes: list[Hit]
    complete: bool = Field(description="Whether all nodes were searched.")


def add_explorer(app: FastAPI, explorer: "Explorer") -> None:
    """Add the page, and the routes it needs, to an application before it runs."""
    add_routes(app, explorer.routes)
    add_page(app, "/", FILES, "/page")


class Explorer:
    """The map and the search, kept up to date with the engine; for one thread at a time, as look-ups run.

    `graph` and `store` are what the engine was opened with; `labels` are the names of the graph's labels, if it has
    any; `columns` reads what else points can be coloured by. The map is computed when it is first requested.
    """

    def __init__(
        self,
        engine: Engine,
        graph: Graph,
        store: str | Path,
        labels: npt.NDArray[Any] | None = None,
        columns: Callable[[], dict[str, npt.NDArray[Any]]] = dict,
    ) -> None:
        self.engine = engine
        self.search = NodeSearch(graph, engine.text_changes)
        self._graph = graph
        self._store = Path(store)
        self._labels = graph.labels if labels is None else labels
        self._columns = columns
        self._map: NodeMap | None = None

    @property
    def map(self) -> NodeMap:
        """The map; the first call computes a simple one and starts computing a better one in the background."""
        if self._map is None:
            vectors = np.load(self._store / "vectors.npy", mmap_mode="r")  # the first ones: the map does not move
            columns = ({} if self._labels is None else {LABEL: self._labels}) | self._columns()
            if self.engine.predicts:
                columns[PREDICTED] = self._predicted(vectors)
            columns[UNCERTAINTY] = np.load(self._store / "uncertainty.npy")
            texts, ids = self._graph.texts, self._graph.node_ids
            self._map = NodeMap(self._store, vectors, columns, texts=texts, ids=ids)
            self._map.start()
        return self._map

    def close(self) -> None:
        """Stop computing the map."""
        if self._map is not None:
            self._map.close()

    @property
    def routes(self) -> list[Route]:
        """The endpoints that the page needs."""
        return [
            Route("GET", "/v1/map", self.info, Answer),
            Route("GET", "/v1/map/ids", self.ids, list[str | int]),
            Route("GET", "/v1/map/points", self.points, {_BINARY: {}}),
            Route("GET", "/v1/map/colours", self.colours, {_BINARY: {}}),
            Route("GET", "/v1/map/regions", self.regions, list[Region]),
            Route("GET", "/v1/map/arrivals", self.arrivals, Answer),
            Route("GET", "/v1/map/deleted", self.deleted, list[str | int]),
            Route("POST", "/v1/map/place", self.place, Answer),
            Route("GET", "/v1/search", self.find, FoundNodes),
        ]

    def info(self) -> Response:
        """Describe the map and its progress."""
        layout, counts = self.map.layout, self.engine.statistics()
        about = {
            "version": layout.version,
            "kind": layout.kind,
            "progress": self.map.progress,
            "drawn": len(self.map.rows),
            "total": self.map.total,
            "colourings": [colouring.described() for colouring in self.map.layout.colourings],
            "no_colour": NO_COLOUR,
            "arrived": counts["arrived"],
            "deleted": counts["deleted"],
            "reads": self.engine.reads,
            "feature_width": self.engine.feature_width,
            "predicts": self.engine.predicts,
            "class_names": {str(label): name for label, name in self._class_names.items()},
        }
        return json_response(to_json(about), _NOT_CACHED)

    def ids(self) -> Response:
        """The ids of the points, in the same order."""
        ids = np.asarray(self._graph.node_ids[self.map.rows]).tolist()
        return json_response(to_json(ids), _NOT_CACHED)

    def points(self, version: str = "") -> Response:
        """x and y of all points as 32-bit floats in little-endian order."""
        layout = self.map.layout
        headers = {"x-map-version": layout.version, **(_CACHED if version == layout.version else _NOT_CACHED)}
        return Response(layout.points.astype("<f4").tobytes(), media_type=_BINARY, headers=headers)

    def colours(self, by: str | None = None) -> Response:
        """The colours of all points as 16-bit integers in little-endian order, by the title of a colouring."""
        for colouring in self.map.layout.colourings:
            if by in (None, colouring.title):
                return Response(colouring.codes.astype("<u2").tobytes(), media_type=_BINARY, headers=_NOT_CACHED)
        known = ", ".join(repr(colouring.title) for colouring in self.map.layout.colourings)
        raise FieldError("by", f"no colouring is called {by!r}; there are {known}")

    def regions(self) -> Response:
        """The names of regions, broad ones first, large ones before small ones."""
        return json_response(to_json([vars(region) for region in self.map.layout.regions]), _NOT_CACHED)

    def arrivals(self, after: Annotated[int, Query(ge=0, lt=2**31)] = 0) -> Response:
        """Nodes that were added, with their points."""
        version, arrived = self.map.layout.version, self.engine.arrived(after, _PLACED_AT_ONCE)
        there = [node for node in arrived if node is not None]
        places = self._places([vector for _, vector, _ in there], [uncertainty for *_, uncertainty in there])
        nodes = [{"id": node_id, **place} for (node_id, *_), place in zip(there, places, strict=True)]
        return json_response(to_json({"version": version, "next": after + len(arrived), "nodes": nodes}), _NOT_CACHED)

    def deleted(self) -> Response:
        """The ids of nodes that are no longer on the map."""
        return json_response(to_json(self.engine.deleted()), _NOT_CACHED)

    def place(self, request: PlaceQuery) -> Response:
        """Where vectors would be on the map."""
        for number, node in enumerate(request.nodes):
            if len(node.vector) != self.engine.dim:
                field = f"nodes[{number}].vector"
                raise FieldError(field, f"{len(node.vector)} numbers, but the model's vectors have {self.engine.dim}")
        version, places = self.map.layout.version, self._places([node.vector for node in request.nodes])
        return json_response(to_json({"version": version, "nodes": places}))

    def find(
        self, q: Annotated[str, Query(max_length=200)], limit: Annotated[int, Query(ge=1, le=50)] = 10
    ) -> Response:
        """Nodes by a part of their id, or by words of their text."""
        hits, complete = self.search.find(q, limit)
        return json_response(to_json({"nodes": hits, "complete": complete}), _NOT_CACHED)

    def _places(self, vectors: list[Any], uncertainties: list[float] | None = None) -> list[dict[str, Any]]:
        """Points and colours of new nodes; their labels are unknown."""
        if not vectors:
            return []
        rows = np.array(vectors, np.float32)
        points, nearest = self.map.place(rows)
        colours = np.full((len(rows), len(self.map.layout.colourings)), NO_COLOUR)
        for column, colouring in enumerate(self.map.layout.colourings):
            if colouring.title == COMMUNITY:
                colours[:, column] = colouring.codes[nearest]
            elif colouring.title == PREDICTED:
                colours[:, column] = colouring.encode(self._predicted(rows))
            elif colouring.title == UNCERTAINTY and uncertainties:
                colours[:, column] = colouring.encode(uncertainties)
        found = zip(points.tolist(), colours.tolist(), strict=True)
        return [{"x": x, "y": y, "colours": row} for (x, y), row in found]

    def _predicted(self, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        classifier = self.engine.classifier
        parts = np.array_split(vectors, len(vectors) // 50_000 + 1)
        likely = np.concatenate([classifier.probabilities(part).argmax(axis=1) for part in parts])
        return np.array([self._class_names.get(label, str(label)) for label in classifier.classes], object)[likely]

    @cached_property
    def _class_names(self) -> dict[Label, str]:
        """Names of the classifier's labels, if these are the numbers of the graph's classes, which have names."""
        numbers, names = self._graph.labels, self._labels
        if not self.engine.predicts or numbers is None or names is None or names is numbers or np.ndim(numbers) != 1:
            return {}
        name_of = {label: str(name) for label, name in zip(numbers.tolist(), names.tolist(), strict=True)}
        name_of.pop(-1, None)  # no class
        return name_of if name_of.keys() == {*self.engine.classifier.classes} else {}
