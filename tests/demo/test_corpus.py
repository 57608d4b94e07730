"""The made-up hospital is what the demonstration needs, and the same for everybody."""

import hashlib
from pathlib import Path

from tokenizers import Tokenizer

from discreet.demo.corpus import DISEASES, QUESTIONS, documents
from discreet.demo.run import NOTE_TOKENS


def test_it_is_the_same_every_time_and_another_for_another_seed() -> None:
    def digest(seed: int) -> str:
        return hashlib.sha256(repr([(d.id, d.unit, d.text) for d in documents(seed=seed)]).encode()).hexdigest()

    assert digest(7) == digest(7)
    assert digest(7) != digest(8)


def test_there_are_enough_documents_of_every_disease() -> None:
    notes = list(documents())
    assert len(notes) >= 1000
    assert len({note.unit for note in notes}) == len(notes)
    for disease in DISEASES:
        own = [note for note in notes if disease.name in note.text]
        assert len(own) >= 60
        assert all(disease.treatment in note.text for note in own)
        assert len({note.text.split(".")[0] for note in own}) > 50


def test_demo_questions_have_answers_or_are_about_one_person() -> None:
    texts = " ".join(note.text for note in documents())
    for asked in QUESTIONS:
        assert all(answer in texts for answer in asked.answers)
    assert any(not asked.answers for asked in QUESTIONS)


def test_no_note_is_longer_than_a_row_of_the_demonstration(small_model: Path) -> None:
    read = Tokenizer.from_file(str(small_model / "tokenizer.json"))
    assert max(len(read.encode(note.text).ids) for note in documents()) <= NOTE_TOKENS
