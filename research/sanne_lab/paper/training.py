"""One training by the paper's protocol: an epoch at a time, scored after each, and resumed where it stopped."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sanne.errors import InputError, SanneError
from sanne.evaluate.node_classification import SplitScore
from sanne.files.atomic import replaced_file
from sanne.graph.graph import FloatArray
from sanne.paper.batches import Batch
from sanne.paper.device import torch_threads
from sanne.paper.encoder import WalkEncoder
from sanne.paper.loop import dense_parameters, is_finite, training_step
from sanne.paper.neighbours import NeighbourSoftmax
from sanne.paper.walk_model import WalkModel
from sanne.seeds import derived_seed, numpy_stream
from sanne.vectors.normalise import unit
from sanne.walks.sample import Walks
from sanne_lab.evaluate.node_classification import predict_arrays
from sanne_lab.paper.grid import FIXED, MAX_EPOCHS, Candidate
from sanne_lab.paper.inputs import Inputs, make_inputs
from sanne_lab.paper.records import Epoch

CS = tuple(2.0**power for power in range(-4, 7, 2))  # of the classifier; validation chooses
BLOCK = 100  # steps that share a stream of dropout; a checkpoint is taken between blocks only
CHECKPOINT_SECONDS = 120.0

Clock = Callable[[], float]


class Training:
    """A candidate's training, over the whole graph or with one split's test nodes hidden."""

    def __init__(self, candidate: Candidate, split: int | None, seed: int, cache: Path) -> None:
        self.candidate, self.seed = candidate, seed
        self.config = candidate.config()
        self.inputs = make_inputs(candidate, split, seed, cache)
        self.model = _new_model(candidate, self.inputs, seed)
        self.optimisers = _new_optimisers(self.model, candidate)
        self.steps_per_epoch = -(-len(self.inputs.walks) // FIXED["batch_size"])
        self.step = 0
        self._loss = 0.0  # summed over the steps of the epoch under way
        self._seconds = 0.0  # of the processor, spent on it
        self._rows = torch.from_numpy(self.inputs.features)
        name = f"{candidate.key}-{'all' if split is None else split}-{seed}"
        self._checkpoint = cache / "checkpoints" / f"{name}.pt"
        if self._checkpoint.is_file():
            self._restore()

    @property
    def epochs_done(self) -> int:
        return self.step // self.steps_per_epoch

    def run_epoch(self, deadline: float = math.inf, clock: Clock = time.monotonic) -> Epoch | None:
        """Finish the epoch under way and score it; None if the deadline comes first, with nothing lost."""
        epoch = self.epochs_done
        if epoch >= MAX_EPOCHS:
            raise InputError(f"the paper trains {MAX_EPOCHS} epochs at most")
        order = numpy_stream(self.seed, "shuffle", epoch).permutation(len(self.inputs.walks))
        end = (epoch + 1) * self.steps_per_epoch
        saved = clock()
        with torch_threads(1), torch.random.fork_rng(devices=[]):
            while self.step < end:
                began = time.process_time()
                self._run_block(order, epoch * self.steps_per_epoch, end)
                self._seconds += time.process_time() - began
                now = clock()
                if now >= deadline and self.step < end:
                    self.save()
                    return None
                if now - saved > CHECKPOINT_SECONDS:
                    self.save()
                    saved = now
            return self._finished_epoch()

    def _run_block(self, order: Any, first: int, end: int) -> None:
        """The steps up to the next multiple of BLOCK, or to the end of the epoch."""
        torch.manual_seed(derived_seed(self.seed, "dropout", self.step))
        self.model.train()
        stop = min(end, (self.step // BLOCK + 1) * BLOCK)
        size = FIXED["batch_size"]
        for step in range(self.step, stop):
            chosen = order[(step - first) * size : (step - first + 1) * size]
            batch = Batch(step, self.inputs.walks[chosen], self.inputs.sampler)
            loss = training_step(self.model, self._rows, batch, self.optimisers)
            self._loss += float(loss)
        self.step = stop
        if not math.isfinite(self._loss):
            raise SanneError(f"the loss of {self.candidate} is not finite at step {self.step}")

    def _finished_epoch(self) -> Epoch:
        if not is_finite(self.model):
            raise SanneError(f"weights of {self.candidate} are not finite after epoch {self.epochs_done}")
        scores = self.score()
        epoch = Epoch(
            candidate=self.candidate,
            seed=self.seed,
            features=self.inputs.digest,
            epoch=self.epochs_done,
            steps=self.step,
            splits=self.inputs.numbers,
            val=tuple(score.val for score in scores),
            test=tuple(score.test for score in scores),
            C=tuple(score.C for score in scores),
            loss=round(self._loss / self.steps_per_epoch, 5),
            seconds=round(self._seconds, 1),
        )
        self._loss = self._seconds = 0.0
        return epoch

    def score(self) -> list[SplitScore]:
        """Accuracies on every split that this training serves."""
        inputs = self.inputs
        self.model.eval()
        objective = self.model.objective
        assert isinstance(objective, NeighbourSoftmax)
        old = objective.present_vectors()
        assert old is not None
        if len(inputs.unreached):  # such a node's walks stand still, so one is as good as eight
            still = np.repeat(inputs.unreached[:, None], FIXED["walk_length"], axis=1).astype(np.int32)
            old[inputs.unreached] = self._first_vectors(inputs.features, still)
        new = self._first_vectors(inputs.new_features, inputs.new_walks)
        new = new.reshape(-1, FIXED["num_inference_walks"], FIXED["encoder_dim"]).mean(axis=1)  # Algorithm 2
        if self.candidate.unstated.lengths == "one":
            old, new = unit(old), unit(new)
        scores = []
        for number in inputs.numbers:
            train, val, test = (part[number] for part in (inputs.splits.train, inputs.splits.val, inputs.splits.test))
            known = [old[np.searchsorted(inputs.present, nodes)] for nodes in (train, val)]
            asked = new if len(new) else old[test]
            labels = [inputs.labels[nodes] for nodes in (train, val, test)]
            scores.append(predict_arrays(known[0], labels[0], known[1], labels[1], asked, labels[2], Cs=CS).score)
        return scores

    @torch.inference_mode()
    def _first_vectors(self, features: FloatArray, walks: Walks) -> FloatArray:
        """The encoder's output at the first position of each walk, (walks, 128)."""
        rows = torch.from_numpy(features)
        found = np.empty((len(walks), FIXED["encoder_dim"]), np.float32)
        for first in range(0, len(walks), 1024):
            part = torch.from_numpy(walks[first : first + 1024]).long()
            found[first : first + 1024] = self.model.encoder(rows[part])[:, 0].numpy()
        return found

    def save(self) -> None:
        """Keep all that is needed to go on as if nothing had happened."""
        state = {
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "step": self.step,
            "loss": self._loss,
            "seconds": self._seconds,
            "features": self.inputs.digest,
        }
        self._checkpoint.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(self._checkpoint) as part:
            torch.save(state, part)

    def _restore(self) -> None:
        state = torch.load(self._checkpoint, weights_only=True)
        if state["features"] != self.inputs.digest:
            raise InputError(f"{self._checkpoint}: trained on other features; delete it, and the search starts it anew")
        self.model.load_state_dict(state["model"])
        for optimiser, values in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(values)
        self.step, self._loss, self._seconds = state["step"], state["loss"], state["seconds"]


