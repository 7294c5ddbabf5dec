"""Embed a graph folder with a rival, where the rivals are installed: that Python runs this file, one run a process.

    .venv-rivals/bin/python -I benchmarks/rivals/embed.py FOLDER fastrp|cleora|scipy|pecanpy|sage

128 columns out. Prints one JSON object with the seconds of building and embedding, processor time and peak memory, and
what the rival cannot do. All but `sage` read links alone.
"""

import json
import resource
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

DIM = 128


def fastrp(indptr: Any, indices: Any) -> Any:
    """The Rust wheel."""
    from fastrp import fit_csr

    values = np.ones(len(indices), np.float32)
    weights = [0.0, 1.0, 1.0, 1.0]
    return fit_csr(indptr, indices, values, len(indptr) - 1, DIM, weights=weights, seed=0, undirected=False)


def cleora(indptr: Any, indices: Any) -> Any:
    """Four rounds without whitening; it reads edges as strings."""
    from pycleora import SparseMatrix, embed

    sources = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    once = sources < indices
    edges = (f"{a} {b}" for a, b in zip(sources[once].tolist(), indices[once].tolist(), strict=True))
    graph = SparseMatrix.from_iterator(edges, "complex::reflexive::node")
    return embed(graph, feature_dim=DIM, num_iterations=4, whiten=False)


def pecanpy(indptr: Any, indices: Any) -> Any:
    """node2vec by PecanPy with p = q = 1: one walk of 8 nodes a node, one epoch of skip-gram, two threads."""
    from pecanpy import pecanpy

    graph = pecanpy.FirstOrderUnweighted(workers=2, random_state=0)
    graph.data, graph.indptr, graph.indices = np.ones(len(indices), np.float32), indptr, indices.astype(np.uint32)
    graph.set_node_ids([str(node) for node in range(len(indptr) - 1)])
    return graph.embed(dim=DIM, num_walks=1, walk_length=8, window_size=5, epochs=1)


def sage(indptr: Any, indices: Any) -> Any:
    """GraphSAGE of PyG's layers: mean of 10 sampled neighbours, two layers, the unsupervised loss of the paper.

    500 batches of 256 edges with a random node each as negatives, then all nodes by full neighbourhoods. PyG's own
    samplers need pyg-lib, which has no wheel for this torch, so neighbours are sampled here.
    """
    import torch
    from torch_geometric.nn import SAGEConv

    features, stream = np.load(Path(sys.argv[1]) / "features.npy", mmap_mode="r"), np.random.default_rng(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # for batches as small as these
    nodes, width, few = len(indptr) - 1, features.shape[1], 10
    layers = torch.nn.ModuleList([SAGEConv(width, DIM), SAGEConv(DIM, DIM)])
    optimiser = torch.optim.Adam(layers.parameters(), 1e-3)

    def sampled(of: Any) -> Any:
        degrees = np.diff(indptr)[of][:, None]
        drawn = indices[
            np.minimum(
                indptr[of][:, None] + stream.integers(1 << 40, size=(len(of), few)) % np.maximum(degrees, 1),
                len(indices) - 1,
            )
        ]
        return np.where(degrees > 0, drawn, of[:, None]).ravel()

    def layer(number: int, rows: Any, own: Any) -> Any:
        places = torch.arange(len(own)).repeat_interleave(few)
        return layers[number]((rows, own), torch.stack([torch.arange(len(rows)), places]))

    def embedded(of: Any) -> Any:
        near = sampled(of)
        far, both = sampled(np.concatenate([of, near])), np.concatenate([of, near])
        hidden = torch.relu(layer(0, torch.from_numpy(features[far]), torch.from_numpy(features[both])))
        return layer(1, hidden[len(of) :], hidden[: len(of)])

    sources = np.repeat(np.arange(nodes), np.diff(indptr))
    for _ in range(500):
        picked = stream.integers(len(indices), size=256)
        ends = np.concatenate([sources[picked], indices[picked], stream.integers(nodes, size=256)])
        one, other, random = embedded(ends).chunk(3)
        scores = torch.cat([(one * other).sum(1), -(one * random).sum(1)])
        loss = torch.nn.functional.softplus(-scores).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        rows = torch.from_numpy(np.array(features))
        arcs = torch.sparse_csr_tensor(torch.from_numpy(indptr), torch.from_numpy(indices), torch.ones(len(indices)))
        degrees = torch.from_numpy(np.maximum(np.diff(indptr), 1)).float()[:, None]
        for number, each in enumerate(layers):
            rows = each.lin_l(arcs @ rows / degrees) + each.lin_r(rows)
            rows = torch.relu(rows) if number == 0 else rows
    return rows


def plain_fastrp(indptr: Any, indices: Any) -> Any:
    """FastRP in ten lines of scipy, one thread."""
    import scipy.sparse as sp

    nodes = len(indptr) - 1
    adjacency = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), (nodes, nodes))
    step = sp.diags((1 / np.maximum(np.diff(indptr), 1)).astype(np.float32)) @ adjacency
    rows = np.random.default_rng(0).choice(np.array([-1, 0, 1], np.float32), (nodes, DIM), p=[1 / 6, 2 / 3, 1 / 6])
    total = np.zeros_like(rows)
    for _ in range(3):
        rows = step @ rows
        total += rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return total


LINKS_ALONE = ["features", "text", "newcomers"]  # newcomers: without running over the whole graph again
RIVALS = {
    "fastrp": (fastrp, "fastrp", LINKS_ALONE),
    "cleora": (cleora, "pycleora", LINKS_ALONE),
    "scipy": (plain_fastrp, "scipy", LINKS_ALONE),
    "pecanpy": (pecanpy, "pecanpy", LINKS_ALONE),
    "sage": (sage, "torch_geometric", ["text"]),
}


def _peak_bytes() -> int:
    """Of this process alone: `ru_maxrss` begins with that of the process which started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    embed, package, cannot = RIVALS[name]
    arrays = [np.array(np.load(folder / f"{part}.npy"), np.int64) for part in ("indptr", "indices")]
    started = time.perf_counter()
    vectors = embed(*arrays)
    seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "rival": name,
        "version": metadata.version(package),
        "shape": list(np.shape(vectors)),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_bytes": _peak_bytes(),
        "cannot": cannot,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
