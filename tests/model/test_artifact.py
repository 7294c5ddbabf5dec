"""The model folder: read back exactly, or refused by name whatever is wrong with it."""

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from planted import planted_graph, tiny_config
from sanne.device import available_cores
from sanne.errors import InputError, ModelFolderError
from sanne.infer.embed import embed
from sanne.model import artifact as artifact_module
from sanne.model.artifact import FORMAT_VERSION, Artifact, check_model_target
from sanne.model.card import model_card
from sanne.model.fit import fit_model
from sanne.paper.walk_model import WalkModel

GRAPH = planted_graph(size=20)


@pytest.fixture(scope="module", params=["hidden", "neighbours"])
def artifact(request: pytest.FixtureRequest) -> Artifact:
    return fit_model(GRAPH, tiny_config(objective=request.param, epochs=1), 3, record={"recipe": "best"})


@pytest.fixture
def folder(artifact: Artifact, tmp_path: Path) -> Path:
    place = tmp_path / "model"
    place.mkdir()
    artifact.write(place)
    return place


def vouch(folder: Path) -> None:
    """Make the checksums right again, as someone who edits a model by hand could."""
    header = json.loads((folder / "config.json").read_text())
    header["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in header["sha256"]}
    (folder / "config.json").write_text(json.dumps(header))


def edit_header(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        header = json.loads((folder / "config.json").read_text())
        change(header)
        (folder / "config.json").write_text(json.dumps(header))

    return edit


def edit_tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")
        vouch(folder)

    return edit


def edit_features(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        features = json.loads((folder / "features.json").read_text())
        change(features)
        (folder / "features.json").write_text(json.dumps(features))
        vouch(folder)

    return edit


def test_a_model_comes_back_exactly(artifact: Artifact, folder: Path) -> None:
    found = Artifact.read(folder)
    assert (found.config, found.seed, found.num_nodes) == (artifact.config, 3, 60)
    assert found.record == json.loads(json.dumps(artifact.record))
    expected = embed(artifact, GRAPH, explain=3)
    again = embed(found, GRAPH, explain=3)
    assert np.array_equal(again.vectors, expected.vectors)
    assert np.array_equal(again.uncertainty, expected.uncertainty, equal_nan=True)
    assert again.explanation == expected.explanation


def test_the_folder_holds_json_and_safetensors_only(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "features.json", "model.safetensors"]
    json.loads((folder / "config.json").read_text(encoding="utf-8"))
    json.loads((folder / "features.json").read_text(encoding="utf-8"))
    load_file(folder / "model.safetensors")


def weight(tensors: dict[str, torch.Tensor]) -> str:
    """The name of a tensor that a model cannot do without."""
    return "model/matrix" if "model/matrix" in tensors else "model/encoder.layers.0.attention.combine.weight"


def mean(tensors: dict[str, torch.Tensor]) -> str:
    return "features/base/mean" if "features/base/mean" in tensors else "features/mean"


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "no config": lambda f: (f / "config.json").unlink(),
    "no features": lambda f: (f / "features.json").unlink(),
    "no weights": lambda f: (f / "model.safetensors").unlink(),
    "no weights and no checksum": lambda f: (
        edit_header(lambda h: h.update(sha256={}))(f),
        (f / "model.safetensors").unlink(),
    ),
    "no checksums": edit_header(lambda h: h.update(sha256={})),
    "no checksum of the features": edit_header(lambda h: h["sha256"].pop("features.json")),
    "vectors without a checksum": lambda f: (f / "vectors.parquet").write_bytes(b"PAR1"),
    "weights a pipe": lambda f: ((f / "model.safetensors").unlink(), os.mkfifo(f / "model.safetensors")),
    "features a pipe": lambda f: ((f / "features.json").unlink(), os.mkfifo(f / "features.json")),
    "config a pipe": lambda f: ((f / "config.json").unlink(), os.mkfifo(f / "config.json")),
    "vectors a pipe": lambda f: os.mkfifo(f / "vectors.parquet"),
    "weights a device": lambda f: (
        (f / "model.safetensors").unlink(),
        (f / "model.safetensors").symlink_to("/dev/zero"),
    ),
    "a link to nothing": lambda f: ((f / "features.json").unlink(), (f / "features.json").symlink_to(f / "nothing")),
    "a huge config": lambda f: os.truncate(f / "config.json", 2**40),
    "an array too many": edit_tensors(lambda t: t.update({"features/more": torch.ones(1)})),
    "a tensor of no part": edit_tensors(lambda t: t.update({"more": torch.ones(1)})),
    "weights of double precision": edit_tensors(lambda t: t.update({mean(t): t[mean(t)].double()})),
    "empty config": lambda f: (f / "config.json").write_text(""),
    "config cut": lambda f: (f / "config.json").write_bytes((f / "config.json").read_bytes()[:-20]),
    "config not UTF-8": lambda f: (f / "config.json").write_bytes(b"\xff\xfe{}"),
    "config nested beyond reason": lambda f: (f / "config.json").write_text("[" * 200_000),
    "config a list": lambda f: (f / "config.json").write_text("[]"),
    "config of another program": lambda f: (f / "config.json").write_text('{"model_type": "bert"}'),
    "weights cut": lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-1]),
    "weights cut and vouched for": lambda f: (
        (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-1]),
        vouch(f),
    ),
    "weights empty and vouched for": lambda f: ((f / "model.safetensors").write_bytes(b""), vouch(f)),
    "features not JSON and vouched for": lambda f: ((f / "features.json").write_text("{"), vouch(f)),
    "features a list": lambda f: ((f / "features.json").write_text("[]"), vouch(f)),
    "newer format": edit_header(lambda h: h.update(format_version=FORMAT_VERSION + 1)),
    "older format": edit_header(lambda h: h.update(format_version=FORMAT_VERSION - 1)),
    "format not a number": edit_header(lambda h: h.update(format_version="1")),
    "no settings": edit_header(lambda h: h.pop("settings")),
    "a setting of a later version": edit_header(lambda h: h["settings"]["walks"].update(teleport=0.1)),
    "a setting out of range": edit_header(lambda h: h["settings"]["walks"].update(walk_length=0)),
    "an infinite setting": edit_header(lambda h: h["settings"]["train"].update(epochs=float("inf"))),
    "another width": edit_header(
        lambda h: (
            h["settings"]["model"].update(encoder_dim=32),
            h["settings"]["objective"].update(link_restarts=[1, 0.5]),
        )
    ),
    "another depth": edit_header(
        lambda h: (h["settings"]["model"].update(num_layers=2), h["settings"]["objective"].update(link_restarts=[]))
    ),
    "no seed": edit_header(lambda h: h.pop("seed")),
    "a seed below zero": edit_header(lambda h: h.update(seed=-1)),
    "a seed that is text": edit_header(lambda h: h.update(seed="3")),
    "no record": edit_header(lambda h: h.update(record=None)),
    "a weight missing": edit_tensors(lambda t: t.pop(weight(t))),
    "a weight too many": edit_tensors(lambda t: t.update({"model/encoder.more": torch.ones(1)})),
    "a weight of another shape": edit_tensors(lambda t: t.update({weight(t): torch.ones(3, 3)})),
    "a weight not a number": edit_tensors(lambda t: t[weight(t)][0].fill_(float("nan"))),
    "infinite weights": edit_tensors(lambda t: t[weight(t)][0, :2].copy_(torch.tensor([float("inf"), -float("inf")]))),
    "a feature mean missing": edit_tensors(lambda t: t.pop(mean(t))),
    "feature means too few": edit_tensors(lambda t: t.update({mean(t): torch.zeros(3)})),
    "an unknown feature map": edit_features(lambda j: j.update(name="telepathy")),
    "no feature state": edit_features(lambda j: j.pop("state")),
    "a feature map of another kind": edit_features(lambda j: j.update(name="tfidf")),
}


