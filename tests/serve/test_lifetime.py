"""A server's end: what was accepted is finished, what was acknowledged is there afterwards, even after kill -9.

SANNE_CRASH_POSTS says how many nodes to post around the kill; `make crash-serve` posts 1,000.
"""

import os
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import httpx
import pytest
from running_server import RunningServer

POSTS = int(os.environ.get("SANNE_CRASH_POSTS", "100"))
CLIENTS = 8


def newcomer(id: str) -> dict[str, object]:
    return {"id": id, "features": [0.1] * 12, "links": [f"p{len(id)}", "p60"]}


def test_every_acknowledged_node_survives_kill_9(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    seed = random.randrange(10**6)
    kill_after = random.Random(seed).randrange(1, POSTS - CLIENTS)
    acknowledged: dict[str, list[float]] = {}
    with RunningServer(model, store) as server, ThreadPoolExecutor(CLIENTS) as pool:

        def post(number: int) -> None:
            id = f"new-{number}"
            answer = httpx.post(f"{server.url}/v1/nodes", json={"nodes": [newcomer(id)]}, timeout=60)
            assert answer.status_code == 200
            acknowledged[id] = answer.json()["nodes"][0]["vector"]
            if len(acknowledged) >= kill_after and server.process.poll() is None:
                server.process.kill()

        tasks = [pool.submit(post, number) for number in range(POSTS)]
        failures = [task.exception() for task in as_completed(tasks)]
    assert len(acknowledged) >= kill_after
    assert any(isinstance(failure, httpx.TransportError) for failure in failures)
    assert not any(isinstance(failure, AssertionError) for failure in failures)
    with RunningServer(model, store) as server:
        for id, vector in acknowledged.items():
            found = server.client.get(f"/v1/nodes/{id}")
            assert found.status_code == 200, f"{id} was acknowledged and is gone (seed {seed})"
            assert found.json()["vector"] == pytest.approx(vector, abs=1e-5)
            near = server.client.post("/v1/similar", json={"vector": vector, "k": len(acknowledged) + 200}).json()
            assert id in {item["id"] for item in near["similar"]}, f"{id} is not found (seed {seed})"
        again = server.client.post("/v1/nodes", json={"nodes": [newcomer("after-the-crash")]})
        assert again.status_code == 200
        assert server.terminate() == 0
    print(f"killed after {kill_after} of {POSTS}; {len(acknowledged)} acknowledged, all there")


def test_sigterm_finishes_what_was_accepted(model: Path, tmp_path: Path) -> None:
    def add(number: int) -> int:
        nodes = [newcomer(f"x{number}-{i}") for i in range(30)]
        return server.client.post("/v1/nodes", json={"nodes": nodes}).status_code

    with RunningServer(model, tmp_path / "store", token="a secret") as server, ThreadPoolExecutor(CLIENTS) as pool:
        for path, status in (("/healthz", 200), ("/readyz", 200), ("/metrics", 401), ("/openapi.json", 401)):
            assert httpx.get(f"{server.url}{path}").status_code == status
        slow = socket.create_connection(server.address, timeout=20)
        head = b"POST /v1/embed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a secret\r\nContent-Length: 10\r\n\r\n"
        slow.sendall(head + b"{")
        running = [pool.submit(add, number) for number in range(CLIENTS)]
        time.sleep(0.3)  # all are there by now, and hardly all are done
        started = time.perf_counter()
        server.process.terminate()
        assert [task.result() for task in running] == [200] * CLIENTS
        received = slow.recv(65536)  # not accepted yet
        assert b" 503 " in received.splitlines()[0]
        assert b'"closing"' in received
        slow.close()
        assert server.process.wait(30) == 0
        assert time.perf_counter() - started < 20
        assert server.log.read_text(encoding="utf-8") == ""
