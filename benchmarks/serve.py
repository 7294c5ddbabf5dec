"""Measure the server on Cora: speed with and without batching, ten times the load it can take, memory, recovery.

python benchmarks/serve.py speed overload [--model FOLDER]

Writes its part of benchmarks/results/serve.json. Without --model, Cora is fitted first (recipe best).
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from http_load import Connection, as_get, as_post, closed_loop, milliseconds, open_loop

from sanne.datasets.catalogue import load_dataset
from sanne_lab.bench.machine import describe_machine

RESULTS = Path(__file__).parent / "results" / "serve.json"
CLIENTS = 16
MEASURED_SECONDS = 15.0
WARM_UP_SECONDS = 3.0
OVERLOAD_SECONDS = 120.0
OVERLOAD_FACTOR = 10
OVERLOAD_CONNECTIONS = 500
RECOVERY_SECONDS = 5.0
_numbers = itertools.count(1)  # of newcomers: no id twice in a run


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    host: str
    port: int
    pid: int

    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def processor_seconds(self) -> float:
        """What the process has used so far, of all cores."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metric(self, name: str) -> float:
        """A number of /metrics, by its name and labels."""
        with urllib.request.urlopen(f"http://{self.host}:{self.port}/metrics") as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.rsplit(" ", 1)[1])
        return 0.0


@contextlib.contextmanager
def running(model: Path, *limits: str) -> Iterator[Server]:
    """`sanne serve` with an empty store, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sanne", "serve", str(model), "--port", "0", "--json"]
        command += ["--store", f"{folder}/store", *(part for limit in limits for part in ("--set", limit))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            started = json.loads(process.stdout.readline())
            host, port = started["url"].removeprefix("http://").split(":")
            try:
                yield Server(host, int(port), process.pid)
            finally:
                process.terminate()
                process.wait(60)


class Newcomers:
    """Requests for papers that look like Cora's own: the words and the links of a paper that is there."""

    def __init__(self, path: str = "/v1/embed") -> None:
        graph = load_dataset("cora")
        assert graph.features is not None or graph.texts is not None
        self._random = random.Random(0)
        self._path = path
        self._nodes = [self._describe(graph, node) for node in range(graph.num_nodes)]

    @staticmethod
    def _describe(graph: Any, node: int) -> dict[str, Any]:
        links = graph.node_ids[graph.indices[graph.indptr[node] : graph.indptr[node + 1]]].tolist()
        described: dict[str, Any] = {"links": links}
        if graph.features is not None:
            row = graph.features[[node]]
            indices = row.nonzero()[1]
            described["features"] = {"indices": indices.tolist(), "values": row[0, indices].toarray()[0].tolist()}
        else:
            described["text"] = str(graph.texts[node])
        return described

    def __call__(self) -> bytes:
        node = self._random.choice(self._nodes)
        return as_post(self._path, {"nodes": [{"id": -next(_numbers), **node}]})


def measure(server: Server, path: str, clients: int, seconds: float = MEASURED_SECONDS) -> dict[str, Any]:
    """Clients that each send one new node after the other."""
    kind = "embed" if path == "/v1/embed" else "add"
    names = [f'sanne_batch_requests_{part}{{kind="{kind}"}}' for part in ("sum", "count")]
    before, used = [server.metric(name) for name in names], server.processor_seconds()
    newcomers = Newcomers(path)
    work = closed_loop(server.host, server.port, newcomers, clients=clients, seconds=seconds, warm_up=WARM_UP_SECONDS)
    result = {"path": path, "clients": clients} | asyncio.run(work).summary()
    requests, batches = (server.metric(name) - old for name, old in zip(names, before, strict=True))
    result["requests_a_batch"] = round(requests / batches, 2)
    result["processor_ms_a_request"] = round((server.processor_seconds() - used) / requests * 1000, 2)
    return result


def speed(model: Path) -> dict[str, Any]:
    """One client alone, and 16 with and without batching."""
    with running(model) as server:
        batched = [measure(server, path, clients) for path in ("/v1/embed", "/v1/nodes") for clients in (1, CLIENTS)]
    with running(model, "max_batch_nodes=1") as server:
        one_by_one = [measure(server, path, CLIENTS) for path in ("/v1/embed", "/v1/nodes")]
    gain = {
        row["path"]: round(other["accepted_per_second"] / row["accepted_per_second"], 2)
        for row, other in zip(one_by_one, batched[1::2], strict=True)
    }
    return {"batched": batched, "one_by_one": one_by_one, "times_as_fast": gain}


