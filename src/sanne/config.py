"""Every setting and its default: frozen dataclasses, checked when built, and the named recipes."""

import dataclasses
import difflib
import typing
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from sanne.checked import check_fields, convert, require, require_at_most
from sanne.errors import InputError

Normalisation = Literal["none", "l2", "squash"]


@dataclass(frozen=True)
class FeatureConfig:
    """How a node's text or attributes become the vectors that the encoder reads."""

    features: str = "auto"  # auto, tfidf, doc2vec, numeric, structure, or another that is registered
    feature_dim: int = 128  # width of the TF-IDF + SVD, Doc2Vec or structural vectors
    idf_power: float = 1.0  # 1: full idf, 0: none
    max_words: int = 50_000  # most frequent words kept when text is read
    doc2vec_epochs: int = 100
    feature_scale: float = 1.0  # length of a feature vector (Doc2Vec keeps its own)

    def __post_init__(self) -> None:
        check_fields(self)
        require(self.feature_dim >= 1, "feature_dim must be at least 1")
        require(0 <= self.idf_power <= 2, "idf_power must lie between 0 and 2")
        require(self.max_words >= 1, "max_words must be at least 1")
        require(self.doc2vec_epochs >= 1, "doc2vec_epochs must be at least 1")
        require(self.feature_scale > 0, "feature_scale must be positive")
        require_at_most(self, feature_dim=2**16)


@dataclass(frozen=True)
class WalkConfig:
    """How walks are drawn."""

    walk_length: int = 8  # N: number of nodes, the start included
    num_walks: int = 16  # T: walks per node per epoch
    direction: Literal["both", "along", "against"] = "both"  # only matters in a directed graph
    # node2vec's biases: 1/p for going back, 1/q for going where the last node has no edge. 1 and 1: no bias.
    p: float = 1.0
    q: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)
        require(self.walk_length >= 1, "walk_length counts nodes, the start included: at least 1")
        require(self.num_walks >= 1, "num_walks must be at least 1")
        require_at_most(self, walk_length=1024)  # attention grows with its square
        for name in ("p", "q"):  # beyond this, nearly every proposed step would be rejected
            require(0.001 <= getattr(self, name) <= 1000, f"{name} must lie between 0.001 and 1000")


@dataclass(frozen=True)
class ModelConfig:
    """The walk transformer."""

    # Size of a vector. 0: as the objective makes them; other sizes keep the main axes of the training nodes' vectors,
    # columns in order of importance. With the objective `neighbours` it is always encoder_dim.
    dim: int = 0
    encoder_dim: int = 128  # d: width of the encoder
    num_layers: int = 2  # K
    num_heads: int = 8  # H
    ff_dim: int = 256
    layer_norm: Literal["pre", "post"] = "pre"  # the paper: post
    dropout: float = 0.0
    position_scale: float = 0.1  # factor on the sinusoidal positions; 0 drops them
    input_norm: Normalisation = "none"
    output_norm: Normalisation = "none"
    attention: bool = True  # False: the paper's ablation without self-attention
    feed_forward: bool = True  # False: the paper's ablation without the feed-forward sub-layer

    def __post_init__(self) -> None:
        check_fields(self)
        require(self.dim == 0 or 16 <= self.dim <= 4096, "dim must lie between 16 and 4096, or be 0")
        require(self.encoder_dim >= 1, "encoder_dim must be at least 1")
        require(self.num_layers >= 1, "num_layers must be at least 1")
        require(
            self.num_heads >= 1 and self.encoder_dim % self.num_heads == 0,
            f"encoder_dim ({self.encoder_dim}) must be a multiple of num_heads ({self.num_heads})",
        )
        require(self.ff_dim >= 1, "ff_dim must be at least 1")
        require(0 <= self.dropout < 1, "dropout must lie in [0, 1)")
        require(self.position_scale >= 0, "position_scale cannot be negative")
        require_at_most(self, encoder_dim=2**15, num_layers=256, ff_dim=2**17)
        require(self.attention or self.feed_forward, "attention and feed_forward cannot both be off")


