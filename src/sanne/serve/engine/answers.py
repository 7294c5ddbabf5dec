"""Requests answered: groups of guests checked, read together, and given their names, reasons and neighbours."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sanne.errors import FieldError, NodeExistsError, SanneError
from sanne.graph.graph import FloatArray
from sanne.serve.engine.checks import Link, check_group
from sanne.serve.engine.ids import key_of, stream_key
from sanne.serve.engine.nodes import Answer, NewNode, NodeId
from sanne.serve.engine.reader import Asked, Guests, Reader, Reading
from sanne.serve.engine.state import Group, LiveState
from sanne.serve.live.graph import guest_arcs

Found = list[tuple[NodeId, float]]  # ids with shares or cosines, largest first
Result = list[Answer] | Exception


class Answerer:
    """Answers from the state as it is, and changes nothing."""

    def __init__(self, state: LiveState, reader: Reader, lock: threading.RLock) -> None:
        self._state = state
        self._reader = reader
        self._lock = lock  # an index that is ready comes into use in a thread of its own

    def check(self, groups: Sequence[Sequence[NewNode]], *, distinct: bool) -> list[Group | SanneError]:
        """Each group ready to be read, or what is wrong with it; `distinct`: no id in two groups."""
        state, first = self._state, self._state.graph.num_slots
        checked: list[tuple[tuple[NewNode, ...], list[Link]] | SanneError] = []
        taken: set[str] = set()
        for nodes in groups:
            try:
                links = check_group(nodes, state.ids, state.features.reads, first)
                for i, node in enumerate(nodes):
                    if distinct and key_of(node.id) in taken:
                        raise NodeExistsError(f"nodes[{i}].id: another request adds a node {node.id!r} at this moment")
                taken |= {key_of(node.id) for node in nodes}
                checked.append((tuple(nodes), links))
            except SanneError as error:
                checked.append(error)
        described = [node for item in checked if isinstance(item, tuple) for node in item[0]]
        features = state.read_features(described) if described else np.empty((0, 0), np.float32)
        result: list[Group | SanneError] = []
        row = 0
        for item in checked:
            if isinstance(item, tuple):
                nodes, links = item
                result.append(Group(nodes, first, features[row : row + len(nodes)], state.graph.merged(links)))
                row += len(nodes)
            else:
                result.append(item)
        return result

    def answer(
        self, checked: Sequence[Group | SanneError], explain: Sequence[int], similar: Sequence[int]
    ) -> list[Result]:
        """Answers for groups that were checked; errors stay in their places."""
        groups = [(i, group) for i, group in enumerate(checked) if isinstance(group, Group)]
        results: list[Any] = list(checked)
        if not groups:
            return results
        reading = self._read([group for _, group in groups], [explain[i] for i, _ in groups])
        row = 0
        for i, group in groups:
            rows = slice(row, row + len(group.nodes))
            results[i] = self._group_answers(group, reading, rows, explain[i])
            row = rows.stop
        most = max((similar[i] for i, _ in groups), default=0)
        if most > 0:
            found = self.nearest(reading.vectors, most)
            row = 0
            for i, group in groups:
                if similar[i] > 0 and isinstance(results[i], list):
                    near = found[row : row + len(group.nodes)]
                    results[i] = [
                        replace(answer, similar=names[: similar[i]])
                        for answer, names in zip(results[i], near, strict=True)
                    ]
                row += len(group.nodes)
        return results

    def _read(self, groups: Sequence[Group], explain: Sequence[int]) -> Reading:
        graph = self._state.graph
        guests = Guests(
            guest_arcs([graph.guest_rows(group.links) for group in groups]),
            np.concatenate([group.features for group in groups]),
            np.cumsum([0, *(len(group.nodes) for group in groups)]),
        )
        asked = [
            Asked(group.first + i, number, stream_key(node.id), explain[number])
            for number, group in enumerate(groups)
            for i, node in enumerate(group.nodes)
        ]
        return self._reader.read(asked, guests)

    def _group_answers(self, group: Group, reading: Reading, rows: slice, explain: int) -> Result:
        answers = []
        for i, node in enumerate(group.nodes):
            vector, spread = reading.vectors[rows.start + i], float(reading.spread[rows.start + i])
            if not np.isfinite(vector).all():
                return FieldError(f"nodes[{i}].features", "these numbers are too large for the model")
            contribution = reading.contributions[rows.start + i]
            explanation = None
            if contribution is not None:
                explanation = self.named(zip(*(part.tolist() for part in contribution), strict=True), group)
            answers.append(Answer(self._state.ids.given_back(node.id), vector, spread, explanation))
        return answers

    def nearest(self, queries: FloatArray, k: int, leave_out: int = -1) -> list[Found]:
        """The `k` nodes nearest to each query, (queries, dim), as (id, cosine)."""
        state = self._state
        with self._lock:
            return [self.named(row) for row in state.vectors.search(queries, k, state.graph.alive, leave_out)]

    def named(self, numbers: Iterable[tuple[int, float]], group: Group | None = None) -> Found:
        """Numbers as ids; those above all nodes are guests of `group`."""
        ids, first = self._state.ids, self._state.graph.num_slots
        return [
            (ids.given_back(group.nodes[number - first].id) if group and number >= first else ids.name(number), value)
            for number, value in numbers
        ]

    def asked(self, number: int) -> Asked:
        """A node that is there, to be read again."""
        state = self._state
        return Asked(number, -1, stream_key(state.ids.name(number)) if state.is_added(number) else number)
