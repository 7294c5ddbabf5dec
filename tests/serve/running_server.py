"""A server as a user starts it: a process of its own on a free port, with a real model, graph and store."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import httpx

from sanne.estimator import SANNE
from sanne.graph.folder.store import save_graph
from sanne.graph.graph import Graph
from sanne.source import ModelSource

START_SECONDS = 120  # on cores that are busy with other things


def fit_and_save(folder: Path, graph: Graph, settings: dict[str, Any]) -> Path:
    """A model folder that remembers its graph, as `sanne fit` leaves it."""
    save_graph(graph, folder / "graph")
    model = SANNE(settings=settings, progress=False).fit(graph)
    model.artifact_.record["source"] = ModelSource.of(str(folder / "graph")).to_dict()
    model.save(folder / "model")
    return folder / "model"


class RunningServer:
    """`python -m sanne serve` until it is stopped; `client` talks to it."""

    def __init__(self, model: Path, store: Path, *options: str, token: str | None = None) -> None:
        command = [sys.executable, "-m", "sanne", "serve", str(model), "--store", str(store), "--port", "0", "--json"]
        self.log = store.with_name(store.name + ".log")
        environment = {name: value for name, value in os.environ.items() if name != "SANNE_TOKEN"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *options],
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment | ({} if token is None else {"SANNE_TOKEN": token}),
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text(encoding="utf-8")
        self.url: str = json.loads(line)["url"]
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.client = httpx.Client(base_url=self.url, headers=headers, timeout=START_SECONDS)

    @property
    def address(self) -> tuple[str, int]:
        url = httpx.URL(self.url)
        assert url.port is not None
        return url.host, url.port

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait(60)
        self.client.close()
        assert self.process.stdout is not None
        self.process.stdout.close()


def answer_of(connection: socket.socket) -> tuple[int, str]:
    """Status and error code of whatever comes before the connection is closed."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]
