"""Clients that are slow, endless, deep or gone: others are served all the same."""

import contextlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from running_server import RunningServer, answer_of

HEAD = b"POST /v1/embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NODE = {"nodes": [{"id": "x", "links": ["p0"]}]}


def is_served(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url, timeout=10) as other:
        assert other.post("/v1/embed", json=NODE).status_code == 200
        started = time.perf_counter()
        assert other.get("/healthz").status_code == 200
        assert time.perf_counter() - started < 1


def connect(server: RunningServer) -> socket.socket:
    return socket.create_connection(server.address, timeout=20)


def is_cut_off(client: socket.socket) -> bool:
    """Wait until the server closes a connection; whether it did so without an answer."""
    try:
        return client.recv(10) == b""
    except ConnectionResetError:
        return True


def test_300_clients_that_send_one_byte_a_second(server: RunningServer) -> None:
    clients = [connect(server) for _ in range(300)]
    for client in clients:
        client.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
    for _ in range(4):
        for client in clients:
            with contextlib.suppress(OSError):  # those who were told to go
                client.send(b" ")
        is_served(server)
        time.sleep(1)
    codes = {answer_of(client) for client in clients}
    assert codes == {(408, "body_too_slow")}
    for client in clients:
        client.close()


def test_heads_that_never_end(server: RunningServer) -> None:
    slow = [connect(server) for _ in range(50)]
    for client in slow:
        client.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
    silent = connect(server)
    is_served(server)
    assert all(is_cut_off(client) for client in (*slow, silent))
    large = connect(server)
    with contextlib.suppress(OSError):
        for _ in range(100):
            large.sendall(b"X-Large: " + b"x" * 10_000 + b"\r\n" if _ else b"GET / HTTP/1.1\r\n")
    assert is_cut_off(large)
    is_served(server)
    for client in (*slow, silent, large):
        client.close()


def test_a_body_without_length_that_never_ends(server: RunningServer) -> None:
    with connect(server) as endless:
        endless.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        sent, chunk = 0, b"10000\r\n" + b" " * 65536 + b"\r\n"
        with contextlib.suppress(OSError):
            while sent < 2**30:
                endless.sendall(chunk)
                sent += len(chunk)
        assert sent < 100 * 2**20  # it was cut off, and not by us
        is_served(server)


