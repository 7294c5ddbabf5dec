"""Every route of a running server, what it answers, and how it says no."""

import json
import math
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from urllib.parse import quote

import httpx
import pytest

WIDTH = 12
_numbers = count()


def new_id() -> str:
    return f"new-{next(_numbers)}"


def node(**changes: Any) -> dict[str, Any]:
    """A newcomer that looks like group 0 and links into it."""
    return {"id": new_id(), "features": [0.5] * WIDTH, "links": ["p0", {"to": "p1", "weight": 2.0}]} | changes


def error(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The error of an answer, whose shape is checked."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert set(body) == {"error"}
    assert {"code", "message"} <= set(body["error"]) <= {"code", "message", "field"}
    return body["error"]


def test_embed_gives_vector_uncertainty_explanation_and_similar_nodes(client: httpx.Client) -> None:
    one = node()
    answer = client.post("/v1/embed", json={"nodes": [one], "explain": True, "similar": 3})
    assert answer.status_code == 200
    (found,) = answer.json()["nodes"]
    assert found["id"] == one["id"]
    assert len(found["vector"]) == client.get("/readyz").json()["dim"]
    assert math.isfinite(found["uncertainty"])
    assert 0 < sum(part["share"] for part in found["explanation"]) <= 1.0001
    assert one["id"] in {part["id"] for part in found["explanation"]}
    assert len(found["similar"]) == 3
    cosines = [part["similarity"] for part in found["similar"]]
    assert cosines == sorted(cosines, reverse=True)


def test_labels_are_predicted_for_existing_and_new_nodes(client: httpx.Client) -> None:
    answer = client.post("/v1/predict", json={"ids": ["p5", "p100"]})
    assert answer.status_code == 200, answer.text
    first, second = answer.json()["nodes"]
    assert (first["id"], first["labels"][0]["label"]) == ("p5", 0)
    assert (second["id"], second["labels"][0]["label"]) == ("p100", 2)
    assert first["labels"][0]["probability"] >= first["runner_up"]["probability"]
    new = [node(features=None, links=["p2", "p4", "p6"]), node(features=None, links=["p102", "p104", "p106"])]
    found = client.post("/v1/embed", json={"nodes": new, "predict": True}).json()["nodes"]
    assert [one["prediction"]["labels"][0]["label"] for one in found] == [0, 2]
    assert "prediction" not in client.post("/v1/embed", json={"nodes": new}).json()["nodes"][0]
    assert 0 <= first["uncertainty"] < 1
    error(client.post("/v1/predict", json={"ids": ["nobody"]}), 404)
    assert error(client.post("/v1/predict", json={"ids": ["p1"] * 1001}), 422)["field"] == "ids"


def test_embed_keeps_nothing_and_gives_the_same_again(client: httpx.Client) -> None:
    before = client.get("/readyz").json()["nodes"]
    request = {"nodes": [node()]}
    first, second = (client.post("/v1/embed", json=request).json() for _ in range(2))
    assert first == second
    assert "explanation" not in first["nodes"][0]
    assert client.get("/readyz").json()["nodes"] == before
    error(client.get(f"/v1/nodes/{request['nodes'][0]['id']}"), 404)


def test_a_node_needs_no_id_to_be_embedded_and_vectors_can_be_left_out(client: httpx.Client) -> None:
    nameless = [{"features": [0.5] * WIDTH, "links": ["p0"]}, {"links": ["p100"]}]
    request = {"nodes": nameless, "similar": 1, "predict": True, "vectors": False}
    found = client.post("/v1/embed", json=request).json()["nodes"]
    assert [one["id"] for one in found] == ["nodes[0]", "nodes[1]"]
    assert all({"uncertainty", "similar", "prediction"} <= one.keys() and "vector" not in one for one in found)
    assert error(client.post("/v1/nodes", json={"nodes": nameless}), 422)["field"] == "nodes[0].id"


def test_every_answer_about_a_node_has_its_uncertainty_and_says_if_it_has_no_links(client: httpx.Client) -> None:
    alone, linked = node(links=[]), node()
    added = client.post("/v1/nodes", json={"nodes": [alone, linked]}).json()["nodes"]
    answers = [
        *added,
        *(client.get(f"/v1/nodes/{one['id']}").json() for one in (alone, linked)),
        *client.post("/v1/predict", json={"ids": [alone["id"], linked["id"]]}).json()["nodes"],
    ]
    assert ["no links" in answer.get("note", "") for answer in answers] == [True, False] * 3
    answers += [
        client.get("/v1/similar/p5").json(),
        client.post("/v1/similar", json={"vector": added[0]["vector"]}).json(),
        client.post("/v1/similar", json={"node": {"links": ["p5"]}}).json(),
    ]
    assert all(0 <= answer["uncertainty"] < 1 for answer in answers)
    one, two = node(links=[]), node(links=["p0"])
    two["links"] = [one["id"]]
    assert "note" not in client.post("/v1/embed", json={"nodes": [one, two]}).json()["nodes"][0]


def test_every_answer_about_a_node_that_nothing_is_known_about_says_so(client: httpx.Client) -> None:
    nothing = {"id": new_id()}
    added = client.post("/v1/nodes", json={"nodes": [nothing]}).json()["nodes"][0]
    path = f"/v1/nodes/{nothing['id']}"
    answers = [
        added,
        client.get(path).json(),
        client.put(path, json={}).json(),
        client.get(f"/v1/similar/{nothing['id']}").json(),
        client.post("/v1/similar", json={"node": {}}).json(),
        *client.post("/v1/predict", json={"ids": [nothing["id"]]}).json()["nodes"],
        *client.post("/v1/embed", json={"nodes": [{}]}).json()["nodes"],
    ]
    assert all(answer["note"].startswith("nothing is known about this node") for answer in answers)
    assert "no links" in client.put(path, json={"features": [0.5] * WIDTH}).json()["note"]
    assert "note" not in client.put(path, json={"links": ["p0"]}).json()
    assert "note" not in client.get(path).json()


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/v1/embed", {"nodes": [{"id": "x", "txet": "words"}]}, "did you mean 'text'?"),
        ("/v1/embed", {"nodes": [{"id": "x", "feature": [1.0]}]}, "did you mean 'features'?"),
        ("/v1/embed", {"nodes": [{"Links": ["p0"]}]}, "did you mean 'links'?"),
        ("/v1/embed", {"node": [{"id": "x"}]}, "did you mean 'nodes'?"),
        ("/v1/embed", {"nodes": [{"id": "x"}], "explane": 3, "similiar": 3}, "did you mean 'explain'?"),
        ("/v1/embed", {"nodes": [{"links": [{"to": "p0", "wieght": 2}]}]}, "did you mean 'weight'?"),
        ("/v1/edges", {"edges": [{"src": "p0", "target": "p1", "dst": "p1"}]}, "others are weight"),
        ("/v1/refresh", {"": 1}, "there is no field ''"),
        ("/v1/similar", {"node": "n1"}, "a JSON object, with its fields in braces"),
        ("/v1/edges", {"edges": [["n1", "n2"]]}, "a JSON object, with its fields in braces"),
    ],
    ids=str,
)
def test_a_misspelt_field_is_answered_with_the_right_one(
    client: httpx.Client, path: str, body: Any, message: str
) -> None:
    assert message in error(client.post(path, json=body), 422)["message"]


