"""Training with several processes: which one this is, and what they exchange.

torchrun starts the processes and names them in environment variables. Without those there is one process, and
every call here does nothing. Every process holds the whole model, reads its share of each batch and
applies the same update, so that the models stay equal without being sent.
"""

import contextlib
import functools
import hashlib
import itertools
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from sanne.errors import InputError, SanneError
from sanne.model.walk_model import WalkModel
from sanne.walks.batches import Batch

logger = logging.getLogger(__name__)

_LONGEST_WAIT = timedelta(hours=2)  # for a process that is alive but slow; a dead one is noticed at once


_joins = itertools.count()


def launched() -> bool:
    """Whether torchrun (or a launcher that sets the same variables) started this process."""
    return all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))


def is_first_process() -> bool:
    """Whether this process is the one that prints and writes: the only one, or rank 0."""
    return not launched() or int(os.environ["RANK"]) == 0


def is_restarted() -> bool:
    """Whether torchrun started this process again after one of its group died."""
    return launched() and _restarts() > 0


def _restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


@contextlib.contextmanager
def joined_processes(device: torch.device) -> Iterator["Processes"]:
    """Join the processes of this run for the duration of the block; if the block fails, do not wait for the others."""
    if not launched() or int(os.environ["WORLD_SIZE"]) == 1:
        yield Processes()
        return
    if device.type == "cuda":
        torch.cuda.set_device(_own_gpu())
    ours = not dist.is_initialized()
    if ours:
        with _lost_contact_reported():
            dist.init_process_group(
                "nccl" if device.type == "cuda" else "gloo",
                store=_meeting_place(),
                rank=int(os.environ["RANK"]),
                world_size=int(os.environ["WORLD_SIZE"]),
                timeout=_LONGEST_WAIT,
            )
    processes = Processes(dist.get_rank(), dist.get_world_size())
    try:
        yield processes
        with _lost_contact_reported():
            dist.barrier()
    finally:
        if ours:
            dist.destroy_process_group()


