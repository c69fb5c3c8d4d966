"""The programs of the README and of the book run as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def programs() -> list[tuple[str, str]]:
    """Every block marked `python`, after its place."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "book/src").glob("*.md"))]:
        inside, start = None, 0
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if inside is None and line == "```python":
                inside, start = [], number
            elif inside is not None and line.startswith("```"):
                found.append((f"{page.name}:{start}", "\n".join(inside)))
                inside = None
            elif inside is not None:
                inside.append(line)
    return found


@pytest.mark.parametrize(("place", "text"), programs())
def test_a_program_of_the_book_runs_as_it_is_written(
    place: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    exec(compile(text, place, "exec"), {"__name__": "__main__"})


def test_there_are_programs() -> None:
    assert len(programs()) >= 2
