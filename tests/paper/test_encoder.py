"""The walk transformer against the paper's formulas, written out in numpy."""

import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sanne.config import ModelConfig
from sanne.paper.encoder import WalkEncoder, normalise, sinusoidal_positions

Array = np.ndarray[Any, np.dtype[np.float64]]


def encoder(width: int = 6, walk_length: int = 4, seed: int = 0, **settings: Any) -> WalkEncoder:
    torch.manual_seed(seed)
    config = ModelConfig(**({"encoder_dim": 6, "num_heads": 2, "num_layers": 1, "ff_dim": 5} | settings))
    model = WalkEncoder(config, width, walk_length).double().eval()
    with torch.no_grad():  # norms and biases away from one and zero, so that leaving one out shows
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def walks(batch: int = 3, length: int = 4, width: int = 6) -> torch.Tensor:
    return torch.randn(batch, length, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def softmax(scores: Array) -> Array:
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def layer_norm(x: Array, norm: Any) -> Array:
    scale, shift = norm.weight.detach().numpy(), norm.bias.detach().numpy()
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def attention(u: Array, layer: Any, heads: int) -> tuple[Array, list[Array]]:
    """One walk (N, d): W [h^1; ...; h^H], head by head, and each head's weights alpha."""
    d = u.shape[1]
    s = d // heads
    projections = layer.attention.queries_keys_values.weight.detach().numpy().reshape(3, heads, s, d)
    outputs, alphas = [], []
    for h in range(heads):
        queries, keys, values = (u @ projections[i, h].T for i in range(3))
        alpha = softmax(queries @ keys.T / math.sqrt(s))
        outputs.append(alpha @ values)
        alphas.append(alpha)
    return np.concatenate(outputs, axis=1) @ layer.attention.combine.weight.detach().numpy().T, alphas


def feed_forward(y: Array, layer: Any) -> Array:
    first, _, second = layer.feed_forward
    hidden = np.maximum(y @ first.weight.detach().numpy().T + first.bias.detach().numpy(), 0)
    return hidden @ second.weight.detach().numpy().T + second.bias.detach().numpy()


@pytest.mark.parametrize("num_heads", [1, 2, 3])
def test_the_post_norm_layer_is_the_papers_formula(num_heads: int) -> None:
    model = encoder(layer_norm="post", num_heads=num_heads, position_scale=0.5)
    layer: Any = model.layers[0]
    features = walks()
    for walk, found in zip(features.numpy(), model(features).detach().numpy(), strict=True):
        u = walk + 0.5 * sinusoidal_positions(4, 6).numpy()
        y = layer_norm(u + attention(u, layer, num_heads)[0], layer.attention_norm)
        expected = layer_norm(y + feed_forward(y, layer), layer.feed_forward_norm)
        assert np.allclose(found, expected, atol=1e-6)


def test_the_pre_norm_layer_normalises_what_enters_and_the_end() -> None:
    model = encoder(layer_norm="pre", position_scale=0.0)
    layer: Any = model.layers[0]
    features = walks()
    for u, found in zip(features.numpy(), model(features).detach().numpy(), strict=True):
        y = u + attention(layer_norm(u, layer.attention_norm), layer, 2)[0]
        z = y + feed_forward(layer_norm(y, layer.feed_forward_norm), layer)
        assert np.allclose(found, layer_norm(z, model.final_norm), atol=1e-6)


def test_the_gradient_of_the_feed_forward_layer_is_that_of_its_parts() -> None:
    model = encoder(num_layers=1)
    layer = model.layers[0].feed_forward
    assert isinstance(layer, torch.nn.Sequential)
    hidden, towards = torch.randn(2, 5, 4, 6, dtype=torch.float64)
    hidden.requires_grad_()
    expected = F.linear(F.relu(F.linear(hidden, layer[0].weight, layer[0].bias)), layer[2].weight, layer[2].bias)
    found, inputs = layer(hidden), (hidden, *layer.parameters())
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs, towards), torch.autograd.grad(expected, inputs, towards), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_attention_is_scaled_by_the_size_of_a_head() -> None:
    model = encoder(num_heads=3, layer_norm="post", position_scale=0.0)
    layer: Any = model.layers[0]
    features = walks()
    weights = layer.attention.weights(features).detach().numpy()
    for walk, found in zip(features.numpy(), weights, strict=True):
        assert np.allclose(found, np.stack(attention(walk, layer, 3)[1]), atol=1e-9)


