"""Ways to spoil a file: cut it, flip bits, or put hostile values where its format has numbers, names and sizes."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HEADER_BYTES = 192  # at either end of a file: where formats keep what they say of themselves

Stream = np.random.Generator

_VALUES: list[Any] = [
    *(None, True, -1, 0, 1, 2**31, 2**60, 2**63, 10**30, 0.5, -0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "é" * 3, "\x00", "../../etc/passwd", [], [[]], {}, [2**40, 2**40], ["a", None], {"a": {"b": []}}),
]
_TOKENS = [
    *(b'"', b"'", b",", b"\t", b"\n", b"\r\n", b"\r", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"NaN", b"inf"),
    *(
        b"-1",
        b"1e999",
        b"9" * 40,
        b"007",
        b"",
        b" ",
        b"#",
        b"\\",
        b"id",
        b"src",
        b"None",
        b"0x10",
        b"1_000",
        b"a" * 300,
    ),
]
_DTYPES = ["<f8", "<f4", "<i8", "<i4", "|u1", "<U4", "|O", "<M8[s]", "<c16", "|b1", ">i8", "<V8", "[('a', '<i4')]"]
_SHAPES = [
    "()",
    "(0,)",
    "(-1,)",
    "(2**60,)",
    "(1152921504606846976,)",
    "(8, 1)",
    "(1, 8)",
    "(3, 3, 3)",
    "(4294967297,)",
]


def header_cuts(content: bytes) -> Iterator[bytes]:
    """The file cut after every byte of its header, and within its last bytes."""
    size = len(content)
    for length in sorted({*range(min(size, HEADER_BYTES)), *range(max(0, size - 64), size)}):
        yield content[:length]


def header_flips(content: bytes, stream: Stream) -> Iterator[bytes]:
    """One bit flipped in each byte of the header and of the footer."""
    size = len(content)
    for place in sorted({*range(min(size, HEADER_BYTES)), *range(max(0, size - HEADER_BYTES), size)}):
        changed = bytearray(content)
        changed[place] ^= 1 << int(stream.integers(8))
        yield bytes(changed)


def mutate(name: str, content: bytes, stream: Stream) -> bytes:
    """A spoilt copy: half of the time by what the file's format has to be wrong about, else byte by byte."""
    ending = Path(name).suffix
    if stream.random() < 0.5:
        if ending == ".json":
            return _spoil_json(content, stream)
        if ending == ".npy":
            return _spoil_npy(content, stream)
        if ending == ".safetensors":
            return _spoil_safetensors(content, stream)
        if ending in (".csv", ".tsv", ".txt", ".content", ".cites", ".index", ".vec"):
            return _spoil_text(content, stream)
    for _ in range(int(stream.integers(1, 5))):
        content = _spoil_bytes(content, stream)
    return content


def _spoil_bytes(content: bytes, stream: Stream) -> bytes:
    changed = bytearray(content)
    size = len(changed)
    if size == 0:
        return bytes(stream.bytes(int(stream.integers(1, 40))))
    place = _place(size, stream)
    kind = int(stream.integers(7))
    if kind == 0:
        changed[place] ^= 1 << int(stream.integers(8))
    elif kind == 1:
        changed[place] = int(stream.choice([0, 1, 0x7F, 0x80, 0xFF]))
    elif kind == 2:
        del changed[place : place + int(stream.integers(1, 17))]
    elif kind == 3:
        changed[place:place] = stream.bytes(int(stream.integers(1, 17)))
    elif kind == 4:
        end = place + int(stream.integers(1, 65))
        changed[place:place] = changed[place:end]
    elif kind == 5:
        number = int(stream.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**62]))
        packed = struct.pack("<Q", number)[: int(stream.choice([4, 8]))]
        changed[place : place + len(packed)] = packed
    else:
        del changed[place:]
    return bytes(changed)


def _place(size: int, stream: Stream) -> int:
    """Anywhere, but mostly near the beginning or the end."""
    where = stream.random()
    near = int(stream.integers(min(size, HEADER_BYTES)))
    if where < 0.4:
        return near
    return size - 1 - near if where < 0.7 else int(stream.integers(size))


def _spoil_text(content: bytes, stream: Stream) -> bytes:
    for _ in range(int(stream.integers(1, 4))):
        token = _TOKENS[int(stream.integers(len(_TOKENS)))]
        place = int(stream.integers(len(content) + 1))
        end = place + int(stream.integers(4)) if stream.random() < 0.5 else place
        content = content[:place] + token + content[end:]
    return content


def _spoil_json(content: bytes, stream: Stream) -> bytes:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return _spoil_bytes(content, stream)
    for _ in range(int(stream.integers(1, 3))):
        value = _spoil_value(value, stream)
    return json.dumps(value).encode()


def _spoil_value(value: Any, stream: Stream) -> Any:
    """Walk down to a random place and put a hostile value there, or take the place away."""
    if isinstance(value, dict) and value and stream.random() < 0.95:
        key = list(value)[int(stream.integers(len(value)))]
        if stream.random() < 0.05:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: _spoil_value(value[key], stream)}
    if isinstance(value, list) and value and stream.random() < 0.7:
        place = int(stream.integers(len(value)))
        if stream.random() < 0.2:
            return value[:place] + value[place + 1 :]
        return [*value[:place], _spoil_value(value[place], stream), *value[place + 1 :]]
    return _VALUES[int(stream.integers(len(_VALUES)))]


def _spoil_npy(content: bytes, stream: Stream) -> bytes:
    """The same data under a header that says something else of it."""
    if len(content) < 10 or content[:6] != b"\x93NUMPY":
        return _spoil_bytes(content, stream)
    length = struct.unpack("<H", content[8:10])[0]
    header = content[10 : 10 + length].decode("latin1")
    data = content[10 + length :]
    start, end = header.find("'shape':") + 8, header.rfind(")") + 1
    kind = int(stream.integers(4))
    if kind == 0:
        header = header[:start] + " " + _SHAPES[int(stream.integers(len(_SHAPES)))] + header[end:]
    elif kind == 1:
        first, last = header.find("'descr':") + 8, header.find(", 'fortran")
        dtype = _DTYPES[int(stream.integers(len(_DTYPES)))]
        header = header[:first] + (f" {dtype}" if dtype.startswith("[") else f" '{dtype}'") + header[last:]
    elif kind == 2:
        header = header.replace("False", "True")
    else:  # hostile numbers in the data
        place = int(stream.integers(len(data) // 4 + 1)) * 4
        number = int(stream.choice([0, 1, 7, 8, 9, 2**31 - 1, 2**32 - 1, 2**62, 2**63]))
        data = data[:place] + struct.pack("<Q", number)[: int(stream.choice([4, 8]))] + data[place + 4 :]
        data = data[: len(content) - 10 - length]
    raw = header.encode("latin1")
    return content[:8] + struct.pack("<H", len(raw)) + raw + data


def _spoil_safetensors(content: bytes, stream: Stream) -> bytes:
    """Another header, with a length that fits it, over the same data."""
    if len(content) < 8:
        return _spoil_bytes(content, stream)
    length = struct.unpack("<Q", content[:8])[0]
    header = _spoil_json(content[8 : 8 + length], stream)
    return struct.pack("<Q", len(header)) + header + content[8 + length :]
