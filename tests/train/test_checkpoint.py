"""The checkpoint file: read back exactly, or refused by name."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from planted import planted_graph
from sanne.errors import InputError
from sanne.train.checkpoint import Checkpoint, Progress, checksum, fingerprint, load_checkpoint, save_checkpoint

POSSIBLE = {
    **{f"{part}/{name}": shape for part in ("model", "best") for name, shape in (("weight", (2, 3)), ("bias", (2,)))},
    **{f"optimiser/0/0/{entry}": (2, 3) for entry in ("exp_avg", "exp_avg_sq")},
    **{f"optimiser/0/1/{entry}": (2,) for entry in ("exp_avg", "exp_avg_sq")},
    **{f"optimiser/1/0/{entry}": (4, 2) for entry in ("exp_avg", "exp_avg_sq")},
    **{f"optimiser/{place}/step": () for place in ("0/0", "0/1", "1/0")},
}
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
    save_checkpoint(tmp_path / "c.safetensors", saved, "me")
    found = load_checkpoint(tmp_path / "c.safetensors", "me", POSSIBLE)
    assert found.progress == PROGRESS
    assert same(found.model, saved.model)
    assert same(found.best, saved.best)
    assert same(found.optimisers, saved.optimisers)


def test_a_failed_save_leaves_the_old_checkpoint_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, checkpoint(), "me")
    before = path.read_bytes()

    def broken(tensors: Any, part: Path, metadata: Any) -> None:
        Path(part).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("sanne.train.checkpoint.save_file", broken)
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(path, checkpoint(), "me")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_another_identity_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c.safetensors", checkpoint(), "me")
    with pytest.raises(InputError, match="another graph or to other settings"):
        load_checkpoint(tmp_path / "c.safetensors", "you", POSSIBLE)


@pytest.mark.parametrize("keep", [0, 5, 100, -10])
def test_a_cut_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, checkpoint(), "me")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"c\.safetensors: not a readable checkpoint"):
        load_checkpoint(path, "me", POSSIBLE)


@pytest.mark.parametrize("damage", ["no header", "not JSON", "a list", "no progress", "odd progress", "no optimiser"])
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, checkpoint(), "me")
    whole = {"progress": {"epoch": 1}, "optimisers": [], "identity": "me"}
    header = {
        "no header": None,
        "not JSON": "{",
        "a list": "[]",
        "no progress": json.dumps({"optimisers": [], "identity": "me"}),
        "odd progress": json.dumps(whole | {"progress": {"epoch": 1, "luck": 2}}),
        "no optimiser": json.dumps(whole | {"optimisers": [{}]}),
    }[damage]
    tensors = load_file(path)
    metadata = None if header is None else {"sanne": header, "sha256": checksum(header, tensors)}
    save_file(tensors, path, metadata=metadata)
    with pytest.raises(InputError, match=r"c\.safetensors: not a readable checkpoint"):
        load_checkpoint(path, "me", POSSIBLE)


@pytest.mark.parametrize("words", [b"betas", b"0.9", b'"lr', b"model/", b"exp_avg", b"F32"])
def test_a_flipped_bit_in_the_header_is_refused(tmp_path: Path, words: bytes) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, checkpoint(), "me")
    content = bytearray(path.read_bytes())
    content[content.index(words) + len(words) - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"c\.safetensors: not a readable checkpoint"):
        load_checkpoint(path, "me", POSSIBLE)


def test_a_flipped_bit_in_a_weight_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, checkpoint(), "me")
    content = bytearray(path.read_bytes())
    content[-4] ^= 1  # the last bit of a mantissa: a number like any other
    path.write_bytes(content)
    with pytest.raises(InputError, match="its checksum does not match"):
        load_checkpoint(path, "me", POSSIBLE)


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


@pytest.mark.parametrize("extra", ["unknown", "large"])
def test_tensors_that_no_training_has_are_refused_unread(
    tmp_path: Path, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.safetensors"
    odd = {"more": torch.ones(2)} if extra == "unknown" else {"bias": torch.ones(2000)}
    saved = checkpoint()
    save_checkpoint(path, replace(saved, model=saved.model | odd), "me")
    monkeypatch.setattr("sanne.train.checkpoint.read_tensors", lambda _: pytest.fail("the tensors were read"))
    with pytest.raises(InputError, match=r"unknown tensor model/more|model/bias has shape"):
        load_checkpoint(path, "me", POSSIBLE)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.safetensors")
    with pytest.raises(InputError, match="not a regular file"):
        load_checkpoint(tmp_path / "c.safetensors", "me", POSSIBLE)
