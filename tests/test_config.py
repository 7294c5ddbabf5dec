"""Settings: checked when built, changed by flat names, kept through JSON."""

import dataclasses
import json
import math
from typing import Any

import pytest

from sanne.config import RECIPES, Config, ModelConfig, recipe_config, setting_names
from sanne.errors import InputError
from sanne.serve.limits import ServeLimits


def test_replace_changes_only_the_named_settings() -> None:
    changed = Config().replace(walk_length=12, epochs=3)
    assert (changed.walks.walk_length, changed.train.epochs) == (12, 3)
    assert changed.replace(walk_length=Config().walks.walk_length, epochs=Config().train.epochs) == Config()


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().walks.walk_length = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("walk_length", "12", 12),
        ("learning_rate", "1e-3", 1e-3),
        ("attention", "false", False),
        ("attention", "YES", True),
        ("restarts", "1,0.2,0.05", (1.0, 0.2, 0.05)),
        ("link_restarts", "0.2", (0.2,)),
        ("link_restarts", [0.2, 1], (0.2, 1.0)),
        ("link_restarts", 1, (1.0,)),
        ("walk_length", 4.0, 4),
        ("layer_norm", "post", "post"),
        ("device", "cpu", "cpu"),
    ],
)
def test_values_may_come_as_text_or_from_json(name: str, text: Any, value: Any) -> None:
    section = next(s for s in Config().replace(**{name: text}).to_dict().values() if name in s)
    assert section[name] == value
    assert type(section[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("walk_length", 0),
        ("walk_length", "eight"),
        ("walk_length", 2.5),
        ("walk_length", True),
        ("walk_length", None),
        ("epochs", math.inf),
        ("learning_rate", math.nan),
        ("learning_rate", math.inf),
        ("learning_rate", 0),
        ("attention", "maybe"),
        ("attention", 1),
        ("layer_norm", "middle"),
        ("layer_norm", ["pre"]),
        ("dropout", 1.0),
        ("num_heads", 7),
        ("restarts", ()),
        ("restarts", "1,,0.5"),
        ("restarts", (1.0, "half")),
        ("restarts", (1.0, 0.0)),
        ("restarts", (0.5,)),
        ("link_restarts", (0.3,)),
        ("half_dim", 0),
        ("own_weight", -0.1),
        ("device", 3),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        Config().replace(**{name: value})


def test_an_unknown_setting_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'walk_length'"):
        Config().replace(walk_lenght=3)


def test_both_ablations_together_are_refused() -> None:
    with pytest.raises(InputError, match="cannot both be off"):
        ModelConfig(attention=False, feed_forward=False)


def test_flat_names_are_unique_so_that_a_setting_has_one_owner() -> None:
    assert len(setting_names()) == len(set(setting_names()))


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_recipes_survive_json(name: str) -> None:
    config = recipe_config(name)
    assert Config.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_from_dict_refuses_what_it_does_not_know() -> None:
    data = Config().to_dict()
    with pytest.raises(InputError, match="no_such_setting"):
        Config.from_dict(data | {"walks": {"no_such_setting": 1}})
    with pytest.raises(InputError, match="no_such_group"):
        Config.from_dict(data | {"no_such_group": {}})


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="best, fast, paper"):
        recipe_config("bset")


def test_limits_of_the_server() -> None:
    assert ServeLimits.of({"max_nodes": "12", "receive_seconds": "0.5"}) == ServeLimits(
        max_nodes=12, receive_seconds=0.5
    )
    with pytest.raises(InputError, match="unknown limit 'max_node': did you mean 'max_nodes'"):
        ServeLimits.of({"max_node": "12"})
    with pytest.raises(InputError, match="unknown limit 'zzz'; the server's limits are max_nodes"):
        ServeLimits.of({"zzz": "12"})
    with pytest.raises(InputError, match="'max_nodes': 'many' is not a whole number"):
        ServeLimits.of({"max_nodes": "many"})
    with pytest.raises(InputError, match="max_queue_nodes must be positive, not 0"):
        ServeLimits.of({"max_queue_nodes": "0"})