@pytest.mark.parametrize(
    ("method", "path", "field", "message"),
    [
        ("GET", "/v1/similar/p5?q=3", "q", "there is no parameter 'q'; this path takes k"),
        ("GET", "/v1/similar/p5?K=2", "K", "did you mean 'k'?"),
        ("DELETE", "/v1/nodes/p5?forced", "forced", "did you mean 'force'?"),
        ("GET", "/v1/nodes/p5?k=3", "k", "this path takes none"),
        ("POST", "/v1/refresh?limit=3", "limit", "this path takes none"),
        ("GET", "/v1/map/points?versoin=1", "versoin", "did you mean 'version'?"),
        ("GET", "/v1/map/colours?By=label", "By", "did you mean 'by'?"),
        ("GET", "/v1/search?q=p&limits=3", "limits", "did you mean 'limit'?"),
        ("GET", "/readyz?x=1", "x", "this path takes none"),
    ],
)
def test_a_misspelt_parameter_is_answered_with_the_right_one(
    client: httpx.Client, method: str, path: str, field: str, message: str
) -> None:
    refused = error(client.request(method, path), 422)
    assert refused["field"] == field
    assert message in refused["message"]


def test_pages_may_be_asked_for_with_parameters(client: httpx.Client) -> None:
    assert [client.get(path).status_code for path in ("/?from=mail", "/docs?from=mail")] == [200, 200]


