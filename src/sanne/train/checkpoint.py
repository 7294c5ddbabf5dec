"""Checkpoints: all that an interrupted training needs to continue exactly, in one safetensors file.

Random choices depend on the seed and the step alone, so no random state needs to be saved.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sanne.errors import InputError
from sanne.files.atomic import replaced_file
from sanne.graph.graph import Adjacency, FloatArray
from sanne.model.safe_files import Shapes, check_shapes, read_tensors, tensor_shapes, under


@dataclass
class Progress:
    """How far training is, and what it has seen."""

    epoch: int = 0  # epochs done
    losses: list[float] = field(default_factory=list)  # mean loss of each epoch
    scores: list[float] = field(default_factory=list)  # what the validation hook gave, if there is one
    seconds: float = 0.0
    best_epoch: int = 0  # the epoch with the best score; 0: none yet


@dataclass(frozen=True)
class Checkpoint:
    """Training after an epoch."""

    progress: Progress
    model: dict[str, Tensor]
    best: dict[str, Tensor]  # the model of the best epoch, empty without a validation hook
    optimisers: list[dict[str, Any]]


def fingerprint(adjacency: Adjacency, features: FloatArray, settings: dict[str, Any], seed: int) -> str:
    """A digest of all that decides a training, so that a checkpoint is never resumed on something else."""
    digest = hashlib.sha256(json.dumps([settings, seed], sort_keys=True).encode())
    for array in (adjacency.indptr, adjacency.indices, adjacency.weights, features):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def save_checkpoint(path: Path, checkpoint: Checkpoint, identity: str) -> None:
    """Write a checkpoint, replacing the last one atomically."""
    tensors = {f"model/{name}": tensor for name, tensor in checkpoint.model.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in checkpoint.best.items()}
    plain: list[dict[str, Any]] = []
    for number, state in enumerate(checkpoint.optimisers):
        values: dict[str, Any] = {"groups": state["param_groups"], "state": {}}
        for parameter, entries in state["state"].items():
            for name, value in entries.items():
                if isinstance(value, Tensor):
                    tensors[f"optimiser/{number}/{parameter}/{name}"] = value
                else:
                    values["state"].setdefault(str(parameter), {})[name] = value
        plain.append(values)
    header = json.dumps({"progress": asdict(checkpoint.progress), "optimisers": plain, "identity": identity})
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replaced_file(path) as part:
        save_file(contiguous, part, metadata={"sanne": header, "sha256": checksum(header, contiguous)})


def possible_shapes(model: torch.nn.Module, optimisers: list[torch.optim.Optimizer]) -> Shapes:
    """The tensors that a checkpoint of a training may hold."""
    states = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    shapes = {f"{part}/{name}": shape for part in ("model", "best") for name, shape in states.items()}
    for number, optimiser in enumerate(optimisers):
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        for index, parameter in enumerate(parameters):
            for entry, shape in (("step", ()), ("exp_avg", parameter.shape), ("exp_avg_sq", parameter.shape)):
                shapes[f"optimiser/{number}/{index}/{entry}"] = tuple(shape)
    return shapes


def load_checkpoint(path: Path, identity: str, possible: Shapes) -> Checkpoint:
    """Read a checkpoint; refuse one of another graph or of other settings.

    `possible` are the tensors that it may hold. Others are refused before any is read.
    """
    try:
        shapes = tensor_shapes(path)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        header = json.loads(metadata["sanne"])
        if header["identity"] == identity:
            check_shapes(shapes, {name: possible[name] for name in shapes.keys() & possible.keys()})
            return _read_checkpoint(path, metadata, header)
    except (SafetensorError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not a readable checkpoint ({error}); delete it and fit again") from None
    raise InputError(
        f"{path}: this checkpoint belongs to another graph or to other settings; "
        "resume with those it was made with, or delete it and fit again"
    )


def _read_checkpoint(path: Path, metadata: dict[str, str], header: dict[str, Any]) -> Checkpoint:
    tensors = read_tensors(path)
    if metadata["sha256"] != checksum(metadata["sanne"], tensors):
        raise ValueError("its checksum does not match")
    optimisers = [_optimiser(number, values, tensors) for number, values in enumerate(header["optimisers"])]
    progress = Progress(**header["progress"])
    return Checkpoint(progress, under("model/", tensors), under("best/", tensors), optimisers)


def checksum(header: str, tensors: dict[str, Tensor]) -> str:
    """A checksum of the whole checkpoint: training would continue from a flipped bit without anyone noticing."""
    digest = hashlib.sha256(header.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _optimiser(number: int, values: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The state of one optimiser: plain values from the header, the rest from the tensors."""
    state = {int(parameter): dict(entries) for parameter, entries in values["state"].items()}
    for name, tensor in under(f"optimiser/{number}/", tensors).items():
        parameter, entry = name.split("/")
        state.setdefault(int(parameter), {})[entry] = tensor
    return {"state": state, "param_groups": values["groups"]}


def copy_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """The model's tensors, copied."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
