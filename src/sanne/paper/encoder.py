"""The walk transformer: K layers of self-attention and feed-forward over the nodes of a walk (paper, section 3)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sanne.config import ModelConfig, Normalisation


class WalkEncoder(nn.Module):
    """Reads walks of feature vectors (B, N, width), gives walk vectors u^(K) (B, N, dim)."""

    positions: Tensor

    def __init__(self, config: ModelConfig, width: int, walk_length: int) -> None:
        super().__init__()
        self.config = config
        # The paper's features already have width d; others are projected to it by a learned layer.
        self.project = nn.Linear(width, config.encoder_dim) if width != config.encoder_dim else nn.Identity()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_layers))
        self.final_norm = nn.LayerNorm(config.encoder_dim) if config.layer_norm == "pre" else nn.Identity()
        positions = config.position_scale * sinusoidal_positions(walk_length, config.encoder_dim)
        self.register_buffer("positions", positions, persistent=False)  # (N, dim)

    def forward(self, features: Tensor) -> Tensor:
        """Walk vectors of walks of feature vectors."""
        hidden = self.embed(features)
        for layer in self.layers:
            hidden = layer(hidden)
        return normalise(self.final_norm(hidden), self.config.output_norm)

    def embed(self, features: Tensor) -> Tensor:
        """u^(0): projected features plus positions."""
        hidden = normalise(self.project(features), self.config.input_norm)
        return hidden + self.positions

    def attention_flow(self, features: Tensor) -> Tensor:
        """How much each output position (row) drew on each input position (column), (B, N, N); rows sum to one.

        Attention roll-out: the product over layers of attention averaged over heads, mixed evenly with the
        identity that the residual connection stands for.
        """
        hidden = self.embed(features)
        size = features.shape[1]
        identity = torch.eye(size, device=features.device)
        flow = identity.expand(features.shape[0], size, size)
        for layer in self.layers:
            assert isinstance(layer, EncoderLayer)
            if layer.attention is not None:
                read = layer.attention_norm(hidden) if layer.pre_norm and layer.attention_norm else hidden
                weights = layer.attention.weights(read).mean(dim=1)  # (B, N, N)
                flow = (0.5 * weights + 0.5 * identity) @ flow
            hidden = layer(hidden)
        return flow


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection and layer normalisation.

    `post` normalises after the sum, as the paper writes it; `pre` normalises what enters a sub-layer.
    Either sub-layer can be left out: the paper's two ablations.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre_norm = config.layer_norm == "pre"
        self.attention = SelfAttention(config.encoder_dim, config.num_heads) if config.attention else None
        self.attention_norm = nn.LayerNorm(config.encoder_dim) if config.attention else None
        self.feed_forward = (
            nn.Sequential(
                nn.Linear(config.encoder_dim, config.ff_dim),
                nn.ReLU(inplace=True),
                nn.Linear(config.ff_dim, config.encoder_dim),
            )
            if config.feed_forward
            else None
        )
        self.feed_forward_norm = nn.LayerNorm(config.encoder_dim) if config.feed_forward else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, N, dim) -> (B, N, dim)."""
        for sub_layer, norm in ((self.attention, self.attention_norm), (self.feed_forward, self.feed_forward_norm)):
            if sub_layer is None or norm is None:
                continue
            if self.pre_norm:
                hidden = hidden + self.dropout(sub_layer(norm(hidden)))
            else:
                hidden = norm(hidden + self.dropout(sub_layer(hidden)))
        return hidden


class SelfAttention(nn.Module):
    """Multi-head attention along the walk, all heads in one projection.

    Scores are scaled by sqrt(s), s the size of a head. The paper prints sqrt(k), its layer index: a slip.
    """

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.queries_keys_values = nn.Linear(dim, 3 * dim, bias=False)  # W^Q, W^K, W^V of every head
        self.combine = nn.Linear(dim, dim, bias=False)  # W^(k)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, N, dim) -> (B, N, dim)."""
        heads = F.scaled_dot_product_attention(*self._projections(hidden))
        mixed: Tensor = self.combine(heads.transpose(1, 2).flatten(2))
        return mixed

    def weights(self, hidden: Tensor) -> Tensor:
        """The attention weights alpha, (B, H, N, N)."""
        queries, keys, _ = self._projections(hidden)
        return torch.softmax(queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1]), dim=-1)

    def _projections(self, hidden: Tensor) -> Tensor:
        """Queries, keys and values, each (B, H, N, s)."""
        split: Tensor = self.queries_keys_values(hidden).unflatten(2, (3, self.num_heads, -1))
        return split.permute(2, 0, 3, 1, 4)


def sinusoidal_positions(length: int, dim: int) -> Tensor:
    """t_{i,2j} = sin(i / 10000^(2j/d)), t_{i,2j+1} = cos of the same; i counts from 1 as in the paper. (N, d)."""
    position = torch.arange(1, length + 1, dtype=torch.float32).unsqueeze(1)
    rate = torch.exp(torch.arange(0, dim, 2, dtype=torch.float32) * (-math.log(10000.0) / dim))
    angle = position * rate
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)[:, :dim]


def normalise(vectors: Tensor, how: Normalisation) -> Tensor:
    """Leave vectors alone, scale them to length 1, or squash lengths below 1 (as capsules do: r -> r^2 / (1 + r^2))."""
    if how == "l2":
        return F.normalize(vectors, dim=-1)
    if how == "squash":
        length = vectors.norm(dim=-1, keepdim=True)
        return vectors * (length / (1 + length.square()))
    return vectors
