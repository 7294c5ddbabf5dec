"""Community extraction from vectors: k-means, judged by labels (NMI, ARI) and by the graph (modularity)."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from sanne.device import calm_threads
from sanne.errors import InputError
from sanne.evaluate.splits import has_label
from sanne.progress import steps
from sanne.seeds import derived_seed
from sanne.vectors.normalise import unit


def score_communities(
    vectors: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    adjacency: Any | None = None,
    num_communities: int | None = None,
    num_starts: int = 10,
    seed: int = 0,
    progress: bool | None = False,
) -> dict[str, float | None]:
    """Cluster vectors by direction; compare the clusters with labels (NMI, ARI) and with the graph (modularity).

    labels: (n,); nodes labelled -1 or "" are clustered but not compared.
    adjacency: (n, n) scipy matrix, as `graph.adjacency().to_scipy()` gives it.
    num_communities: by default, as many as there are labels.

    >>> score_communities(model.embedding_, graph.labels, adjacency=graph.adjacency().to_scipy())["nmi"]
    """
    rows = np.asarray(vectors, np.float64)
    names = None if labels is None else np.asarray(labels)
    if names is not None and names.shape != (len(rows),):
        raise InputError(f"{len(rows)} vectors but labels of shape {names.shape}: give one label per vector")
    known = None if names is None else has_label(names)
    if num_communities is None:
        if names is None:
            raise InputError("how many communities? give num_communities (--communities), or labels to count")
        num_communities = len(np.unique(names[known].astype(str)))
    if not 1 <= num_communities <= len(rows):
        raise InputError(f"{num_communities} communities of {len(rows)} nodes: choose 1 to {len(rows)}")
    directions = unit(rows)
    distinct = len(np.unique(directions, axis=0)) if num_communities > 1 else 1
    stream = np.random.RandomState(derived_seed(seed, "cluster") % 2**31)
    starts = steps(range(num_starts), of="k-means", unit="start", shown=progress)
    with calm_threads(rows):  # as KMeans with n_init does, which tells nobody how far it is
        tried = [KMeans(min(num_communities, distinct), n_init=1, random_state=stream).fit(directions) for _ in starts]
    found = np.asarray(min(tried, key=lambda one: one.inertia_).labels_, np.int64)
    scores = dict.fromkeys(("nmi", "ari", "modularity"))
    if names is not None:
        truth, same = names[known].astype(str), found[known]
        scores["nmi"] = float(normalized_mutual_info_score(truth, same))
        scores["ari"] = float(adjusted_rand_score(truth, same))
    if adjacency is not None:
        scores["modularity"] = modularity(adjacency, found)
    return {"num_communities": num_communities, **scores}


def modularity(adjacency: Any, communities: npt.NDArray[np.int64]) -> float:
    """Newman's modularity, of directed graphs as well; edge weights count, isolated nodes do not."""
    matrix = sp.csr_matrix(adjacency, dtype=np.float64)
    count = len(communities)
    total = float(matrix.sum())
    if total == 0:
        return 0.0
    member = sp.csr_matrix((np.ones(count), (np.arange(count), communities)))
    inside = float((member.T @ matrix @ member).diagonal().sum())
    leaving = np.asarray(matrix.sum(axis=1)).ravel() @ member
    entering = np.asarray(matrix.sum(axis=0)).ravel() @ member
    return inside / total - float(leaving @ entering) / total**2
