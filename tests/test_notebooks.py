"""The notebooks of `examples/notebooks`: without outputs, in plain words, and each runs in a kernel of Jupyter."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.test_style import BANNED

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
SHOWN = {
    "analyst": {"Answer", "DataFrame"},
    "custodian": {"GrantPlan", "Answer", "Receipt", "BudgetReport", "DataFrame"},
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
def test_notebook_runs_in_a_kernel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))  # the files of a user change nothing
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    folder = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = {kind_of(output["data"]) for output in outputs if output["output_type"] == "execute_result"}
    assert shown >= SHOWN[path.stem]
    bars = [output["data"] for output in outputs if output["output_type"] == "display_data"]
    assert any("embedding documents" in bar["text/html"].lower() for bar in bars)
    assert not [output["text"] for output in outputs if output.get("name") == "stderr"]


def kind_of(data: dict[str, str]) -> str:
    """Return the class of an object that was shown as HTML; empty if it was shown as text alone."""
    if "text/html" not in data:
        return ""
    return "DataFrame" if 'class="dataframe"' in data["text/html"] else data["text/plain"].partition("(")[0]