def test_deleting_a_hub_takes_force(client: httpx.Client) -> None:
    hub = node(links=[f"p{i}" for i in range(110)])
    client.post("/v1/nodes", json={"nodes": [hub]})
    refused = error(client.delete(f"/v1/nodes/{hub['id']}"), 409)
    assert (refused["code"], "110 links: add ?force" in refused["message"]) == ("hub", True)
    assert client.get(f"/v1/nodes/{hub['id']}").json()["degree"] == 110
    assert client.delete(f"/v1/nodes/{hub['id']}?force").json()["deleted"] is True


def test_every_route_is_summed_up_in_a_sentence(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    summaries = [operation["summary"] for methods in paths.values() for operation in methods.values()]
    assert all(re.fullmatch(r"[A-Z/].* .*[a-z]\.", summary) for summary in summaries), summaries


def test_nodes_of_one_request_may_link_to_each_other(client: httpx.Client) -> None:
    one, two = node(links=["p0"]), node(links=[])
    two["links"] = [one["id"]]
    answer = client.post("/v1/embed", json={"nodes": [one, two]})
    assert [found["id"] for found in answer.json()["nodes"]] == [one["id"], two["id"]]


def test_sparse_features_are_the_same_as_dense_ones(client: httpx.Client) -> None:
    dense = node(features=[0.0, 2.0] + [0.0] * (WIDTH - 2))
    sparse = dense | {"features": {"indices": [1], "values": [2.0]}}
    one, two = (
        client.post("/v1/embed", json={"nodes": [item]}).json()["nodes"][0]["vector"] for item in (dense, sparse)
    )
    assert one == two


def test_a_node_without_features_is_read_by_its_links(client: httpx.Client) -> None:
    answer = client.post("/v1/embed", json={"nodes": [{"id": new_id(), "links": ["p3"]}]})
    assert answer.status_code == 200
    assert any(answer.json()["nodes"][0]["vector"])


def test_a_node_that_is_added_is_known_found_and_linked_to(client: httpx.Client) -> None:
    one = node()
    before = client.get("/readyz").json()["nodes"]
    added = client.post("/v1/nodes", json={"nodes": [one]}).json()["nodes"][0]
    known = client.get(f"/v1/nodes/{one['id']}").json()
    assert known["added"] is True
    assert {part["id"] for part in known["neighbours"]} == {"p0", "p1"}
    assert known["degree"] == 2
    assert known["vector"] == pytest.approx(added["vector"], abs=1e-5)
    assert client.get("/readyz").json()["nodes"] == before + 1
    near = client.post("/v1/similar", json={"vector": added["vector"], "k": 2}).json()["similar"]
    assert one["id"] in {part["id"] for part in near}
    again = client.post("/v1/embed", json={"nodes": [node(links=[one["id"]])]})
    assert again.status_code == 200
    assert error(client.post("/v1/nodes", json={"nodes": [one]}), 409)["code"] == "node_exists"


def test_put_replaces_and_delete_removes(client: httpx.Client) -> None:
    one = node()
    client.post("/v1/nodes", json={"nodes": [one]})
    replaced = client.put(f"/v1/nodes/{one['id']}", json={"features": [-1.0] * WIDTH, "links": ["p50"]})
    assert replaced.status_code == 200
    assert replaced.json()["id"] == one["id"]
    assert [part["id"] for part in client.get(f"/v1/nodes/{one['id']}").json()["neighbours"]] == ["p50"]
    deleted = client.delete(f"/v1/nodes/{one['id']}")
    assert deleted.json() == {"id": one["id"], "deleted": True}
    assert error(client.get(f"/v1/nodes/{one['id']}"), 404)["code"] == "unknown_node"
    error(client.delete(f"/v1/nodes/{one['id']}"), 404)
    error(client.put(f"/v1/nodes/{one['id']}", json={"links": []}), 404)
    error(client.post("/v1/embed", json={"nodes": [node(links=[one["id"]])]}), 422)


@pytest.mark.parametrize("id", ["a/b/../c", "é ü\u2028", "?x=1#y", "%2F", "100%", " "])
def test_any_id_can_be_asked_for(client: httpx.Client, id: str) -> None:
    assert client.post("/v1/nodes", json={"nodes": [node(id=id)]}).status_code == 200
    path = quote(id, safe="")
    assert client.get(f"/v1/nodes/{path}").json()["id"] == id
    assert client.get(f"/v1/similar/{path}?k=1").status_code == 200
    assert client.delete(f"/v1/nodes/{path}").json()["id"] == id


@pytest.mark.parametrize("id", ["a\nb", "a\r", "\x00", "tab\t", "\x1b[31m", "\x7f", "next\x85line"])
def test_ids_with_control_characters_are_refused(client: httpx.Client, id: str) -> None:
    before = client.get("/readyz").json()
    for path, body, field in (
        ("/v1/nodes", {"nodes": [node(id=id)]}, "nodes[0].id"),
        ("/v1/embed", {"nodes": [node(id=id)]}, "nodes[0].id"),
        ("/v1/nodes", {"nodes": [node(links=[id])]}, "nodes[0].links[0]"),
        ("/v1/edges", {"edges": [{"src": "p0", "dst": id}]}, "edges[0].dst"),
    ):
        refused = error(client.post(path, json=body), 422)
        assert refused["field"] == field
        assert "control character" in refused["message"]
    for path in ("nodes", "similar"):
        assert "control character" in error(client.get(f"/v1/{path}/{quote(id, safe='')}"), 422)["message"]
    assert "control character" in error(client.delete(f"/v1/nodes/{quote(id, safe='')}"), 422)["message"]
    assert client.get("/readyz").json() == before


def test_edges_are_walked_at_once_and_refresh_brings_vectors_up_to_date(client: httpx.Client) -> None:
    one = node(links=["p0"])
    client.post("/v1/nodes", json={"nodes": [one]})
    answer = client.post("/v1/edges", json={"edges": [{"src": one["id"], "dst": "p100", "weight": 9.0}]})
    assert answer.json() == {"edges": 1}
    before = client.get(f"/v1/nodes/{one['id']}").json()
    assert before["degree"] == 2
    assert before["stale"] is True
    answer = client.post("/v1/refresh", json={"limit": 100_000}).json()
    assert answer["refreshed"] >= 2
    assert answer["stale"] == 0
    after = client.get(f"/v1/nodes/{one['id']}").json()
    assert after["stale"] is False
    assert after["vector"] != before["vector"]
    assert client.post("/v1/refresh").json() == {"refreshed": 0, "stale": 0}
    assert error(client.post("/v1/edges", json={"edges": [{"src": "nobody", "dst": "p1"}]}), 422)["field"]


def test_an_edge_from_a_node_to_itself_is_refused_and_a_repeated_one_counts_once(client: httpx.Client) -> None:
    one = node(links=["p0"])
    client.post("/v1/nodes", json={"nodes": [one]})
    edge = {"src": one["id"], "dst": "p100"}
    refused = error(client.post("/v1/edges", json={"edges": [edge, {"src": one["id"], "dst": one["id"]}]}), 422)
    assert "to itself is not used: leave it out" in refused["message"]
    refused = error(client.put(f"/v1/nodes/{one['id']}", json={"links": [one["id"]]}), 422)
    assert refused["field"] == "links[0]"
    assert client.get(f"/v1/nodes/{one['id']}").json()["degree"] == 1  # nothing of these was stored
    again = [edge | {"weight": weight} for weight in (1.0, 5.0, 2.0)]
    assert client.post("/v1/edges", json={"edges": again}).json() == {"edges": 1}
    found = client.get(f"/v1/nodes/{one['id']}").json()["neighbours"]
    assert {part["id"]: part["weight"] for part in found} == {"p0": 1.0, "p100": 2.0}


def test_similar_nodes_by_id_by_vector_and_by_description(client: httpx.Client) -> None:
    by_id = client.get("/v1/similar/p5", params={"k": 4}).json()["similar"]
    assert len(by_id) == 4
    assert "p5" not in {part["id"] for part in by_id}
    vector = client.get("/v1/nodes/p5").json()["vector"]
    by_vector = client.post("/v1/similar", json={"vector": vector, "k": 5}).json()["similar"]
    assert by_vector[0]["id"] == "p5"
    assert [part["id"] for part in by_vector[1:]] == [part["id"] for part in by_id]
    by_description = client.post("/v1/similar", json={"node": {"links": ["p5"]}, "k": 6}).json()["similar"]
    assert len(by_description) == 6
    error(client.get("/v1/similar/nobody"), 404)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/embed", {"nodes": []}, "nodes"),
        ("/v1/embed", {"nodes": [{"id": ""}]}, "nodes[0].id"),
        ("/v1/embed", {"nodes": [{"id": True}]}, "nodes[0].id"),
        ("/v1/embed", {"nodes": [{"id": 2**63}]}, "nodes[0].id"),
        ("/v1/embed", {"nodes": [{"id": "x", "links": ["p0", 1.5]}]}, "nodes[0].links[1]"),
        ("/v1/embed", {"nodes": [{"id": "x", "links": [{"to": "p0", "weight": 0}]}]}, "nodes[0].links[0].weight"),
        ("/v1/embed", {"nodes": [{"id": "x", "links": [{"to": "p0", "weight": 1e-40}]}]}, "nodes[0].links[0].weight"),
        ("/v1/embed", {"nodes": [{"id": "x", "links": [{"to": "", "weight": 1}]}]}, "nodes[0].links[0].to"),
        ("/v1/embed", {"nodes": [{"id": "x", "links": ["p0", "nobody"]}]}, "nodes[0].links[1]"),
        ("/v1/embed", {"nodes": [{"id": "x", "features": [1e31] * 12}]}, "nodes[0].features[0]"),
        ("/v1/edges", {"edges": [{"src": "p0", "dst": "p1", "weight": -1}]}, "edges[0].weight"),
        ("/v1/edges", {"edges": [{"src": 2**63, "dst": "p1"}]}, "edges[0].src"),
        ("/v1/similar", {"vector": [1e31] * 12}, "vector[0]"),
        ("/v1/embed", {"nodes": [{"id": "x"}, {"id": "x"}]}, "nodes[1].id"),
        ("/v1/embed", {"nodes": [{"id": "x", "features": [1.0, 2.0]}]}, "nodes[0].features"),
        (
            "/v1/embed",
            {"nodes": [{"id": "x", "features": {"indices": [12], "values": [1]}}]},
            "nodes[0].features.indices",
        ),
        ("/v1/embed", {"nodes": [{"id": "x", "features": {"indices": [1], "values": []}}]}, "nodes[0].features"),
        ("/v1/embed", {"nodes": [{"id": "x", "text": "words"}]}, "nodes[0].text"),
        ("/v1/embed", {"nodes": [{"id": "x", "txet": "words"}]}, "nodes[0].txet"),
        ("/v1/embed", {"nodes": [{"id": "x", "text": "words", "features": [0.5] * 12}]}, "nodes[0].text"),
        ("/v1/embed", {"nodes": [{"id": "x"}], "similar": -1}, "similar"),
        ("/v1/embed", {"nodes": [{"id": "x"}], "explain": 10**6}, "explain"),
        ("/v1/embed", {"nodes": [{"id": f"x{i}"} for i in range(257)]}, "nodes"),
        ("/v1/nodes", {"nodes": [{"id": "x", "links": ["p0", "x"]}]}, "nodes[0].links[1]"),
        ("/v1/edges", {"edges": [{"src": "p0", "dst": "p1"}, {"src": "p5", "dst": "p5"}]}, "edges[1].dst"),
        ("/v1/similar", {"k": 3}, None),
        ("/v1/similar", {"vector": [1.0]}, "vector"),
        ("/v1/similar", {"vector": [1.0], "k": 10**6}, "k"),
        ("/v1/refresh", {"limit": 0}, "limit"),
        ("/v1/edges", {"edges": [{"src": "p0"}]}, "edges[0].dst"),
    ],
    ids=str,
)
def test_bad_input_is_named(client: httpx.Client, path: str, body: Any, field: str | None) -> None:
    answer = client.post(path, json=body)
    assert error(answer, 422).get("field") == field, answer.text


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"nodes": [{"id": "\\ud800"}]}', b'{"nodes": [{"id": "x", "features": [NaN]}]}', b"[]"],
)
def test_what_is_no_json_is_refused(client: httpx.Client, body: bytes) -> None:
    error(client.post("/v1/embed", content=body, headers={"Content-Type": "application/json"}), 422)


