"""`sanne bench walks`: every engine is there, runs on the same task, and is checked."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sanne.cli import main
from sanne.errors import InputError
from sanne.walks.sample import WalkSampler
from sanne_lab.bench.graphs import bench_graph
from sanne_lab.bench.plain import networkx_graph, networkx_walks, plain_walks, steps_are_arcs
from sanne_lab.bench.walks import WalkTask, bench_walks

GRAPH = bench_graph("hub", 200, 800)
QUICK = WalkTask(walks=500, seconds=0.001, rounds=1)

# Stands in for the Python that has PecanPy: it answers each run with half a second.
STAND_IN = f"""#!{sys.executable}
import json, sys
import numpy as np
arrays = np.load(sys.argv[-1])
print(json.dumps({{"pecanpy": "9.9", "nodes": str(len(arrays["indptr"]) - 1)}}), flush=True)
for line in sys.stdin:
    assert set(json.loads(line)) == {{"order", "threads", "count", "walk_length", "p", "q"}}
    print(json.dumps({{"seconds": 0.5, "cpu_seconds": 0.25}}), flush=True)
"""


def test_the_plain_loop_draws_the_engine_s_walks() -> None:
    starts = np.random.default_rng(0).integers(200, size=300)
    walks = np.empty((300, 8), np.int32)
    plain_walks(GRAPH.indptr, GRAPH.indices, starts, np.uint64(7), walks)
    engine = WalkSampler(GRAPH.adjacency(), walk_length=8, seed=7).walks(starts, 0, np.arange(300))
    assert np.array_equal(walks, engine)


def test_networkx_walks_are_walks() -> None:
    walks = networkx_walks(networkx_graph(GRAPH.adjacency()), list(range(200)), 8, seed=0)
    assert steps_are_arcs(GRAPH.adjacency(), np.array(walks, np.int32))


def test_the_check_sees_one_wrong_step() -> None:
    adjacency = GRAPH.adjacency()
    walks = WalkSampler(adjacency, walk_length=8, seed=7).walks(np.arange(200), 0, 0)
    assert steps_are_arcs(adjacency, walks)
    walks[150, 5] = walks[150, 4]  # stays where it could have moved
    assert not steps_are_arcs(adjacency, walks)


def test_every_engine_at_hand_is_measured() -> None:
    result = bench_walks(GRAPH, "hub", threads=2, rivals=None, task=QUICK)
    assert {(row["name"], row["order"], row["threads"]) for row in result["engines"]} == {
        ("sanne", 1, 1),
        ("sanne", 1, 2),
        ("sanne", 2, 1),
        ("sanne", 2, 2),
        ("numba-plain", 1, 1),
        ("networkx", 1, 1),
    }
    assert all(row["steps_per_second"] > 0 for row in result["engines"])
    assert result["checks"] == {"every_step_is_an_edge": True, "same_walks_for_any_threads": True}
    assert (result["graph"]["nodes"], result["graph"]["edges"]) == (200, GRAPH.num_edges)
    assert result["machine"]["cores"] >= 1
    assert "numba" in result["versions"]
    json.dumps(result)


def test_rivals_take_part_from_a_python_of_their_own(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(STAND_IN, encoding="utf-8")
    python.chmod(0o755)
    result = bench_walks(GRAPH, "hub", threads=1, rivals=python, task=QUICK)
    speeds = {row["order"]: row["steps_per_second"] for row in result["engines"] if row["name"] == "pecanpy"}
    assert speeds == {1: 14, 2: 14}  # a run is cut to one walk of 7 steps, in half a second
    assert all(row["steps_per_cpu_second"] == 28 for row in result["engines"] if row["name"] == "pecanpy")
    assert result["versions"]["rival nodes"] == "200"


def test_a_python_without_the_rival_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make bench"):
        bench_walks(GRAPH, "hub", threads=1, rivals=tmp_path / "nowhere", task=QUICK)
    with pytest.raises(InputError, match=r"No module named.*make bench"):
        bench_walks(GRAPH, "hub", threads=1, rivals=Path(sys.executable), task=QUICK)


def test_the_command_prints_one_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--nodes", "100", "--edges", "300", "--threads", "1", "--seconds", "0.001", "--json"]
    monkeypatch.setattr(sys, "argv", ["sanne", "bench", "walks", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    result = json.loads(capsys.readouterr().out)
    assert {"graph", "engines"} <= set(result)
    assert {row["name"] for row in result["engines"]} == {"sanne", "numba-plain", "networkx"}
