"""Names of things in a scene, which become live views once the scene is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import Error

if TYPE_CHECKING:
    from ._simulation import Simulation


class Handle:
    """Something that was added to a scene.

    It stands for its name wherever a scene wants one. After `Scene.build` its attributes are those of the live view,
    `simulation[name]`: `ball.position`, `cloth.x`, `arm.control["elbow"]`.
    """

    __slots__ = ("table", "name", "_simulations")

    def __init__(self, table: str, name: str) -> None:
        self.table = table
        self.name = name
        self._simulations: list[Simulation] = []

    def _bind(self, simulation: Simulation) -> None:
        self._simulations.append(simulation)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        match self._simulations:
            case []:
                raise Error(f"`{self.name}` has no `{attribute}` before the scene is built")
            case [simulation]:
                return getattr(simulation[self.name], attribute)
            case _:
                raise Error(
                    f"the scene was built {len(self._simulations)} times: "
                    f"say which `{self.name}` is meant, `simulation[{self.name!r}]`"
                )

    def __repr__(self) -> str:
        return f"<{self.table} `{self.name}`>"