def _new_model(candidate: Candidate, inputs: Inputs, seed: int) -> WalkModel:
    model = WalkModel(candidate.config(), width=FIXED["encoder_dim"], num_nodes=len(inputs.present), seed=seed)
    if candidate.unstated.initialisation == "xavier":
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived_seed(seed, "initialise", 2))
            start_as_the_authors(model.encoder)
    return model


def start_as_the_authors(encoder: WalkEncoder) -> None:
    """Xavier's uniform weights and zero biases, as the authors' program starts; torch's own are smaller."""
    for name, weights in encoder.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(weights)
        elif "queries_keys_values" in name:
            for part in weights.data.chunk(3):  # three matrices side by side
                nn.init.xavier_uniform_(part)
        elif weights.ndim == 2:
            nn.init.xavier_uniform_(weights)


def _new_optimisers(model: WalkModel, candidate: Candidate) -> list[torch.optim.Optimizer]:
    train = candidate.config().train
    objective = model.objective
    assert isinstance(objective, NeighbourSoftmax)
    table: torch.optim.Optimizer
    if candidate.unstated.table_adam == "touched":
        table = torch.optim.SparseAdam([objective.table], lr=train.table_learning_rate)
    else:
        table = _WholeTableAdam([objective.table], lr=train.table_learning_rate, fused=True)
    return [torch.optim.Adam(dense_parameters(model), lr=train.learning_rate, fused=True), table]


class _WholeTableAdam(torch.optim.Adam):
    """Adam as printed: every row of the table moves in every step, by its moments if it has no gradient."""

    _gradient: Tensor | None = None  # zeros between steps

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        (table,) = self.param_groups[0]["params"]
        rows, values = table.grad._indices()[0], table.grad._values()
        if self._gradient is None:
            self._gradient = torch.zeros_like(table)  # kept: a new one for every step takes twice as long as Adam
        table.grad = self._gradient.index_add_(0, rows, values)
        super().step()
        self._gradient.index_fill_(0, rows, 0.0)
