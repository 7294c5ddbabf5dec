"""What the server's threads do: calling the engine, and serialising responses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import orjson

from sanne.errors import StoreError
from sanne.model.classifier import Classifier
from sanne.serve.engine.engine import Answer, Engine, NodeInfo
from sanne.serve.http.batching import Kind
from sanne.serve.live.features import NewNode


@dataclass(frozen=True, eq=False)
class EmbedRequest:
    """One request for vectors: its nodes, and how many nodes to list for each."""

    nodes: tuple[NewNode, ...]
    explain: int
    similar: int
    to_json: Callable[[list[Answer]], bytes]


class Work:
    """The kinds of work. They also make the JSON, so that the event loop only passes bytes on."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.statistics = engine.statistics()
        self.embed = Kind("embed", partial(self._vectors, engine.embed))
        self.add = Kind("add", partial(self._vectors, engine.add))
        self.replace = self._change("replace", engine.replace, lambda answer: to_json(_embedded(answer)))
        self.delete = self._change("delete", engine.delete, lambda id: to_json({"id": id, "deleted": True}))
        self.edges = self._change("edges", engine.add_edges, lambda count: to_json({"edges": count}))
        self.refresh = self._change("refresh", lambda limits: [engine.refresh(limit) for limit in limits], int)

    def _change(self, name: str, run: Callable[[Any], Sequence[Any]], to_json: Callable[[Any], Any]) -> Kind:
        def change(requests: Sequence[Any]) -> list[Any]:
            results = run(requests)
            self.statistics = self.engine.statistics()
            return [result if isinstance(result, Exception) else to_json(result) for result in results]

        return Kind(name, change)

    def _vectors(self, call: Callable[..., Any], requests: Sequence[EmbedRequest]) -> list[Any]:
        """Call the engine for several requests, or for each separately if that fails."""
        try:
            results = call(
                [request.nodes for request in requests],
                explain=[request.explain for request in requests],
                similar=[request.similar for request in requests],
            )
        except Exception as error:
            if len(requests) == 1 or isinstance(error, StoreError):
                raise
            alone = [_outcome(partial(self._vectors, call, [request])) for request in requests]
            return [part if isinstance(part, Exception) else part[0] for part in alone]
        self.statistics = self.engine.statistics()
        rows = zip(requests, results, strict=True)
        return [part if isinstance(part, Exception) else _outcome(partial(r.to_json, part)) for r, part in rows]


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def nodes_json(answers: list[Answer], *, vectors: bool = True, classifier: Classifier | None = None) -> bytes:
    """The response of /v1/embed and /v1/nodes, with labels if there is a classifier."""
    nodes = [_embedded(answer) for answer in answers]
    if classifier is not None:
        for node, labels in zip(nodes, classifier.predict(np.stack([node["vector"] for node in nodes])), strict=True):
            node["prediction"] = labels.to_dict()
    if not vectors:
        for node in nodes:
            del node["vector"]
    return to_json({"nodes": nodes})


def predictions_json(classifier: Classifier, nodes: Sequence[NodeInfo]) -> bytes:
    """The response of /v1/predict."""
    found = zip(nodes, classifier.predict(np.stack([node.vector for node in nodes])), strict=True)
    parts = [
        {"id": node.id, "uncertainty": node.uncertainty, **_note(node.note), **part.to_dict()} for node, part in found
    ]
    return to_json({"nodes": parts})


def similar_json(found: list[tuple[Any, float]], uncertainty: float, note: str | None = None) -> bytes:
    """The response of /v1/similar; the uncertainty and the note are those of the query."""
    return to_json({"similar": _pairs(found, "similarity"), "uncertainty": uncertainty, **_note(note)})


def known_json(info: NodeInfo) -> bytes:
    """What is known about a node."""
    parts = {name: value for name, value in vars(info).items() if name != "note"}
    return to_json(parts | {"neighbours": _pairs(info.neighbours, "weight")} | _note(info.note))


def to_json(value: Any) -> bytes:
    """JSON bytes; accepts numpy's numbers and arrays, and writes NaN as null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _embedded(answer: Answer) -> dict[str, Any]:
    node = {"id": answer.id, "vector": answer.vector, "uncertainty": answer.uncertainty, **_note(answer.note)}
    if answer.explanation is not None:
        node["explanation"] = _pairs(answer.explanation, "share")
    if answer.similar is not None:
        node["similar"] = _pairs(answer.similar, "similarity")
    return node


def _note(note: str | None) -> dict[str, Any]:
    return {} if note is None else {"note": note}


def _pairs(pairs: Sequence[tuple[Any, float]], name: str) -> list[dict[str, Any]]:
    return [{"id": id, name: value} for id, value in pairs]
