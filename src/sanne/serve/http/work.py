"""What the server's threads do: calls of the engine, and the JSON of their answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from sanne.serve.engine.answers import Result
from sanne.serve.engine.engine import Engine
from sanne.serve.engine.nodes import Answer, NewNode, NodeInfo
from sanne.serve.http.batching import Kind


@dataclass(frozen=True, eq=False)
class Described:
    """One request for vectors: its nodes, and how many nodes to name for each."""

    nodes: tuple[NewNode, ...]
    explain: int
    similar: int
    to_json: Callable[[list[Answer]], bytes]


class Work:
    """The kinds of work there are. JSON is made here too, so that the event loop only passes bytes on."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.statistics = engine.statistics()
        self.embed = Kind("embed", self._embed)
        self.add = Kind("add", self._add)
        self.change = Kind("change", self._change, together=False)
        self.read = Kind("read", lambda calls: [_outcome(call) for call in calls])

    def _embed(self, requests: Sequence[Described]) -> list[Any]:
        try:
            found = self.engine.embed(
                [request.nodes for request in requests],
                explain=[request.explain for request in requests],
                similar=[request.similar for request in requests],
            )
        except Exception:
            if len(requests) == 1:
                raise
            return [_outcome(partial(self._embed_alone, request)) for request in requests]
        return _answers(requests, found)

    def _embed_alone(self, request: Described) -> Any:
        return self._embed([request])[0]

    def _add(self, requests: Sequence[Described]) -> list[Any]:
        """Add nodes; the JSON is made before the commit, so that nothing is kept of a request that has no answer."""
        answers: list[Any] = []

        def check(found: list[Result]) -> list[Result]:
            answers.extend(_answers(requests, found))
            return [
                answer if isinstance(answer, Exception) else result
                for answer, result in zip(answers, found, strict=True)
            ]

        try:
            self.engine.add(
                [request.nodes for request in requests],
                explain=[request.explain for request in requests],
                similar=[request.similar for request in requests],
                check=check,
            )
        except Exception:
            if answers or len(requests) == 1:  # a failed commit is everyone's failure
                raise
            return [_outcome(partial(self._add_alone, request)) for request in requests]
        self.statistics = self.engine.statistics()
        return answers

    def _add_alone(self, request: Described) -> Any:
        return self._add([request])[0]

    def _change(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        results = [_outcome(call) for call in calls]
        self.statistics = self.engine.statistics()
        return results


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def _answers(requests: Sequence[Described], found: Sequence[Any]) -> list[Any]:
    """JSON or an error for each request by itself: an answer that cannot be written is nobody else's failure."""
    return [
        answers if isinstance(answers, Exception) else _outcome(partial(request.to_json, answers))
        for request, answers in zip(requests, found, strict=True)
    ]


def nodes_json(answers: list[Answer]) -> bytes:
    """The answer to /v1/embed and /v1/nodes."""
    return to_json({"nodes": [_embedded(answer) for answer in answers]})


def node_json(answer: Answer) -> bytes:
    """A single node."""
    return to_json(_embedded(answer))


def similar_json(found: list[tuple[Any, float]]) -> bytes:
    """The answer to /v1/similar."""
    return to_json({"similar": _pairs(found, "similarity")})


def known_json(info: NodeInfo) -> bytes:
    """What is known of a node."""
    return to_json(
        {
            "id": info.id,
            "vector": info.vector,
            "spread": info.spread,
            "neighbours": _pairs(info.neighbours, "weight"),
            "degree": info.degree,
            "label": info.label,
            "text": info.text,
            "added": info.added,
            "stale": info.stale,
        }
    )


def to_json(value: Any) -> bytes:
    """JSON bytes; numpy's numbers and arrays are written as they are, and what is not a number as null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _embedded(answer: Answer) -> dict[str, Any]:
    node: dict[str, Any] = {"id": answer.id, "vector": answer.vector, "spread": answer.spread}
    if answer.explanation is not None:
        node["explanation"] = _pairs(answer.explanation, "share")
    if answer.similar is not None:
        node["similar"] = _pairs(answer.similar, "similarity")
    return node


def _pairs(pairs: Sequence[tuple[Any, float]], name: str) -> list[dict[str, Any]]:
    return [{"id": id, name: value} for id, value in pairs]
