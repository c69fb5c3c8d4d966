"""Meshes for what is made of them: `scene.add_cloth(da.mesh.grid(1.0, 1.0, resolution=40), young=1e5)`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mesh:
    """A mesh as a scene writes it down."""

    key: str
    """Key of the table that it belongs to: "grid" or "surface"."""
    value: Mapping[str, Any]
    """What stands under that key."""


def grid(width: float, length: float, *, resolution: int | Sequence[int] = 20, diagonals: str | None = None) -> Mesh:
    """A rectangle in the xy plane about the origin.

    Args:
        width: Length along x. [m]
        length: Length along y. [m]
        resolution: Squares along the longer side, and as many along the other as make them nearly square; or squares
            along x and along y.
        diagonals: How squares are cut into triangles: "alternating" (as if absent) or "same".
    """
    if isinstance(resolution, Sequence):
        across, along = (int(cells) for cells in resolution)
    else:
        most = max(width, length)
        across, along = (
            max(1, round(resolution * side / most)) if 0 < most < float("inf") and side > 0 else resolution
            for side in (width, length)
        )
    value: dict[str, Any] = {"size": [width, length], "cells": [across, along]}
    if diagonals is not None:
        value["diagonals"] = diagonals
    return Mesh("grid", value)


def load(path: str | os.PathLike[str], *, scale: float = 1.0) -> Mesh:
    """Triangles from a file (OBJ, STL, PLY, or the outside of a `.msh` or `.vtk`), which need not close.

    Args:
        path: The file, its path relative to the current folder. If it is not there, `FileNotFoundError`.
        scale: Factor on its vertices.
    """
    place = os.path.abspath(path)
    if not os.path.exists(place):
        raise FileNotFoundError(errno.ENOENT, "there is no such mesh file", os.fspath(path))
    if not os.path.isfile(place):
        raise IsADirectoryError(errno.EISDIR, "a mesh is a file, not a folder", os.fspath(path))
    return Mesh("surface", {"mesh": place, "scale": scale})
