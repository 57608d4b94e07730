"""The examples run as they stand: against a vault in their process, and against a server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.llm_command import ROOT, environment, run
from tests.adapters.needs import needs
from tests.adapters.released import release
from tests.server.front.serving import Server

EXAMPLES = {
    "langchain_tool.py": "langchain_core",
    "llamaindex_engine.py": "llama_index.core",
    "haystack_pipeline.py": "haystack",
    "llm_model.py": "llm",
}


def test_every_example_is_tested() -> None:
    found = {path.name for path in (ROOT / "examples/adapters").glob("*.py")}
    assert found == {*EXAMPLES, "corpus_retriever.py"}


@pytest.mark.parametrize("place", ["vault", "server"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    needs(EXAMPLES[name])
    variables = environment(tmp_path, HAYSTACK_TELEMETRY_ENABLED="False")
    if place == "vault":
        where = str(request.getfixturevalue("folder"))
    else:
        server: Server = request.getfixturevalue("server")
        issue: Callable[..., str] = request.getfixturevalue("issue")
        where, variables["DISCREET_KEY"] = server.root, issue()
    found = run([str(ROOT / "examples/adapters" / name), where], variables)
    assert found.returncode == 0, found.stderr
    assert "About " in found.stdout
    assert "It asks about one individual." in found.stdout
    assert "epsilon " in found.stdout


def test_example_of_a_retriever_runs(tmp_path: Path) -> None:
    needs("langchain_core")
    script, corpus = str(ROOT / "examples/adapters/corpus_retriever.py"), release(tmp_path)
    found = run([script, str(corpus), "hashing"], environment(tmp_path))
    assert found.stdout.startswith("winterhand wants sand {'synthetic': True"), found.stderr
    refused = run([script, str(tmp_path / "v"), "hashing"], environment(tmp_path))
    assert refused.returncode == 1
    assert "never documents of a vault" in refused.stderr
