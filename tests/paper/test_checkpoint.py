"""The checkpoint file: read back exactly, or refused by name."""

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from planted import planted_graph
from sanne.errors import InputError
from sanne.paper.loop import Checkpoint, Progress, fingerprint, load_checkpoint, save_checkpoint

PROGRESS = Progress(epoch=3, losses=[0.1, 1 / 3, 2e-17], scores=[0.5], seconds=1.5, best_epoch=1)


def checkpoint() -> Checkpoint:
    layer = torch.nn.Linear(3, 2)
    table = torch.nn.Parameter(torch.randn(4, 2))
    optimisers = [torch.optim.Adam(layer.parameters()), torch.optim.SparseAdam([table])]
    loss = layer(torch.randn(5, 3)).sum() + torch.nn.functional.embedding(torch.tensor([1]), table, sparse=True).sum()
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
    model = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    best = {name: tensor + 1 for name, tensor in model.items()}
    return Checkpoint(PROGRESS, model, best, [optimiser.state_dict() for optimiser in optimisers])


def same(first: Any, second: Any) -> bool:
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return bool(first == second)


def test_everything_comes_back_exactly(tmp_path: Path) -> None:
    saved = checkpoint()
    save_checkpoint(tmp_path / "fit.checkpoint", saved, "me")
    found = load_checkpoint(tmp_path / "fit.checkpoint", "me")
    assert found.progress == PROGRESS
    assert same(found.model, saved.model)
    assert same(found.best, saved.best)
    assert same(found.optimisers, saved.optimisers)


def test_a_failed_save_leaves_the_old_checkpoint_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fit.checkpoint"
    save_checkpoint(path, checkpoint(), "me")
    before = path.read_bytes()

    def broken(state: Any, file: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("torch.save", broken)
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(path, checkpoint(), "me")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_another_identity_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "fit.checkpoint", checkpoint(), "me")
    with pytest.raises(InputError, match="another graph or to other settings"):
        load_checkpoint(tmp_path / "fit.checkpoint", "you")


@pytest.mark.parametrize("keep", [0, 5, 100, -10])
def test_a_cut_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "fit.checkpoint"
    save_checkpoint(path, checkpoint(), "me")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"fit\.checkpoint: not a readable checkpoint"):
        load_checkpoint(path, "me")


def rewrite(path: Path, state: Any) -> None:
    """A file with any content and the right checksum."""
    content = io.BytesIO()
    torch.save(state, content)
    path.write_bytes(hashlib.sha256(content.getvalue()).digest() + content.getvalue())


PARTS = {"progress": {"epoch": 1}, "model": {}, "best": {}, "optimisers": [], "identity": "me"}


@pytest.mark.parametrize(
    "state",
    [
        [],
        {},
        PARTS | {"progress": {"epoch": 1, "luck": 2}},
        PARTS | {"progress": None},
        {name: part for name, part in PARTS.items() if name != "model"},
        PARTS | {"more": 1},
        PARTS | {"model": Path("code")},
    ],
)
def test_content_that_makes_no_sense_is_refused(tmp_path: Path, state: Any) -> None:
    path = tmp_path / "fit.checkpoint"
    rewrite(path, PARTS)
    assert load_checkpoint(path, "me").progress.epoch == 1
    rewrite(path, state)
    with pytest.raises(InputError, match=r"fit\.checkpoint: not a readable checkpoint"):
        load_checkpoint(path, "me")


def test_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fit.checkpoint"
    save_checkpoint(path, checkpoint(), "me")
    content = bytearray(path.read_bytes())
    content[-4000] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="its checksum does not match"):
        load_checkpoint(path, "me")


def test_the_fingerprint_sees_edges_weights_features_settings_and_seed() -> None:
    graph = planted_graph(size=10)
    other = planted_graph(size=10, seed=1)
    features = graph.features
    prints = {
        fingerprint(graph.adjacency(), features, {"epochs": 1}, 0),
        fingerprint(other.adjacency(), features, {"epochs": 1}, 0),
        fingerprint(graph.adjacency(), other.features, {"epochs": 1}, 0),
        fingerprint(graph.adjacency(), features, {"epochs": 2}, 0),
        fingerprint(graph.adjacency(), features, {"epochs": 1}, 1),
    }
    assert len(prints) == 5
    assert fingerprint(graph.adjacency(), features, {"epochs": 1}, 0) in prints


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fit.checkpoint")
    with pytest.raises(InputError, match="not a regular file"):
        load_checkpoint(tmp_path / "fit.checkpoint", "me")
