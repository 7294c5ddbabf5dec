"""Checkpoints: all that an interrupted training needs to continue exactly, in one file.

Random choices depend on the seed and the step alone, so no random state needs to be saved.
"""

import hashlib
import io
import json
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sanne.errors import InputError, first_line
from sanne.files.atomic import replaced_file
from sanne.graph.graph import Adjacency, FloatArray
from sanne.model.safe_files import require_regular

_DIGEST = hashlib.sha256().digest_size  # bytes at the start of the file


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
    content = io.BytesIO()
    torch.save({**vars(checkpoint), "progress": vars(checkpoint.progress), "identity": identity}, content)
    with replaced_file(path) as part, part.open("wb") as file:
        file.write(hashlib.sha256(content.getbuffer()).digest())
        file.write(content.getbuffer())


def load_checkpoint(path: Path, identity: str) -> Checkpoint:
    """Read a checkpoint; refuse one of another graph or of other settings.

    The checksum is there because training would continue from a flipped bit without anyone noticing.
    """
    try:
        require_regular(path)
        content = memoryview(path.read_bytes())
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            raise ValueError("its checksum does not match")
        state = torch.load(io.BytesIO(content[_DIGEST:]), map_location="cpu", weights_only=True)
        if state.pop("identity") == identity:
            return Checkpoint(**state | {"progress": Progress(**state["progress"])})
    except (OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError, pickle.PickleError) as error:
        raise InputError(f"{path}: not a readable checkpoint ({first_line(error)}); delete it and fit again") from None
    raise InputError(
        f"{path}: this checkpoint belongs to another graph or to other settings; "
        "resume with those it was made with, or delete it and fit again"
    )
