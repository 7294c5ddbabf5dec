"""Send new papers to a running server, one after the other.

Some papers are hidden before training. Then they are added: each is sent with its words and its links to papers that
the server already has, and the server returns its vector, its uncertainty and the nearest papers.

    python examples/arrivals.py                          # Cora: hides 200 papers, trains, starts a server, sends them
    python examples/arrivals.py --folder run --pause 0.5 # slowly: open the printed address and watch the map
    python examples/arrivals.py --folder run --url http://127.0.0.1:8080   # use a server that you started with
                                                         # sanne serve run/model
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne import SANNE, load_graph
from sanne.cli.options import parse_settings
from sanne.graph.folder.store import save_graph
from sanne.graph.graph import Graph
from sanne.graph.split import hide_nodes
from sanne.source import ModelSource

NEAREST = 5


def main() -> None:
    options = read_options()
    graph = load_graph(options.source)
    order = np.random.default_rng(options.seed).permutation(graph.num_nodes)
    hidden = order[: min(options.hide, graph.num_nodes // 2)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if options.url:
            stream(options.url, graph, hidden, options.pause)
            return
        model = folder / "model"
        if not model.is_dir():
            fit(hide_nodes(graph, hidden), folder, options)
        with served(model) as url:
            print(f"serving at {url}")
            stream(url, graph, hidden, options.pause)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", default="cora", help="a dataset, or a folder with a graph")
    parser.add_argument("--hide", type=int, default=200, help="how many papers to add later")
    parser.add_argument("--folder", type=Path, help="where to keep model and store; default: a temporary folder")
    parser.add_argument("--url", help="a server that is already running; SANNE_TOKEN is sent to it, if set")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between two papers")
    parser.add_argument("--recipe", default="fast")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="a training setting")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def fit(before: Graph, folder: Path, options: argparse.Namespace) -> None:
    """Train a model on the papers that are not hidden."""
    folder.mkdir(exist_ok=True)
    save_graph(before, folder / "graph")
    print(f"training on {before}")
    model = SANNE(options.recipe, settings=parse_settings(options.set), random_state=options.seed).fit(before)
    model.artifact_.record["source"] = ModelSource.of(str(folder / "graph")).to_dict()
    model.save(folder / "model")


@contextmanager
def served(model: Path) -> Iterator[str]:
    """`sanne serve` on a free port, until the block ends."""
    command = [sys.executable, "-m", "sanne", "serve", str(model), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def stream(url: str, graph: Graph, hidden: Any, pause: float) -> None:
    """Send the hidden papers in turn, and print where each of them landed."""
    labels = graph.labels
    names = graph.node_ids.tolist()
    label_of = {str(name): None if labels is None else labels[row] for row, name in enumerate(names)}
    there = np.ones(graph.num_nodes, bool)
    there[hidden] = False
    adjacency = graph.adjacency()
    shared, uncertainties, seconds = [], [], []
    for count, row in enumerate(hidden.tolist(), start=1):
        neighbours = adjacency.indices[adjacency.indptr[row] : adjacency.indptr[row + 1]]
        links = [names[end] for end in neighbours if there[end]]
        node = {"id": names[row], "links": links, **described(graph, row)}
        started = time.perf_counter()
        (answer,) = post(f"{url}/v1/nodes", {"nodes": [node], "similar": NEAREST})["nodes"]
        seconds.append(time.perf_counter() - started)
        uncertainties.append(np.nan if answer["uncertainty"] is None else answer["uncertainty"])
        there[row] = True
        near = [other["id"] for other in answer["similar"]]
        same = sum(label_of[str(other)] == label_of[str(names[row])] for other in near)
        shared.append(same / len(near))
        words = f"{same} of {len(near)} with its label" if labels is not None else ""
        shown = ", ".join(map(str, near))
        print(
            f"{count:4}  {names[row]}: {len(links)} links, uncertainty {uncertainties[-1]:.3f}, near {shown}  {words}",
            flush=True,
        )
        time.sleep(pause)
    print(f"\n{len(hidden)} papers added, {1000 * np.median(seconds):.0f} ms each (median)")
    print(f"uncertainty {np.median(uncertainties):.3f} (median)")
    if labels is not None:
        chance = chance_of_same(labels)
        print(f"{np.mean(shared):.0%} of the {NEAREST} nearest papers share its label (by chance {chance:.0%})")


def described(graph: Graph, row: int) -> dict[str, Any]:
    """The attributes of a paper: its text, or the non-zero values of its features."""
    if graph.texts is not None:
        return {"text": str(graph.texts[row])}
    if graph.features is None:
        return {}
    numbers = sp.csr_matrix(graph.features[[row]])
    return {"features": {"indices": numbers.indices.tolist(), "values": numbers.data.astype(float).tolist()}}


def chance_of_same(labels: Any) -> float:
    """How often two randomly drawn papers share a label."""
    counts = np.unique(labels, return_counts=True)[1]
    return float(((counts / counts.sum()) ** 2).sum())


def post(url: str, body: dict[str, Any]) -> Any:
    """Send JSON; if the server is busy, retry after the time it asks for."""
    headers = {"content-type": "application/json"}
    if "SANNE_TOKEN" in os.environ:
        headers["authorization"] = f"Bearer {os.environ['SANNE_TOKEN']}"
    while True:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                if refused.code not in (429, 503):
                    raise SystemExit(f"the server answered {refused.code}: {refused.read().decode()}") from None
                time.sleep(float(refused.headers.get("retry-after", 1)))


if __name__ == "__main__":
    main()
