"""The data of a run: a vault and questions that are given, or the fictional hospital and made-up mails."""

import contextlib
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.demo.corpus import DISEASES, documents
from discreet.errors import UsageError
from discreet.models.loading import PACKAGED, open_model
from discreet.query.known_answers import KnownQuestion, read_questions
from discreet.store.documents import Document
from discreet.store.embedding import MiniLMAndWords
from discreet.vault import Vault
from discreet_lab.attacks.extraction import sensitive_strings
from discreet_lab.attacks.simulation import documents_of, private_folder, rewritten
from discreet_lab.bench.table import DEMO, BenchTable, Data
from discreet_lab.steps import OnProgress, count_step

# --- demo data --------------------------------------------------------------------------------------------------------


UNEQUAL = (6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 80, 100)
"""The number of patients of each disease, for tables by the number of documents that support an answer."""
QUICK_UNEQUAL = (8, 30, 50, 70)
EQUAL, QUICK_EQUAL = (100,) * len(DISEASES), (45,) * 4
"""The number of patients of each disease in other tables. Quick tables have fewer diseases."""
_WORDS = (
    "The draft of the contract is ready",
    "Our meeting moves to Thursday",
    "The pump arrived with a broken seal",
    "I have read the second chapter",
    "The tickets for the fair are booked",
    "The roof was mended last week",
    "Nothing was decided on the merger",
    "The accounts of March do not add up",
)
_WAYS = (
    "You can write to me at {mail} or call me at {phone}.",
    "My direct line is {phone}, and my e-mail address is {mail}.",
    "Please send your reply to {mail}. The file is at {link}",
    "See the draft at {link} and leave a message at {phone}.",
)


def choose_sizes(quick: bool, unequal: bool) -> tuple[int, ...]:
    """Return the number of patients of each disease."""
    if unequal:
        return QUICK_UNEQUAL if quick else UNEQUAL
    return QUICK_EQUAL if quick else EQUAL


def hospital(sizes: tuple[int, ...]) -> list[Document]:
    """Return the notes of so many patients of each disease, in the order of `DISEASES`."""
    wanted = [*sizes, *(0 for _ in DISEASES[len(sizes) :])]
    kept, patients = [0] * len(DISEASES), []
    for number, document in enumerate(documents(max(sizes) * len(DISEASES))):
        disease = number % len(DISEASES)
        if kept[disease] < wanted[disease]:
            kept[disease] += 1
            patients.append(document)
    return patients


def hospital_questions(sizes: tuple[int, ...]) -> list[KnownQuestion]:
    """Return two questions about each disease: for its treatment, and for its name."""
    questions = []
    for disease, size in zip(DISEASES, sizes, strict=False):
        first, second, third, _ = disease.symptoms
        text = f"I have {first}, {second} and {third}. What is the disease?"
        treated = f"What is the treatment for {disease.name}?"
        questions += [
            KnownQuestion(f"{disease.name}, treatment", treated, (disease.treatment,), size, "treatment"),
            KnownQuestion(f"{disease.name}, name", text, (disease.name,), size, "diagnosis"),
        ]
    return questions


def mails(count: int, seed: int = 3) -> Iterator[Document]:
    """Yield made-up mails, each of another sender with an address, a number or a link of its own."""
    choose = random.Random(seed)  # the mails are public, so they may be reproducible
    for number, document in enumerate(documents(count)):
        first, last = document.unit.split()
        values = {
            "mail": f"{first}.{last}@{choose.choice(('mail', 'post', 'office'))}{number % 7}.example".lower(),
            "phone": f"{choose.randint(200, 899)}-555-{number:04d}",
            "link": f"https://files{number % 5}.example/{last.lower()}/{choose.randint(1000, 9999)}",
        }
        way, other = choose.sample(_WAYS, 2)
        said = choose.sample(_WORDS, 2)
        text = f"{said[0]}. {way.format(**values)} {said[1]}. {other.format(**values)} Best, {document.unit}"
        yield Document(f"mail-{number:05d}", document.unit, text)


# --- open data --------------------------------------------------------------------------------------------------------


DELTA = 1e-5
NEED_NO_QUESTIONS = frozenset(("membership", "knn-lm", "prompting"))
"""The experiments that read the documents of a vault, and ask questions of their own."""

LOOKED_AT, SHARE_OF_MAILS = 200, 0.25
"""The number of texts of a vault that are looked at, and the share of them that have sensitive strings in mails."""
CHAINED = "chain"
"""The kind of the questions of a file of chains."""
KINDS = {
    "general-knowledge": Data.KNOWLEDGE,
    "symptoms-to-disease": Data.PATIENTS,
    "disease-to-symptoms": Data.PATIENTS,
    "disease-to-treatment": Data.PATIENTS,
    "diagnosis": Data.PATIENTS,
    "treatment": Data.PATIENTS,
    "co-liked": Data.FILMS,
    CHAINED: Data.CHAINS,
    "reference": Data.DIALOGUES,
}
"""The kind of data by the "kind" of its questions. Questions of another kind, or of none, are of no paper's kind."""


