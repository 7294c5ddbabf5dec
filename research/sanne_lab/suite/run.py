"""Fill results/suite.jsonl: a record for every graph, system, place, measure and split that it does not have yet.

Choices are made by these records, which score nodes of a fixed pool only; the final run scores the others and has a
file of its own, suite-final.jsonl.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sanne.errors import InputError
from sanne.evaluate.clustering import score_communities
from sanne.model.artifact import versions
from sanne_lab.experiments.links import best_scores, hold_out
from sanne_lab.experiments.records import Record, append_record, read_records
from sanne_lab.suite import graphs, product, score, splits, systems
from sanne_lab.suite.baselines import LeftOut
from sanne_lab.suite.graphs import SuiteGraph
from sanne_lab.suite.parts import Ints
from sanne_lab.suite.view import view

PLACES = ("present", "newcomers")
MEASURES = ("accuracy", "retrieval", "links", "communities")
SPLITS = {"texas": 10, "chameleon": 10, "cora": 6, "citeseer": 6, "pubmed": 4, "blogcatalog": 4, "photo": 4, "actor": 4}
TRIALS = {"texas": 10, "chameleon": 6, "debian": 1, "wordnet": 1}  # fits with some nodes hidden; two elsewhere
SMALL = 20_000  # nodes, at most, for links (another fit) and communities (k-means on all nodes)


@dataclass(frozen=True)
class Job:
    """What one fit is scored by: (measure, number of the split)."""

    place: str
    number: int  # of the trial that hides nodes or links
    scores: tuple[tuple[str, int], ...]


def table_name(final: bool) -> str:
    return "suite-final" if final else "suite"


def fill(
    names: Sequence[str],
    chosen: Sequence[str],
    places: Sequence[str],
    measures: Sequence[str],
    out: Path,
    *,
    final: bool = False,
    again: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Run what is missing of some systems on some graphs; `again` also what is there."""
    for given, known in ((places, PLACES), (measures, MEASURES), (chosen, graphs.LOADERS)):
        for name in set(given) - set(known):
            raise InputError(f"the suite has no {name!r}: choose from {', '.join(known)}")
    found = {name: systems.find(name) for name in names}
    for graph_name in chosen:
        graph = graphs.load(graph_name)
        for name, system in found.items():
            for job in jobs(graph, places if name != systems.NEIGHBOURS else ("newcomers",), measures):
                rest = job if again else missing(graph, name, job, out, final)
                if rest is not None:
                    run(graph, name, system, rest, out, final)
                    tell(f"{graph.name} {name} {job.place} {job.number}")


def jobs(graph: SuiteGraph, places: Sequence[str], measures: Sequence[str]) -> Iterator[Job]:
    """The fits that a system has on a graph."""
    for place in places:
        for number in range(1 if place == "present" else TRIALS.get(graph.name, 2)):
            wanted: list[tuple[str, int]] = []
            if "accuracy" in measures:
                for regime in splits.regimes(graph):
                    if place == "present":
                        wanted += [(regime, i) for i in range(1 if regime == "public" else SPLITS.get(graph.kind, 2))]
                    elif regime != "public":
                        wanted.append((regime, number))
            if "retrieval" in measures:
                known = graph.groups is not None and (place == "present" or graph.newcomers is None)
                wanted += [("same", number), *([("siblings", number)] if known else [])]
            if "communities" in measures and place == "present" and graph.num_nodes < SMALL:
                wanted.append(("communities", number))
            if wanted:
                yield Job(place, number, tuple(wanted))
    if "links" in measures and graph.num_nodes < SMALL:
        yield Job("links", 0, (("links", 0),))


def missing(graph: SuiteGraph, name: str, job: Job, out: Path, final: bool) -> Job | None:
    """The part of a job that has no record of today's settings."""
    done = read_records(out, table_name(final))
    today = systems.digest(name)

    def has(measure: str, number: int) -> bool:
        record = done.get((graph.name, f"{job.place} {measure}", name, "", number))
        return record is not None and record["settings"] == today

    rest = tuple(one for one in job.scores if not has(*one))
    return replace(job, scores=rest) if rest else None