@pytest.mark.parametrize(("part", "kept"), [("attention", "feed_forward"), ("feed_forward", "attention")])
def test_an_ablation_has_no_such_parameters(part: str, kept: str) -> None:
    model = encoder(num_layers=2, **{part: False})
    names = [name for name, _ in model.named_parameters()]
    assert not any(f".{part}" in name for name in names)
    assert any(f".{kept}" in name for name in names)
    assert model(walks()).shape == (3, 4, 6)


def test_the_ablations_are_the_papers_formulas() -> None:
    features = walks()
    model = encoder(layer_norm="post", attention=False, position_scale=0.0)
    layer: Any = model.layers[0]
    u = features.numpy()
    assert np.allclose(
        model(features).detach().numpy(), layer_norm(u + feed_forward(u, layer), layer.feed_forward_norm), atol=1e-6
    )
    model = encoder(layer_norm="post", feed_forward=False, position_scale=0.0)
    layer = model.layers[0]
    expected = np.stack([layer_norm(walk + attention(walk, layer, 2)[0], layer.attention_norm) for walk in u])
    assert np.allclose(model(features).detach().numpy(), expected, atol=1e-6)


def test_positions_by_hand() -> None:
    table = sinusoidal_positions(3, 4).numpy()
    for i in range(3):
        place = i + 1  # the paper counts from one
        assert np.allclose(
            table[i], [math.sin(place), math.cos(place), math.sin(place / 100), math.cos(place / 100)], atol=1e-6
        )
    assert sinusoidal_positions(3, 5).shape == (3, 5)


def test_without_positions_the_order_of_the_other_nodes_does_not_matter() -> None:
    features = walks()
    shuffled = features[:, [0, 3, 1, 2]]
    without, with_positions = encoder(position_scale=0.0), encoder(position_scale=0.5)
    assert torch.allclose(without(features)[:, 0], without(shuffled)[:, 0])
    assert not torch.allclose(with_positions(features)[:, 0], with_positions(shuffled)[:, 0])


@pytest.mark.parametrize(("width", "projected"), [(6, False), (9, True), (2, True)])
def test_features_of_another_width_are_projected_and_others_are_left_alone(width: int, projected: bool) -> None:
    model = encoder(width=width)
    assert model(walks(width=width)).shape == (3, 4, 6)
    assert any(name.startswith("project") for name, _ in model.named_parameters()) == projected


def test_normalisation() -> None:
    vectors = torch.tensor([[3.0, 4.0], [0.0, 0.5], [0.0, 0.0]])
    assert normalise(vectors, "none") is vectors
    directions = torch.tensor([[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]])
    assert torch.allclose(normalise(vectors, "l2"), directions)
    lengths = torch.tensor([[25 / 26], [0.25 / 1.25], [0.0]])  # r becomes r^2 / (1 + r^2)
    assert torch.allclose(normalise(vectors, "squash"), directions * lengths)


@pytest.mark.parametrize("how", ["l2", "squash"])
def test_the_gradient_at_a_zero_vector_is_finite(how: Any) -> None:
    vectors = torch.zeros(2, 3, requires_grad=True)
    normalise(vectors, how).sum().backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


def test_normalisation_is_applied_before_positions_and_at_the_end() -> None:
    model = encoder(input_norm="l2", output_norm="l2", position_scale=0.1)
    features = walks()
    assert torch.allclose(model(100 * features), model(features))
    assert torch.allclose(model(features).norm(dim=-1), torch.ones(3, 4, dtype=torch.float64))


def test_attention_flow_of_one_layer_is_half_attention_half_identity() -> None:
    model = encoder(layer_norm="post", position_scale=0.0)
    features = walks()
    for walk, flow in zip(features.numpy(), model.float().attention_flow(features.float()).detach(), strict=True):
        alpha = np.mean(attention(walk, model.layers[0], 2)[1], axis=0)
        assert np.allclose(flow, 0.5 * alpha + 0.5 * np.eye(4), atol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_attention_flow_is_a_share_of_each_position(norm: Any) -> None:
    flow = encoder(num_layers=3, layer_norm=norm).float().attention_flow(walks().float())
    assert flow.shape == (3, 4, 4)
    assert (flow >= 0).all()
    assert torch.allclose(flow.sum(dim=2), torch.ones(3, 4))


def test_without_attention_every_position_draws_on_itself() -> None:
    flow = encoder(attention=False).float().attention_flow(walks().float())
    assert torch.equal(flow, torch.eye(4).expand(3, 4, 4))


def test_dropout_acts_in_training_only() -> None:
    model = encoder(dropout=0.5)
    features = walks()
    assert torch.equal(model(features), model(features))
    model.train()
    assert not torch.equal(model(features), model(features))
