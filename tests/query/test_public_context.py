"""A corpus that a vault names as public context: copied, read once, and free."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import BadData, StoreError, UsageError
from discreet.models.toy import ToyModel
from discreet.query.public_context import MOST_BYTES, MOST_TEXTS, PublicContext
from discreet.registry import Consensus, DPSparseVoteRAG, MuRAG, NonRAG
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder, Told, Vectors
from discreet.vault import Vault

TEXTS = ("A cough is treated with sand.", "Fever is treated with ice.", "The harbour is closed.")
VOTES = DPSparseVoteRAG(voters=30, epsilon=1000, private_tokens=4, max_tokens=6)
"""With so much epsilon noise never outvotes half of thirty voters: its scale is a fiftieth of a vote."""


class CountingEmbedder(HashingEmbedder):
    """Counts the texts that it is asked for."""

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        self.embedded += len(texts)
        return super().embed(texts, progress)


def corpus(path: Path, texts: Sequence[str] = TEXTS) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def nearest(context: PublicContext, question: str = "What helps against fever?") -> str:
    assert context.texts is not None
    return context.texts.nearest(question)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "v"
    made.mkdir()
    return made


def test_a_corpus_is_copied_and_read_and_embedded_once(tmp_path: Path, folder: Path) -> None:
    source = corpus(tmp_path / "c.jsonl")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert PublicContext(folder, HashingEmbedder()).texts is None
    used = PublicContext(folder, HashingEmbedder()).use(source)
    source.unlink()
    embedder = CountingEmbedder()
    context = PublicContext(folder, embedder)
    assert [nearest(context, asked) for asked in ("fever?", "Which harbour?")] == [TEXTS[1], TEXTS[2]]
    assert context.texts is not None
    assert context.texts.digest == used.digest == digest
    assert embedder.embedded == 2  # the questions
    assert np.array_equal(context.texts.vectors, used.vectors)


def test_another_takes_its_place_and_none_is_named_after_removal(tmp_path: Path, folder: Path) -> None:
    context = PublicContext(folder, HashingEmbedder())
    context.use(corpus(tmp_path / "c.jsonl"))
    context.use(corpus(tmp_path / "d.jsonl", ["Fever is treated with wool."]))
    for seen in (context, PublicContext(folder, HashingEmbedder())):
        assert nearest(seen) == "Fever is treated with wool."
    context.use(folder / "public.jsonl")  # its own copy
    assert nearest(context) == "Fever is treated with wool."
    assert context.remove()
    assert context.texts is None
    assert not context.remove()
    assert list(folder.iterdir()) == []


WRONG = {
    "empty": b"",
    "blank lines": b"\n \n",
    "blank texts": b'{"text": " "}\n{"text": ""}\n',
    "no JSON": b"Fever is treated with ice.\n",
    "a list": b'["text"]\n',
    "no text": b'{"texts": "Fever"}\n',
    "a number": b'{"text": 5}\n',
    "nothing": b'{"text": null}\n',
    "half a character": b'{"text": "fever \\ud800"}\n',
    "not UTF-8": b'{"text": "f\xe9ver"}\n',
    "nested": b"[" * 100_000,
    "too many": b'{"text": "Fever."}\n' * (MOST_TEXTS + 1),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_what_is_no_corpus_is_refused_and_the_one_before_stays(tmp_path: Path, folder: Path, content: bytes) -> None:
    context = PublicContext(folder, HashingEmbedder())
    context.use(corpus(tmp_path / "c.jsonl"))
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_bytes(content)
    with pytest.raises(BadData, match=r"wrong\.jsonl"):
        context.use(wrong)
    for seen in (context, PublicContext(folder, HashingEmbedder())):
        assert nearest(seen) == TEXTS[1]


def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path, folder: Path) -> None:
    context = PublicContext(folder, HashingEmbedder())
    with (tmp_path / "large.jsonl").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(BadData):
        context.use(tmp_path / "large.jsonl")
    for wrong in (tmp_path, tmp_path / "none.jsonl", Path("/dev/zero")):
        with pytest.raises(UsageError):
            context.use(wrong)
    assert list(folder.iterdir()) == []


def test_a_copy_that_cannot_be_written_leaves_the_one_before(tmp_path: Path, folder: Path) -> None:
    context = PublicContext(folder, HashingEmbedder())
    context.use(corpus(tmp_path / "c.jsonl"))
    (folder / "public.npz").unlink()
    (folder / "public.npz").mkdir()
    with pytest.raises(StoreError, match="stays"):
        context.use(corpus(tmp_path / "d.jsonl", ["Fever is treated with wool."]))
    for seen in (context, PublicContext(folder, HashingEmbedder())):
        assert nearest(seen) == TEXTS[1]
    assert sorted(path.name for path in folder.iterdir()) == ["public.jsonl", "public.npz"]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = Vault.create(tmp_path / "vault", epsilon=1e5, delta=1e-6, embedder="hashing", payment="corpus")
    made.add_documents(Document(f"d{n}", f"p{n}", f"Fever of {n} say: winter hand .") for n in range(30))
    return Vault.open(made.path, model=ToyModel(default="nobody knows"))


def test_what_the_corpus_knows_is_not_paid_for(vault: Vault, tmp_path: Path) -> None:
    settings = (vault.path / "vault.json").read_bytes()
    digest = vault.public_context.use(corpus(tmp_path / "c.jsonl", ["Fever say: winter hand .", "Harbour."])).digest
    assert (vault.path / "vault.json").read_bytes() == settings  # programs of before open it as ever
    found = {public: vault.ask("fever?", VOTES, reuse=False, public=public) for public in (True, False)}
    assert {answer.text_or_public.strip() for answer in found.values()} == {"winter hand"}
    assert found[True].answer is None  # the corpus said it, and no document
    assert (found[True].private_tokens, found[False].private_tokens) == (0, 2)
    for public, answer in found.items():
        assert answer.receipt is not None
        assert answer.receipt.public_corpus == answer.receipt.describe()["public_corpus"] == (digest if public else "")
    receipts = [answer.receipt for answer in found.values()]
    assert receipts[0]
    assert receipts[1]
    assert receipts[0].epsilon < receipts[1].epsilon / 2
    simulated = vault.simulate("fever?", VOTES, public=vault.public_context.texts)
    assert (simulated.public_text, simulated.private_tokens) == (found[True].public_text, 0)
    assert vault.simulate("fever?", VOTES).private_tokens == 2
    free = vault.ask("fever?", NonRAG(), reuse=False)
    assert free.receipt is not None
    assert free.receipt.public_corpus == ""  # it reads no text


def test_voters_that_do_not_agree_leave_the_answer_to_the_corpus(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "vault", epsilon=1e5, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", f"Fever say: w{n} .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel(default="nobody knows"))
    vault.public_context.use(corpus(tmp_path / "c.jsonl", ["Fever say: winter hand ."]))
    # Thirty answers, each said once: one stands above the bottom with probability below 1e-100.
    asked = MuRAG(inner=Consensus(voters=30, epsilon=300), similarity=-1.0, epsilon=300)
    answer = vault.ask("fever?", asked)
    assert (answer.text, answer.public_text.strip(), answer.stopped) == ("", "winter hand", "public")
    assert vault.ask("fever?", asked, public=False, anew=True).public_text.strip() == "nobody knows"


def test_a_damaged_copy_is_named_before_anything_is_paid(vault: Vault, tmp_path: Path) -> None:
    vault.public_context.use(corpus(tmp_path / "c.jsonl"))
    known = vault.ask("fever?", VOTES)
    spent = vault.budget().spent
    (vault.path / "public.jsonl").write_text('{"text": "Fev')
    opened = Vault.open(vault.path, model=vault.model)
    with pytest.raises(BadData, match="--no-public"):
        opened.ask("cough?", VOTES)
    assert (opened.budget().spent, len(opened.ledger.questions())) == (spent, 1)
    assert opened.ask("fever?", VOTES).text == known.text  # released before: needs no corpus
    assert opened.ask("cough?", VOTES, public=False).private_tokens == 2


def test_the_vaults_own_documents_are_noticed(vault: Vault, tmp_path: Path) -> None:
    context = vault.public_context
    named = context.use(corpus(tmp_path / "public.jsonl", TEXTS))
    own = corpus(tmp_path / "c.jsonl", [*TEXTS, *(f"Fever of {n} say: winter hand ." for n in range(5))])
    with pytest.raises(BadData, match=r"Of 8 texts .* 5 are documents"):
        context.use(own)
    assert context.texts is named
    assert len(context.use(own, force=True)) == 8
