"""Nodes are found by a part of their id and by words of their text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_parts import add_one, delete_one, graph_of, replace_one, save_model

from sanne.graph.folder.store import open_graph, save_graph
from sanne.graph.graph import Graph
from sanne.serve.engine.engine import Engine
from sanne.serve.engine.state import TextChanges
from sanne.serve.explorer.routes import Explorer
from sanne.serve.explorer.search import NodeSearch
from sanne.serve.live.features import NewNode

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
    changes = TextChanges([("new-1", "Cells again"), ("new-2", None)])
    search = NodeSearch(graph(["a", "b", "c", "d"], TEXTS), lambda: changes)
    assert found(search, "cells") == ["new-1", "b", "c"]
    assert found(search, "new") == ["new-2", "new-1"]


def test_deleted_nodes_and_old_texts_are_not_found(tmp_path: Path) -> None:
    texts = graph_of("text")
    engine = Engine.open(save_model(tmp_path / "model", texts), texts, tmp_path / "store")
    explorer = Explorer(engine, texts, tmp_path / "store")

    def ids(query: str) -> list[Any]:
        return [node["id"] for node in json.loads(explorer.find(query, 50).body)["nodes"]]

    add_one(engine, NewNode("new-1", text="needle one", links=(("p1", 1.0),)))
    add_one(engine, NewNode("new-2", text="needle two", links=(("p1", 1.0),)))
    assert ids("needle") == ["new-2", "new-1"]
    delete_one(engine, "new-2")
    replace_one(engine, NewNode("new-1", text="thread"))
    assert ids("needle") == ids("new-2") == []
    assert ids("thread") == ids("new-1") == ["new-1"]

    word = str(texts.texts[5]).split()[0]
    assert {"p5"} <= set(ids(word)) <= {f"p{row}" for row in range(120)}
    replace_one(engine, NewNode("p5", text="needle three"))
    assert "p5" not in ids(word)
    assert ids("needle") == ["p5"]
    assert ids("p5")[0] == "p5"
    delete_one(engine, "p5")
    assert "p5" not in ids("p5")
    assert ids("needle") == []
    add_one(engine, NewNode("p5", text="needle four"))
    assert ids("p5")[0] == "p5"
    assert ids("needle") == ["p5"]
    engine.close()


def test_a_mapped_graph_is_searched_part_by_part(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.serve.explorer.search._ROWS_AT_ONCE", 3)
    save_graph(graph(["a", "b", "c", "d"], TEXTS), tmp_path / "g")
    search = NodeSearch(open_graph(tmp_path / "g"))
    assert found(search, "cells") == ["b", "c"]
    assert found(search, "d") == ["d", "b"]


def test_a_search_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sanne.serve.explorer.search._SECONDS", -1.0)
    _, complete = NodeSearch(graph(["a", "b", "c", "d"], TEXTS)).find("market", 5)
    assert not complete
