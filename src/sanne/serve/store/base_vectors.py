"""The vectors that a new store begins with: those of the model folder, or read anew for another graph."""

import logging
from pathlib import Path

import numpy as np

from sanne.errors import InputError
from sanne.graph.graph import FloatArray, Graph
from sanne.infer.embed import embed
from sanne.model.artifact import VECTORS, Artifact
from sanne.vectors.formats import read_vectors

logger = logging.getLogger(__name__)


def base_vectors(model_folder: str | Path, artifact: Artifact, graph: Graph) -> tuple[FloatArray, FloatArray]:
    """Vectors and spreads of a graph's nodes: as fit wrote them if this is the graph it read, else from walks."""
    fitted = artifact.record.get("data", {})
    served = {"nodes": graph.num_nodes, "edges": graph.num_edges, "directed": graph.directed}
    if all(fitted.get(name) == value for name, value in served.items()):
        try:
            kept = read_vectors(Path(model_folder) / VECTORS)
        except (InputError, OSError):
            kept = None
        if kept is not None and np.array_equal(kept.node_ids, np.asarray(graph.node_ids)):
            return kept.vectors, kept.spread
    logger.info("this is not the graph that the model was fitted on: embedding its %s nodes", f"{graph.num_nodes:,}")
    found = embed(artifact, graph)
    return found.vectors, found.spread