def run(graph: SuiteGraph, name: str, system: Callable[[Any], Any], job: Job, out: Path, final: bool) -> None:
    """Fit once, score, and append the records; where a system is left out, they say why."""
    facts = {"seed": 0, "settings": systems.digest(name), "versions": versions("torch")}
    started = time.process_time()
    try:
        found = values(graph, system, job, final)
    except LeftOut as error:
        found = {one: {"value": None, "left_out": str(error)} for one in job.scores}
    seconds = {"seconds": round(time.process_time() - started, 1)}
    for (measure, number), scores in found.items():
        key = {"dataset": graph.name, "setting": f"{job.place} {measure}", "system": name, "number": number}
        record: Record = key | seconds | scores | facts
        append_record(out, table_name(final), record)


def values(
    graph: SuiteGraph, system: Callable[[Any], Any], job: Job, final: bool
) -> dict[tuple[str, int], dict[str, Any]]:
    """The scores of one fit, with `seconds` of the fit alone."""
    new = splits.hidden(graph, job.number, final) if job.place == "newcomers" else None
    seen = view(graph, new)
    held = None
    if job.place == "links":
        held = hold_out(product.graph_of(seen, seen.whole, np.arange(len(seen.present)), texts=False), job.number)
        known = held.graph.adjacency("both").to_scipy()
        seen = replace(seen, known=known, whole=known)
    started = time.process_time()
    vectors = system(seen)
    seconds = {"seconds": round(time.process_time() - started, 1)}
    if held is not None:
        if sp.issparse(vectors):
            raise LeftOut("sparse")
        auc = best_scores(vectors, held, job.number)["auc" if final else "val"]
        return {one: {"value": round(100 * auc, 2), **seconds} for one in job.scores}
    vectors = _padded(vectors, graph.num_nodes)
    near: dict[str, float] = {}
    found: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    for measure, number in job.scores:
        if measure in ("same", "siblings"):
            near = near or _retrieval(graph, vectors, new, job, final)
            found[measure, number] = {"value": round(near[measure], 2)}
        elif measure == "communities":
            found[measure, number] = _communities(graph, vectors, final)
        else:
            split = _split(job.place, final)(graph, measure, number)
            value, strength = score.accuracy(vectors, graph.labels, split)
            found[measure, number] = {"value": round(value, 2), "C": round(strength, 2)}
        found[measure, number] |= seconds
    return found


def _split(place: str, final: bool) -> Callable[[SuiteGraph, str, int], splits.Split]:
    if place == "present":
        return splits.final if final else splits.choice
    return splits.newcomer_final if final else splits.newcomer_choice


def _retrieval(graph: SuiteGraph, vectors: Any, new: Ints | None, job: Job, final: bool) -> dict[str, float]:
    """Queries are the nodes that may be scored; what they find are labelled nodes that were there for the fit."""
    present = graph.labels >= 0
    if graph.newcomers is not None:
        present &= ~graph.newcomers
    if new is None:
        queries = np.flatnonzero(present & (splits.pool(graph) != final))
    else:
        present[new] = False
        split = _split("newcomers", final)(graph, splits.regimes(graph)[-1], job.number)
        queries = split.test if final else split.val
    return score.retrieval(vectors, graph.labels, graph.groups, queries, np.flatnonzero(present))


def _communities(graph: SuiteGraph, vectors: Any, final: bool) -> dict[str, Any]:
    """NMI of k-means with the classes of the nodes that may be scored, in percent."""
    if sp.issparse(vectors):
        return {"value": None, "left_out": "sparse"}
    labels = np.where(splits.pool(graph) != final, graph.labels, -1)
    found = score_communities(vectors, labels, num_communities=int(graph.labels.max()) + 1, num_starts=3)
    return {"value": round(100 * float(found["nmi"] or 0), 2)}


def _padded(vectors: Any, nodes: int) -> Any:
    """Zero rows for real newcomers, which the place `present` leaves out; they are the last nodes."""
    more = nodes - vectors.shape[0]
    if sp.issparse(vectors):
        return sp.vstack([vectors, sp.csr_matrix((more, vectors.shape[1]), dtype=np.float32)]).tocsr()
    return np.pad(vectors, ((0, more), (0, 0)))
