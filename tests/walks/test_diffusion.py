"""Walks with restarts: against dense powers of the matrix, for all nodes and for one."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from planted import planted_graph
from sanne.graph import sparse
from sanne.graph.graph import Adjacency, Graph
from sanne.walks import diffusion as module
from sanne.walks.diffusion import BLOCK, STAY, Diffusion, Surroundings, add_rows, and_next_step, step_weights

RESTARTS = (1.0, 0.5, 0.1)
STEPS = 7
PLANTED = planted_graph(size=20)
WEIGHTED = Graph.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 3, 4], [1.0, 2.0, 0.5, 3.0, 0.1], node_ids=list("abcdef"))
ONE_WAY = Graph.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 3, 4], node_ids=list("abcdef"), directed=True)
ADJACENCIES = {
    "planted": PLANTED.adjacency(),
    "weighted": WEIGHTED.adjacency(),  # node f has no edges, here and below
    "along": ONE_WAY.adjacency("along"),
    "against": ONE_WAY.adjacency("against"),
    "both": ONE_WAY.adjacency("both"),
}
every_graph = pytest.mark.parametrize("name", sorted(ADJACENCIES))


def rows_of(adjacency: Adjacency, width: int = 3) -> npt.NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(len(adjacency.indptr) - 1, width)).astype(np.float32)


def around(
    diffusion: Diffusion, node: int, restarts: Sequence[float], steps: int, tolerance: float | None = None
) -> Surroundings:
    """Where the walks of one node go."""
    return diffusion.around(np.array([node]), restarts, steps, tolerance)[0]


def transitions(adjacency: Adjacency) -> npt.NDArray[np.float64]:
    """S = D^-1/2 (A + I) D^-1/2, dense."""
    matrix = adjacency.to_scipy().toarray().astype(np.float64)
    matrix += np.eye(len(matrix))
    roots = matrix.sum(axis=1) ** -0.5
    return np.asarray(roots[:, None] * matrix * roots)


def by_powers(adjacency: Adjacency, rows: Any, restart: float, steps: int) -> npt.NDArray[np.float64]:
    matrix, power, total = transitions(adjacency), rows.astype(np.float64), np.zeros(rows.shape)
    for step in range(steps):
        total += restart * (1 - restart) ** step * power
        power = matrix @ power
    return np.asarray(total + (1 - restart) ** steps * power)


def test_steps_count_as_the_restart_says_and_the_last_takes_the_rest() -> None:
    np.testing.assert_allclose(step_weights((1.0, 0.5), 2), [[1, 0.5], [0, 0.25], [0, 0.25]])
    np.testing.assert_allclose(step_weights(RESTARTS, 50).sum(axis=0), 1, atol=1e-6)


@every_graph
def test_spreading_equals_powers_of_the_dense_matrix(name: str) -> None:
    adjacency = ADJACENCIES[name]
    rows = rows_of(adjacency)
    found = Diffusion(adjacency).spread(rows, step_weights(RESTARTS, STEPS))
    assert found.dtype == np.float32
    for at, restart in zip(found, RESTARTS, strict=True):
        np.testing.assert_allclose(at, by_powers(adjacency, rows, restart, STEPS), atol=1e-5)


def test_many_steps_come_to_personalised_pagerank() -> None:
    rows = rows_of(PLANTED.adjacency())
    exact = 0.3 * np.linalg.solve(np.eye(PLANTED.num_nodes) - 0.7 * transitions(PLANTED.adjacency()), rows)
    np.testing.assert_allclose(
        Diffusion(PLANTED.adjacency()).spread(rows, step_weights((0.3,), 100))[0], exact, atol=1e-5
    )


@every_graph
def test_following_the_walks_of_one_node_equals_spreading(name: str) -> None:
    diffusion = Diffusion(ADJACENCIES[name])
    rows = rows_of(ADJACENCIES[name])
    spread = diffusion.spread(rows, and_next_step(step_weights(RESTARTS, STEPS)))
    for node in range(diffusion.num_nodes):
        found = around(diffusion, node, RESTARTS, STEPS, tolerance=0.0)
        assert len(set(found.nodes.tolist())) == len(found.nodes)
        assert not found.elsewhere.any()
        assert found.degree == pytest.approx(diffusion.degrees[node])
        seen = found.mean(rows[found.nodes], np.zeros(3, np.float32))
        np.testing.assert_allclose(seen, spread[:, node], atol=1e-5)
        np.testing.assert_allclose(seen[-1], transitions(ADJACENCIES[name])[node] @ rows, atol=1e-5)  # the first step
        added = np.ones_like(seen)
        add_rows(rows, found.nodes, found.shares, added)
        np.testing.assert_allclose(added, 1 + seen, atol=1e-5)


def test_there_may_be_more_restarts_than_are_added_together() -> None:
    diffusion, rows = Diffusion(PLANTED.adjacency()), rows_of(PLANTED.adjacency())
    restarts = np.linspace(1, 0.1, BLOCK + 2).tolist()
    found = around(diffusion, 4, restarts, STEPS, tolerance=0.0)
    expected = diffusion.spread(rows, and_next_step(step_weights(restarts, STEPS)))[:, 4]
    np.testing.assert_allclose(found.shares.T @ rows[found.nodes], expected, atol=1e-5)


@pytest.mark.parametrize("name", ["weighted", "along", "against"])
def test_a_node_without_edges_sees_only_itself(name: str) -> None:
    diffusion, rows = Diffusion(ADJACENCIES[name]), rows_of(ADJACENCIES[name])
    np.testing.assert_allclose(diffusion.spread(rows, step_weights(RESTARTS, STEPS))[:, 5], [rows[5]] * 3, atol=1e-6)
    assert around(diffusion, 5, RESTARTS, STEPS).nodes.tolist() == [5]


def test_the_input_stays_as_it_was() -> None:
    rows = rows_of(PLANTED.adjacency())
    before = rows.copy()
    found = Diffusion(PLANTED.adjacency()).spread(rows, step_weights((1.0,), STEPS))
    found += 1
    np.testing.assert_array_equal(rows, before)


def test_walks_that_are_not_followed_are_counted_for_each_restart() -> None:
    """Shares of walks, by where they are, and what was not followed make up all of them."""
    diffusion = Diffusion(PLANTED.adjacency())
    for tolerance in (0.0, 1e-3, 0.05, 0.999):
        found = around(diffusion, 4, RESTARTS, STEPS, tolerance)
        walks = found.shares * (diffusion.degrees[found.nodes] / found.degree)[:, None] ** 0.5
        np.testing.assert_allclose(walks.sum(axis=0) + found.elsewhere, 1, atol=1e-5)
        assert found.elsewhere[0] == pytest.approx(0, abs=1e-6)  # with a restart of one nothing is ever lost
    assert found.nodes.tolist() == [
        4
    ]  # with such a tolerance only what stays there, for a step or for good, is not lost
    rates = np.array(RESTARTS)
    stays = rates + (1 - rates) * (rates + STAY * (1 - rates)) / found.degree
    np.testing.assert_allclose(found.elsewhere, [*(1 - stays), 1 - 1 / found.degree], atol=1e-6)


def test_work_arrays_are_left_clean_and_shared_by_no_two_threads() -> None:
    adjacency = planted_graph(size=150, inside=0.04, outside=0.002).adjacency()
    diffusion, nodes = Diffusion(adjacency), np.tile(np.arange(200), 5).tolist()
    fresh = [around(Diffusion(adjacency), node, RESTARTS, STEPS, 1e-3) for node in nodes[:200]]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda node: around(diffusion, node, RESTARTS, STEPS, 1e-3), nodes))
    for node, again in zip(nodes, found, strict=True):
        np.testing.assert_array_equal(again.nodes, fresh[node].nodes)
        np.testing.assert_array_equal(again.shares, fresh[node].shares)
        np.testing.assert_array_equal(again.elsewhere, fresh[node].elsewhere)


def test_walks_of_many_nodes_together_go_where_those_of_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when there is not room for all that they visit at first."""
    adjacency = planted_graph(size=150, inside=0.04, outside=0.002).adjacency()
    nodes = np.array([3, 299, 3, 77, 140])
    for room in (1, 7, 1000):
        monkeypatch.setattr(module, "_ROOM", room)
        together = Diffusion(adjacency).around(nodes, RESTARTS, STEPS, 1e-3)
        for node, found in zip(nodes.tolist(), together, strict=True):
            alone = around(Diffusion(adjacency), node, RESTARTS, STEPS, 1e-3)
            assert found.degree == alone.degree
            for name in ("nodes", "shares", "elsewhere", "ones"):
                np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
            np.testing.assert_allclose(found.ones, found.shares.sum(axis=0), atol=1e-5)
    assert Diffusion(adjacency).around(nodes[:0], RESTARTS, STEPS) == []


