"""Every setting and its default: frozen dataclasses, checked when built, and the named recipes."""

import dataclasses
import difflib
import typing
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from sanne.checked import Checked, require, within
from sanne.errors import InputError

Normalisation = Literal["none", "l2", "squash"]


@dataclass(frozen=True)
class FeatureConfig(Checked):
    """How a node's text or attributes become feature vectors."""

    features: str = "auto"  # auto, tfidf, doc2vec, numeric, structure, or a registered one
    feature_dim: int = within(128, 1, 2**16)  # dimensions of the TF-IDF + SVD, Doc2Vec or structural vectors
    idf_power: float = within(1.0, 0, 2)  # 1: full idf, 0: none
    max_words: int = within(50_000, 1)  # most frequent words kept when text is read
    text_encoder: str = ""  # in addition to words: sentence-transformers:NAME_OR_FOLDER or model2vec:NAME_OR_FOLDER
    doc2vec_epochs: int = within(100, 1)
    feature_scale: float = within(1.0, above=0)  # length of a feature vector (Doc2Vec keeps its own)
    # objective `hidden`
    hidden_splits: int = within(2, 0, 16)  # random splits of the words (or columns) into two halves
    half_dim: int = within(128, 1, 4096)  # dimensions of the vectors of each half
    fine_dim: int = within(512, 0, 4096)  # columns that all words are also hashed to; 0: none
    link_dim: int = within(128, 0, 4096)  # dimensions of the vector of a node's links; 0: links are not used

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.text_encoder:
            library_and_place(self.text_encoder)


@dataclass(frozen=True)
class WalkConfig(Checked):
    """How walks are drawn."""

    walk_length: int = within(8, 1, 1024)  # N: number of nodes, the start included; attention costs its square
    num_walks: int = within(16, 1)  # T: walks per node, the same in every epoch
    direction: Literal["both", "along", "against"] = "both"  # only matters in a directed graph


@dataclass(frozen=True)
class ModelConfig(Checked):
    """The size of vectors, and the walk transformer."""

    # Columns are in order of importance, so that the first ones are a good vector by themselves.
    dim: int = 0  # dimensions of a vector; 0: 512, fewer or more by the graph (objective `neighbours`: encoder_dim)
    encoder_dim: int = within(128, 1, 2**15)  # d: width of the encoder
    num_layers: int = within(2, 1, 256)  # K: layers of the transformer
    num_heads: int = within(8, 1)  # H: attention heads
    ff_dim: int = within(256, 1, 2**17)  # hidden units of a feed-forward layer
    layer_norm: Literal["pre", "post"] = "pre"  # the paper: post
    dropout: float = within(0.0, 0, below=1)
    position_scale: float = within(0.1, 0)  # factor on the sinusoidal positions; 0 drops them
    input_norm: Normalisation = "none"
    output_norm: Normalisation = "none"
    attention: bool = True  # False: the paper's ablation without self-attention
    feed_forward: bool = True  # False: the paper's ablation without feed-forward

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.dim == 0 or 16 <= self.dim <= 4096, "dim must lie between 16 and 4096, or be 0")
        require(
            self.encoder_dim % self.num_heads == 0,
            f"encoder_dim ({self.encoder_dim}) must be a multiple of num_heads ({self.num_heads})",
        )
        require(self.attention or self.feed_forward, "attention and feed_forward cannot both be off")


@dataclass(frozen=True)
class ObjectiveConfig(Checked):
    """What a model learns to predict.

    `hidden`: half of a node's words (or columns) from the other half, averaged over walks with restart, and from its
    links; in closed form. `neighbours` is the paper's: every walk position predicts sampled neighbours with a table
    of output vectors; trained on walks.
    """

    objective: str = "hidden"  # hidden, neighbours, or a registered one
    # hidden
    restarts: tuple[float, ...] = within((1.0, 0.5, 0.2, 0.1, 0.02), above=0, high=1)  # 1: the node itself
    link_restarts: tuple[float, ...] = within((1.0,), above=0, high=1)  # a subset of `restarts`
    restart_steps: int = within(32, 1, 1024)  # walk steps; the last one takes all remaining probability
    # weights of the parts of a vector
    joint_weight: float = within(0.7, 0, 100)  # predictions from all inputs together
    stacked_weight: float = within(0.5, 0, 100)  # predictions from each restart alone, added up
    own_weight: float = within(0.3, 0, 100)  # own words or columns
    neighbour_weight: float = within(0.3, 0, 100)  # the neighbours' words or columns
    fine_weight: float = within(0.3, 0, 100)  # hashed words
    smoothed_weight: float = within(1.0, 0, 100)  # smoothed words or columns; less where smoothing does not help
    degree_weight: float = within(0.1, 0, 100)  # the degree
    # neighbours
    num_targets: int = within(4, 1, 2**15)  # M: neighbours to predict per walk position
    num_negatives: int = within(512, 1, 2**24)  # |V'|: classes in the sampled softmax
    negative_sampler: Literal["uniform", "log-uniform"] = "uniform"
    present_vectors: Literal["table", "walks"] = "table"  # what embedding_ contains

    def __post_init__(self) -> None:
        super().__post_init__()
        require(1.0 in self.restarts, "restarts must include 1, the node itself")
        require(len(set(self.restarts)) == len(self.restarts) <= 32, "restarts must be at most 32 different values")
        require(set(self.link_restarts) <= set(self.restarts), "link_restarts must be a subset of restarts")


