"""Find nodes by a part of their id or by words of their text."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sanne.graph.graph import Graph
from sanne.serve.engine.nodes import NodeId

_ROWS_AT_ONCE = 65_536
_SECONDS = 1.0  # after so long, what was found so far is given
_SNIPPET, _BEFORE = 160, 40  # letters of a text that are shown, and how many of them before the words that were found


@dataclass(frozen=True)
class Hit:
    """A node that was found, and the part of its text that says why."""

    id: NodeId
    snippet: str | None


@dataclass(frozen=True)
class Since:
    """How the ids and texts of nodes differ from those of the base graph."""

    written: Sequence[tuple[NodeId, str | None]] = ()  # ids and texts of nodes that were added or replaced
    hidden: Set[int] = frozenset()  # rows of the base graph whose nodes were replaced or deleted


class NodeSearch:
    """Looks through ids and texts as they are now, one search at a time; `since` says what is not as in the graph."""

    def __init__(self, graph: Graph, since: Callable[[], Since] = Since) -> None:
        self._graph = graph
        self._since = since
        self._lock = threading.Lock()

    def find(self, query: str, limit: int) -> tuple[list[Hit], bool]:
        """At most `limit` nodes, those first whose id is or begins with the query; and whether all were looked at."""
        words = query.split()
        if not words:
            return [], True
        with self._lock:
            return self._find(query.strip(), words, limit, time.monotonic() + _SECONDS)

    def _find(self, whole: str, words: list[str], limit: int, deadline: float) -> tuple[list[Hit], bool]:
        found: dict[str, Hit] = {}
        since = self._since()
        complete = True
        for looks in (self._by_id(whole, since), self._by_text(words, since)):
            ranked: list[tuple[int, Hit]] = []
            for hit in looks:
                if hit is None:  # some rows were looked at, and had nothing
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

    def _by_id(self, whole: str, since: Since) -> Iterator[Hit | None]:
        yield from self._hits(self._exact(whole), [], since)
        for node_id, text in reversed(since.written):
            if whole.lower() in str(node_id).lower():
                yield Hit(node_id, _snippet(text, []))
        for rows in _matching(self._graph.node_ids, [whole]):
            yield from self._hits(rows, [], since)
            yield None

    def _by_text(self, words: list[str], since: Since) -> Iterator[Hit | None]:
        for node_id, text in reversed(since.written):
            if text is not None and all(word.lower() in text.lower() for word in words):
                yield Hit(node_id, _snippet(text, words))
        if self._graph.texts is None:
            return
        for rows in _matching(self._graph.texts, words):
            yield from self._hits(rows, words, since)
            yield None

    def _hits(self, rows: list[int], words: list[str], since: Since) -> Iterator[Hit]:
        return (Hit(self._name(row), self._text_of(row, words)) for row in rows if row not in since.hidden)

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
    """The rows that hold all words, in part after part of the values."""
    for first in range(0, len(values), _ROWS_AT_ONCE):
        part = pa.array(values[first : first + _ROWS_AT_ONCE])
        column = part.cast(pa.string())
        hits = pc.match_substring(column, words[0], ignore_case=True)
        for word in words[1:]:
            hits = pc.and_(hits, pc.match_substring(column, word, ignore_case=True))
        yield [first + row for row in pc.indices_nonzero(hits.fill_null(False)).to_pylist()]


def _rank(name: str, whole: str) -> int:
    """0 for the very id, 1 for one that begins like it, 2 for others."""
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