def test_the_content_type_matters(client: httpx.Client) -> None:
    body = json.dumps({"nodes": [node()]})
    refused = error(client.post("/v1/embed", content=body, headers={"Content-Type": "text/plain"}), 422)
    assert "application/json" in refused["message"]


def test_a_name_that_is_not_this_machines_is_refused(client: httpx.Client) -> None:
    refused = client.get("/v1/nodes/p0", headers={"Host": "evil.example"})
    assert error(refused, 421)["code"] == "wrong_host"
    assert client.get("/v1/nodes/p0", headers={"Host": "localhost"}).status_code == 200


def test_a_page_of_another_origin_cannot_refresh(client: httpx.Client) -> None:
    client.post("/v1/edges", json={"edges": [{"src": "p2", "dst": "p3", "weight": 3.0}]})
    stale = client.post("/v1/refresh", json={"limit": 1}).json()["stale"]
    assert stale > 0
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert error(client.post("/v1/refresh", headers=headers), 403)["code"] == "foreign_origin"
    assert f"sanne_stale_nodes {stale:.1f}" in client.get("/metrics").text
    assert client.post("/v1/refresh", headers={"Origin": str(client.base_url).rstrip("/")}).json()["stale"] == 0


def test_unknown_paths_and_methods_have_the_same_shape(client: httpx.Client) -> None:
    assert error(client.get("/v2"), 404)["code"] == "no_such_path"
    refused = client.patch("/v1/embed")
    assert error(refused, 405)["code"] == "method_not_allowed"
    assert "POST" in refused.headers["allow"]


