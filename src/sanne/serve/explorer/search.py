"""Find nodes by a part of their id or by words of their text."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sanne.graph.graph import Graph
from sanne.serve.engine.state import TextChanges
from sanne.serve.live.features import NodeId

_ROWS_AT_ONCE = 65_536
_SECONDS = 1.0  # after which the search stops with what it has
_SNIPPET, _BEFORE = 160, 40  # letters of a text that are shown, and how many of them before the word


@dataclass(frozen=True)
class Hit:
    """A node that was found, and the matching part of its text."""

    id: NodeId
    snippet: str | None


class NodeSearch:
    """Searches ids and texts as they are now, one search at a time; `changes` gives the differences to the graph."""

    def __init__(self, graph: Graph, changes: Callable[[], TextChanges] = TextChanges) -> None:
        self._graph = graph
        self._changes = changes
        self._lock = threading.Lock()

    def find(self, query: str, limit: int) -> tuple[list[Hit], bool]:
        """At most `limit` nodes, first those whose id is or begins with the query; and whether all were searched."""
        words = query.split()
        if not words:
            return [], True
        with self._lock:
            return self._find(query.strip(), words, limit, time.monotonic() + _SECONDS)

    def _find(self, whole: str, words: list[str], limit: int, deadline: float) -> tuple[list[Hit], bool]:
        found: dict[str, Hit] = {}
        changes = self._changes()
        complete = True
        for looks in (self._by_id(whole, changes), self._by_text(words, changes)):
            ranked: list[tuple[int, Hit]] = []
            for hit in looks:
                if hit is None:  # a block of rows has been searched
                    if time.monotonic() > deadline:
                        complete = False
                        break
                    continue
                ranked.append((_rank(str(hit.id), whole), hit))
                if len(ranked) >= 20 * limit:
                    break
            for _, hit in sorted(ranked, key=lambda pair: pair[0]):
                found.setdefault(str(hit.id), hit)
            if len(found) >= limit:
                break
        return list(found.values())[:limit], complete

    def _by_id(self, whole: str, changes: TextChanges) -> Iterator[Hit | None]:
        yield from self._hits(self._exact(whole), [], changes)
        for node_id, text in reversed(changes.written):
            if whole.lower() in str(node_id).lower():
                yield Hit(node_id, _snippet(text, []))
        for rows in _matching(self._graph.node_ids, [whole]):
            yield from self._hits(rows, [], changes)
            yield None

    def _by_text(self, words: list[str], changes: TextChanges) -> Iterator[Hit | None]:
        for node_id, text in reversed(changes.written):
            if text is not None and all(word.lower() in text.lower() for word in words):
                yield Hit(node_id, _snippet(text, words))
        if self._graph.texts is None:
            return
        for rows in _matching(self._graph.texts, words):
            yield from self._hits(rows, words, changes)
            yield None

    def _hits(self, rows: list[int], words: list[str], changes: TextChanges) -> Iterator[Hit]:
        return (Hit(self._name(row), self._text_of(row, words)) for row in rows if row not in changes.hidden)

    def _exact(self, whole: str) -> list[int]:
        try:
            return [int(self._graph.nodes_of([whole])[0])]
        except ValueError:  # UnknownNodeError is one
            return []

    def _name(self, row: int) -> NodeId:
        name = self._graph.node_ids[row]
        return int(name) if self._graph.has_integer_ids else str(name)

    def _text_of(self, row: int, words: list[str]) -> str | None:
        return None if self._graph.texts is None else _snippet(self._graph.texts[row], words)


def _matching(values: Any, words: list[str]) -> Iterator[list[int]]:
    """The rows that contain all words, block by block."""
    for first in range(0, len(values), _ROWS_AT_ONCE):
        part = pa.array(values[first : first + _ROWS_AT_ONCE])
        column = part.cast(pa.string())
        hits = pc.match_substring(column, words[0], ignore_case=True)
        for word in words[1:]:
            hits = pc.and_(hits, pc.match_substring(column, word, ignore_case=True))
        yield [first + row for row in pc.indices_nonzero(hits.fill_null(False)).to_pylist()]


def _rank(name: str, whole: str) -> int:
    """0 for the id itself, 1 for one that begins with it, 2 for others."""
    if name.lower() == whole.lower():
        return 0
    return 1 if name.lower().startswith(whole.lower()) else 2


def _snippet(text: Any, words: list[str]) -> str | None:
    if not text:
        return None
    line = " ".join(str(text).split())
    at = line.lower().find(words[0].lower()) if words else 0
    start = max(0, at - _BEFORE) if len(line) > _SNIPPET else 0
    shown = line[start : start + _SNIPPET]
    return ("…" if start else "") + shown + ("…" if start + _SNIPPET < len(line) else "")
