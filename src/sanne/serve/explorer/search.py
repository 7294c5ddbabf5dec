"""Find nodes by a part of their id or by words of their text."""

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sanne.errors import UnknownNodeError
from sanne.graph.graph import Graph
from sanne.serve.engine.state import TextChanges
from sanne.serve.live.features import NodeId

_ROWS_AT_ONCE = 65_536
_SECONDS = 1.0  # after which the search returns what it has
_SNIPPET, _BEFORE = 160, 40  # letters of a text that are shown, and how many of them before the word


@dataclass(frozen=True)
class Hit:
    """A node that was found, and the matching part of its text."""

    id: NodeId
    snippet: str | None


class NodeSearch:
    """Searches the current ids and texts; `changes` returns the differences to the graph."""

    def __init__(self, graph: Graph, changes: Callable[[], TextChanges] = TextChanges) -> None:
        self._graph = graph
        self._changes = changes

    def find(self, query: str, limit: int) -> tuple[list[Hit], bool]:
        """At most `limit` nodes, those whose id is or begins with the query first, and whether all were searched."""
        whole, words = query.strip(), query.split()
        if not words:
            return [], True
        changes, deadline = self._changes(), time.monotonic() + _SECONDS
        found: dict[str, Hit] = {}
        complete = True
        for hits in (self._by_id(whole, changes, deadline), self._containing(words, changes, deadline, texts=True)):
            some: list[Hit] = []
            try:
                for hit in itertools.islice(hits, 20 * limit):
                    some.append(hit)
            except TimeoutError:
                complete = False
            for hit in sorted(some, key=lambda hit: _rank(str(hit.id).lower(), whole.lower())):
                found.setdefault(str(hit.id), hit)
            if len(found) >= limit:
                break
        return list(found.values())[:limit], complete

    def _by_id(self, whole: str, changes: TextChanges, deadline: float) -> Iterator[Hit]:
        with contextlib.suppress(UnknownNodeError):
            yield from self._hits(self._graph.nodes_of([whole]).tolist(), [], changes)
        yield from self._containing([whole], changes, deadline, texts=False)

    def _containing(self, words: list[str], changes: TextChanges, deadline: float, *, texts: bool) -> Iterator[Hit]:
        """Nodes whose texts, or ids, contain all words."""
        shown = words if texts else []
        for node_id, text in reversed(changes.written):
            value = (text or "" if texts else str(node_id)).lower()
            if all(word.lower() in value for word in words):
                yield Hit(node_id, _snippet(text, shown))
        for rows in _matching(self._graph.texts if texts else self._graph.node_ids, words, deadline):
            yield from self._hits(rows, shown, changes)

    def _hits(self, rows: list[int], words: list[str], changes: TextChanges) -> Iterator[Hit]:
        ids, texts = self._graph.node_ids, self._graph.texts
        for row in rows:
            if row not in changes.hidden:
                name = int(ids[row]) if self._graph.has_integer_ids else str(ids[row])
                yield Hit(name, None if texts is None else _snippet(texts[row], words))


def _matching(values: Any, words: list[str], deadline: float) -> Iterator[list[int]]:
    """The rows that contain all words, block by block; a TimeoutError after the first block beyond the deadline."""
    for first in range(0, 0 if values is None else len(values), _ROWS_AT_ONCE):
        column = pa.array(values[first : first + _ROWS_AT_ONCE]).cast(pa.string())
        hits = [pc.match_substring(column, word, ignore_case=True).fill_null(False) for word in words]
        yield [first + row for row in pc.indices_nonzero(functools.reduce(pc.and_, hits)).to_pylist()]
        if time.monotonic() > deadline:
            raise TimeoutError


def _rank(name: str, whole: str) -> tuple[bool, bool]:
    """First the id itself, then those that begin with it."""
    return name != whole, not name.startswith(whole)


def _snippet(text: Any, words: list[str]) -> str | None:
    if not text:
        return None
    line = " ".join(str(text).split())
    at = line.lower().find(words[0].lower()) if words else 0
    start = max(0, at - _BEFORE) if len(line) > _SNIPPET else 0
    shown = line[start : start + _SNIPPET]
    return ("…" if start else "") + shown + ("…" if start + _SNIPPET < len(line) else "")
