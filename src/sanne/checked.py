"""Dataclasses of settings: values are checked, and converted from command-line strings."""

import dataclasses
import math
import typing
from typing import Any, Literal, get_args, get_origin

from sanne.errors import InputError

_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def within(
    default: Any, low: float = -math.inf, high: float = math.inf, *, above: float = -math.inf, below: float = math.inf
) -> Any:
    """A field with a default and a range; for a tuple, the range of its items.

    Upper limits also reject sizes that no machine has memory for, from a typing error or a hostile file.
    """
    return dataclasses.field(default=default, metadata={"range": (low, high, above, below)})


class Checked:
    """Base of frozen dataclasses: fields are converted to their types, and their ranges checked, when one is built."""

    def __post_init__(self) -> None:
        kinds = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = _converted(field.name, getattr(self, field.name), kinds[field.name])
            object.__setattr__(self, field.name, value)
            if "range" in field.metadata:
                for item in value if isinstance(value, tuple) else (value,):
                    _check_range(field.name, item, *field.metadata["range"])


def _converted(name: str, value: Any, kind: Any) -> Any:
    """A value, perhaps a string or a list from JSON, as the type of its field."""
    try:
        if get_origin(kind) is tuple:
            parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int | float) else value
            return tuple(_converted(name, part, get_args(kind)[0]) for part in parts)
        if kind is bool and isinstance(value, str):
            return _TRUTHS[value.lower()]
        if kind in (int, float):
            number = kind(value)
            if math.isfinite(number) and not isinstance(value, bool) and (isinstance(value, str) or number == value):
                return number
        elif value in get_args(kind) if get_origin(kind) is Literal else isinstance(value, kind):
            return value
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"setting {name!r}: {value!r} is not {_type_name(kind)}")


def _check_range(name: str, value: float, low: float, high: float, above: float, below: float) -> None:
    limits = {f"at least {low}": value >= low, f"at most {high}": value <= high}
    limits |= {f"greater than {above}": value > above, f"less than {below}": value < below}
    for limit, holds in limits.items():
        require(holds, f"{name} must be {limit}, not {value}")


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(repr(option) for option in get_args(kind))
    names = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}
    return names.get(kind, "a list of numbers")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)
