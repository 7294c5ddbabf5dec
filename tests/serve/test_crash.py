"""A server's end: what was accepted is finished, what was acknowledged is there afterwards, even after kill -9.

SANNE_CRASH_POSTS says how many nodes to post around the kill; `make crash-serve` posts 1,000.
"""

import os
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from running_server import RunningServer, answer_of

POSTS = int(os.environ.get("SANNE_CRASH_POSTS", "100"))
CLIENTS = 8


def newcomer(id: str) -> dict[str, object]:
    return {"id": id, "features": [0.1] * 12, "links": [f"p{len(id)}", "p60"]}


def test_what_was_acknowledged_survives_kill_9_and_sigterm_finishes_what_was_accepted(
    model: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    kill_after = random.SystemRandom().randrange(1, POSTS - CLIENTS)
    with RunningServer(model, store, "--set", "max_queue_seconds=60") as server:
        acknowledged = post_until_killed(server, kill_after)
    print(f"killed after {kill_after} of {POSTS}; {len(acknowledged)} were acknowledged")
    with RunningServer(
        model, store, "--set", "max_queue_seconds=60", "--set", "receive_seconds=5", token="a secret"
    ) as server:
        for id, vector in acknowledged.items():
            is_there(server.client, id, vector)
        needs_its_token(server)
        ends_well(server)


def post_until_killed(server: RunningServer, kill_after: int) -> dict[str, list[float]]:
    """Ids and vectors that were acknowledged; the server is killed while several requests are under way."""
    acknowledged: dict[str, list[float]] = {}

    def post(number: int) -> None:
        id = f"new-{number}"
        answer = server.client.post("/v1/nodes", json={"nodes": [newcomer(id)]})
        assert answer.status_code == 200
        acknowledged[id] = answer.json()["nodes"][0]["vector"]
        if len(acknowledged) >= kill_after:
            server.process.kill()

    with ThreadPoolExecutor(CLIENTS) as pool:
        failures = [task.exception() for task in [pool.submit(post, number) for number in range(POSTS)]]
    assert kill_after <= len(acknowledged) < POSTS
    assert all(failure is None or isinstance(failure, httpx.TransportError) for failure in failures)
    return acknowledged


def is_there(client: httpx.Client, id: str, vector: list[float]) -> None:
    found = client.get(f"/v1/nodes/{id}")
    assert found.status_code == 200, f"{id} was acknowledged and is gone"
    assert found.json()["vector"] == pytest.approx(vector, abs=1e-6)
    near = client.post("/v1/similar", json={"vector": vector, "k": 1000}).json()["similar"]
    assert id in {item["id"] for item in near}, f"{id} was acknowledged and is not found"


def needs_its_token(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url) as stranger:
        for path, status in (("/healthz", 200), ("/readyz", 200), ("/metrics", 401), ("/openapi.json", 401)):
            assert stranger.get(path).status_code == status
        assert stranger.get("/metrics", headers={"Authorization": "Bearer b"}).status_code == 401
    assert server.client.get("/metrics").status_code == 200


def ends_well(server: RunningServer) -> None:
    """SIGTERM: requests that were accepted are answered, one that is not sent in time is not waited for."""

    def add(number: int) -> int:
        nodes = [newcomer(f"x{number}-{i}") for i in range(30)]
        return server.client.post("/v1/nodes", json={"nodes": nodes}).status_code

    with ThreadPoolExecutor(CLIENTS) as pool, socket.create_connection(server.address, timeout=20) as slow:
        head = b"POST /v1/embed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a secret\r\nContent-Length: 10\r\n\r\n"
        slow.sendall(head + b"{")
        running = [pool.submit(add, number) for number in range(CLIENTS)]
        time.sleep(1)  # all are there by now
        server.process.terminate()
        assert [task.result() for task in running] == [200] * CLIENTS
        assert answer_of(slow) == (408, "body_too_slow")
    assert server.process.wait(30) == 0
    assert server.log.read_text(encoding="utf-8") == ""