def overload(model: Path) -> dict[str, Any]:
    """Ten times the load that the server can take, for two minutes, and what it is like right afterwards."""
    with running(model) as server:
        before = measure(server, "/v1/embed", CLIENTS)
        rate = OVERLOAD_FACTOR * before["accepted_per_second"]
        with watching(server) as watch:
            work = open_loop(
                server.host,
                server.port,
                Newcomers(),
                rate=rate,
                connections=OVERLOAD_CONNECTIONS,
                seconds=OVERLOAD_SECONDS,
            )
            tally, held_back = asyncio.run(work)
            during = tally.summary() | {"asked_per_second": round(rate, 1), "held_back_by_the_client": held_back}
        healths = watch()
        recovered = asyncio.run(recovery(server, before["accepted_p99_ms"] / 1000))
        after = measure(server, "/v1/embed", CLIENTS, RECOVERY_SECONDS)
    return {"before": before, "during": during, **healths, "seconds_until_normal": recovered, "after": after}


@contextlib.contextmanager
def watching(server: Server) -> Iterator[Callable[[], dict[str, Any]]]:
    """Meanwhile, in a process of its own, ask for /healthz every 50 ms, and note the server's memory every second."""
    memory: list[int] = [server.memory()]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            memory.append(server.memory())

    command = [sys.executable, __file__, "probe", "--port", str(server.port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as probe:
        watcher = threading.Thread(target=watch)
        watcher.start()
        result: dict[str, Any] = {}
        try:
            yield lambda: result
        finally:
            ended.set()
            watcher.join()
            output, _ = probe.communicate("\n", timeout=30)
            third = max(1, len(memory) // 3)
            mebibytes = [round(value / 2**20) for value in memory]
            result |= {"healthz": json.loads(output)}
            result["memory_mib"] = {
                "before": mebibytes[0],
                "most": max(mebibytes),
                "mean_of_first_third": round(sum(mebibytes[:third]) / third),
                "mean_of_last_third": round(sum(mebibytes[-third:]) / third),
            }


async def probe(port: int) -> None:
    """Ask for /healthz until a line comes in, then print how long the answers took."""
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    connection = await Connection.open("127.0.0.1", port)
    seconds = []
    while not ended.done():
        sent = time.perf_counter()
        status, _ = await connection.ask(as_get("/healthz"))
        assert status == 200
        seconds.append(time.perf_counter() - sent)
        await asyncio.sleep(0.05)
    sys.stdout.write(json.dumps({"asked": len(seconds), **milliseconds(seconds)}))


async def recovery(server: Server, normal: float) -> float:
    """Seconds until twenty requests in a row are answered 200 within the normal time."""
    newcomers = Newcomers()
    started, in_a_row = time.perf_counter(), 0
    connection = await Connection.open(server.host, server.port)
    while in_a_row < 20 and time.perf_counter() - started < 60:
        sent = time.perf_counter()
        status, _ = await connection.ask(newcomers())
        in_a_row = in_a_row + 1 if status == 200 and time.perf_counter() - sent <= normal else 0
    connection.close()
    return round(time.perf_counter() - started, 2)


def fitted(folder: Path) -> Path:
    """Cora fitted with the recipe best, as the command line does it."""
    command = [sys.executable, "-m", "sanne", "fit", "cora", "--recipe", "best", "--out", str(folder / "cora")]
    subprocess.run(command, check=True)
    return folder / "cora"


def write(results: dict[str, Any]) -> None:
    """Replace the parts of the results file that were measured now."""
    old = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(old | {"machine": describe_machine()} | results, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modes", nargs="+", choices=["speed", "overload", "probe"])
    parser.add_argument("--model", type=Path, help="a model of Cora")
    parser.add_argument("--port", type=int, help="probe: the server's port")
    options = parser.parse_args()
    if "probe" in options.modes:
        asyncio.run(probe(options.port))
        return
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or fitted(Path(folder))
        for mode in options.modes:
            result = {"speed": speed, "overload": overload}[mode](model)
            load = round(os.getloadavg()[0], 1)
            write({mode: result | {"load_average_after": load}})
            sys.stderr.write(json.dumps({mode: result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
