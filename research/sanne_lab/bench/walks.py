"""`sanne bench walks`: the walk engine and its rivals on one graph, alternately, in steps per second."""

import contextlib
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sanne.graph.graph import Adjacency, Graph, IntArray
from sanne.walks.sample import Walks, WalkSampler
from sanne_lab.bench.machine import describe_machine, describe_versions
from sanne_lab.bench.plain import networkx_graph, networkx_walks, plain_walks, steps_are_arcs
from sanne_lab.bench.rivals import PecanPy
from sanne_lab.walks.second_order import make_sampler

_COMPARED_WALKS = 500_000  # enough for several threads
_CHECKED_WALKS = 50_000  # a search in all arcs for every step


@dataclass(frozen=True)
class WalkTask:
    """What every engine is asked for."""

    walk_length: int = 8
    p: float = 0.5  # of the second-order walks
    q: float = 2.0
    seed: int = 0
    walks: int = 2_000_000  # at most, in one run
    seconds: float = 1.0  # about, for one run; slow engines draw fewer walks
    rounds: int = 5  # the median counts


class Timing(NamedTuple):
    """Time on the clock, and of the processor: less where other programs take turns, more with several threads."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Engine:
    """Something that draws walks: `run(count)` walks from the first `count` starts and gives its time."""

    name: str
    order: int
    threads: int
    run: Callable[[int], Timing]


def bench_walks(graph: Graph, name: str, *, threads: int, rivals: Path | None, task: WalkTask) -> dict[str, Any]:
    """Measure all engines at hand; `rivals` is a Python that has PecanPy. The result is ready for JSON."""
    adjacency = graph.adjacency()
    nodes = np.random.default_rng(task.seed).permutation(graph.num_nodes)
    starts = np.tile(nodes, -(-task.walks // len(nodes)))[: task.walks]
    machine, versions = describe_machine(), describe_versions()
    with contextlib.ExitStack() as stack:
        engines = [*_sanne(adjacency, starts, threads, task), _plain(adjacency, starts, task)]
        if rivals is not None:
            pecanpy = stack.enter_context(PecanPy(rivals, adjacency, starts, threads))
            versions |= {f"rival {package}": version for package, version in pecanpy.versions.items()}
            engines += _pecanpy(pecanpy, threads, task)
        with contextlib.suppress(ImportError):
            engines.append(_networkx(adjacency, starts, task))
        measured = _measure(engines, task)
    degrees = np.diff(adjacency.indptr)
    return {
        "graph": {
            "name": name,
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "largest_degree": int(degrees.max()),
        },
        "walks": {"walk_length": task.walk_length, "p": task.p, "q": task.q},
        "engines": measured,
        "checks": _checks(adjacency, starts, threads, task),
        "machine": machine,
        "versions": versions,
    }


def _measure(engines: list[Engine], task: WalkTask) -> list[dict[str, Any]]:
    """Compile, find out how many walks fill a run, then let the engines take turns."""
    steps = task.walk_length - 1
    counts = {}
    for engine in engines:
        engine.run(64)
        count = 64
        while (seconds := engine.run(count).seconds) < task.seconds / 8 and count < task.walks:
            count = min(count * 4, task.walks)
        counts[engine] = max(1, min(task.walks, int(count * task.seconds / seconds)))
    timings: dict[Engine, list[Timing]] = {engine: [] for engine in engines}
    for _ in range(task.rounds):
        for engine in engines:
            engine.run(counts[engine] // 8 + 1)  # untimed: the graph is in this engine's memory again
            timings[engine].append(engine.run(counts[engine]))
    return [_row(engine, counts[engine] * steps, timings[engine]) for engine in engines]


def _row(engine: Engine, steps: int, timings: list[Timing]) -> dict[str, Any]:
    seconds = sorted(timing.seconds for timing in timings)
    return {
        "name": engine.name,
        "order": engine.order,
        "threads": engine.threads,
        "steps_per_second": round(steps / statistics.median(seconds)),
        "slowest": round(steps / seconds[-1]),
        "fastest": round(steps / seconds[0]),
        "steps_per_cpu_second": round(steps / statistics.median(timing.cpu_seconds for timing in timings)),
    }


def _sanne(adjacency: Adjacency, starts: IntArray, threads: int, task: WalkTask) -> list[Engine]:
    def engine(order: int, threads: int) -> Engine:
        sampler = _sampler(adjacency, order, task)
        return Engine("sanne", order, threads, lambda n: _timed(lambda: _walks(sampler, starts[:n], threads)))

    return [engine(order, count) for order in (1, 2) for count in sorted({1, threads})]


def _plain(adjacency: Adjacency, starts: IntArray, task: WalkTask) -> Engine:
    def run(count: int) -> Timing:
        walks = np.empty((count, task.walk_length), np.int32)
        indptr, indices = adjacency.indptr, adjacency.indices
        return _timed(lambda: plain_walks(indptr, indices, starts[:count], np.uint64(task.seed), walks))

    return Engine("numba-plain", 1, 1, run)


def _networkx(adjacency: Adjacency, starts: IntArray, task: WalkTask) -> Engine:
    graph = networkx_graph(adjacency)

    def run(count: int) -> Timing:
        first = starts[:count].tolist()
        return _timed(lambda: networkx_walks(graph, first, task.walk_length, task.seed))

    return Engine("networkx", 1, 1, run)


def _pecanpy(process: PecanPy, threads: int, task: WalkTask) -> list[Engine]:
    def engine(order: int, threads: int) -> Engine:
        ask = {"order": order, "threads": threads, "walk_length": task.walk_length, "p": task.p, "q": task.q}
        return Engine("pecanpy", order, threads, lambda count: Timing(**process.timing(count=count, **ask)))

    return [engine(order, count) for order in (1, 2) for count in sorted({1, threads})]


def _checks(adjacency: Adjacency, starts: IntArray, threads: int, task: WalkTask) -> dict[str, bool]:
    """That the walks just timed are walks, and the same for any number of threads."""
    starts = starts[:_COMPARED_WALKS]
    edges, same = True, True
    for order in (1, 2):
        sampler = _sampler(adjacency, order, task)
        alone, together = (_walks(sampler, starts, count) for count in (1, max(2, threads)))
        same = same and np.array_equal(alone, together)
        edges = edges and steps_are_arcs(adjacency, alone[:_CHECKED_WALKS])
    return {"every_step_is_an_edge": edges, "same_walks_for_any_threads": same}


def _walks(sampler: WalkSampler, starts: IntArray, threads: int) -> Walks:
    """A walk from each start, in as many parts as there are threads."""
    first, numbers = (np.array_split(array, threads) for array in (starts, np.arange(len(starts))))
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(sampler.walks, first, [0] * threads, numbers)))


def _sampler(adjacency: Adjacency, order: int, task: WalkTask) -> WalkSampler:
    p, q = (1.0, 1.0) if order == 1 else (task.p, task.q)
    return make_sampler(adjacency, walk_length=task.walk_length, seed=task.seed, p=p, q=q)


def _timed(work: Callable[[], object]) -> Timing:
    started, cpu_started = time.perf_counter(), time.process_time()
    work()
    return Timing(time.perf_counter() - started, time.process_time() - cpu_started)