def test_health_readiness_and_metrics(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    ready = client.get("/readyz").json()
    assert (ready["status"], ready["reads"], ready["feature_width"]) == ("ready", "features", WIDTH)
    client.post("/v1/embed", json={"nodes": [node()]})
    text = client.get("/metrics").text
    numbers = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(numbers['sanne_requests_total{method="POST",route="/v1/embed",status="200"}']) >= 1
    assert float(numbers["sanne_nodes"]) == client.get("/readyz").json()["nodes"]
    assert float(numbers['sanne_batch_requests_count{kind="embed"}']) >= 1
    assert float(numbers["sanne_queue_nodes"]) == 0


def test_the_examples_of_the_description_work(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    tried = []
    for path, methods in paths.items():
        for method, operation in methods.items():
            asked = {}
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    path = path.replace("{" + parameter["name"] + "}", parameter["example"])
                elif parameter["required"]:
                    asked[parameter["name"]] = parameter["example"]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if method == "delete" or (method == "put" and "example" not in body):
                continue
            answer = client.request(method, path, params=asked, json=body.get("example"))
            assert answer.status_code == 200, (method, path, answer.text)
            tried.append((method, path))
    assert client.delete("/v1/nodes/new-node").status_code == 200  # the example of POST /v1/nodes
    assert len(tried) >= 10


def test_requests_that_come_together_are_answered_as_if_alone(client: httpx.Client) -> None:
    requests = [{"nodes": [node(links=["p0", f"p{i}"])], "explain": 3, "similar": 3} for i in range(1, 33)]

    def ask(request: Any) -> Any:
        return client.post("/v1/embed", json=request).json()["nodes"][0]

    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(ask, requests))
    for request, found in zip(requests, together, strict=True):
        alone = ask(request)
        assert found["vector"] == pytest.approx(alone["vector"], abs=1e-5)
        assert [part["id"] for part in found["explanation"]] == [part["id"] for part in alone["explanation"]]
    text = client.get("/metrics").text
    shared = float(re.findall(r'sanne_batch_requests_bucket{kind="embed",le="1.0"} (.*)', text)[0])
    batches = float(re.findall(r'sanne_batch_requests_count{kind="embed"} (.*)', text)[0])
    assert shared < batches  # some were computed together


def test_the_largest_request(client: httpx.Client) -> None:
    answer = client.post("/v1/embed", json={"nodes": [node() for _ in range(256)], "similar": 3})
    assert len(answer.json()["nodes"]) == 256