@dataclass(frozen=True)
class TrainConfig(Checked):
    """The training loop."""

    epochs: int = within(10, 1)
    steps_per_epoch: int = within(0, 0)  # 0: enough for num_walks walks from every node
    batch_size: int = within(512, 1)  # walks per step
    learning_rate: float = within(1e-3, above=0)
    table_learning_rate: float = within(1e-2, above=0)  # of the output table, if there is one
    device: str = "auto"  # auto, cpu, cuda or mps
    threads: int = within(0, 0)  # 0: chosen by the size of a batch


@dataclass(frozen=True)
class InferConfig(Checked):
    """How a node is embedded."""

    num_inference_walks: int = within(64, 1, 2**16)  # Z: walks averaged per node


@dataclass(frozen=True)
class Config:
    """All settings of a model; `replace(walk_length=16, epochs=3)` changes fields by their flat names."""

    features: FeatureConfig = field(default_factory=FeatureConfig)
    walks: WalkConfig = field(default_factory=WalkConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    infer: InferConfig = field(default_factory=InferConfig)

    def replace(self, **settings: Any) -> Self:
        """A copy with some settings changed; values may be strings, as a command line gives them."""
        sections: dict[str, dict[str, Any]] = {}
        for name, value in settings.items():
            sections.setdefault(_section(name), {})[name] = value
        changed = {
            section: dataclasses.replace(getattr(self, section), **values) for section, values in sections.items()
        }
        return dataclasses.replace(self, **changed)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain nested dictionaries, ready for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, dict[str, Any]]) -> Self:
        """The reverse of `to_dict`; unknown fields are refused."""
        flat: dict[str, Any] = {}
        for section, values in data.items():
            if section not in _SECTIONS or not isinstance(values, dict):
                raise InputError(f"unknown group of settings {section!r}")
            flat.update(values)
        return cls().replace(**flat)


def library_and_place(text_encoder: str) -> tuple[str, str]:
    """The two halves of LIBRARY:NAME_OR_FOLDER."""
    libraries = ("sentence-transformers", "model2vec")
    library, _, place = text_encoder.partition(":")
    known = " or ".join(f"{one}:NAME_OR_FOLDER" for one in libraries)
    require(library in libraries and bool(place), f"the text encoder {text_encoder!r} must be {known}")
    return library, place


_SECTIONS: dict[str, type[Any]] = typing.get_type_hints(Config)


def setting_names() -> list[str]:
    """The flat names of all settings."""
    return [f.name for section in _SECTIONS.values() for f in dataclasses.fields(section)]


def _section(name: str) -> str:
    for section, kind in _SECTIONS.items():
        if name in kind.__dataclass_fields__:
            return section
    close = difflib.get_close_matches(name, setting_names(), n=1)
    hint = f": did you mean {close[0]!r}?" if close else f"; the settings are {', '.join(setting_names())}"
    raise InputError(f"unknown setting {name!r}{hint}")


# `best`: predict hidden words in closed form. `fast`: fewer columns, one split, no links.
# `paper`: section 4 of the paper. docs/research.md lists what the paper leaves open and how it is filled in.
_BEST = Config().replace(feature_dim=256)
_FAST = _BEST.replace(feature_dim=128, hidden_splits=1, half_dim=64, link_dim=0, fine_dim=0, restart_steps=16)
_PAPER = Config().replace(
    features="doc2vec",
    walk_length=8,
    num_walks=128,
    encoder_dim=128,
    num_layers=2,
    num_heads=8,
    ff_dim=1024,
    layer_norm="post",
    position_scale=0.1,
    input_norm="squash",
    output_norm="squash",
    objective="neighbours",
    num_targets=4,
    num_negatives=512,
    negative_sampler="log-uniform",
    present_vectors="table",
    epochs=6,
    batch_size=64,
    learning_rate=1e-4,
    table_learning_rate=1e-4,
    num_inference_walks=8,
)
DEFAULT_RECIPE = "best"
RECIPES: dict[str, Config] = {"best": _BEST, "fast": _FAST, "paper": _PAPER}


def recipe_config(name: str) -> Config:
    """The settings of a named recipe."""
    if name not in RECIPES:
        close = difflib.get_close_matches(str(name).lower(), RECIPES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"unknown recipe {name!r}: choose one of {', '.join(sorted(RECIPES))}{hint}")
    return RECIPES[name]
