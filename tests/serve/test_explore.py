"""What the page asks of a running server: the map, newcomers on it, places for vectors, and a search."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from running_server import RunningServer

from planted import planted_graph
from sanne.serve.engine.engine import Engine
from sanne.serve.explorer.routes import Explorer

COUNT = 120  # nodes of the shared server's graph, p0 to p119


@pytest.fixture(scope="module")
def info(client: httpx.Client) -> dict[str, Any]:
    """The map once it is laid out."""
    deadline = time.monotonic() + 120
    while True:
        found: dict[str, Any] = client.get("/v1/map").json()
        if found["progress"] is None:
            return found
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_map_says_what_it_is(info: dict[str, Any]) -> None:
    assert info["kind"] == "tsne"
    assert info["drawn"] == info["total"] == COUNT
    colourings = {colouring["title"]: colouring for colouring in info["colourings"]}
    assert list(colourings) == ["label", "predicted label", "community", "uncertainty"]
    assert colourings["label"]["classes"] == ["0", "1", "2"]
    assert colourings["uncertainty"]["kind"] == "number"
    assert 0 <= colourings["uncertainty"]["low"] < colourings["uncertainty"]["high"] <= 1
    assert info["reads"] == "features"
    assert info["feature_width"] == 12


def test_points_and_ids_belong_together(client: httpx.Client, info: dict[str, Any]) -> None:
    answer = client.get("/v1/map/points", params={"version": info["version"]})
    assert answer.headers["x-map-version"] == info["version"]
    assert "immutable" in answer.headers["cache-control"]
    points = np.frombuffer(answer.content, "<f4").reshape(-1, 2)
    ids = client.get("/v1/map/ids").json()
    assert sorted(ids) == sorted(f"p{i}" for i in range(COUNT))
    assert len(points) == COUNT
    assert np.isfinite(points).all()
    old = client.get("/v1/map/points", params={"version": "another"})
    assert old.content == answer.content
    assert old.headers["cache-control"] == "no-store"


def test_points_are_coloured_by_what_is_asked_for(client: httpx.Client, info: dict[str, Any]) -> None:
    ids = client.get("/v1/map/ids").json()

    def colours(by: str) -> list[int]:
        return np.frombuffer(client.get("/v1/map/colours", params={"by": by}).content, "<u2").tolist()

    classes = info["colourings"][0]["classes"]
    assert [classes[colour] for colour in colours("label")] == [str(int(name[1:]) // 40) for name in ids]
    sure, unsure = np.argmin(colours("uncertainty")), np.argmax(colours("uncertainty"))
    known = [client.get(f"/v1/nodes/{ids[row]}").json()["uncertainty"] for row in (sure, unsure)]
    assert known[0] < known[1]
    assert max(colours("community")) < len(info["colourings"][2]["classes"])


def test_regions_lie_on_the_map_and_have_different_names(client: httpx.Client, info: dict[str, Any]) -> None:
    regions = client.get("/v1/map/regions").json()
    points = np.frombuffer(client.get("/v1/map/points").content, "<f4").reshape(-1, 2)
    assert len({region["name"] for region in regions}) == len(regions) > 2
    assert {region["name"] for region in regions} <= {"0", "1", "2"}  # no texts, so the labels name them
    for region in regions:
        assert np.linalg.norm(points - [region["x"], region["y"]], axis=1).min() < 0.1 * np.ptp(points)


def test_a_node_that_is_added_arrives_on_the_map_and_is_found(client: httpx.Client, info: dict[str, Any]) -> None:
    before = client.get("/v1/map").json()["arrived"]
    node = {"id": "arrival/1 of many", "features": [0.5] * 12, "links": ["p0", "p1"]}
    kept = client.post("/v1/nodes", json={"nodes": [node]}).json()["nodes"][0]
    assert client.get("/v1/map").json()["arrived"] == before + 1
    answer = client.get("/v1/map/arrivals", params={"after": before}).json()
    assert answer["next"] == before + 1
    assert answer["version"] == info["version"]
    (arrival,) = answer["nodes"]
    assert arrival["id"] == node["id"]
    label, predicted, community, uncertainty = arrival["colours"]
    assert label == info["no_colour"]  # labels are not guessed
    likely = client.post("/v1/predict", json={"ids": [node["id"]]}).json()["nodes"][0]["labels"][0]["label"]
    assert info["colourings"][1]["classes"][predicted] == str(likely)
    scale = info["colourings"][3]
    step = (kept["uncertainty"] - scale["low"]) / (scale["high"] - scale["low"]) * len(scale["light"])
    assert uncertainty == int(np.clip(step, 0, len(scale["light"]) - 1))
    assert community < len(info["colourings"][2]["classes"])
    place = client.post("/v1/map/place", json={"nodes": [{"vector": kept["vector"]}]}).json()["nodes"][0]
    assert (place["x"], place["y"]) == pytest.approx((arrival["x"], arrival["y"]), abs=0.01)
    found = client.get("/v1/search", params={"q": "arrival/"}).json()
    assert [hit["id"] for hit in found["nodes"]] == [node["id"]]
    assert client.get("/v1/map/arrivals", params={"after": before + 1}).json()["nodes"] == []
    assert node["id"] not in client.get("/v1/map/deleted").json()
    client.delete("/v1/nodes/arrival/1 of many")
    after = client.get("/v1/map").json()
    assert after["arrived"] == before + 1
    assert after["deleted"] == info["deleted"] + 1
    assert node["id"] in client.get("/v1/map/deleted").json()
    client.post("/v1/nodes", json={"nodes": [node]})
    assert node["id"] not in client.get("/v1/map/deleted").json()  # another has its id now
    client.delete("/v1/nodes/arrival/1 of many")


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/v1/map/place", {"nodes": [{"vector": [1.0, 2.0]}]}, "nodes[0].vector"),
        ("POST", "/v1/map/place", {"nodes": []}, "nodes"),
        ("POST", "/v1/map/place", {"nodes": [{"vector": [1.0], "uncertainty": -1.0}]}, "nodes[0].uncertainty"),
        ("GET", "/v1/map/arrivals?after=-1", None, "after"),
        ("GET", "/v1/search?q=a&limit=1000", None, "limit"),
        ("GET", "/v1/search", None, "q"),
        ("GET", "/v1/map/colours?by=flavour", None, "by"),
    ],
)
def test_what_is_wrong_is_named(client: httpx.Client, method: str, path: str, body: Any, field: str) -> None:
    answer = client.request(method, path, json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


def test_every_file_of_the_page_has_the_same_headers_and_is_checked_for_changes(client: httpx.Client) -> None:
    for path in ("/", "/page/main.js", "/page/page.css", "/page/icon.svg"):
        answer = client.get(path)
        again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (answer.status_code, again.status_code) == (200, 304)
        for headers in (answer.headers, again.headers):
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-cache"
    for path in ("/page/", "/page", "/page/nothing.js", "/page/..%2froutes.py", "/page/%2e%2e/routes.py"):
        missing = client.get(path)
        assert missing.status_code == 404
        assert missing.json()["error"]["code"] == "no_such_path"


def test_the_page_needs_no_token_but_the_map_does(model: Any, tmp_path: Any) -> None:
    with (
        RunningServer(model, tmp_path / "store", token="sesame") as server,
        httpx.Client(base_url=server.url) as anyone,
    ):
        page = anyone.get("/")
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert anyone.get("/page/main.js").headers["content-type"].startswith("text/javascript")
        assert anyone.get("/page/../app.py").status_code in (401, 404)
        for path in ("/v1/map", "/v1/map/ids", "/v1/map/points", "/v1/map/arrivals", "/v1/search?q=p"):
            assert anyone.get(path).status_code == 401
        assert server.client.get("/v1/map").status_code == 200
        assert server.terminate() == 0


def test_predicted_numbers_of_classes_have_their_names_and_colours(model: Path, tmp_path: Path) -> None:
    graph = planted_graph()
    engine = Engine.open(model, graph, tmp_path / "store")
    named = np.array(["ants", "bees", "cats"], object)[graph.labels]
    for labels, known in ((named, True), (graph.labels, False)):
        explorer = Explorer(engine, graph, tmp_path / "store", labels)
        try:
            about = json.loads(bytes(explorer.info().body))
        finally:
            explorer.close()
        label, predicted = about["colourings"][:2]
        assert predicted["title"] == "predicted label"
        for part in ("classes", "light", "dark"):
            assert predicted[part] == label[part]
        assert ("ants" in predicted["classes"]) == known
        assert about["class_names"] == ({"0": "ants", "1": "bees", "2": "cats"} if known else {})
    engine.close()
