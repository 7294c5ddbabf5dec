"""Nodes are found by a part of their id and by words of their text."""

from typing import Any

import numpy as np
import pytest

from sanne.graph.csr import Graph
from sanne.graph.store import open_graph, save_graph
from sanne.serve.search import NodeSearch

TEXTS = ["Walks on graphs", "Genes and CELLS in Zürich", "Prices of cells on the market", ""]


def graph(ids: Any, texts: list[str] | None = None) -> Graph:
    return Graph.from_edges(
        [0], [1], node_ids=np.array(ids), texts=None if texts is None else np.array(texts, dtype=object)
    )


def found(search: NodeSearch, query: str, limit: int = 10) -> list[Any]:
    hits, complete = search.find(query, limit)
    assert complete
    return [hit.id for hit in hits]


def test_the_very_id_comes_first_then_ids_that_begin_like_it() -> None:
    search = NodeSearch(graph(np.arange(300)))
    assert found(search, "17", 4) == [17, 170, 171, 172]
    assert found(search, "99") == [99, 199, 299]
    assert found(search, "1000") == []
    assert found(search, "x") == []


def test_ids_are_found_whatever_their_case_and_signs() -> None:
    search = NodeSearch(graph(["Paper-9", "paper/10", "50%_off", "a.b"]))
    assert found(search, "PAPER") == ["Paper-9", "paper/10"]
    assert found(search, "%_") == ["50%_off"]
    assert found(search, ".") == ["a.b"]
    assert found(search, "   ") == []


def test_all_words_must_be_in_the_text() -> None:
    search = NodeSearch(graph(["a", "b", "c", "d"], TEXTS))
    assert found(search, "cells") == ["b", "c"]
    assert found(search, "cells market") == ["c"]
    assert found(search, "zürich") == ["b"]
    assert found(search, "a") == ["a", "b", "c"]  # the id, then texts
    (hit,) = search.find("market", 5)[0]
    assert hit.snippet == TEXTS[2]


def test_the_snippet_is_around_the_word() -> None:
    long = "x " * 300 + "needle " + "y " * 300
    (hit,) = NodeSearch(graph(["a", "b"], [long, ""])).find("needle", 5)[0]
    assert hit.snippet is not None
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "needle" in hit.snippet
    assert len(hit.snippet) < 180


def test_newcomers_are_found_and_the_latest_first() -> None:
    search = NodeSearch(graph(["a", "b", "c", "d"], TEXTS))
    search.add("new-1", "Cells again")
    search.add("new-2", None)
    assert found(search, "cells") == ["new-1", "b", "c"]
    assert found(search, "new") == ["new-2", "new-1"]


def test_a_mapped_graph_is_searched_part_by_part(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.serve.search._ROWS_AT_ONCE", 3)
    save_graph(graph(["a", "b", "c", "d"], TEXTS), tmp_path / "g")
    search = NodeSearch(open_graph(tmp_path / "g"))
    assert found(search, "cells") == ["b", "c"]
    assert found(search, "d") == ["d", "b"]


def test_a_search_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.serve.search._SECONDS", -1.0)
    _, complete = NodeSearch(graph(["a", "b", "c", "d"], TEXTS)).find("market", 5)
    assert not complete
