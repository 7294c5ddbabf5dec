"""Tables of the suite's records, in Markdown: accuracy with mean ranks, other measures, and what a setting changes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from sanne_lab.experiments.records import read_records
from sanne_lab.suite import graphs, systems
from sanne_lab.suite.run import table_name

Row = tuple[str, str, str]  # graph, place, measure
Means = dict[Row, dict[str, float]]
LABELLED = ("few", "many", "public")  # measures that are accuracies
OTHERS = ("same", "siblings", "links", "communities")
_PLACES = ("present", "links", "newcomers")
_RANKED = [name for group in ("closed", "rivals", "ours") for name in systems.GROUPS[group]]


def means(out: Path, final: bool, names: Iterable[str] | None = None) -> Means:
    """Mean value by row and system, over the splits that all systems of a row have; NaN where one was left out.

    Records of the product with other settings than today's are not read.
    """
    cells: dict[Row, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for (graph, setting, system, _, number), record in read_records(out, table_name(final)).items():
        place, measure = setting.split()
        if (names is None or system in names) and record["settings"] == systems.digest(system):
            value = record["value"]
            cells[graph, place, measure][system][number] = float("nan") if value is None else value
    found = {}
    for row in sorted(cells, key=_order):
        shared = set.intersection(*(set(by_split) for by_split in cells[row].values()))
        if shared:
            found[row] = {name: float(np.mean([of[i] for i in shared])) for name, of in cells[row].items()}
    return found


def _order(row: Row) -> tuple[int, int, int]:
    graph, place, measure = row
    return _PLACES.index(place), list(graphs.LOADERS).index(graph), (LABELLED + OTHERS).index(measure)


def rank(value: float, others: Iterable[float]) -> int:
    """The place of a value among others; NaN is no rival."""
    return 1 + sum(other > value + 1e-9 for other in others)


def best_of_four(values: dict[str, float]) -> float:
    return max((values[name] for name in systems.FOUR if name in values), default=float("nan"))


def accuracy_table(out: Path, final: bool = False) -> str:
    """A row for each graph, place and number of labels; then mean rank, margin over the best of four, and rows."""
    found, names, lines = _ranked(out, final, LABELLED)
    ranks: dict[str, list[float]] = defaultdict(list)
    margins: dict[str, list[float]] = defaultdict(list)
    for values in found.values():
        for name, value in values.items():
            if not np.isnan(value):
                ranks[name].append(rank(value, values.values()))
                margins[name].append(value - best_of_four(values))
    texts = {
        "**mean rank**": [f"{np.mean(ranks[name]):.2f}" for name in names],
        "over the best of four, mean": [f"{np.mean(margins[name]):+.2f}" for name in names],
        "worst": [f"{min(margins[name], default=np.nan):+.2f}" for name in names],
        "rows": [str(len(ranks[name])) for name in names],
    }
    return "\n".join([*lines, *(_line(title, of) for title, of in texts.items())])


def other_table(out: Path, final: bool = False) -> str:
    """Retrieval among the ten nearest, AUC of hidden links, NMI of communities, in percent."""
    return "\n".join(_ranked(out, final, OTHERS)[2])


def _ranked(out: Path, final: bool, measures: Sequence[str]) -> tuple[Means, list[str], list[str]]:
    """The rows of some measures, the systems that have a value in one of them, and the lines of their table."""
    found = {row: values for row, values in means(out, final, _RANKED).items() if row[2] in measures}
    names = [name for name in _RANKED if any(values.get(name, np.nan) >= 0 for values in found.values())]
    cells = {row: {name: _short(value) for name, value in values.items()} for row, values in found.items()}
    return found, names, _lines(names, cells)


def changes(out: Path, base: str, others: Sequence[str], final: bool = False) -> str:
    """What each changed system adds to `base` in every row and in the mean, and to its mean rank among closed forms."""
    rivals = systems.GROUPS["closed"]
    lines = _lines([base, *others], {})
    gains: dict[str, list[float]] = defaultdict(list)
    ranks: dict[str, list[float]] = defaultdict(list)
    for row, values in means(out, final, [*rivals, base, *others]).items():
        tried = {name: values[name] for name in (base, *others) if name in values}
        if row[2] not in LABELLED or base not in tried or len(tried) == 1:
            continue
        against = [values[name] for name in rivals if name in values]
        for name, value in tried.items():
            gains[name].append(value - values[base])
            ranks[name].append(rank(value, against) - rank(values[base], against) * (name != base))
        texts = [f"{tried[name] - values[base]:+.2f}" if name in tried else "" for name in others]
        lines.append(_line(" ".join(row), [_short(values[base]), *texts]))
    for title, of in (("mean", gains), ("mean rank", ranks)):
        first = f"{np.mean(of[base]):.2f}" if of is ranks and ranks[base] else ""
        lines.append(_line(title, [first, *(f"{np.mean(of[name]):+.2f}" if of[name] else "" for name in others)]))
    return "\n".join(lines)


def as_dicts(out: Path, final: bool) -> list[dict[str, str | float | None]]:
    """The means of all rows and systems, ready for JSON."""
    return [
        {"graph": graph, "place": place, "measure": measure}
        | {name: None if np.isnan(value) else round(value, 2) for name, value in values.items()}
        for (graph, place, measure), values in means(out, final).items()
    ]


def left_out(out: Path, final: bool = False) -> list[str]:
    """What was not run, and why."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for (graph, _, system, _, _), record in read_records(out, table_name(final)).items():
        if record.get("left_out"):
            found[system, record["left_out"]].add(graph)
    return [f"{system}: left out on {', '.join(sorted(g))} ({why})" for (system, why), g in sorted(found.items())]


def _lines(names: Sequence[str], cells: dict[Row, dict[str, str]]) -> list[str]:
    head = ["| row | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    return head + [_line(" ".join(row), [texts.get(name, "") for name in names]) for row, texts in cells.items()]


def _line(title: str, texts: Sequence[str]) -> str:
    return f"| {title} | " + " | ".join(texts) + " |"


def _short(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.1f}"
