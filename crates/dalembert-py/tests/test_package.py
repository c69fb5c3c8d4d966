"""The package as a whole: program, types, docstrings, scripts, pictures, viewer, overhead."""

from __future__ import annotations

import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import _native

ROOT = Path(__file__).resolve().parents[3]


def test_the_program_is_installed(tmp_path: Path) -> None:
    program = shutil.which("dalembert", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("not installed as a wheel")
    told = subprocess.run([program, "--version"], capture_output=True, text=True)
    assert told.returncode == 0 and told.stdout.startswith("dalembert ")
    ran = subprocess.run([program, "examples", "run", "hello"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    wrong = subprocess.run([program, "run", "nothing.toml"], capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 5 and "nothing.toml" in wrong.stderr
    assert subprocess.run([program, "runn"], capture_output=True).returncode == 2


def test_the_stub_names_everything_of_the_native_module() -> None:
    stub = (Path(da.__file__).parent / "_native.pyi").read_text()
    for name, item in vars(_native).items():
        if name.startswith("_"):
            continue
        assert f"class {name}" in stub or f"def {name}(" in stub, name
        if inspect.isclass(item) and not issubclass(item, Exception):
            for attribute in vars(item):
                if not attribute.startswith("_"):
                    assert f"{attribute}:" in stub or f"def {attribute}(" in stub, f"{name}.{attribute}"


def test_everything_public_has_a_docstring() -> None:
    for name in da.__all__:
        item = getattr(da, name)
        assert item.__doc__, name
        if inspect.isclass(item):
            for attribute, member in vars(item).items():
                if not attribute.startswith("_") and (callable(member) or isinstance(member, property)):
                    assert inspect.getdoc(member), f"{name}.{attribute}"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no mypy")
@pytest.mark.skipif(np.__version__.startswith("1."), reason="checked with the types of NumPy 2")
def test_types_hold(tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text(
        "import dalembert as da\n"
        "scene = da.Scene(method='ipc', dt=0.01)\n"
        "ball = scene.add_rigid('ball', shape={'sphere': 0.1}, mass=1.0, position=(0, 0, 1))\n"
        "sim: da.Simulation = scene.build()\n"
        "report: da.StepReport = sim.step(3)\n"
        "z: float = float(sim.rigid('ball').position[2])\n"
        "result = da.rollout(sim.model, [sim.state.copy()], steps=2)\n"
        "reveal_type(result.q)\n"
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import dalembert as da\nda.Scene(method='magic')\nda.Scene().add_rigid(3)\n")
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    check = [sys.executable, "-m", "mypy", *config]
    told = subprocess.run([*check, "-p", "dalembert"], capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    told = subprocess.run([*check, str(user)], capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "ndarray" in told.stdout
    told = subprocess.run([*check, str(wrong)], capture_output=True, text=True, cwd=tmp_path)
    assert told.returncode == 1 and "magic" in told.stdout and "add_rigid" in told.stdout


SCRIPTS = sorted(path.stem for path in (ROOT / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run(script: str, tmp_path: Path) -> None:
    if script.startswith("mujoco"):
        pytest.importorskip("mujoco")
    path = ROOT / "examples" / "python" / f"{script}.py"
    told = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert told.returncode == 0, told.stdout + told.stderr


def test_docstrings_are_true() -> None:
    import doctest

    from dalembert import _scene

    for module in (da, _scene):
        assert doctest.testmod(module).failed == 0


def test_pictures(stone: da.Simulation) -> None:
    assert stone.picture(64, 48)[:8] == b"\x89PNG\r\n\x1a\n"
    assert stone.pixels(64, 48).shape == (48, 64, 3)
    assert "<img" in stone._repr_html_() and "method" in stone._repr_html_()
    with pytest.raises(ValueError, match="8192"):
        stone.picture(0, 10)


def test_the_viewer_shows_and_never_waits(stone: da.Simulation, capsys: pytest.CaptureFixture[str]) -> None:
    with da.view(stone, port=0, open_browser=False) as window:
        assert window.url in capsys.readouterr().out
        assert window.running and window.pages == 0
        page = urllib.request.urlopen(window.url, timeout=10).read()
        assert b"<html" in page.lower()
        start = time.perf_counter()
        for _ in range(100):
            stone.step()
            window.sync()
        assert time.perf_counter() - start < 5
        assert "<iframe" in window._repr_html_()
    assert not window.running and window.url == ""
    assert window.sync() is False


def test_scenes_that_come_with_the_package() -> None:
    assert "hello.toml" in da.examples() and "robots/arm.xml" in da.examples()


def test_the_version_is_that_of_the_program() -> None:
    told = subprocess.run([sys.executable, "-m", "dalembert", "--version"], capture_output=True, text=True)
    assert told.stdout.split() == ["dalembert", da.__version__]


def test_numpy_of_now() -> None:
    assert tuple(int(n) for n in np.__version__.split(".")[:2]) >= (1, 26)


@pytest.mark.skipif("DALEMBERT_TIMED" not in os.environ, reason="timed: DALEMBERT_TIMED=1 on a quiet machine")
def test_a_step_call_costs_little(stone: da.Simulation) -> None:
    n = 20_000
    stone.step(1000)
    start = time.perf_counter()
    stone.step(n)
    inside = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(n):
        stone.step()
    calls = time.perf_counter() - start
    extra = (calls - inside) / n * 1e6
    print(f"a call of step costs {extra:.2f} us over the step itself")
    assert extra < 2.0