def memory_of(server: RunningServer) -> int:
    """Bytes of memory that the server holds."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@pytest.mark.parametrize(
    ("start", "endless"),
    [
        (b"0\r\n", b"X-More: " + b"x" * 1000 + b"\r\n"),
        (b"0\r\nX-More: ", b"x" * 1000),
        (b"1;x=", b"y" * 1000),
        (b"", b"1\r\n \r\n" * 100),
    ],
    ids=["trailers", "one trailer", "chunk extension", "small chunks"],
)
@pytest.mark.parametrize("method", [b"POST", b"GET"])
def test_every_byte_of_a_request_is_counted(server: RunningServer, method: bytes, start: bytes, endless: bytes) -> None:
    before = memory_of(server)
    with connect(server) as client:
        client.sendall(HEAD.replace(b"POST", method) + b"Transfer-Encoding: chunked\r\n\r\n" + start)
        sent, part = 0, endless * 64
        with contextlib.suppress(OSError):
            while sent < 256 * 2**20:
                client.sendall(part)
                sent += len(part)
        assert sent < 64 * 2**20  # it was cut off, and not by us
    assert memory_of(server) - before < 64 * 2**20
    is_served(server)


def test_trailers_are_not_headers(server: RunningServer) -> None:
    body = json.dumps(NODE).encode()
    chunked = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n"
    for missing, code in ((b"Host: localhost\r\n", "wrong_host"), (b"Content-Type: application/json\r\n", "invalid")):
        head = HEAD.replace(missing, b"") + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        with connect(server) as client:
            client.sendall(head + chunked + missing + b"\r\n")
            assert answer_of(client)[1] == code
    with connect(server) as client:  # harmless ones are no reason to refuse
        client.sendall(
            HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + b"X-Sum: 1\r\n\r\n"
        )
        assert client.recv(12) == b"HTTP/1.1 200"


def test_a_large_head_that_arrives_at_once(server: RunningServer) -> None:
    size = 40_000
    with connect(server) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * size + b"\r\n\r\n")
        assert answer_of(client) == (431, "head_too_large")
    with connect(server) as client:
        many = b"".join(b"X-%d: y\r\n" % number for number in range(size // 10))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + many + b"\r\n")
        assert answer_of(client) == (431, "head_too_large")
    is_served(server)


def test_a_body_that_is_too_large_is_told_so(server: RunningServer) -> None:
    with httpx.Client(base_url=server.url) as client:
        answer = client.post("/v1/embed", content=b" " * (3 * 2**20), headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "body_too_large"
        assert client.post("/v1/embed", json=NODE).status_code == 200


@pytest.mark.parametrize("deep", [b"[" * 500_000, b'{"nodes":' * 100_000, b'[{"a":' * 40 + b"1" + b"}]" * 40])
def test_a_deeply_nested_json(server: RunningServer, deep: bytes) -> None:
    answer = httpx.post(f"{server.url}/v1/embed", content=deep, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid"
    is_served(server)


def test_a_client_that_does_not_read_its_answer(server: RunningServer) -> None:
    body = json.dumps({"nodes": [{"id": f"x{i}", "links": ["p0"]} for i in range(250)], "similar": 120}).encode()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(30)
    client.connect(server.address)
    client.sendall(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def show_signs_of_life() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            client.send(b"\r\n")
            time.sleep(0.3)

    with pytest.raises(OSError, match=r"reset|Broken pipe"):
        show_signs_of_life()
    client.close()
    is_served(server)


def test_disconnects_in_the_middle(server: RunningServer) -> None:
    whole = json.dumps(NODE).encode()
    for cut in range(0, len(whole), 3):
        with connect(server) as client:
            client.sendall(HEAD + f"Content-Length: {len(whole)}\r\n\r\n".encode() + whole[:cut])
    for _ in range(20):  # a whole request, and nobody there for the answer
        with connect(server) as client:
            client.sendall(HEAD + f"Content-Length: {len(whole)}\r\n\r\n".encode() + whole)
    is_served(server)


@pytest.mark.parametrize(
    "garbage",
    [b"GARBAGE\r\n\r\n", b"\x16\x03\x01\x02", b"GET / HTTP/9.9\r\n\r\n", HEAD + b"Content-Length: -1\r\n\r\n"],
    ids=range(4),
)
def test_what_is_no_http(server: RunningServer, garbage: bytes) -> None:
    with connect(server) as client:
        client.sendall(garbage)
        assert client.recv(12) in (b"HTTP/1.1 400", b"")
    is_served(server)


def test_too_many_connections_are_refused_and_forgotten(server: RunningServer) -> None:
    clients = [connect(server) for _ in range(1100)]
    time.sleep(0.5)
    clients[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert clients[-1].recv(12) == b"HTTP/1.1 503"
    for client in clients:
        client.close()
    time.sleep(0.5)
    is_served(server)


def test_health_stays_quick_while_the_worker_computes(server: RunningServer) -> None:
    nodes = {"nodes": [{"id": f"x{i}", "features": [0.5] * 12, "links": ["p0", "p1"]} for i in range(256)]}
    done = threading.Event()
    times = []

    def load() -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            while not done.is_set():
                assert client.post("/v1/embed", json=nodes).status_code in (200, 429)

    with ThreadPoolExecutor(4) as pool, httpx.Client(base_url=server.url) as client:
        loads = [pool.submit(load) for _ in range(4)]
        for _ in range(40):
            started = time.perf_counter()
            assert client.get("/healthz").status_code == 200
            times.append(time.perf_counter() - started)
            time.sleep(0.02)
        done.set()
        for one in loads:
            one.result()
    assert sorted(times)[len(times) // 2] < 0.1
