"""From a question to sealed shares: a fixed number, a blind partition, one share a unit."""

from pathlib import Path

import pytest

from discreet.privacy.private import Change, Private, Relation, unseal
from discreet.store.documents import Document, Passage
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder, MiniLM, MiniLMAndWords
from discreet.store.sealed_corpus import SealedCorpus
from tests.indexing import indexer


def corpus(folder: Path, count: int) -> SealedCorpus:
    made = SealedCorpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    indexer(made).index(Document(f"d{n}", f"u{n}", f"fever number {n}") for n in range(count))
    return made


def units(sealed: Private[tuple[Passage, ...]]) -> list[tuple[str, ...]]:
    return [tuple(passage.unit for passage in share) for share in unseal(sealed, list)]


def test_there_are_always_as_many_shares_as_voters(tmp_path: Path) -> None:
    for held in (0, 1, 5, 50):
        sealed = corpus(tmp_path / str(held), held).top_units("fever", voters=10, units_per_voter=2)
        shares = units(sealed)
        assert len(shares) == 10
        assert sorted(len(share) for share in shares)[-1] <= 2
        assert sum(len(share) for share in shares) == min(held, 20)
        assert sealed.change == Change(1, Relation.REPLACE)


def test_the_partition_is_drawn_anew_and_is_blind(tmp_path: Path) -> None:
    made = corpus(tmp_path, 6)
    seen = {tuple(units(made.top_units("fever", 6))) for _ in range(20)}
    assert len(seen) > 10
    assert len({frozenset(order) for order in seen}) == 1


def test_chunks_of_one_unit_stay_together(tmp_path: Path) -> None:
    made = SealedCorpus(EmbeddedStore(tmp_path, HashingEmbedder.dimension), HashingEmbedder())
    long = Document("long", "Ada", "fever and chills. " * 500)
    indexer(made).index([long, Document("other", "Ada", "fever again"), Document("b", "Bela", "fever")])
    assert sorted(units(made.top_units("fever", 8))) == [(), (), (), (), (), (), ("ada",), ("bela",)]


@pytest.fixture(scope="module", params=[HashingEmbedder, MiniLM, MiniLMAndWords])
def embedder(request: pytest.FixtureRequest) -> HashingEmbedder | MiniLM | MiniLMAndWords:
    return request.param()  # type: ignore[no-any-return]


@pytest.mark.usefixtures("two_threads")
def test_a_vector_depends_on_its_text_alone_bit_for_bit(embedder: MiniLM) -> None:
    text = "Ada Lind has white hands and a weak grip."
    short, long = ["No."] * 20, ["word " * 400] * 3
    alone = embedder.embed([text])[0].tobytes()
    for others in ([*short, *long], [text.replace("Ada", "Bela")] * 20):
        for place in (0, len(others)):
            batch = [*others[:place], text, *others[place:]]
            assert embedder.embed(batch)[place].tobytes() == alone
