"""Dataclasses of settings whose values are checked, and converted from the strings that a command line gives."""

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


def check_fields(config: Any) -> None:
    """Refuse values of the wrong type before anything else looks at them."""
    for name, kind in typing.get_type_hints(type(config)).items():
        value = getattr(config, name)
        if not _fits(value, kind):
            raise InputError(f"setting {name!r}: {value!r} is not {_type_name(kind)}")


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


def require_at_most(config: Any, **largest: int) -> None:
    """Refuse sizes that no machine has memory for, as a slip of the finger or a hostile file may give them."""
    for name, limit in largest.items():
        value = getattr(config, name)
        require(value <= limit, f"{name} can be {limit} at most, not {value}")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)
