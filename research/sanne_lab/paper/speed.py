"""How fast the paper's training runs here, beside what the machine's products allow: python -m sanne_lab.paper.speed.

One process of one thread, then several at once. The ratio is that of the products of a training step (forward and
both gradients) at the rate of one large product, to the time that the step takes.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sanne.paper.batches import Batch
from sanne.paper.device import torch_threads
from sanne.paper.loop import training_step
from sanne_lab.paper.grid import FIXED, Candidate, Cell
from sanne_lab.paper.training import Training
from sanne_lab.workers import one_thread_each

CANDIDATE = Candidate(Cell("cora", "transductive"), 1e-4, 1024, 2, 8, 16)
SIDE = 1024  # of the product that the rate is measured with


@dataclass(frozen=True)
class Speed:
    """What one process measured; seconds are those of the processor, or of the clock."""

    product_rate: float  # floating-point operations a second
    walks_per_second: float
    walks_by_the_clock: float

    @property
    def ratio(self) -> float:
        """The share of the product rate that training uses."""
        return self.walks_per_second * operations_per_walk(CANDIDATE) / self.product_rate


def operations_per_walk(candidate: Candidate) -> float:
    """Floating-point operations in the products of a training step, for each walk."""
    return 2.0 * 3 * FIXED["walk_length"] * candidate.cost  # a product, and one for the gradient of each side


def measure(steps: int) -> Speed:
    """The speed of this process, with one thread: products and training in turn, the best of several rounds."""
    with tempfile.TemporaryDirectory() as folder:
        training = Training(CANDIDATE, None, 0, Path(folder))
    left, right = torch.randn(2, SIDE, SIDE)
    stream = np.random.default_rng(0)

    def train() -> None:
        for step in range(steps):
            chosen = stream.integers(len(training.inputs.walks), size=FIXED["batch_size"])
            batch = Batch(step, training.inputs.walks[chosen], training.inputs.sampler)
            training_step(
                training.model,
                torch.from_numpy(training.inputs.features),
                batch,
                training.optimisers,
            )

    def multiply() -> None:
        for _ in range(steps):
            left @ right

    with torch_threads(1):
        train()
        multiply()
        products, trainings, clock = [], [], []
        for _ in range(5):
            products.append(_seconds(multiply, time.process_time))
            began = time.perf_counter()
            trainings.append(_seconds(train, time.process_time))
            clock.append(time.perf_counter() - began)
    walks = steps * FIXED["batch_size"]
    return Speed(2.0 * SIDE**3 * steps / min(products), walks / min(trainings), walks / min(clock))


def _seconds(work: Callable[[], None], timer: Callable[[], float]) -> float:
    began = timer()
    work()
    return timer() - began


def _report(steps: int, barrier: Any, results: Any) -> None:
    barrier.wait()
    results.put(measure(steps))


def measure_together(processes: int, steps: int) -> list[Speed]:
    """The speeds of several processes that run at once."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    with one_thread_each():
        workers = [context.Process(target=_report, args=(steps, barrier, results)) for _ in range(processes)]
        for worker in workers:
            worker.start()
    found = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return found


def main() -> None:
    """Print the speeds of one process and of two."""
    parser = argparse.ArgumentParser(prog="python -m sanne_lab.paper.speed", description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    given = parser.parse_args()
    alone = 0.0
    for count in (1, 2):
        speeds = measure_together(count, given.steps)
        total = sum(speed.walks_by_the_clock for speed in speeds)
        alone = alone or total
        for speed in speeds:
            print(
                f"{count} at once: {speed.product_rate / 1e9:.1f} GFLOP/s in products, "
                f"{speed.walks_per_second:.0f} walks a second, ratio {speed.ratio:.2f}"
            )
        print(f"{count} at once: {total:.0f} walks a second by the clock, {total / alone:.2f} times one")


if __name__ == "__main__":
    main()
