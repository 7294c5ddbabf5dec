"""Training: it learns, it stops when told, and an interruption leaves no trace in the result."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from planted import planted_graph, trained_config
from sanne.config import Config
from sanne.errors import InputError, SanneError
from sanne.model.model import Run
from sanne.paper.device import choose_device, torch_threads
from sanne.paper.loop import Progress, fingerprint, load_checkpoint, save_checkpoint, train
from sanne.paper.walk_model import WalkModel

GRAPH = planted_graph()


def run(config: Config, *, seed: int = 0, features: Any = None, **options: Any) -> tuple[WalkModel, Progress]:
    model = WalkModel(config, width=12, num_nodes=GRAPH.num_nodes, seed=seed)
    rows = GRAPH.features if features is None else features
    return model, train(model, GRAPH.adjacency(), rows, config, seed, **options)


def same(first: WalkModel, second: WalkModel) -> bool:
    states = first.state_dict(), second.state_dict()
    assert states[0].keys() == states[1].keys()
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


class Interruption(Exception):
    pass


def interrupting(epoch: int, scores: list[float] | None = None) -> Any:
    """A hook that scores epochs and breaks off before the checkpoint of one of them is written."""

    def hook(done: int) -> float | None:
        if done == epoch:
            raise Interruption
        return None if scores is None else scores[done - 1]

    return hook


def test_a_small_graph_is_overfitted_by_the_papers_objective() -> None:
    config = trained_config(epochs=30, num_negatives=120, num_targets=2, learning_rate=5e-3)
    model, progress = run(config.replace(table_learning_rate=5e-2))
    # Chance is log(120) = 4.8; a node has about six neighbours, so log(6) = 1.8 is the best there is.
    assert progress.losses[0] > 3.9
    assert progress.losses[-1] < 3.2
    assert not model.training
    assert len(progress.losses) == progress.epoch == 30


@pytest.mark.parametrize("best", [False, True])
def test_resume_equals_an_uninterrupted_run_bit_for_bit(tmp_path: Path, best: bool) -> None:
    config = trained_config(epochs=4, dropout=0.2, steps_per_epoch=3)
    scores = [0.1, 0.7, 0.3, 0.2] if best else None
    whole, progress = run(config, on_epoch=interrupting(-1, scores))
    checkpoint = tmp_path / "fit.checkpoint"
    with pytest.raises(Interruption):
        run(config, on_epoch=interrupting(3, scores), run=Run(checkpoint))
    resumed, again = run(config, on_epoch=interrupting(-1, scores), run=Run(checkpoint, resume=True))
    assert same(whole, resumed)
    assert again.losses == progress.losses
    assert again.scores == progress.scores == (scores or [])
    assert again.best_epoch == progress.best_epoch == (2 if best else 0)
    assert [path.name for path in tmp_path.iterdir()] == ["fit.checkpoint"]  # no litter
    # Once more, from the end: there is nothing left to do, and the result is the same.
    finished, _ = run(config, on_epoch=interrupting(1), run=Run(checkpoint, resume=True))
    assert same(whole, finished)


def test_resume_after_another_interruption_between_two_others(tmp_path: Path) -> None:
    config = trained_config(epochs=4, dropout=0.1, steps_per_epoch=2)
    checkpoint = tmp_path / "fit.checkpoint"
    for epoch in (2, 3, 4):
        with pytest.raises(Interruption):
            run(config, on_epoch=interrupting(epoch), run=Run(checkpoint, resume=True))
    assert same(run(config, run=Run(checkpoint, resume=True))[0], run(config)[0])


def test_without_resume_an_old_checkpoint_is_overwritten(tmp_path: Path) -> None:
    checkpoint = tmp_path / "fit.checkpoint"
    config = trained_config(epochs=1, steps_per_epoch=2)
    run(config, run=Run(checkpoint))
    _, progress = run(config, seed=1, run=Run(checkpoint))
    assert progress.epoch == 1


def test_a_checkpoint_of_another_graph_or_other_settings_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "fit.checkpoint"
    config = trained_config(epochs=2, steps_per_epoch=1)
    run(config, run=Run(checkpoint))
    again = Run(checkpoint, resume=True)
    changed = np.array(GRAPH.features)
    changed[0, 0] += 1
    for options in (
        {"config": config.replace(learning_rate=0.5)},
        {"config": config, "seed": 1},
        {"config": config, "features": changed},
    ):
        with pytest.raises(InputError, match="another graph or to other settings"):
            run(**options, run=again)  # type: ignore[arg-type]
    run(config, run=again)


def test_a_checkpoint_with_a_part_missing_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "fit.checkpoint"
    config = trained_config(epochs=2, steps_per_epoch=1)
    run(config, run=Run(checkpoint))
    identity = fingerprint(GRAPH.adjacency(), GRAPH.features, config.to_dict(), 0)
    whole = load_checkpoint(checkpoint, identity)
    part = {name: tensor for name, tensor in whole.model.items() if "combine" not in name}
    save_checkpoint(checkpoint, replace(whole, model=part), identity)
    with pytest.raises(InputError, match="incomplete checkpoint"):
        run(config, run=Run(checkpoint, resume=True))


@pytest.mark.parametrize("name", ["", "no/such/folder/fit.checkpoint"])
def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        run(trained_config(), on_epoch=interrupting(1), run=Run(tmp_path / name))


def test_the_model_ends_as_it_was_in_its_best_epoch() -> None:
    seen: list[dict[str, torch.Tensor]] = []
    scores = [0.5, float("nan"), 0.9, 0.9, 0.1]

    config = trained_config(epochs=5, steps_per_epoch=1)
    model = WalkModel(config, width=12, num_nodes=GRAPH.num_nodes, seed=0)

    def hook(epoch: int) -> float:
        assert not model.training
        seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return scores[epoch - 1]

    progress = train(model, GRAPH.adjacency(), GRAPH.features, config, 0, hook)
    assert progress.best_epoch == 3
    assert all(torch.equal(tensor, seen[2][name]) for name, tensor in model.state_dict().items())


def test_a_first_score_that_is_not_a_number_does_not_win() -> None:
    _, progress = run(
        trained_config(epochs=2, steps_per_epoch=1), on_epoch=lambda epoch: [float("nan"), 0.1][epoch - 1]
    )
    assert progress.best_epoch == 2


def test_the_table_has_a_learning_rate_of_its_own() -> None:
    config = trained_config(epochs=1, steps_per_epoch=1, learning_rate=1e-12, num_negatives=120)
    start = WalkModel(config, width=12, num_nodes=GRAPH.num_nodes, seed=0).state_dict()
    model, _ = run(config.replace(table_learning_rate=0.1))
    for name, tensor in model.state_dict().items():
        moved = (tensor - start[name]).abs().max().item()
        assert (moved > 0.05) == (name == "objective.table"), name


def test_weights_that_the_last_step_spoils_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(torch.optim.Adam):
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                group["params"][0].data.fill_(torch.inf)

    monkeypatch.setattr("sanne.paper.loop.make_optimisers", lambda model, config: [Broken(model.parameters())])
    with pytest.raises(SanneError, match="weights are not finite in epoch 1"):
        run(trained_config(epochs=1, steps_per_epoch=1))


def test_a_loss_that_is_not_finite_is_named() -> None:
    features = np.array(GRAPH.features)
    features[3] = np.nan
    with pytest.raises(SanneError, match=r"not finite in epoch 1: lower learning_rate \(now 0.001\)"):
        run(trained_config(), features=features)


@pytest.mark.parametrize("name", ["nowhere", "meta", "cuda:99", "xla"])
def test_an_unavailable_device_is_named(name: str) -> None:
    with pytest.raises(InputError, match=f"'{name}' is not available"):
        choose_device(name)


def test_auto_finds_a_device() -> None:
    assert choose_device("auto").type in ("cpu", "cuda", "mps")
    assert choose_device("cpu") == torch.device("cpu")


def test_the_same_seed_gives_the_same_model_and_the_global_random_state_is_left_alone() -> None:
    config = trained_config(epochs=1, dropout=0.3)
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first, _ = run(config)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(2)
    assert same(first, run(config)[0])
    assert not same(first, run(config, seed=1)[0])


def test_every_epoch_has_a_dropout_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    real = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: seeds.append(seed) or real(seed))
    run(trained_config(epochs=3, steps_per_epoch=1, dropout=0.5))
    assert len(seeds) == 4  # the first is for the start values
    assert len(set(seeds)) == 4


def test_threads_are_set_for_the_training_only() -> None:
    before = torch.get_num_threads()
    with torch_threads(before + 1, positions=1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_small_batches_are_worth_one_thread_and_large_ones_all() -> None:
    before = torch.get_num_threads()
    with torch_threads(0, positions=64):
        assert torch.get_num_threads() == 1
    with torch_threads(0, positions=10**6):
        assert torch.get_num_threads() == before
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("shape", [(64, 128, 128), (512, 128, 1024), (512, 1024, 128)])
def test_products_are_in_single_precision_on_every_processor(shape: tuple[int, int, int]) -> None:
    """Processors with instructions for bfloat16 would round factors to it: a thousand times the error."""
    rows, inner, columns = shape
    stream = torch.Generator().manual_seed(0)
    left, right = torch.randn(rows, inner, generator=stream), torch.randn(inner, columns, generator=stream)
    with torch_threads(1):
        found = left @ right
    exact = left.double() @ right.double()
    assert (found - exact).abs().max() < 1e-4 * exact.abs().max()


def test_epochs_are_logged_and_no_bar_is_drawn_off_a_terminal(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "sanne"):
        run(trained_config(epochs=2, steps_per_epoch=1))
    assert [r.message.split(":")[0] for r in caplog.records if "epoch" in r.message] == ["epoch 1 of 2", "epoch 2 of 2"]
    assert capsys.readouterr() == ("", "")
