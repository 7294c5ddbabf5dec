"""Dataclasses of settings whose values are checked, and converted from the strings that a command line gives."""

import dataclasses
import math
import typing
from typing import Any, Literal, get_args, get_origin

from sanne.errors import InputError


def convert(name: str, value: Any, kind: Any) -> Any:
    """Turn a value (perhaps a string, or a list from JSON) into the type of its field."""
    try:
        if get_origin(kind) is tuple:
            item = get_args(kind)[0]
            parts = value.split(",") if isinstance(value, str) else value
            parts = [parts] if isinstance(parts, int | float) else parts
            return tuple(convert(name, part, item) for part in parts)
        if kind is bool and isinstance(value, str):
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[value.lower()]
        if kind is int and isinstance(value, float) and value != int(value):
            raise ValueError
        if kind in (int, float) and not isinstance(value, bool):
            return kind(value)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(f"setting {name!r}: {value!r} is not {_type_name(kind)}") from None
    return value


def within(
    default: Any, low: float = -math.inf, high: float = math.inf, *, above: float = -math.inf, below: float = math.inf
) -> Any:
    """A field with a default and a range; for a tuple, the range of its items.

    Upper limits also keep out sizes that no machine has memory for, as a typing error or a hostile file may give them.
    """
    return dataclasses.field(default=default, metadata={"range": (low, high, above, below)})


class Checked:
    """Base of frozen dataclasses: types and ranges of the fields are checked when one is built."""

    def __post_init__(self) -> None:
        kinds = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not _fits(value, kinds[field.name]):
                raise InputError(f"setting {field.name!r}: {value!r} is not {_type_name(kinds[field.name])}")
            if "range" in field.metadata:
                for item in value if isinstance(value, tuple) else (value,):
                    _check_range(field.name, item, *field.metadata["range"])


def _check_range(name: str, value: float, low: float, high: float, above: float, below: float) -> None:
    limits = {f"at least {low}": value >= low, f"at most {high}": value <= high}
    limits |= {f"greater than {above}": value > above, f"less than {below}": value < below}
    for limit, holds in limits.items():
        require(holds, f"{name} must be {limit}, not {value}")


def _fits(value: Any, kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is Literal:
        return value in get_args(kind)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, get_args(kind)[0]) for item in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(repr(option) for option in get_args(kind))
    if get_origin(kind) is tuple:
        return f"a list of {_type_name(get_args(kind)[0])} values"
    names = {int: "a whole number", float: "a finite number", bool: "true or false", str: "text"}
    return names.get(kind, str(kind))


def require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)
