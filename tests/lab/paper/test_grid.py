"""Nothing outside the paper's grid can pass for the paper's."""

from dataclasses import replace
from typing import Any

import pytest

from sanne.errors import InputError
from sanne_lab.paper.grid import Candidate, Cell, Unstated, candidates, check_paper_config

CORA = Cell("cora", "transductive")
POINT = Candidate(CORA, 1e-4, 1024, 2, 8, 128)


@pytest.mark.parametrize(
    "change",
    [{"learning_rate": 1e-3}, {"ff_dim": 512}, {"num_layers": 1}, {"num_heads": 2}, {"num_walks": 8}],
    ids=lambda change: next(iter(change)),
)
def test_a_point_outside_the_grid_cannot_be_built(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="outside the paper's grid"):
        replace(POINT, **change)


@pytest.mark.parametrize(("dataset", "walks"), [("cora", 128), ("citeseer", 16), ("pubmed", 128)])
def test_newcomers_have_the_papers_number_of_walks(dataset: Any, walks: int) -> None:
    found = candidates(Cell(dataset, "inductive"), (Unstated(),))
    assert {candidate.num_walks for candidate in found} == {walks}
    assert len(found) == 54
    with pytest.raises(InputError, match="num_walks 64"):
        replace(found[0], num_walks=64)


@pytest.mark.parametrize(("dataset", "has_positions"), [("cora", True), ("citeseer", False), ("pubmed", True)])
def test_positions_are_where_the_paper_has_them(dataset: Any, has_positions: bool) -> None:
    config = replace(POINT, cell=Cell(dataset, "transductive")).config()
    assert (config.model.position_scale > 0) is has_positions


def test_every_point_has_what_the_paper_fixes() -> None:
    found = candidates(CORA, (Unstated(), Unstated(dropout=0.1)))
    assert len(found) == len(set(found)) == 2 * 216
    for candidate in found:
        config = candidate.config()
        assert (config.model.encoder_dim, config.walks.walk_length, config.train.batch_size) == (128, 8, 64)
        assert (config.objective.num_targets, config.objective.num_negatives) == (4, 512)
        assert config.infer.num_inference_walks == 8
        assert config.train.epochs <= 50
    assert sum(candidate.unstated.dropout > 0 for candidate in found[:10]) <= 1  # variants come after the grid's axes


@pytest.mark.parametrize("change", [{"batch_size": 128}, {"num_targets": 8}, {"epochs": 51}, {"position_scale": 0}])
def test_product_settings_that_the_paper_does_not_have_are_refused(change: dict[str, Any]) -> None:
    config = POINT.config()
    check_paper_config(config, CORA)
    with pytest.raises(InputError):
        check_paper_config(config.replace(**change), CORA)


@pytest.mark.parametrize("features", ["own-", "own-0", "theirs", "tfidf", ""])
def test_features_are_doc2vec(features: str) -> None:
    with pytest.raises(InputError, match="choose own"):
        Unstated(features=features)


def test_a_candidate_survives_its_record() -> None:
    candidate = replace(POINT, unstated=Unstated(dropout=0.1, layer_norm="post"))
    assert Candidate.from_dict(candidate.to_dict()) == candidate
    assert candidate.key != POINT.key


@pytest.mark.parametrize(("ablation", "part"), [("no-attention", "attention"), ("no-feed-forward", "feed_forward")])
def test_an_ablation_is_a_cell_of_its_own(ablation: Any, part: str) -> None:
    without = replace(POINT, cell=Cell("cora", "transductive", ablation))
    assert not getattr(without.config().model, part)
    assert without.key != POINT.key
    with pytest.raises(InputError, match=part):
        check_paper_config(without.config(), CORA)
    assert Candidate.from_dict(without.to_dict()) == without


def test_the_strict_variant_is_a_cell_of_its_own_and_never_has_vectors_that_saw_all_texts() -> None:
    strict = Cell("cora", "inductive", texts="present")
    assert (str(strict), str(Cell("cora", "inductive"))) == ("cora, inductive-strict", "cora, inductive")
    assert Candidate(strict, 1e-4, 1024, 2, 8, 128, Unstated(features="own-40")).config()
    with pytest.raises(InputError, match="have seen all texts"):
        Candidate(strict, 1e-4, 1024, 2, 8, 128, Unstated(features="joint-140"))
    with pytest.raises(InputError, match="all texts are present"):
        Cell("cora", "transductive", texts="present")


def test_the_table_is_as_fast_with_any_rate_of_the_encoder() -> None:
    found = candidates(Cell("cora", "transductive"), (Unstated(table_rate=10.0), Unstated()))
    pairs = {(one.learning_rate, round(one.learning_rate * one.unstated.table_rate, 9)) for one in found}
    assert pairs == {(rate, table) for rate in (1e-4, 5e-5, 1e-5) for table in (1e-3, 1e-4)}


def test_records_older_than_the_axis_of_lengths_keep_their_key() -> None:
    point = Candidate(Cell("cora", "transductive"), 1e-4, 1024, 2, 8, 16)
    assert "lengths" not in point.to_dict()["unstated"]
    unit = replace(point, unstated=Unstated(lengths="one"))
    assert unit.key != point.key
    assert Candidate.from_dict(unit.to_dict()) == unit