@dataclass(frozen=True)
class OpenedData:
    """The data of a run.

    Attributes:
        vault: the vault; None for arithmetic.
        questions: the questions, in order; empty for an experiment that asks its own.
        kind: the kind of the data.
        described: the data in words.
    """

    vault: Vault | None
    questions: list[KnownQuestion]
    kind: Data
    described: str


def needs_questions(table: BenchTable) -> bool:
    """Return whether a table needs questions with known answers."""
    return table.experiment not in NEED_NO_QUESTIONS


@contextmanager
def open_given(
    table: BenchTable, path: Path, questions: Path | None, limit: int, model: str, embedder: str = ""
) -> Iterator[OpenedData]:
    """Yield the given vault with the given questions. The vault is only read. Another embedder reads a copy of it.

    Raises:
        UsageError: if the table needs questions, and none are given.
    """
    if needs_questions(table) and questions is None:
        raise UsageError(
            f"The table '{table.name}' needs questions with known answers. Give them: discreet bench {table.name} "
            'VAULT QUESTIONS.jsonl, {"question", "answers"} a line.'
        )
    vault = Vault.open(path, model=open_model(model) if model else None)
    stream = read_stream(questions, limit) if questions and needs_questions(table) else []
    about = f"{vault.store.count_documents():,} documents of {vault.store.count_units():,} units"
    if stream and questions is not None:
        about += f"; {questions.name}"
    kind = kind_of(stream) if stream else kind_of_texts(vault) if table.data is Data.MAILS else table.data
    with contextlib.ExitStack() as stack:
        if embedder:
            texts = [(document.unit, "\n".join(document.texts)) for document in documents_of(vault)]
            folder = stack.enter_context(private_folder())
            vault = stack.enter_context(rewritten(vault, folder / "vault", texts, embedder))
        yield OpenedData(vault, stream, kind, about)


@contextmanager
def open_demo(
    table: BenchTable, limit: int, model: str, quick: bool, on_progress: OnProgress, embedder: str = ""
) -> Iterator[OpenedData]:
    """Yield a temporary vault with the data of the demonstration."""
    with private_folder() as folder:
        used = embedder or MiniLMAndWords.name
        vault = Vault.create(folder / "vault", epsilon=20.0, delta=DELTA, model=model or PACKAGED, embedder=used)
        with contextlib.closing(vault.store):
            if table.data is Data.MAILS:
                kind, chosen, documents = Data.MAILS, [], list(mails(limit + table.settings["held_out"]))
                about = f"{len(documents)} made-up mails"
            else:
                sizes = choose_sizes(quick, bool(table.settings.get("unequal")))
                kind, documents = Data.PATIENTS, hospital(sizes)
                chosen = choose_questions(hospital_questions(sizes), limit) if needs_questions(table) else []
                about = f"{DEMO}: {len(documents)} patients of {len(sizes)} diseases"
            count = count_step("building a vault", len(documents), on_progress)
            vault.add_documents(documents, lambda _, more: count(more))
            yield OpenedData(vault, chosen, kind, about)


def choose_questions(questions: list[KnownQuestion], limit: int) -> list[KnownQuestion]:
    """Return so many questions, spread evenly over all."""
    if limit >= len(questions):
        return questions
    return [questions[index * len(questions) // limit] for index in range(limit)]


def kind_of(questions: list[KnownQuestion]) -> Data:
    """Return the kind of data that questions are, by the "kind" of each: that of all of them, if they have one."""
    kinds = {KINDS.get(question.kind, Data.FACTS) for question in questions}
    return kinds.pop() if len(kinds) == 1 else Data.FACTS


def kind_of_texts(vault: Vault) -> Data:
    """Return the kind of data that the documents of a vault are: mails if enough have an address, link or number."""
    texts = [one.text for one in vault.store.texts()[:LOOKED_AT]]
    having = sum(any(sensitive_strings([text]).values()) for text in texts)
    return Data.MAILS if having >= SHARE_OF_MAILS * max(1, len(texts)) else Data.TEXTS


def read_stream(path: Path, limit: int | None) -> list[KnownQuestion]:
    """Return questions of a file, spread over it; of a file of chains, the first ones, in order."""
    if not path.is_file() or '"hops"' not in path.read_text(encoding="utf-8", errors="replace"):
        return read_questions(path, limit)
    chains = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    in_order = [question for chain in chains for question in chain["questions"]]
    return [KnownQuestion(q["id"], q["question"], tuple(q["answers"]), kind=CHAINED) for q in in_order][:limit]


def asked_again(questions: list[KnownQuestion], number: int) -> list[KnownQuestion]:
    """Return `number` questions: the given ones in turn."""
    return [replace(questions[turn % len(questions)], id=f"{turn}") for turn in range(number)]
