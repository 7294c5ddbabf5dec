"""Requests that share a batch: the failure of one is nobody else's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from engine_parts import graph_of, save_model

from sanne.serve.engine.engine import Engine
from sanne.serve.http.work import EmbedRequest, Work, known_json, nodes_json
from sanne.serve.live.features import NewNode

GRAPH = graph_of("integer")
FIRST = int(GRAPH.node_ids[0])
BEYOND = ["-9999999999999999999", "9999999999999999999", str(2**63), str(-(2**63) - 1)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model", GRAPH)


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Iterator[Engine]:
    engine = Engine.open(model, GRAPH, tmp_path / "store")
    yield engine
    engine.close()


def asking(id: str | int) -> EmbedRequest:
    return EmbedRequest((NewNode(id, links=((FIRST, 1.0),)),), 3, 200, nodes_json)


@pytest.mark.parametrize("id", BEYOND)
def test_a_number_beyond_64_bits_stays_text(engine: Engine, id: str) -> None:
    work = Work(engine)
    added, other = work.add.run([asking(id), asking("1000")])
    assert orjson.loads(added)["nodes"][0]["id"] == id
    assert orjson.loads(other)["nodes"][0]["id"] == 1000
    assert orjson.loads(known_json(engine.node(id)))["id"] == id
    (near,) = work.embed.run([asking("1001")])
    assert id in {part["id"] for part in orjson.loads(near)["nodes"][0]["similar"]}


def test_the_largest_and_smallest_integers_of_64_bits_are_given_back_as_integers(engine: Engine) -> None:
    for id in (2**63 - 1, -(2**63)):
        (added,) = Work(engine).add.run([asking(str(id))])
        assert orjson.loads(added)["nodes"][0]["id"] == id


def test_a_node_that_cannot_be_read_is_nobody_elses_failure(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    read = engine._answer

    def fails_for_1001(checked: Any, explain: Any, similar: Any) -> Any:
        if any(node.id == 1001 for group in checked for node in group.nodes):
            raise MemoryError
        return read(checked, explain, similar)

    monkeypatch.setattr(engine, "_answer", fails_for_1001)
    fine, failed, also_fine = Work(engine).add.run([asking(1000), asking(1001), asking(1002)])
    assert isinstance(failed, MemoryError)
    assert [orjson.loads(answer)["nodes"][0]["id"] for answer in (fine, also_fine)] == [1000, 1002]
    assert engine.statistics()["added"] == 2
