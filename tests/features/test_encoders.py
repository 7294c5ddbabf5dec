"""Text encoders, with tiny models of both libraries that are made here: real files, random weights."""

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planted import TINY
from sanne.config import Config
from sanne.errors import InputError
from sanne.estimator import SANNE
from sanne.features.encoders import ELSEWHERE, TextEncoder
from sanne.graph.graph import Graph

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "apple", "pear", "engine", "wheel", "and", "##s"]
TOPICS = (("apple", "pear"), ("engine", "wheel"))
LIBRARIES = ["sentence-transformers", "model2vec"]


def tiny_transformer(folder: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    files = folder.with_name("bert")
    files.mkdir()
    (files / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **sizes)
    BertModel(config).save_pretrained(files)
    BertTokenizerFast(str(files / "vocab.txt")).save_pretrained(files)
    read = Transformer(str(files))
    SentenceTransformer(modules=[read, Pooling(16)], device="cpu").save(str(folder))


def tiny_table(folder: Path) -> None:
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 12)).astype(np.float32)
    StaticModel(vectors, tokenizer).save_pretrained(str(folder))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoders")
    tiny_transformer(folder / LIBRARIES[0])
    tiny_table(folder / LIBRARIES[1])
    return folder


@pytest.fixture(params=LIBRARIES)
def spec(request: pytest.FixtureRequest, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An encoder in a folder of its own, and an empty cache."""
    monkeypatch.setenv("SANNE_CACHE", str(tmp_path / "cache"))
    shutil.copytree(models / request.param, tmp_path / "model")
    return f"{request.param}:{tmp_path / 'model'}"


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that went through an encoder."""
    seen: list[str] = []
    real = TextEncoder._encoded

    def counted(self: TextEncoder, texts: list[str]) -> Any:
        seen.extend(texts)
        return real(self, texts)

    monkeypatch.setattr(TextEncoder, "_encoded", counted)
    return seen


def documents(count: int = 60) -> Graph:
    stream = np.random.default_rng(0)
    texts = [" and ".join([*stream.choice(TOPICS[i % 2], 5), f"number{i}"]) for i in range(count)]
    sources = np.arange(count - 2)
    return Graph.from_edges(sources, sources + 2, node_ids=np.arange(count), texts=np.array(texts, object))


def test_rows_have_length_one_and_an_empty_text_none(spec: str) -> None:
    rows = TextEncoder(spec).encode(["apple and pear", "", "wheels", "  ", "apple and pear"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0, 1], atol=1e-5)
    np.testing.assert_array_equal(rows[0], rows[4])
    assert not np.allclose(rows[0], rows[2])


def test_a_text_is_encoded_once_also_by_later_runs(spec: str, encoded: list[str]) -> None:
    texts = [f"apple {'and ' * i}pear" for i in range(40)]
    first = TextEncoder(spec).encode([*texts, *texts])
    assert sorted(encoded) == sorted(texts)
    np.testing.assert_array_equal(TextEncoder(spec).encode(texts[::-1]), first[:40][::-1])
    assert len(encoded) == 40


def test_a_damaged_cache_costs_time_only(spec: str, encoded: list[str], tmp_path: Path) -> None:
    texts = [f"apple {'and ' * i}pear" for i in range(40)]
    first = TextEncoder(spec).encode(texts)
    (cache,) = (tmp_path / "cache" / "encoders").iterdir()
    cache.write_bytes(b"not a database" * 1000)
    np.testing.assert_allclose(TextEncoder(spec).encode(texts), first, atol=1e-5)
    assert len(encoded) == 80


def test_newcomers_go_through_the_encoder_of_the_fit(spec: str, encoded: list[str], tmp_path: Path) -> None:
    graph = documents()
    model = SANNE(settings=TINY | {"text_encoder": spec}).fit(graph)
    assert sorted(encoded) == sorted(graph.texts)  # type: ignore[arg-type]
    model.save(tmp_path / "saved")
    later = documents(62)
    loaded = SANNE.load(tmp_path / "saved")
    np.testing.assert_allclose(loaded.transform(later, [60, 61]), model.transform(later, [60, 61]), atol=1e-5)
    # An unknown text in other words of the same topic is told apart by the encoder alone.
    strangers = Graph.from_edges([], [], node_ids=["a", "b"], texts=np.array(["apples", "wheels"], object))
    rows = loaded.artifact_.feature_map.transform(strangers)
    assert rows.any(axis=1).all()
    assert not np.allclose(rows[0], rows[1])


def test_an_explanation_has_one_line_for_the_encoder(spec: str) -> None:
    graph = documents()
    model = SANNE(settings=TINY | {"text_encoder": spec}).fit(graph)
    named = [word.word for found in model.explain(graph, range(60), count=1000) for word in found.words]
    assert 1 <= named.count(f"the text as {spec} reads it") <= 60  # where it leads towards the vector


def test_an_encoder_that_was_moved_is_found_where_the_environment_says(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = documents()
    SANNE(settings=TINY | {"text_encoder": spec}).fit(graph).save(tmp_path / "saved")
    (tmp_path / "model").rename(tmp_path / "moved")
    stranger = Graph.from_edges([], [], node_ids=["a"], texts=np.array(["apples"], object))
    with pytest.raises(InputError, match=f"model is not there: move it back, .* {ELSEWHERE}="):
        SANNE.load(tmp_path / "saved").transform(stranger)
    monkeypatch.setenv(ELSEWHERE, f"{spec.partition(':')[0]}:{tmp_path / 'moved'}")
    assert SANNE.load(tmp_path / "saved").transform(stranger).any()
    (tmp_path / "moved" / "extra.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="is not the one of the fit"):
        SANNE.load(tmp_path / "saved").transform(stranger)


def test_a_copy_does_not_carry_the_weights(spec: str) -> None:
    encoder = TextEncoder(spec)
    rows = encoder.encode(["apple"])
    copied = pickle.dumps(encoder)
    assert len(copied) < 1000
    np.testing.assert_allclose(pickle.loads(copied).encode(["apple"]), rows, atol=1e-6)


@pytest.mark.parametrize("wrong", ["word2vec:model", "sentence-transformers", "model2vec:"])
def test_an_encoder_is_named_by_library_and_place(wrong: str) -> None:
    for named in (TextEncoder, lambda spec: Config().replace(text_encoder=spec)):  # before a graph is read
        with pytest.raises(InputError, match="must be sentence-transformers:NAME_OR_FOLDER or model2vec:NAME_OR_FOLD"):
            named(wrong)


def test_a_folder_with_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANNE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "empty").mkdir()
    for library in LIBRARIES:
        with pytest.raises(InputError, match=f"empty: not a model that {library} can load"):
            TextEncoder(f"{library}:{tmp_path / 'empty'}").encode(["apple"])


def test_an_encoder_needs_texts_and_stands_beside_words(spec: str) -> None:
    plain = Graph.from_edges([0], [1], node_ids=[0, 1], features=np.eye(2, dtype=np.float32))
    for graph, features in ((plain, "auto"), (documents(), "doc2vec")):
        with pytest.raises(InputError, match="needs node text, read with features='tfidf' or 'auto'"):
            SANNE(settings=TINY | {"text_encoder": spec, "features": features}).fit(graph)
