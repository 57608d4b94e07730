"""Run `llm` with the plug-in of this checkout, whether it is installed or not."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment in which `llm` finds the plug-in, and keeps its logs and keys in `folder`."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["llm"]
    info = folder / "checkout-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: checkout\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in declared.items()]
    (info / "entry_points.txt").write_text("\n".join(["[llm]", *lines, ""]))
    paths = os.pathsep.join([str(ROOT / "src"), str(folder)])
    given = {"PYTHONPATH": paths, "LLM_USER_PATH": str(folder / "llm"), "OMP_NUM_THREADS": "1"}
    # Only this plug-in: that of the packaged model needs llama_cpp, which is not installed (docs/install.md).
    given["LLM_LOAD_PLUGINS"] = "checkout"
    without = {name: value for name, value in os.environ.items() if name != "DISCREET_KEY"}
    return without | given | more


def run(command: list[str], variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a Python program in an environment."""
    return subprocess.run(
        [sys.executable, *command], env=variables, capture_output=True, text=True, timeout=120, check=False
    )