@pytest.mark.parametrize("damage", sorted(DAMAGE))
def test_a_damaged_folder_is_refused_by_name(folder: Path, damage: str) -> None:
    DAMAGE[damage](folder)
    with pytest.raises(ModelFolderError, match=str(folder)) as caught:
        Artifact.read(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["model/more", "features/more", "more"])
def test_a_tensor_that_does_not_belong_is_refused_unread(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file claims another 6 GB, which are a hole and take no room on the disk."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    numbers = 6 * 2**30 // 4
    header[name] = {"dtype": "F32", "shape": [numbers], "data_offsets": [len(data), len(data) + 4 * numbers]}
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)
    os.truncate(path, 8 + len(raw) + len(data) + 4 * numbers)
    known = json.loads((folder / "config.json").read_text())["sha256"]  # a forger writes one that fits
    monkeypatch.setattr(artifact_module, "digest_of", lambda file: known[file.name])
    monkeypatch.setattr(artifact_module, "read_tensors", lambda file: pytest.fail("the tensors were read"))
    with pytest.raises(ModelFolderError, match=str(folder)):
        Artifact.read(folder)


def test_links_to_regular_files_are_read(folder: Path, tmp_path: Path) -> None:
    shutil.move(folder / "model.safetensors", tmp_path / "weights")
    (folder / "model.safetensors").symlink_to(tmp_path / "weights")
    Artifact.read(folder)