def test_lost_walks_see_what_very_long_walks_see() -> None:
    adjacency = planted_graph(size=20, inside=0.5, outside=0.1).adjacency()  # connected
    diffusion, rows = Diffusion(adjacency), rows_of(adjacency)
    background = diffusion.background(rows)
    endless = diffusion.spread(rows, step_weights((1e-6,), 200))[0]
    np.testing.assert_allclose(endless, np.sqrt(diffusion.degrees)[:, None] * background, atol=1e-4)
    lost = around(diffusion, 4, RESTARTS, STEPS, tolerance=0.999)
    share = lost.elsewhere[:, None]
    expected = (1 - share) * rows[4] + share * diffusion.degrees[4] ** 0.5 * background
    np.testing.assert_allclose(lost.mean(rows[[4]], background), expected, atol=1e-5)


def test_walks_are_not_followed_through_hubs_where_each_link_takes_next_to_nothing() -> None:
    count = 60_000
    hub = np.zeros(count, int)
    for weights in (None, np.full(count, 1e20)):  # by the number of links, whatever their weights
        star = Graph.from_edges(hub, np.arange(1, count + 1), weights, node_ids=np.arange(count + 1))
        diffusion = Diffusion(star.adjacency())
        assert len(around(diffusion, 7, RESTARTS, STEPS).nodes) == 2  # a leaf sees the hub, and not the other leaves
        assert len(around(diffusion, 7, RESTARTS, STEPS, tolerance=0.0).nodes) == count + 1


