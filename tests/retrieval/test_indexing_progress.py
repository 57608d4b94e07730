"""A long document is one step of an addition; the passages that it is cut into are shown."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discreet.retrieval.documents import Document
from discreet.system.progress import Advance, shown_by
from discreet.vault import Vault


@pytest.mark.parametrize(("words", "shown"), [(400_000, True), (1000, False)])
def test_passages_of_a_long_document_are_shown(words: int, shown: bool, tmp_path: Path) -> None:
    steps: dict[str, tuple[int | None, list[int]]] = {}

    @contextmanager
    def show(name: str, total: int | None) -> Iterator[Advance]:
        steps[name] = total, []
        yield steps[name][1].append

    vault = Vault.create(tmp_path / "v", epsilon=9, delta=1e-6, embedder="hashing")
    with shown_by(show):
        vault.add_documents([Document("d", "someone's", "word " * words)])
    total, done = steps.get("Embedding their passages", (None, []))
    assert (total is not None) == shown
    assert sum(done) == (total or 0)
