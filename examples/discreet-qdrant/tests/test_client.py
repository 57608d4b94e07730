"""The connection to a Qdrant server."""

from pathlib import Path

import pytest
from discreet_qdrant.address import read_address
from discreet_qdrant.client import Client

from discreet.errors import StoreError

pytest.importorskip("qdrant_client", reason="Qdrant is tested where its client is installed")
pytest.importorskip("qdrant_edge", reason="Qdrant is tested where its engine is installed")


def test_no_proxy_of_the_environment_sees_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qdrant_server import qdrant_server

    with qdrant_server(tmp_path) as (address, _):
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")  # nothing listens there
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert Client(read_address(address)).names("store_") == []
    with pytest.raises(StoreError, match="cannot be reached"):
        Client(read_address("qdrant://127.0.0.1:9")).names("store_")
