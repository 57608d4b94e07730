"""The data of a table when none are given: the fictional hospital with questions, and made-up mails."""

import random
from collections.abc import Iterator

from discreet.demo.corpus import DISEASES, documents
from discreet.query.known_answers import KnownQuestion
from discreet.retrieval.documents import Document

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
