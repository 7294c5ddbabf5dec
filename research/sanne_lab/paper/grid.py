"""The paper's grid (section 4): which settings may be called the paper's, checked when a candidate is built."""

import dataclasses
import hashlib
import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from sanne.config import Config
from sanne.errors import InputError

Dataset = Literal["cora", "citeseer", "pubmed"]
Setting = Literal["transductive", "inductive"]
Ablation = Literal["none", "no-attention", "no-feed-forward"]
Texts = Literal["all", "present"]

# What section 4 varies.
LEARNING_RATES = (1e-4, 5e-5, 1e-5)
FF_DIMS = (1024, 2048)
NUM_LAYERS = (2, 4, 8)  # K
NUM_HEADS = (8, 4, 16)  # H
NUM_WALKS = (128, 16, 32, 64)  # T
INDUCTIVE_WALKS = {"cora": 128, "citeseer": 16, "pubmed": 128}
MAX_EPOCHS = 50

# What section 4 fixes, in the product's words.
FIXED: dict[str, Any] = {
    "encoder_dim": 128,  # d
    "walk_length": 8,  # N
    "batch_size": 64,
    "num_targets": 4,  # M
    "num_negatives": 512,  # |V'|
    "num_inference_walks": 8,  # Z
    "objective": "neighbours",
    "present_vectors": "table",
}
# The model of table 2, and the two of table 3 that leave a sub-layer out.
ABLATIONS: dict[str, dict[str, Any]] = {
    "none": {"attention": True, "feed_forward": True},
    "no-feed-forward": {"attention": True, "feed_forward": False},
    "no-attention": {"attention": False, "feed_forward": True},
}
WITH_POSITIONS = ("cora", "pubmed")


@dataclass(frozen=True)
class Cell:
    """A dataset in a setting: one figure of the paper's second table, or with an ablation of the third.

    The paper fitted Doc2Vec on all texts, those of new nodes included. With `texts` "present" it never sees them: our
    strict variant, which has figures of its own.
    """

    dataset: Dataset
    setting: Setting
    ablation: Ablation = "none"
    texts: Texts = "all"

    def __post_init__(self) -> None:
        for name, options in (
            ("dataset", get_args(Dataset)),
            ("setting", get_args(Setting)),
            ("ablation", get_args(Ablation)),
            ("texts", get_args(Texts)),
        ):
            if getattr(self, name) not in options:
                raise InputError(f"unknown {name} {getattr(self, name)!r}: choose from {', '.join(options)}")
        if self.texts == "present" and self.setting == "transductive":
            raise InputError("in the transductive setting all texts are present")

    @property
    def variant(self) -> str:
        """The setting and what differs from the paper's own model and protocol: the name of a file of records."""
        strict = self.texts == "present"
        return "-".join([self.setting, *[self.ablation] * (self.ablation != "none"), *["strict"] * strict])

    def __str__(self) -> str:
        return f"{self.dataset}, {self.variant}"


@dataclass(frozen=True)
class Unstated:
    """What the paper leaves out and a program must decide. Every record names these."""

    squash: bool = True  # lengths of inputs and outputs below 1, as in the authors' program
    position_scale: float = 0.1  # factor on the sinusoids where the paper has positions
    layer_norm: Literal["pre", "post"] = "pre"  # post as printed, pre as in the authors' program
    dropout: float = 0.0
    table_rate: float = 1.0  # rate of the output table, in units of the encoder's
    table_adam: Literal["all", "touched"] = "all"  # rows that a step of Adam moves
    initialisation: Literal["default", "xavier"] = "default"
    standardised: bool = False  # features, before squash
    negatives: Literal["log-uniform", "uniform"] = "log-uniform"
    # Doc2Vec trained here: read by the product's map ("own", or "own-130" for 130 epochs), as they came out of training
    # ("joint-140"), or that with every word as often as its text has it ("counts-20"). Or the vectors that the authors
    # published.
    features: str = "own"
    # Vectors that the classifier sees: as they are, or all of length one. Rows of the table grow in training while the
    # encoder's outputs, by which newcomers are read, stay below 1.
    lengths: Literal["any", "one"] = "any"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"own(-[1-9]\d*)?|(joint|counts)-[1-9]\d*|authors", self.features):
            raise InputError(
                f"features {self.features!r}: choose own, own-EPOCHS, joint-EPOCHS, counts-EPOCHS or authors"
            )
        if self.position_scale <= 0 or self.table_rate <= 0:
            raise InputError("position_scale and table_rate must be positive")


