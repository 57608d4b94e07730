"""A public corpus: which of its texts are looked at."""

from pathlib import Path

import pytest

from discreet.retrieval.embedding import open_embedder
from discreet.retrieval.public import PublicTexts


@pytest.mark.parametrize(("texts", "looked_at"), [(1, 1), (49, 49), (50, 50), (60, 50), (101, 50)])
def test_as_many_as_are_wanted_are_looked_at(texts: int, looked_at: int, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("".join(f'{{"text": "case {number}"}}\n' for number in range(texts)))
    found = [text for text, _ in PublicTexts.read(path, open_embedder("hashing")).some(50)]
    assert len(found) == len(set(found)) == looked_at
    assert found[0] == "case 0"
