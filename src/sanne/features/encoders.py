"""Text encoders that others have trained, by sentence-transformers or model2vec; each text is encoded once."""

import hashlib
import logging
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sanne.config import library_and_place
from sanne.errors import InputError, first_line, import_extra
from sanne.graph.graph import FloatArray
from sanne.progress import steps
from sanne.vectors.normalise import unit

ELSEWHERE = "SANNE_TEXT_ENCODER"  # where an encoder is now, if its folder was moved since a fit
_AT_ONCE = 1024  # texts that are encoded and cached together
_FEW = 32  # texts; fewer are not worth a write to disk
_OTHER_FORMATS = ["onnx/*", "openvino/*", "*.h5", "*.msgpack", "*.ot", "*.tflite"]

log = logging.getLogger(__name__)


class TextEncoder:
    """An encoder `LIBRARY:NAME_OR_FOLDER`, loaded when it is first needed.

    `revision` is what a fit found: the version of a name, or a digest of a folder's files. Another one is refused,
    because its vectors would not be those that the fit saw.
    """

    def __init__(self, spec: str, revision: str | None = None) -> None:
        self.library, self.place = library_and_place(spec)
        if (folder := Path(self.place).expanduser()).is_dir():
            self.place = str(folder.resolve())
        self._revision = revision

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy loads the encoder itself."""
        return TextEncoder, (self.spec, self.revision)

    @property
    def spec(self) -> str:
        return f"{self.library}:{self.place}"

    @property
    def revision(self) -> str:
        return self._revision or self._located[1]

    def encode(self, texts: Iterable[str]) -> FloatArray:
        """Rows of length one, (texts, width); zeros for an empty text."""
        texts = list(texts)
        digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        known = self._cached(set(digests))
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        with steps(of="encoding texts", unit="text", total=len(missing)) as bar:
            for first in range(0, len(missing), _AT_ONCE):
                some = dict(list(missing.items())[first : first + _AT_ONCE])
                found = dict(zip(some, self._encoded(list(some.values())), strict=True))
                self._keep(found)
                known |= found
                bar.update(len(some))
        rows = np.stack([known[digest] for digest in digests])
        rows[[not text.strip() for text in texts]] = 0
        return rows

    def _encoded(self, texts: list[str]) -> FloatArray:
        options = {"use_multiprocessing": False} if self.library == "model2vec" else {"convert_to_numpy": True}
        rows = np.asarray(self._model.encode(texts, show_progress_bar=False, **options), np.float32)
        if not np.isfinite(rows).all():
            raise InputError(f"the text encoder {self.spec} gives numbers that are not finite: choose another")
        return unit(rows)

    @cached_property
    def _model(self) -> Any:
        place, revision = self._located
        if revision != self.revision:
            other = f"revision {revision[:12]}, not {self.revision[:12]}"
            raise InputError(f"the text encoder {self.spec} is not the one of the fit ({other}): fit again")
        try:
            if self.library == "model2vec":
                return _library(self.library).StaticModel.from_pretrained(place, force_download=False)
            return _library(self.library).SentenceTransformer(str(place))
        except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
            raise InputError(f"{place}: not a model that {self.library} can load ({first_line(error)})") from None

    @cached_property
    def _located(self) -> tuple[Path, str]:
        """A folder with the encoder's files, and its revision."""
        place = self.place
        if elsewhere := os.environ.get(ELSEWHERE):
            place = elsewhere.removeprefix(f"{self.library}:")
        folder = Path(place).expanduser()
        if folder.is_dir():
            return folder, _digest(folder)
        if folder.is_absolute() or place.startswith((".", "~")) or place.count("/") > 1:
            remedy = f"move it back, or say where it is now, with {ELSEWHERE}={self.library}:FOLDER"
            raise InputError(f"the text encoder's folder {place} is not there: {remedy}")
        _library(self.library)
        hub = import_extra("huggingface_hub", "encoders", "a text encoder")
        try:
            fetched = hub.snapshot_download(place, revision=self._revision, ignore_patterns=_OTHER_FORMATS)
        except (OSError, ValueError) as error:
            reason = f"is no folder and cannot be fetched ({first_line(error)})"
            raise InputError(f"the text encoder {place!r} {reason}: name a folder") from None
        return Path(fetched), Path(fetched).name

    @property
    def _cache(self) -> Path:
        name = hashlib.sha256(f"{self.library} {self.revision}".encode()).hexdigest()[:32]
        return cache_folder() / "encoders" / f"{name}.sqlite"

    def _cached(self, digests: set[bytes]) -> dict[bytes, FloatArray]:
        """Vectors that were kept, of texts given by their digests."""
        if not self._cache.is_file():
            return {}
        found: dict[bytes, FloatArray] = {}
        try:
            with closing(sqlite3.connect(self._cache, timeout=60)) as file:
                for digest in digests:
                    for (vector,) in file.execute("SELECT vector FROM vectors WHERE text = ?", (digest,)):
                        found[digest] = np.frombuffer(vector, "<f4")
        except sqlite3.Error as error:
            log.warning("%s: not readable (%s), texts are encoded again", self._cache, error)
        return found

    def _keep(self, found: dict[bytes, FloatArray]) -> None:
        """Write vectors to the cache, all or none; a cache that cannot be written is no reason to stop."""
        if len(found) < _FEW:
            return
        try:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._cache, timeout=60)) as file, file:
                file.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
                rows = [(digest, vector.astype("<f4").tobytes()) for digest, vector in found.items()]
                file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            log.warning("%s: not written (%s), texts will be encoded again", self._cache, error)


def cache_folder() -> Path:
    """Where encoded texts are kept: SANNE_CACHE, else `sanne` in the user's cache folder."""
    if named := os.environ.get("SANNE_CACHE"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sanne"


def _library(name: str) -> Any:
    return import_extra(name.replace("-", "_"), "encoders", f"a text encoder {name}:...", name)


def _digest(folder: Path) -> str:
    """Of the names and contents of a folder's files."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        with path.open("rb") as file:
            total.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
