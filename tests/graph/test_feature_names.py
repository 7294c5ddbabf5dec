"""Feature columns have names: a table with its columns in another order gives the same vectors, not garbage."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sanne import SANNE, Graph, load_graph
from sanne.errors import InputError
from sanne.graph.folder.build import build_graph
from sanne.graph.folder.store import open_graph, save_graph
from sanne.infer.explain import made_of
from sanne.source import ModelSource

COLUMNS = ["height", "weight", "age", "speed"]
EDGES = [(f"n{i}", f"n{(i + step) % 40}") for i in range(40) for step in (1, 3)]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    numbers = np.random.default_rng(0).normal(size=(40, 4)) * [1, 10, 100, 1000]
    return pd.DataFrame(numbers, columns=COLUMNS).assign(id=[f"n{i}" for i in range(40)])


@pytest.fixture(scope="module")
def model(people: pd.DataFrame) -> SANNE:
    return SANNE("fast", random_state=0).fit(load_graph(EDGES, node_table=people))


def test_columns_in_another_order_and_more_of_them_give_the_same_vectors(model: SANNE, people: pd.DataFrame) -> None:
    turned = people[["id", *COLUMNS[::-1]]].assign(another=1.0)
    graph = load_graph(EDGES, node_table=turned)
    assert graph.feature_names == (*COLUMNS[::-1], "another")
    np.testing.assert_allclose(model.transform(graph), model.embedding_, atol=1e-5)
    assert model.artifact_.as_fitted(graph) is model.artifact_.as_fitted(graph)  # what is kept of a graph stays


def test_a_missing_column_is_named(model: SANNE, people: pd.DataFrame) -> None:
    renamed = load_graph(EDGES, node_table=people.rename(columns={"height": "Height"}))
    with pytest.raises(InputError, match=r"1 of the 4 feature columns .* such as 'height'.*did you mean 'Height'"):
        model.transform(renamed)


def test_explanations_name_the_columns(model: SANNE, people: pd.DataFrame) -> None:
    (made,) = made_of(model.artifact_, load_graph(EDGES, node_table=people), ["n3"])
    assert made.reads == "columns"
    assert made.words
    assert {word.word for word in made.words} <= set(COLUMNS)
    bare = load_graph(EDGES)
    (made,) = made_of(SANNE("fast", random_state=0).fit(bare).artifact_, bare, ["n3"])
    assert made.reads == "links"
    assert not made.words


def test_columns_that_the_model_does_not_read_have_no_names_in_it(people: pd.DataFrame) -> None:
    texts = people.assign(text=[f"word{i % 5} word{i % 7} and more of it" for i in range(40)])
    graph = load_graph(EDGES, node_table=texts, text="text", features=COLUMNS)
    fitted = SANNE("fast", random_state=0).fit(graph)
    assert graph.feature_names == tuple(COLUMNS)
    assert fitted.artifact_.record["feature_names"] is None
    (made,) = made_of(fitted.artifact_, graph, ["n3"])
    assert made.reads == "words"
    assert not {word.word for word in made.words} & set(COLUMNS)


def test_rows_without_names_are_read_in_their_order(model: SANNE, people: pd.DataFrame) -> None:
    rows = people[COLUMNS].to_numpy()
    unnamed = load_graph(EDGES, node_table=people[["id"]], features=rows)
    assert unnamed.feature_names is None
    np.testing.assert_allclose(model.transform(unnamed), model.embedding_, atol=1e-5)


def test_a_data_frame_of_features_has_names(people: pd.DataFrame) -> None:
    pairs = [(i, (i + 1) % 40) for i in range(40)]
    graph = load_graph(pairs, features=people[COLUMNS])
    assert graph.feature_names == tuple(COLUMNS)
    assert graph.subgraph(np.arange(5)).feature_names == tuple(COLUMNS)
    fitted = SANNE("fast", random_state=0).fit(graph)
    turned = load_graph(pairs, features=people[COLUMNS[::-1]])
    np.testing.assert_allclose(fitted.transform(turned), fitted.embedding_, atol=1e-5)


def test_folders_keep_names(model: SANNE, people: pd.DataFrame, tmp_path: Path) -> None:
    graph = load_graph(EDGES, node_table=people)
    save_graph(graph, tmp_path / "saved.graph")
    assert open_graph(tmp_path / "saved.graph").feature_names == tuple(COLUMNS)
    pd.DataFrame(EDGES, columns=["src", "dst"]).to_csv(tmp_path / "edges.csv", index=False)
    people[["id", *COLUMNS[::-1]]].to_csv(tmp_path / "nodes.csv", index=False)
    built = build_graph([tmp_path / "edges.csv"], tmp_path / "built.graph", node_table=tmp_path / "nodes.csv")
    assert built.feature_names == tuple(COLUMNS[::-1])
    with pytest.raises(InputError, match="build it with a --features for each"):
        model.transform(built)  # its rows may be larger than memory, so they are not turned


def test_a_command_reads_the_columns_of_the_fit(people: pd.DataFrame, tmp_path: Path) -> None:
    pd.DataFrame(EDGES, columns=["src", "dst"]).to_csv(tmp_path / "edges.csv", index=False)
    people.to_csv(tmp_path / "nodes.csv", index=False)
    people[["id", *COLUMNS[::-1]]].assign(extra=2.0).to_csv(tmp_path / "later.csv", index=False)
    graph = load_graph(tmp_path / "edges.csv", node_table=tmp_path / "nodes.csv")
    assert graph.chosen == {"features": tuple(COLUMNS)}
    fitted = SANNE("fast", random_state=0).fit(graph)
    source = ModelSource.of(str(tmp_path / "edges.csv"), node_table=tmp_path / "nodes.csv", **graph.chosen)
    fitted.artifact_.record["source"] = source.to_dict()
    later = ModelSource.of_model(fitted.artifact_, None, tmp_path / "later.csv").load()
    assert later.feature_names == tuple(COLUMNS)
    np.testing.assert_allclose(fitted.transform(later), fitted.embedding_, atol=1e-5)


def test_names_fit_their_columns() -> None:
    with pytest.raises(InputError, match="1 names for 2 feature columns"):
        Graph.from_edges([0], [1], node_ids=np.arange(2), features=np.zeros((2, 2)), feature_names=("one",))
