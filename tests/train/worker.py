"""One of several training processes, for test_distributed.py: writes what it ended with into a folder."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from planted import planted_graph, trained_config
from sanne.config import Config
from sanne.errors import SanneError
from sanne.estimator import SANNE
from sanne.graph.graph import Graph
from sanne.model.neighbours import NeighbourSoftmax
from sanne.train.distributed import is_first_process
from sanne.train.fit import fit_model


def uneven_graph() -> Graph:
    """Planted groups whose arcs have a direction, so that some walks end early and shares have unequal weight."""
    planted = planted_graph(seed=1)
    sources = np.repeat(np.arange(planted.num_nodes), np.diff(planted.indptr))
    forward = sources < planted.indices
    return Graph.from_edges(
        sources[forward],
        planted.indices[forward],
        node_ids=planted.node_ids,
        features=planted.features,
        labels=planted.labels,
        directed=True,
    )


def settings() -> Config:
    """33 walks a batch, so that one process has more of them than the other."""
    return trained_config(direction="along", batch_size=33, gradient_clip=0.5, learning_rate=3e-3)


def outcome(config: Config, seed: int = 0, hook: Any = None) -> str:
    try:
        fit_model(uneven_graph(), config, seed, on_epoch=hook)
    except (SanneError, ZeroDivisionError) as error:
        return f"{type(error).__name__}: {error}"
    return "fitted"


def fail(artifact: Any, epoch: int) -> float:
    return 1 / 0


def main(folder: Path) -> None:
    first = is_first_process()
    name = "first" if first else "second"
    report: dict[str, Any] = {}
    scored: list[int] = []
    artifact = fit_model(uneven_graph(), settings(), 0, on_epoch=lambda _, epoch: scored.append(epoch))
    save_file(artifact.model.state_dict(), folder / f"{name}.safetensors")
    report["fit"] = {"losses": artifact.record["losses"], "hook_calls": scored}

    # What the command of the test with a killed process does, without the kill.
    command = json.loads((folder / "command.json").read_text(encoding="utf-8"))
    model = SANNE(settings=command).fit(str(folder))
    if first:
        model.save(folder / "undisturbed")

    report["other seed"] = outcome(settings(), seed=0 if first else 1)
    report["more processes than walks"] = outcome(settings().replace(batch_size=1))
    report["error in the first"] = outcome(settings(), hook=fail)
    if not first:
        NeighbourSoftmax.loss = lambda self, encoder, features, batch: encoder(features).sum() * torch.nan  # type: ignore[method-assign,assignment]
    report["loss not finite in the second"] = outcome(settings())
    (folder / f"{name}.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
