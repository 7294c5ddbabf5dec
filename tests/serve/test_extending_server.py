"""An endpoint and a store of somebody else's: made outside the package, and used through its public functions."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from engine_parts import add_one, graph_of, newcomer, same_state, save_model
from fastapi import Response
from pydantic import BaseModel, Field

from sanne.serve.engine.engine import Engine
from sanne.serve.http.app import Route, add_routes, json_response, make_app
from sanne.serve.http.schemas import Strict
from sanne.serve.http.work import to_json
from sanne.serve.store.store import Changes, MakeVectors, NodeRow
from sanne.serve.store.vectors import LiveVectors

GRAPH = graph_of("plain")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("models") / "model", GRAPH)


class MemoryStore:
    """A store for additions and refreshed vectors of the base, for as long as the process lives."""

    def __init__(self, vectors: LiveVectors, kept: Changes) -> None:
        self.vectors = vectors
        self.all = kept

    def deleted(self) -> Iterator[str]:
        return iter(self.all.deleted)

    def nodes(self) -> Iterator[list[NodeRow]]:
        return iter([list(self.all.nodes.values())])

    def edges(self) -> Iterator[tuple[str, str, float]]:
        return ((*pair, weight) for pair, weight in self.all.edges.items())

    def stale(self) -> Iterator[tuple[str, bool]]:
        return ((id, own) for id, own in self.all.stale.items() if own is not None)

    def write(self, changes: Changes) -> None:
        known = self.all.nodes
        for id, row in changes.nodes.items():
            if row.kind == "refreshed" and id in known:
                row = replace(known[id], vector=row.vector, uncertainty=row.uncertainty)
            known[id] = row
        self.all.edges |= changes.edges
        self.all.stale |= changes.stale

    def close(self) -> None:
        pass


class MemoryStores:
    """Stores by name."""

    def __init__(self) -> None:
        self._kept: dict[str, Changes] = {}

    def open(self, folder: str | Path, *, make_vectors: MakeVectors, **expected: Any) -> MemoryStore:
        return MemoryStore(LiveVectors(*map(np.array, make_vectors())), self._kept.setdefault(str(folder), Changes()))


def test_a_store_of_ones_own(model: Path, tmp_path: Path) -> None:
    stores = MemoryStores()
    engine = Engine.open(model, GRAPH, "here", open_store=stores.open)
    usual = Engine.open(model, GRAPH, tmp_path / "store")
    for number in range(3):
        add_one(engine, newcomer(number))
        add_one(usual, newcomer(number))
    engine.refresh()
    usual.refresh()
    engine.close()
    again = Engine.open(model, GRAPH, "here", open_store=stores.open)
    present = [*GRAPH.node_ids.tolist(), "new0", "new1", "new2"]
    same_state(again, usual, present)
    assert not Path("here").exists()
    usual.close()


class DegreeQuery(Strict):
    node: str
    at_least: int = Field(default=0, ge=0)


class Degree(BaseModel):
    degree: int
    enough: bool


def test_an_endpoint_of_ones_own(model: Path, tmp_path: Path) -> None:
    app = make_app(Engine.open(model, GRAPH, tmp_path / "store"), token="secret")
    api = app.state.api

    def degree(request: DegreeQuery) -> Response:
        """How many neighbours a node has."""
        found = api.engine.node(request.node).degree
        return json_response(to_json({"degree": found, "enough": found >= request.at_least}))

    add_routes(app, [Route("POST", "/v1/degree", degree, Degree)])

    async def ask() -> None:
        transport, headers = httpx.ASGITransport(app), {"Authorization": "Bearer secret"}
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
        ):
            answer = await client.post("/v1/degree", json={"node": "p0", "at_least": 1})
            assert answer.json() == {"degree": int(np.diff(GRAPH.indptr)[0]), "enough": True}
            unknown = await client.post("/v1/degree", json={"node": "nobody"})
            assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "unknown_node")
            wrong = await client.post("/v1/degree", json={"node": "p0", "at_least": -1})
            assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "at_least")
            assert (await client.post("/v1/degree", headers={"Authorization": ""})).status_code == 401
            described = (await client.get("/openapi.json")).json()
            assert described["paths"]["/v1/degree"]["post"]["description"] == "How many neighbours a node has."
            assert "Degree" in described["components"]["schemas"]
            assert 'route="/v1/degree"' in (await client.get("/metrics")).text

    asyncio.run(ask())