@dataclass(frozen=True)
class ObjectiveConfig:
    """What the encoder learns to predict.

    `neighbours` is the paper's: every walk position predicts sampled neighbours through a table of output
    vectors. `distil` has no table: a walk predicts soft cluster assignments of its start node's smoothed
    features.
    """

    objective: str = "distil"  # distil, neighbours, or another that is registered
    # neighbours
    num_targets: int = 4  # M
    num_negatives: int = 512  # |V'|
    negative_sampler: Literal["uniform", "log-uniform"] = "uniform"
    present_vectors: Literal["table", "walks"] = "table"  # what embedding_ holds
    # distil
    smoothing_alphas: tuple[float, ...] = (0.2,)  # restart probabilities of the PageRank smoothing
    smoothing_steps: int = 16
    cluster_sizes: tuple[int, ...] = (32, 64)  # k of each k-means ...
    cluster_seeds: int = 4  # ... each run from so many starts, for every smoothing alpha
    sharpness: float = 5.0  # soft assignment: softmax of sharpness x cosine
    mask_rate: float = 0.3  # share of walk positions hidden from the student
    restart: float = 0.2  # position t of a walk counts restart x (1 - restart)^t; 0: all alike
    degree_power: float = 0.5  # the features of a visited node are divided by its degree to this power
    # Beside the assignments a vector holds the weighted mean of its walks' features, which tell a node's neighbours
    # from others of its topic. `auto`: as `always`, but more of them without attributes, where they are finer than
    # any clustering.
    append_features: Literal["auto", "always", "never"] = "auto"
    appended_scale: float = 0.25  # how long they are, measured in the length of the assignments
    appended_dim: int = 128  # how many numbers of them, at most: along the main axes of the clusters' centres

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("num_targets", "num_negatives", "cluster_seeds", "appended_dim"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1")
        require(self.smoothing_steps >= 0, "smoothing_steps cannot be negative")
        require(0 < self.appended_scale <= 1000, "appended_scale must lie in (0, 1000]")
        require(
            len(self.smoothing_alphas) > 0 and all(0 < alpha <= 1 for alpha in self.smoothing_alphas),
            "smoothing_alphas must lie in (0, 1]",
        )
        require(
            len(self.cluster_sizes) > 0 and all(size >= 2 for size in self.cluster_sizes),
            "cluster_sizes must be 2 or more",
        )
        require_at_most(
            self, num_targets=2**15, num_negatives=2**24, smoothing_steps=10_000, cluster_seeds=1024, appended_dim=2**15
        )
        require(len(self.smoothing_alphas) <= 64, "smoothing_alphas can be 64 at most")
        runs = self.cluster_seeds * len(self.smoothing_alphas)
        require(
            len(self.cluster_sizes) <= 1024 and runs * sum(self.cluster_sizes) <= 2**18,
            f"cluster_sizes, cluster_seeds and smoothing_alphas give more than {2**18} clusters",
        )
        require(self.sharpness > 0, "sharpness must be positive")
        require(0 <= self.mask_rate < 1, "mask_rate must lie in [0, 1)")
        require(0 <= self.restart < 1, "restart must lie in [0, 1)")
        require(0 <= self.degree_power <= 2, "degree_power must lie between 0 and 2")


@dataclass(frozen=True)
class TrainConfig:
    """The training loop."""

    epochs: int = 10
    steps_per_epoch: int = 0  # 0: as many as num_walks walks from every node need
    batch_size: int = 512  # walks
    learning_rate: float = 1e-3
    table_learning_rate: float = 1e-2  # of the output table, if there is one
    schedule: Literal["constant", "cosine"] = "constant"
    gradient_clip: float = 0.0  # 0: none
    fresh_walks: bool = True  # False: the paper's fixed set, drawn once
    patience: int = 0  # epochs without a better validation score before stopping; 0: never
    device: str = "auto"  # auto, cpu, cuda or mps
    threads: int = 0  # 0: chosen by the size of a batch

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("epochs", "batch_size"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1")
        for name in ("steps_per_epoch", "gradient_clip", "patience", "threads"):
            require(getattr(self, name) >= 0, f"{name} cannot be negative")
        for name in ("learning_rate", "table_learning_rate"):
            require(getattr(self, name) > 0, f"{name} must be positive")


@dataclass(frozen=True)
class InferConfig:
    """How a node is embedded."""

    num_inference_walks: int = 64  # Z

    def __post_init__(self) -> None:
        check_fields(self)
        require(self.num_inference_walks >= 1, "num_inference_walks must be at least 1")
        require_at_most(self, num_inference_walks=2**16)


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
            section, kind = _owner(name)
            sections.setdefault(section, {})[name] = convert(name, value, kind)
        changed = {
            section: dataclasses.replace(getattr(self, section), **values) for section, values in sections.items()
        }
        return dataclasses.replace(self, **changed)

    def resolve_auto(self, has_attributes: bool) -> Self:
        """These settings, or a copy where `auto` has become what nodes without attributes need.

        Their features beside the assignments count more and are closer to the node itself.
        """
        if has_attributes or self.objective.append_features != "auto":
            return self
        return self.replace(append_features="always", appended_scale=2.0, appended_dim=2**15, restart=0.5)

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


_SECTIONS: dict[str, type[Any]] = {
    "features": FeatureConfig,
    "walks": WalkConfig,
    "model": ModelConfig,
    "objective": ObjectiveConfig,
    "train": TrainConfig,
    "infer": InferConfig,
}


def setting_names() -> list[str]:
    """The flat names of all settings."""
    return [f.name for section in _SECTIONS.values() for f in dataclasses.fields(section)]


def _owner(name: str) -> tuple[str, Any]:
    for section, kind in _SECTIONS.items():
        hints = typing.get_type_hints(kind)
        if name in hints:
            return section, hints[name]
    close = difflib.get_close_matches(name, setting_names(), n=1)
    hint = f": did you mean {close[0]!r}?" if close else f"; the settings are {', '.join(setting_names())}"
    raise InputError(f"unknown setting {name!r}{hint}")


# `paper`: section 4 of the paper. What it leaves out and is added here is listed in docs/recipes.md.
# `best`: the best validation accuracy so far; half a minute of training, whatever the size of the graph.
# `fast`: a smaller encoder and fewer walks, at a twentieth of the cost.
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
    fresh_walks=False,
    num_inference_walks=8,
)
_BEST = Config().replace(feature_dim=256, epochs=4, steps_per_epoch=25, num_inference_walks=32)
_FAST = _BEST.replace(num_layers=1, ff_dim=128, batch_size=128, epochs=2)
RECIPES: dict[str, Config] = {"paper": _PAPER, "fast": _FAST, "best": _BEST}


def recipe_config(name: str) -> Config:
    """The settings of a named recipe."""
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r}: choose one of {', '.join(sorted(RECIPES))}")
    return RECIPES[name]
