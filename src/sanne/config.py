"""Every setting and its default: frozen dataclasses, checked when built, and the named recipes."""

import dataclasses
import difflib
import typing
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from sanne.checked import Checked, convert, require, within
from sanne.errors import InputError

Normalisation = Literal["none", "l2", "squash"]


@dataclass(frozen=True)
class FeatureConfig(Checked):
    """How a node's text or attributes become the vectors that the encoder reads."""

    features: str = "auto"  # auto, tfidf, doc2vec, numeric, structure, or another that is registered
    feature_dim: int = within(128, 1, 2**16)  # width of the TF-IDF + SVD, Doc2Vec or structural vectors
    idf_power: float = within(1.0, 0, 2)  # 1: full idf, 0: none
    max_words: int = within(50_000, 1)  # most frequent words kept when text is read
    doc2vec_epochs: int = within(100, 1)
    feature_scale: float = within(1.0, above=0)  # length of a feature vector (Doc2Vec keeps its own)


@dataclass(frozen=True)
class WalkConfig(Checked):
    """How walks are drawn."""

    walk_length: int = within(8, 1, 1024)  # N: number of nodes, the start included; attention grows with its square
    num_walks: int = within(16, 1)  # T: walks per node per epoch
    direction: Literal["both", "along", "against"] = "both"  # only matters in a directed graph
    # node2vec's biases: 1/p for going back, 1/q for going where the last node has no edge. 1 and 1: no bias. Beyond
    # these limits, nearly every proposed step would be rejected.
    p: float = within(1.0, 0.001, 1000)
    q: float = within(1.0, 0.001, 1000)


@dataclass(frozen=True)
class ModelConfig(Checked):
    """The walk transformer."""

    # Size of a vector. 0: as the objective makes them; other sizes keep the main axes of the training nodes' vectors,
    # columns in order of importance. With the objective `neighbours` it is always encoder_dim.
    dim: int = 0
    encoder_dim: int = within(128, 1, 2**15)  # d: width of the encoder
    num_layers: int = within(2, 1, 256)  # K
    num_heads: int = within(8, 1)  # H
    ff_dim: int = within(256, 1, 2**17)
    layer_norm: Literal["pre", "post"] = "pre"  # the paper: post
    dropout: float = within(0.0, 0, below=1)
    position_scale: float = within(0.1, 0)  # factor on the sinusoidal positions; 0 drops them
    input_norm: Normalisation = "none"
    output_norm: Normalisation = "none"
    attention: bool = True  # False: the paper's ablation without self-attention
    feed_forward: bool = True  # False: the paper's ablation without the feed-forward sub-layer

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
    """What the encoder learns to predict.

    `neighbours` is the paper's: every walk position predicts sampled neighbours through a table of output
    vectors. `distil` has no table: a walk predicts soft cluster assignments of its start node's smoothed
    features.
    """

    objective: str = "distil"  # distil, neighbours, or another that is registered
    # neighbours
    num_targets: int = within(4, 1, 2**15)  # M
    num_negatives: int = within(512, 1, 2**24)  # |V'|
    negative_sampler: Literal["uniform", "log-uniform"] = "uniform"
    present_vectors: Literal["table", "walks"] = "table"  # what embedding_ holds
    # distil
    smoothing_alphas: tuple[float, ...] = within((0.2,), above=0, high=1)  # restart probabilities of the smoothing
    smoothing_steps: int = within(16, 0, 10_000)
    cluster_sizes: tuple[int, ...] = within((32, 64), 2)  # k of each k-means ...
    cluster_seeds: int = within(4, 1, 1024)  # ... each run from so many starts, for every smoothing alpha
    sharpness: float = within(5.0, above=0)  # soft assignment: softmax of sharpness x cosine
    mask_rate: float = within(0.3, 0, below=1)  # share of walk positions hidden from the student
    restart: float = within(0.2, 0, below=1)  # position t of a walk counts restart x (1 - restart)^t; 0: all equal
    degree_power: float = within(0.5, 0, 2)  # the features of a visited node are divided by its degree to this power
    # After the assignments a vector holds the weighted mean of its walks' features, which tell a node's neighbours from
    # other nodes of its topic. `auto`: like `always`, but with more weight for graphs without attributes.
    append_features: Literal["auto", "always", "never"] = "auto"
    appended_scale: float = within(0.25, above=0, high=1000)  # their length relative to the assignments
    appended_dim: int = within(128, 1, 2**15)  # how many numbers at most, along the main axes of the clusters' centres

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("smoothing_alphas", "cluster_sizes"):
            require(len(getattr(self, name)) > 0, f"{name} cannot be empty")
        require(len(self.smoothing_alphas) <= 64, "smoothing_alphas can be 64 at most")
        runs = self.cluster_seeds * len(self.smoothing_alphas)
        require(
            len(self.cluster_sizes) <= 1024 and runs * sum(self.cluster_sizes) <= 2**18,
            f"cluster_sizes, cluster_seeds and smoothing_alphas give more than {2**18} clusters",
        )


@dataclass(frozen=True)
class TrainConfig(Checked):
    """The training loop."""

    epochs: int = within(10, 1)
    steps_per_epoch: int = within(0, 0)  # 0: as many as num_walks walks from every node need
    batch_size: int = within(512, 1)  # walks
    learning_rate: float = within(1e-3, above=0)
    table_learning_rate: float = within(1e-2, above=0)  # of the output table, if there is one
    schedule: Literal["constant", "cosine"] = "constant"
    gradient_clip: float = within(0.0, 0)  # 0: none
    fresh_walks: bool = True  # False: the paper's fixed set, drawn once
    patience: int = within(0, 0)  # epochs without a better validation score before stopping; 0: never
    device: str = "auto"  # auto, cpu, cuda or mps
    threads: int = within(0, 0)  # 0: chosen by the size of a batch


@dataclass(frozen=True)
class InferConfig(Checked):
    """How a node is embedded."""

    num_inference_walks: int = within(64, 1, 2**16)  # Z


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
        """These settings, or for nodes without attributes a copy with `append_features="auto"` resolved.

        Their appended features count more and are closer to the node itself.
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


# `paper`: section 4 of the paper. What it leaves out and is added here is listed in docs/research.md.
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
DEFAULT_RECIPE = "best"
RECIPES: dict[str, Config] = {"paper": _PAPER, "fast": _FAST, "best": _BEST}
DEFAULT_RECIPE = "best"


def recipe_config(name: str) -> Config:
    """The settings of a named recipe."""
    if name not in RECIPES:
        raise InputError(f"unknown recipe {name!r}: choose one of {', '.join(sorted(RECIPES))}")
    return RECIPES[name]