@dataclass(frozen=True)
class Candidate:
    """One point of the paper's grid for a cell; a point outside the grid cannot be built."""

    cell: Cell
    learning_rate: float
    ff_dim: int
    num_layers: int  # K
    num_heads: int  # H
    num_walks: int  # T
    unstated: Unstated = field(default_factory=Unstated)

    def __post_init__(self) -> None:
        walks = NUM_WALKS if self.cell.setting == "transductive" else (INDUCTIVE_WALKS[self.cell.dataset],)
        for name, values in (
            ("learning_rate", LEARNING_RATES),
            ("ff_dim", FF_DIMS),
            ("num_layers", NUM_LAYERS),
            ("num_heads", NUM_HEADS),
            ("num_walks", walks),
        ):
            if getattr(self, name) not in values:
                raise InputError(
                    f"{name} {getattr(self, name)} is outside the paper's grid for {self.cell}: it has {values}"
                )
        if self.cell.texts == "present" and not self.unstated.features.startswith("own"):
            raise InputError(f"features {self.unstated.features!r} have seen all texts: {self.cell} needs own")

    @property
    def key(self) -> str:
        """A short name that two candidates share only if all their settings are the same."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def cost(self) -> float:
        """Multiplications of one walk position, roughly: what a step costs compared with other candidates."""
        dim = FIXED["encoder_dim"]
        return float(self.num_layers * dim * (4 * dim + 2 * self.ff_dim) + dim * FIXED["num_negatives"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a record."""
        values = dataclasses.asdict(self)
        if self.unstated.lengths == "any":
            del values["unstated"]["lengths"]  # records that are older than this axis keep their keys
        values["cell"] = {
            field.name: value
            for field in dataclasses.fields(Cell)
            if (value := getattr(self.cell, field.name)) != field.default
        }
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The reverse of `to_dict`; what is outside the grid is refused."""
        parts = {"cell": Cell(**values["cell"]), "unstated": Unstated(**values["unstated"])}
        return cls(**{**values, **parts})

    def config(self) -> Config:
        """The product's settings for this candidate."""
        extra = self.unstated
        has_positions = self.cell.dataset in WITH_POSITIONS
        config = Config().replace(
            **FIXED,
            **ABLATIONS[self.cell.ablation],
            features="doc2vec",
            feature_dim=FIXED["encoder_dim"],
            learning_rate=self.learning_rate,
            table_learning_rate=self.learning_rate * extra.table_rate,
            ff_dim=self.ff_dim,
            num_layers=self.num_layers,
            num_heads=self.num_heads,
            num_walks=self.num_walks,
            epochs=MAX_EPOCHS,
            layer_norm=extra.layer_norm,
            dropout=extra.dropout,
            position_scale=extra.position_scale if has_positions else 0.0,
            input_norm="squash" if extra.squash else "none",
            output_norm="squash" if extra.squash else "none",
            negative_sampler=extra.negatives,
            threads=1,
            device="cpu",
        )
        check_paper_config(config, self.cell)
        return config


def check_paper_config(config: Config, cell: Cell) -> None:
    """Refuse product settings that the paper's grid does not have, whoever built them."""
    flat = {name: value for section in config.to_dict().values() for name, value in section.items()}
    for name, value in (FIXED | ABLATIONS[cell.ablation]).items():
        if flat[name] != value:
            raise InputError(f"{name} is {flat[name]!r}, the paper has {value!r}: this is not the paper's")
    if (flat["position_scale"] > 0) != (cell.dataset in WITH_POSITIONS):
        raise InputError(f"the paper has positions on {' and '.join(WITH_POSITIONS)} only: not on {cell.dataset}")
    if flat["epochs"] > MAX_EPOCHS:
        raise InputError(f"{flat['epochs']} epochs: the paper trains {MAX_EPOCHS} at most")


def candidates(cell: Cell, variants: Sequence[Unstated]) -> list[Candidate]:
    """All points of the cell's grid, for each way to fill in what is unstated, the starting point first.

    `table_rate` of a variant is for the largest rate of the encoder: the table is as fast beside a slower one.
    """
    walks = NUM_WALKS if cell.setting == "transductive" else (INDUCTIVE_WALKS[cell.dataset],)
    points = itertools.product(variants, LEARNING_RATES, FF_DIMS, NUM_LAYERS, NUM_HEADS, walks)
    found = [
        Candidate(cell, rate, ff_dim, layers, heads, count, _with_table_rate(variant, rate))
        for variant, rate, ff_dim, layers, heads, count in points
    ]
    return nearest_first(found, _start(cell, variants[0]))


def _with_table_rate(variant: Unstated, rate: float) -> Unstated:
    return dataclasses.replace(variant, table_rate=round(variant.table_rate * max(LEARNING_RATES) / rate, 6))


def nearest_first(points: Sequence[Candidate], centre: Candidate) -> list[Candidate]:
    """Sorted by how many axes differ from those of `centre`; of equals the cheaper, then what is unstated, first."""
    return sorted(points, key=lambda point: (distance(point, centre), point.cost, point.unstated == centre.unstated))


def distance(one: Candidate, other: Candidate) -> int:
    """How many axes differ; all that is unstated counts as one, and by the table's own rate."""
    return sum(mine != theirs for mine, theirs in zip(_axes(one), _axes(other), strict=True))


def _axes(point: Candidate) -> tuple[Any, ...]:
    grid = (point.learning_rate, point.ff_dim, point.num_layers, point.num_heads, point.num_walks)
    table = round(point.learning_rate * point.unstated.table_rate, 9)
    return *grid, dataclasses.replace(point.unstated, table_rate=table)


def _start(cell: Cell, variant: Unstated) -> Candidate:
    """Where the search starts: a cheap point among those that figure 3 of the paper shows as good.

    With a fast table the smallest rate was the better one on validation (Cora 80.3, with the largest 80.1; Citeseer
    70.1 and 69.5; Cora without two splits' newcomers 74.5 and 71.6).
    """
    walks = 16 if cell.setting == "transductive" else INDUCTIVE_WALKS[cell.dataset]
    return Candidate(cell, 1e-5, 1024, 2, 8, walks, _with_table_rate(variant, 1e-5))