def test_threads_of_a_model_are_capped_to_the_cores(
    artifact: Artifact, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_header(lambda h: h["settings"]["train"].update(threads=3000))(folder)
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    embed(Artifact.read(folder), GRAPH)
    assert bool(asked) == isinstance(artifact.model, WalkModel)  # the other one does without torch
    assert max(asked, default=0) <= max(available_cores(), torch.get_num_threads())


def test_a_table_of_another_number_of_nodes_is_refused(artifact: Artifact, folder: Path) -> None:
    for count in (59, 0, -1, -16, 10**15):
        edit_header(lambda h, count=count: h.update(num_nodes=count))(folder)  # type: ignore[misc]
        if artifact.config.objective.objective == "neighbours":
            with pytest.raises(ModelFolderError, match=str(folder)):
                Artifact.read(folder)


def test_a_newer_format_asks_for_an_upgrade_and_not_for_a_new_fit(folder: Path) -> None:
    DAMAGE["newer format"](folder)
    with pytest.raises(
        ModelFolderError, match=rf"format {FORMAT_VERSION + 1}, this one reads {FORMAT_VERSION}.*upgrade sanne"
    ):
        Artifact.read(folder)


def test_an_older_format_asks_for_a_new_fit_which_may_replace_it(folder: Path) -> None:
    DAMAGE["older format"](folder)
    with pytest.raises(ModelFolderError, match=rf"older sanne \(format {FORMAT_VERSION - 1}, .*\): fit again"):
        Artifact.read(folder)
    assert check_model_target(folder) == folder


@pytest.mark.parametrize("name", ["model.safetensors", "features.json"])
def test_any_flipped_byte_is_found(folder: Path, name: str) -> None:
    original = (folder / name).read_bytes()
    for place in np.random.default_rng(0).integers(len(original), size=25).tolist():
        changed = bytearray(original)
        changed[place] ^= 0x10
        (folder / name).write_bytes(changed)
        with pytest.raises(ModelFolderError, match="damaged"):
            Artifact.read(folder)


def test_flipped_bytes_that_are_vouched_for_never_give_another_error(folder: Path) -> None:
    """Whatever the files hold, reading gives a model or a ModelFolderError."""
    stream = np.random.default_rng(0)
    for name in ("model.safetensors", "features.json", "config.json"):
        original = (folder / name).read_bytes()
        for place in stream.integers(min(len(original), 3000), size=60).tolist():
            changed = bytearray(original)
            changed[place] ^= 1 << int(stream.integers(7))
            (folder / name).write_bytes(changed)
            try:
                if name != "config.json":
                    vouch(folder)
                Artifact.read(folder)
            except ModelFolderError:
                pass
        (folder / name).write_bytes(original)
    vouch(folder)
    Artifact.read(folder)


def test_a_folder_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="sanne fit"):
        Artifact.read(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFolderError, match="is a file, not a model folder"):
        Artifact.read(tmp_path / "file")
    with pytest.raises(ModelFolderError, match=r"config\.json is missing"):
        Artifact.read(tmp_path)


def test_only_new_empty_and_model_folders_may_be_written_to(folder: Path, tmp_path: Path) -> None:
    check_model_target(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    check_model_target(tmp_path / "empty")
    check_model_target(folder)
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"other files in this folder \(thesis.tex\)"):
        check_model_target(folder)
    foreign = tmp_path / "other"  # the very names that a model of another library has
    foreign.mkdir()
    (foreign / "config.json").write_text('{"model_type": "bert"}')
    shutil.copy(folder / "model.safetensors", foreign)
    with pytest.raises(InputError, match="not replaced"):
        check_model_target(foreign)
    with pytest.raises(InputError, match="no folder"):
        check_model_target(tmp_path / "no" / "such")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is a file"):
        check_model_target(tmp_path / "file")


def test_the_card_says_what_the_model_is(artifact: Artifact) -> None:
    card = model_card(artifact)
    for line in (
        "| nodes | 60 |",
        "| seed | 3 |",
        "| recipe | best |",
        "| walk_length | 5 |",
        "| features | numeric, ",
    ):
        assert line in card
    assert ("| loss, first and last epoch |" in card) == isinstance(artifact.model, WalkModel)
    assert card.count("```") == 2
