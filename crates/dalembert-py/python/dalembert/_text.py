"""Tables as the text of a scene file, so that scenes from Python pass through the same checks as files."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._handle import Handle


def text(value: str) -> str:
    """A TOML string."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    out = []
    for c in value:
        if c in escapes:
            out.append(escapes[c])
        elif ord(c) < 0x20 or ord(c) == 0x7F or 0xD800 <= ord(c) < 0xE000:
            out.append("\\ufffd" if ord(c) >= 0xD800 else f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def number(value: float) -> str:
    """A TOML float that reads back to the same bits."""
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def value(item: Any, where: str) -> str:
    """Any value that a scene may hold."""
    if isinstance(item, Handle):
        return text(item.name)
    if isinstance(item, (bool, np.bool_)):
        return "true" if item else "false"
    if isinstance(item, (int, np.integer)):
        return str(int(item))
    if isinstance(item, (float, np.floating)):
        return number(float(item))
    if isinstance(item, str):
        return text(item)
    if isinstance(item, os.PathLike):
        return text(os.fspath(item))
    if isinstance(item, np.ndarray):
        return value(item.tolist(), where)
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{key(k)} = {value(v, where)}" for k, v in item.items() if v is not None) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(v, where) for v in item) + "]"
    raise TypeError(f"`{where}` cannot hold {type(item).__name__}; it takes numbers, texts, lists and dicts")


def key(name: object) -> str:
    """A TOML key."""
    name = str(name)
    return name if name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name) else text(name)


def lines(keys: Mapping[str, Any]) -> list[str]:
    """One line for every key that is given."""
    return [f"{key(k)} = {value(v, k)}" for k, v in keys.items() if v is not None]


def table(name: str, keys: Mapping[str, Any]) -> str:
    """A `[[table]]`."""
    return "\n".join([f"[[{name}]]", *lines(keys), ""])
