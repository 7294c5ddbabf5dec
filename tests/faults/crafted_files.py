"""Files made to do harm: pickles that run code, archives that fill memory, headers that promise what is not there.

Each is (sample, file, content, words that the error must have); the sample's other files are valid.
"""

import io
import json
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Crafted = tuple[str, str, bytes, str]
Files = dict[str, dict[str, bytes]]  # sample -> file -> valid content

BOMB = 3 * 2**30  # bytes: three times what the process that reads it may take


class Trap:
    """Unpickled without care, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def trap(canary: Path) -> bytes:
    return pickle.dumps(Trap(canary), protocol=4)


def pickles(canary: Path) -> list[Crafted]:
    """A pickle with a trap in place of every file, bare and in the dress of the format."""
    bare = trap(canary)
    objects = io.BytesIO()
    np.save(objects, np.array([Trap(canary)], object), allow_pickle=True)
    npz = io.BytesIO()
    np.savez(npz, edges=np.array([Trap(canary)], object))  # numpy writes such an array as a pickle
    header = json.dumps({"__metadata__": {"sanne": bare.decode("latin1")}}).encode()
    dressed = struct.pack("<Q", len(header)) + header + bare
    found: list[Crafted] = []
    for content in (bare, dressed):
        found += [("model-dense", "model.safetensors", content, "model.safetensors")]
        found += [("checkpoint", "m.checkpoint", content, "not a readable checkpoint")]
    found += [("model-dense", name, bare, name) for name in ("config.json", "vectors.parquet")]
    found += [("model-dense", "features.json", bare, "the model folder is damaged")]
    for name in ("indptr.npy", "indices.npy", "features.npy", "labels.npy", "node_ids.npy"):
        found += [("graph-dense", name, content, name) for content in (bare, objects.getvalue())]
    found += [("vectors", "v.npy", content, "v.npy") for content in (bare, objects.getvalue())]
    found += [("npz", "g.npz", content, "not a readable numpy archive") for content in (bare, npz.getvalue())]
    found += [("splits", "cora.paper_splits.npz", content, "splits") for content in (bare, npz.getvalue())]
    for part in ("allx", "ally", "tx", "ty", "graph"):
        nested = pickle.dumps({0: [Trap(canary)], 1: [0]}, protocol=4)
        found += [("planetoid", f"ind.toy.{part}", content, "which is no data") for content in (bare, nested)]
    found += [
        ("parquet", "edges.parquet", bare, "not a Parquet file"),
        ("wheel", "data.whl", bare, "not a readable wheel"),
    ]
    return found


def bombs() -> list[Crafted]:
    """Small files that grow beyond all bounds when they are unpacked."""
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": False, "shape": (BOMB,)})
    bomb = _archive("edges.npy", member.getvalue(), BOMB)
    wheel = _archive("data/cora.content", b"", BOMB)
    rows = io.BytesIO()
    with pq.ParquetWriter(rows, pa.schema([("src", pa.int64()), ("dst", pa.int64())]), compression="zstd") as writer:
        block = pa.table({"src": np.zeros(2**22, np.int64), "dst": np.ones(2**22, np.int64)})
        for _ in range(64):
            writer.write_table(block, row_group_size=2**22)
    return [
        ("npz", "g.npz", bomb, "a zip bomb?"),
        ("splits", "cora.paper_splits.npz", bomb, "a zip bomb?"),
        ("wheel", "data.whl", wheel, "is not the expected file"),
        ("parquet", "edges.parquet", rows.getvalue(), "damaged Parquet file"),
    ]


def _archive(name: str, start: bytes, zeros: int) -> bytes:
    """A zip archive of one member that unpacks to `start` and so many zeros, put together without compressing them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)  # stands by itself, so it can be repeated
    data += block * (zeros // 2**20) + packer.flush()
    label = name.encode()
    facts = (20, 0, 8, 0, 0, 0, len(data), len(start) + zeros, len(label))  # version, flags, deflate, time, crc, sizes
    local = b"PK\3\4" + struct.pack("<HHHHHIIIHH", *facts, 0) + label
    central = b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, *facts, 0, 0, 0, 0, 0, 0) + label
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(data), 0)
    return local + data + central + end