@dataclass
class Processes:
    """The processes of one training, as seen by one of them."""

    rank: int = 0
    size: int = 1
    bytes_given: int = 0  # sent so far

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def own_counter(self) -> tuple[int, ...]:
        """Sets apart what each process draws for itself; empty for the first, which draws what a single one does."""
        return (self.rank,) if self.rank else ()

    def place(self, device: torch.device) -> torch.device:
        """Where this process computes: with several GPUs in a machine, its own."""
        return _own_gpu() if self.size > 1 and device.type == "cuda" else device

    def require_agreement(self, *facts: str | int) -> None:
        """Stop if some process starts from another graph, other settings or another checkpoint than this one."""
        if self.size == 1:
            return
        digest = hashlib.sha256(repr(facts).encode()).digest()
        own = torch.tensor(list(digest), device=_wire())
        for rank, other in enumerate(self._gather(own)):
            if not torch.equal(own, other):
                raise InputError(
                    f"process {self.rank} and process {rank} of {self.size} do not start from the same graph, "
                    "features, settings and checkpoint: give them the same files, on machines of one kind, and a "
                    "folder for the model that all of them see"
                )

    def from_first(self, score: float | None) -> float | None:
        """The first process's score; NaN stands for None."""
        if self.size == 1:
            return score
        value = torch.tensor([float("nan") if score is None else score], dtype=torch.float64, device=_wire())
        with _lost_contact_reported():
            dist.broadcast(value, src=0)
        return value.item()

    def average(self, model: WalkModel, batch: Batch, loss: Tensor) -> Tensor:
        """Turn the gradients and the loss of each process's share of a batch into those of the whole batch.

        Shares count by the number of terms in their mean loss, so that the result is what one process would get.
        Dense gradients are added up in one message; of a node table only the rows touched are sent.
        """
        if self.size == 1:
            return loss.detach()
        table = model.objective.sparse_table()
        dense = [parameter for parameter in model.parameters() if parameter is not table]
        nodes, rows = _touched(table)
        terms = model.objective.num_terms(batch)
        facts = torch.zeros(2 + self.size)  # loss, terms, and the rows touched by every process
        facts[0], facts[1], facts[2 + self.rank] = loss.detach().cpu() * terms, terms, len(nodes)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad * terms for p in dense]
        everything = self._sum(torch.cat([facts.to(_wire()), *(part.flatten().to(_wire()) for part in gradients)]))
        facts, flat = everything[: len(facts)].cpu(), everything[len(facts) :].to(loss.device)
        total = max(float(facts[1]), 1.0)
        for parameter, part in zip(dense, flat.split([p.numel() for p in dense]), strict=True):
            parameter.grad = part.view_as(parameter) / total
        if table is not None:
            table.grad = self._gather_rows(nodes, rows * (terms / total), facts[2:].long().tolist(), table)
        return facts[0] / total

    def _gather_rows(self, nodes: Tensor, rows: Tensor, counts: list[int], table: Tensor) -> Tensor | None:
        """The table's gradient from the rows that each process touched; `counts` says how many those are."""
        longest = max(counts)
        if longest == 0:
            return None
        missing = longest - len(nodes)  # all messages have one size
        all_nodes = self._gather(F.pad(nodes.to(_wire()), (0, missing)))
        all_rows = self._gather(F.pad(rows.to(_wire()), (0, 0, 0, missing)))
        gradient = torch.sparse_coo_tensor(
            torch.cat([part[:count] for part, count in zip(all_nodes, counts, strict=True)]).unsqueeze(0),
            torch.cat([part[:count] for part, count in zip(all_rows, counts, strict=True)]),
            table.shape,
            check_invariants=False,
        )
        return gradient.to(table.device).coalesce()  # rows that several processes touched are added up

    def _sum(self, own: Tensor) -> Tensor:
        self.bytes_given += own.nbytes
        with _lost_contact_reported():
            dist.all_reduce(own)
        return own

    def _gather(self, own: Tensor) -> list[Tensor]:
        self.bytes_given += own.nbytes
        everyone = [torch.empty_like(own) for _ in range(self.size)]
        with _lost_contact_reported():
            dist.all_gather(everyone, own)
        return everyone


def _touched(table: Tensor | None) -> tuple[Tensor, Tensor]:
    """The nodes whose rows of the table have a gradient, (R,), and those gradients, (R, dim)."""
    if table is None or table.grad is None:
        return torch.empty(0, dtype=torch.int64), torch.empty(0, 0 if table is None else table.shape[1])
    gradient = table.grad.coalesce()
    return gradient.indices()[0], gradient.values()


def _meeting_place() -> Any:
    """Where processes find each other's addresses; a new one for every fit and after every restart."""
    return dist.PrefixStore(f"sanne/{_restarts()}/{next(_joins)}", _store())  # type: ignore[attr-defined]


@functools.cache
def _store() -> Any:
    store, _, _ = next(dist.rendezvous("env://", timeout=_LONGEST_WAIT))  # type: ignore[attr-defined]
    return store


def _wire() -> torch.device:
    """Where tensors must be to be sent."""
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


def _own_gpu() -> torch.device:
    number, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if number >= there:
        raise InputError(f"process {number} of this machine has no GPU, {there} are there: start one process for each")
    return torch.device("cuda", number)


@contextlib.contextmanager
def _lost_contact_reported() -> Iterator[None]:
    """A failed message means that another process has stopped: its error is the one to read."""
    try:
        yield
    except RuntimeError as error:
        logger.info("torch.distributed: %s", error)
        raise SanneError(
            "lost contact with another process of this training (it stopped, or did not answer for "
            f"{_LONGEST_WAIT.total_seconds() / 3600:g} hours): the errors of the other processes say why"
        ) from error
