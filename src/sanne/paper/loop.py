"""The training loop, and checkpoints from which an interrupted training continues exactly."""

import hashlib
import io
import json
import logging
import math
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from sanne.config import Config, TrainConfig
from sanne.errors import InputError, SanneError, first_line
from sanne.files.atomic import check_target, replaced_file, sweep
from sanne.graph.graph import Adjacency, FloatArray, Graph
from sanne.interrupts import raise_if_interrupted
from sanne.model.model import Model, Run
from sanne.model.safe_files import require_regular
from sanne.paper.batches import Batch, WalkStream
from sanne.paper.device import choose_device, torch_threads
from sanne.paper.walk_model import WALKS_AT_ONCE, WalkModel
from sanne.seeds import derived_seed

logger = logging.getLogger(__name__)

_PROBED = 6  # steps that an estimate of the time measures

# Called after every epoch with the number of epochs done; may return a validation score.
EpochHook = Callable[[int], float | None]
_DIGEST = hashlib.sha256().digest_size  # bytes at the start of the file


@dataclass
class Progress:
    """How far training has come, and its history."""

    epoch: int = 0  # epochs done
    losses: list[float] = field(default_factory=list)  # mean loss of each epoch
    scores: list[float] = field(default_factory=list)  # results of the validation hook, if there is one
    seconds: float = 0.0
    best_epoch: int = 0  # the epoch with the best score; 0: none yet


@dataclass(frozen=True)
class Checkpoint:
    """Training after an epoch."""

    progress: Progress
    model: dict[str, Tensor]
    best: dict[str, Tensor]  # the model of the best epoch, empty without a validation hook
    optimisers: list[dict[str, Any]]


def train(
    model: Model,
    adjacency: Adjacency,
    features: FloatArray,
    config: Config,
    seed: int,
    on_epoch: EpochHook | None = None,
    run: Run | None = None,
) -> Progress:
    """Train `model` in place on walks over `adjacency`; `features` is (V, width).

    If `on_epoch` returns scores, the model ends up as in the epoch with the highest one.
    """
    assert isinstance(model, WalkModel)
    run = run or Run()
    device = choose_device(config.train.device)
    model.to(device)
    rows = torch.from_numpy(features).to(device)
    stream = WalkStream(adjacency, config.walks, config.train, seed=seed)
    optimisers = make_optimisers(model, config.train)
    progress, best = Progress(), dict[str, Tensor]()
    if run.checkpoint:
        sweep(check_target(run.checkpoint))  # report a bad path now, not after the first epoch
        identity = fingerprint(adjacency, features, config.to_dict(), seed)
        if run.resume and run.checkpoint.exists():
            progress, best = _restore(model, optimisers, run.checkpoint, identity)
            logger.info("resuming after epoch %d", progress.epoch)

    bar = tqdm(
        total=config.train.epochs * stream.steps_per_epoch,
        initial=progress.epoch * stream.steps_per_epoch,
        desc="training",
        unit="step",
        disable=None if run.progress is None else not run.progress,
    )
    with bar, torch_threads(config.train.threads, config.train.batch_size * config.walks.walk_length):
        while progress.epoch < config.train.epochs:
            started = time.perf_counter()
            model.train()
            losses = torch.zeros((), dtype=torch.float64)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(derived_seed(seed, "dropout", progress.epoch))
                first = progress.epoch * stream.steps_per_epoch
                for batch in map(stream.batch, range(first, first + stream.steps_per_epoch)):
                    loss = training_step(model, rows, batch, optimisers)
                    losses += loss.cpu()
                    bar.update()
                    bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
                    raise_if_interrupted()
            mean_loss = float(losses) / stream.steps_per_epoch
            if not math.isfinite(mean_loss) or not is_finite(model):
                raise SanneError(
                    f"loss or weights are not finite in epoch {progress.epoch + 1}: lower learning_rate "
                    f"(now {config.train.learning_rate}) or look for extreme feature values"
                )
            progress.epoch += 1
            progress.losses.append(mean_loss)
            progress.seconds += time.perf_counter() - started
            if on_epoch is not None:
                best = _validate(model, progress, best, on_epoch)
            logger.info("epoch %d of %d: loss %.4f", progress.epoch, config.train.epochs, mean_loss)
            if run.checkpoint:
                states = [optimiser.state_dict() for optimiser in optimisers]
                save_checkpoint(run.checkpoint, Checkpoint(progress, model.state_dict(), best, states), identity)
    if best:
        model.load_state_dict(best)
    model.eval()
    return progress


