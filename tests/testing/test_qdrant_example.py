"""The plug-in for Qdrant installs, and passes its own tests: the conformance suite of stores among them."""

import os
from pathlib import Path

import pytest

from tests.testing.test_example_plugin import ROOT, install_example, run_python

EXAMPLE = ROOT / "examples" / "discreet-qdrant"


@pytest.mark.timeout(1800)
def test_qdrant_store_passes_its_own_tests(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    pytest.importorskip("qdrant_edge")
    site = install_example(EXAMPLE, tmp_path)
    own = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(EXAMPLE / "tests")]
    assert "passed" in run_python(site, tmp_path, *own)
