"""One fitted model and one running server for most tests of the server."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from running_server import RunningServer, fit_and_save

from planted import TINY, planted_graph
from sanne import NodeClassifier


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a planted graph of 120 nodes, p0 to p119, with 12 features, and with a classifier of its groups."""
    graph = planted_graph()
    folder = fit_and_save(tmp_path_factory.mktemp("served"), graph, TINY)
    NodeClassifier(folder).fit(graph.node_ids, graph.labels).save(folder)
    return folder


# A server with little patience. The rest is as it comes.
LIMITS = (
    "receive_seconds=3",
    "keep_alive_seconds=2",
    "max_connections=1000",
    "max_queue_seconds=60",  # the machine may be slow
)


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that the tests of a file share: it takes longer to start than they take, and the fuzz deletes nodes."""
    options = [part for limit in LIMITS for part in ("--set", limit)]
    with RunningServer(model, tmp_path_factory.mktemp("shared") / "store", *options) as running:
        yield running
        assert running.process.poll() is None, running.log.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def client(server: RunningServer) -> httpx.Client:
    """A client of that server."""
    return server.client