def training_step(model: WalkModel, rows: Tensor, batch: Batch, optimisers: list[torch.optim.Optimizer]) -> Tensor:
    """Read a batch of walks, update the model, return the loss; `rows` are the features of all nodes (V, width)."""
    loss = model.loss(rows[torch.from_numpy(batch.walks).long().to(rows.device)], batch)
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
    return loss.detach()


def is_finite(model: WalkModel) -> bool:
    """Whether all weights are finite; no later loss would reveal a bad last step."""
    return all(bool(torch.isfinite(weights).all()) for weights in model.parameters())


def _validate(model: WalkModel, progress: Progress, best: dict[str, Tensor], on_epoch: EpochHook) -> dict[str, Tensor]:
    """Ask the hook for a score; keep the model if it is the best so far."""
    model.eval()
    score = on_epoch(progress.epoch)
    if score is None or math.isnan(score):
        return best
    better = score > max(progress.scores, default=-math.inf)
    progress.scores.append(float(score))
    if not better:
        return best
    progress.best_epoch = progress.epoch
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _restore(
    model: WalkModel, optimisers: list[torch.optim.Optimizer], path: Path, identity: str
) -> tuple[Progress, dict[str, Tensor]]:
    checkpoint = load_checkpoint(path, identity)
    try:
        model.load_state_dict(checkpoint.model)
        for optimiser, state in zip(optimisers, checkpoint.optimisers, strict=True):
            optimiser.load_state_dict(state)
    except (RuntimeError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: incomplete checkpoint ({first_line(error)}); delete it and fit again") from None
    return checkpoint.progress, checkpoint.best


def make_optimisers(model: WalkModel, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Adam for the encoder and heads; for a node table its own Adam that updates only the rows touched."""
    optimisers: list[torch.optim.Optimizer] = [
        torch.optim.Adam(dense_parameters(model), lr=config.learning_rate, fused=True)
    ]
    if (table := model.objective.sparse_table()) is not None:
        optimisers.append(torch.optim.SparseAdam([table], lr=config.table_learning_rate))
    return optimisers


def dense_parameters(model: WalkModel) -> list[torch.nn.Parameter]:
    """All parameters except the node table, whose gradient is sparse."""
    table = model.objective.sparse_table()
    return [parameter for parameter in model.parameters() if parameter is not table]


def probe_training(graph: Graph, features: FloatArray, model: Model, config: Config, seed: int) -> float:
    """Seconds of all steps, extrapolated from the first ones."""
    assert isinstance(model, WalkModel)
    stream = WalkStream(graph.adjacency(config.walks.direction), config.walks, config.train, seed=seed)
    optimisers = make_optimisers(model, config.train)
    rows = torch.from_numpy(features)
    model.train()
    seconds = []
    with torch_threads(config.train.threads, config.train.batch_size * config.walks.walk_length):
        for batch in map(stream.batch, range(_PROBED)):
            started = time.perf_counter()
            training_step(model, rows, batch, optimisers)
            seconds.append(time.perf_counter() - started)
    steps = config.train.epochs * stream.steps_per_epoch
    return seconds[0] + float(np.median(seconds[1:])) * (steps - 1)


def bytes_of_training(graph: Graph, model: Model, width: int) -> int:
    """Memory beyond the graph: the larger of fitting the features, and training with embedding."""
    assert isinstance(model, WalkModel)
    rows = 4 * graph.num_nodes * width
    table = model.objective.sparse_table()
    table_bytes = 0 if table is None else 4 * table.nbytes  # with its gradient and two moments
    config = model.encoder.config
    working = 4 * WALKS_AT_ONCE * len(model.encoder.positions) * (8 * config.encoder_dim + config.ff_dim)
    held = 2 * rows + table_bytes + working + 4 * graph.num_nodes * model.vector_dim
    return max(5 * rows, held)


def fingerprint(adjacency: Adjacency, features: FloatArray, settings: dict[str, Any], seed: int) -> str:
    """A digest of everything that determines a training, so that no checkpoint is resumed with other inputs."""
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

    Without the checksum, training would silently continue from a flipped bit.
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
