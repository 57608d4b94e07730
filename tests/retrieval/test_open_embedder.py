from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.plugins import EMBEDDERS
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import open_embedder
from discreet.vault import Vault
from tests.test_plugins import install


def test_embedder_of_a_plugin_opens_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plugged_embedder.py").write_text(
        "from discreet.retrieval.embedding import HashingEmbedder\n"
        "class Plugged(HashingEmbedder):\n    name = 'plugged'\n"
        "class Nothing: ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "plugged", EMBEDDERS, plugged="plugged_embedder:Plugged", nothing="plugged_embedder:Nothing")
    vault = Vault.create(tmp_path / "vault", epsilon=1, delta=1e-6, embedder="plugged")
    vault.add_documents([Document("1", "ada", "numb thumbs")])
    assert vault.embedder.name == open_embedder("plugged").name == "plugged"
    with pytest.raises(UsageError, match=r"lacks embed"):
        open_embedder("nothing")
