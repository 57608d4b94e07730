"""Addresses of Qdrant servers in a vault's settings."""

import pytest
from discreet_qdrant.address import QdrantAddress, read_address

from discreet.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected", "url"),
    [
        ("qdrant://localhost:6333", QdrantAddress("localhost", 6333, False, 0), "http://localhost:6333"),
        ("qdrant://db.example/", QdrantAddress("db.example", 6333, False, 0), "http://db.example:6333"),
        ("qdrants://db:443?chunks=200", QdrantAddress("db", 443, True, 200), "https://db:443"),
        ("QDRANT://[::1]:1/?chunks=1", QdrantAddress("[::1]", 1, False, 1), "http://[::1]:1"),
    ],
)
def test_address_is_read(text: str, expected: QdrantAddress, url: str) -> None:
    found = read_address(text)
    assert (found, found.url) == (expected, url)


@pytest.mark.parametrize(
    "text",
    [
        *("qdrant://", "qdrant:///x", "qdrant://h:0", "qdrant://h:65536", "qdrant://h:x", "qdrant://h?chunk=2"),
        *("qdrant://h?chunks=0", "qdrant://h?chunks=9999999", "qdrant://h/collection", "qdrant://h h", "qdrant://h\n"),
        *("qdrant://user:hunter2@h", "qdrant://h?api_key=hunter2", "qdrant://h?chunks=٣"),
    ],
)
def test_wrong_address_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_address(text)
    said = str(refused.value)
    assert "hunter2" not in said
    assert any(remedy in said for remedy in ("qdrant://", "QDRANT_API_KEY", "chunks="))


@pytest.mark.parametrize(("host", "local"), [("localhost", True), ("127.0.0.1", True), ("[::1]", True), ("db", False)])
def test_a_connection_to_this_machine_is_known(host: str, local: bool) -> None:
    assert read_address(f"qdrant://{host}").is_local is local
