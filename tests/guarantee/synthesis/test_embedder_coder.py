"""A text is coded alone: no other text changes its codes. The same checks flag coders that break this."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from discreet.statistics.phrase import Phrase
from discreet.store.codebook import Codebook
from discreet.store.embedding import Embedder, HashingEmbedder, MiniLM, Told, Vectors
from discreet.synthesis import embedder_coder
from discreet.synthesis.embedder_coder import Clause, EmbedderCoder, Likeness, fit
from discreet.synthesis.statements import Found

BOOK = Codebook.parse(
    {
        "attributes": [
            {
                "name": "complaint",
                "type": "any of",
                "threshold": 0.4,
                "values": [
                    {"name": "breathing", "words": ["cough"], "examples": ["She is short of breath."]},
                    {"name": "skin", "words": ["rash"], "examples": ["There are red spots on his arms."]},
                    {"name": "stomach", "words": ["nausea"], "examples": ["He throws up after meals."]},
                    {"name": "access", "examples": ["He could not get an appointment, and not by telephone."]},
                ],
            },
            {
                "name": "urgency",
                "type": "one of",
                "values": [
                    {"name": "urgent", "examples": ["The patient was brought in an ambulance."]},
                    {"name": "routine", "examples": ["The patient came for a yearly check."]},
                ],
            },
        ]
    }
)
TEXTS = [
    "The patient has a dry cough and itching. She came for her yearly check.",
    "No cough, but he throws up after meals.",
    "Her mother had a rash. Red spots on both arms since Monday, and short of breath.",
    "She denies nausea, vomiting or rash. He came in an ambulance.",
    "He could not get an appointment by telephone.",
    "He came for a check.",
    "",
    "!!! ... ???",
    "There are red spots " * 250 + "and he is short of breath. He throws up after most meals.",
    "He came for a check.",
]


class Bag(HashingEmbedder):
    """An embedder by words that stands for one by meaning."""

    name = "bag"

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        return super().embed(texts, progress)


@pytest.fixture(autouse=True)
def bag_has_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_coder, "meaning", lambda embedder: embedder)


def codes_of(coder: EmbedderCoder, texts: Sequence[str]) -> list[list[Found]]:
    """Return the codes of each text, by its position."""
    found = dict(coder.code(texts, BOOK))
    assert sorted(found) == list(range(len(texts)))
    return [found[place] for place in range(len(texts))]


def check_alone(coder: EmbedderCoder, texts: Sequence[str]) -> None:
    """Code each text alone, with all others, with some of them, and in another order."""
    alone = [codes_of(coder, [text])[0] for text in texts]
    orders = [random.Random(seed).sample(range(len(texts)), len(texts) - 2 * seed) for seed in range(4)]
    for order in ([*range(len(texts))], *orders):
        for place, found in zip(order, codes_of(coder, [texts[place] for place in order]), strict=True):
            assert found == alone[place]  # one by one: a difference of two long lists takes minutes to write


def check_rare(coder: EmbedderCoder) -> None:
    """A code that one text of many states is a code of this text."""
    texts = ["He throws up after meals."] * 600 + ["There are red spots on his arms."]
    assert [one[1] for one in codes_of(coder, texts)[-1]] == ["skin"]


def check_denial(coder: EmbedderCoder) -> None:
    """What a text denies, or says of a relative, is no code of it. What the book states by a denial is one."""
    for text in ("Denies cough, rash or nausea.", "She denies red spots on the arms.", "Her mother had a cough."):
        assert codes_of(coder, [text]) == [[]], text
    assert [one[1] for one in codes_of(coder, ["He could not get an appointment."])[0]] == ["access"]


def check_book(coder: EmbedderCoder, texts: Sequence[str]) -> None:
    """What codes depend on beside the text is the same before and after other texts were coded."""
    before = coder.about(BOOK)
    codes_of(coder, texts)
    assert coder.about(BOOK) == before
    assert BOOK.digest in before


class ComparesTexts(EmbedderCoder):
    """Measures the likeness of a text against that of the other texts."""

    def likenesses(self, texts: Sequence[str], book: Codebook) -> Iterator[list[Likeness]]:
        found = [np.concatenate(own) for own in super().likenesses(texts, book)]
        most = np.maximum(np.max(found, axis=0), 0.01)
        yield from (np.split(own / most, [4]) for own in found)


class FitsToTheVault(EmbedderCoder):
    """Fits its thresholds on the texts that it codes, labelled by their words."""

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        labelled = [(text, {"complaint": ["skin"] if "red" in text else []}) for text in texts]
        yield from super().code(texts, fit(book, labelled, self))


class DropsRareCodes(EmbedderCoder):
    """Leaves out a code that one text in a hundred has, or fewer."""

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        found = dict(super().code(texts, book))
        counts = Counter(one[1] for own in found.values() for one in own)
        for place, own in found.items():
            yield place, [one for one in own if counts[one[1]] > len(texts) / 100]


class PadsToTheLongest(Bag):
    """An embedder whose vectors depend on the longest text of the call."""

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        longest = max((len(text.split()) for text in texts), default=0)
        return super().embed([f"{text}{' pad' * (longest - len(text.split()))}" for text in texts])


def ignore_denial(sentence: list[str], start: int, end: int, without: bool = False) -> Clause:
    return Clause(" ".join(sentence[start:end]), denied=False, another=False, former=False)


@pytest.mark.parametrize("embedder", [Bag, MiniLM])
def test_a_text_is_coded_alone(embedder: type[Embedder]) -> None:
    coder = EmbedderCoder(embedder())
    check_alone(coder, TEXTS)
    check_book(coder, TEXTS)


def test_blocks_change_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = codes_of(EmbedderCoder(Bag()), TEXTS)
    monkeypatch.setattr(embedder_coder, "BLOCK", 3)
    monkeypatch.setattr(embedder_coder, "KEPT", 2)
    assert codes_of(EmbedderCoder(Bag()), TEXTS) == whole
    assert sum(map(len, whole)) > 5


def test_a_rare_code_stays() -> None:
    check_rare(EmbedderCoder(Bag()))


def test_what_is_denied_is_no_code() -> None:
    check_denial(EmbedderCoder(Bag()))


@pytest.mark.parametrize(
    ("twin", "embedder"),
    [(ComparesTexts, Bag), (FitsToTheVault, Bag), (DropsRareCodes, Bag), (EmbedderCoder, PadsToTheLongest)],
)
def test_a_coder_that_sees_two_records_is_flagged(twin: type[EmbedderCoder], embedder: type[Embedder]) -> None:
    texts = TEXTS + ["He throws up after meals."] * 200
    with pytest.raises(AssertionError):
        check_alone(twin(embedder()), texts)


def test_a_coder_without_rare_codes_is_flagged() -> None:
    with pytest.raises(AssertionError):
        check_rare(DropsRareCodes(Bag()))


def test_a_coder_that_ignores_denial_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clause, "of", staticmethod(ignore_denial))
    monkeypatch.setattr(Phrase, "holds", lambda *_: True)  # which heeds denial, too
    with pytest.raises(AssertionError):
        check_denial(EmbedderCoder(Bag()))
