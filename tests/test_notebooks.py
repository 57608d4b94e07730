"""The notebooks of `examples/notebooks`: committed without outputs, in plain words, and each runs as it stands."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_style import BANNED

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
RUN = """
import ast, json, os, sys

os.chdir(os.environ["TMPDIR"])
cells = [cell for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
space = {"__name__": "__main__"}
for number, cell in enumerate(cells):
    body = ast.parse("".join(cell["source"]), f"cell {number}").body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), f"cell {number}", "exec"), space)
    shown = eval(compile(last, f"cell {number}", "eval"), space) if last else None
    if shown is not None:
        print("html" if hasattr(shown, "_repr_html_") and shown._repr_html_() else "text", type(shown).__name__)
"""
"""Run the code cells in one namespace, and show the last value of each as a notebook does."""
SHOWN = {
    "analyst": {"Answer", "DataFrame"},
    "custodian": {"Plan", "Answer", "Receipt", "BudgetReport", "DataFrame"},
    "researcher": {"DataFrame", "BudgetReport"},
}


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(SHOWN)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_without_outputs(path: Path) -> None:
    for cell in cells(path):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert len({cell["id"] for cell in cells(path)}) == len(cells(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_in_plain_words(path: Path) -> None:
    for cell in cells(path):
        text = "".join(cell["source"])
        assert all(len(line) <= 160 for line in text.splitlines()), text
        if cell["cell_type"] == "markdown":
            assert not [word for word in BANNED if re.search(rf"\b{re.escape(word)}\b", text.lower())], text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    command = [sys.executable, "-c", RUN, str(path)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stderr
    html = {line.partition(" ")[2] for line in found.stdout.splitlines() if line.startswith("html ")}
    assert html >= SHOWN[path.stem]