def test_heavy_links_are_followed_and_faint_ones_are_not() -> None:
    """Staying has the weight of one."""
    heavy, faint = (replace(PLANTED, weights=np.full(len(PLANTED.indices), w, np.float32)) for w in (1e20, 1e-20))
    assert len(around(Diffusion(heavy.adjacency()), 4, RESTARTS, STEPS).nodes) > 30
    assert around(Diffusion(faint.adjacency()), 4, RESTARTS, STEPS).nodes.tolist() == [4]


def test_a_smaller_tolerance_is_nearer_to_the_truth_and_visits_more() -> None:
    graph = planted_graph(size=150, inside=0.04, outside=0.002)
    diffusion, rows = Diffusion(graph.adjacency()), rows_of(graph.adjacency())
    exact, background = diffusion.spread(rows, step_weights((0.1,), 20))[0], diffusion.background(rows)
    errors, visited = [], []
    for tolerance in (1e-2, 1e-3, 1e-5):
        found = [around(diffusion, node, (0.1,), 20, tolerance) for node in range(30)]
        seen = np.array([part.mean(rows[part.nodes], background)[0] for part in found])
        errors.append(np.abs(seen - exact[:30]).mean())
        visited.append(np.mean([len(part.nodes) for part in found]))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-2
    assert visited[0] < visited[1] <= visited[2]


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted_graph(size=400, inside=0.01, outside=0.001)
    rows = rows_of(graph.adjacency(), 5)
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(sparse, "available_cores", lambda cores=cores: cores)
        found.append(Diffusion(graph.adjacency()).spread(rows, step_weights(RESTARTS, STEPS)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