def liars(files: Files) -> list[Crafted]:
    """Headers that promise what is not there, or what cannot be."""
    model = files["model-dense"]["model.safetensors"]
    checkpoint = files["checkpoint"]["m.checkpoint"]
    found: list[Crafted] = []
    for length in (2**60, 2**63, 2**64 - 1, 100_000_001, 0, len(model)):
        head = struct.pack("<Q", length)
        found += [("model-dense", "model.safetensors", head + model[8:], "damaged (model.safetensors: ")]
        found += [("checkpoint", "m.checkpoint", head + checkpoint[8:], "not a readable checkpoint")]
    for change in (
        lambda t: t.update(shape=[2**30, 2**30]),
        lambda t: t.update(dtype="F64"),
        lambda t: t.update(data_offsets=[0, 2**60]),
        lambda t: t.update(shape=[1]),
        lambda t: t.update(dtype="I64", shape=[t["shape"][0], t["shape"][1] // 2]),
    ):
        found += [("model-dense", "model.safetensors", _tensor(model, change), "damaged")]
    for value in (float("nan"), float("inf"), -float("inf")):
        found += [("model-dense", "model.safetensors", _filled(model, value), "not finite")]
    for sample, section, name, value in (
        *(("model-trained", "model", "encoder_dim", size) for size in (2**40, 4096)),
        *(("model-trained", "model", "num_layers", 10**9), ("model-trained", "model", "ff_dim", 2**50)),
        *(("model-dense", "walks", "walk_length", 2**40), ("model-dense", "infer", "num_inference_walks", 2**40)),
        *(("model-dense", "model", "num_heads", 2**40), ("model-dense", "features", "features", 7)),
        *(("model-dense", "objective", "restart_steps", 10**12), ("model-dense", "model", "dim", 4096)),
        *(("model-dense", "objective", "restarts", odd) for odd in ([], [[]], [1.0], [1.0, 0.5], [0.5], [1.0] * 10**5)),
        *(("model-dense", "train", "threads", "many"), ("model-dense", "walks", "direction", "up")),
    ):
        header = json.loads(files[sample]["config.json"])
        header["settings"][section][name] = value
        found += [(sample, "config.json", json.dumps(header).encode(), "damaged")]
    for descr, shape in (
        *(("<i8", "(1152921504606846976,)"), ("<i8", "(-9,)"), ("<i8", "(3, 3)"), ("|O", "(9,)"), ("<U2", "(9,)")),
        *(("<f8", "(9,)"), ("<M8[s]", "(9,)"), ("<i8", "(__import__('os').system('true'),)"), ("<V8", "(9,)")),
    ):
        for name in ("indptr.npy", "indices.npy", "features.npy"):
            found += [("graph-dense", name, _npy(files["graph-dense"][name], descr, shape), name)]
        found += [("vectors", "v.npy", _npy(files["vectors"]["v.npy"], descr, shape), "v.npy")]
    for number in (-1, 8, 2**31 - 1, -(2**31)):  # an arc to a node that is not there
        found += [
            ("graph-dense", "indices.npy", _patched(files["graph-dense"]["indices.npy"], number, "<i"), "arc leads")
        ]
    for number in (-1, 2**40, 1, 3):  # rows out of order
        found += [("graph-dense", "indptr.npy", _patched(files["graph-dense"]["indptr.npy"], number, "<q"), "indptr")]
    for number in (-1, 5, 2**31 - 1):
        places = _patched(files["graph-sparse"]["features.indices.npy"], number, "<i")
        found += [("graph-sparse", "features.indices.npy", places, "outside its 5 columns")]
    for weight in (float("nan"), float("inf"), -1.0, 0.0):
        weights = _patched(files["graph-text"]["weights.npy"], weight, "<f")
        found += [("graph-text", "weights.npy", weights, "not a positive number")]
    table = files["parquet"]["edges.parquet"]
    for length in (0, 1, 2**31 - 1, 2**32 - 1, len(table)):
        found += [("parquet", "edges.parquet", table[:-8] + struct.pack("<I", length) + b"PAR1", "edges.parquet")]
    deep = b"[" * 200_000
    found += [("model-dense", "config.json", deep, "config.json"), ("graph-dense", "graph.json", deep, "graph.json")]
    found += [("model-text", "features.json", b'{"name":' * 100_000, "damaged")]
    return found


def _tensor(content: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A safetensors file in which the first matrix is described differently."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    change(next(facts for facts in header.values() if len(facts.get("shape", ())) == 2))
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + content[8 + length :]


def _filled(content: bytes, value: float) -> bytes:
    """A safetensors file that ends in a number that is none."""
    return content[:-4] + struct.pack("<f", value)


def _npy(content: bytes, descr: str, shape: str) -> bytes:
    length = struct.unpack("<H", content[8:10])[0]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(length - 1) + "\n"
    return content[:8] + struct.pack("<H", len(header)) + header.encode() + content[10 + length :]


def _patched(content: bytes, number: float, kind: str) -> bytes:
    """An .npy file with another number in its third place."""
    start = 10 + struct.unpack("<H", content[8:10])[0] + 2 * struct.calcsize(kind)
    return content[:start] + struct.pack(kind, number) + content[start + struct.calcsize(kind) :]
