"""Open questions on chatdoctor, scored by the statements that held-out dialogues about the same subject share.

    .venv/bin/python -m benchmarks.shared_statements DATA/chatdoctor FOLDER [--readers rules model] [--model NAME]
        [--csv PATH]

Every fourth dialogue is held out. The subjects are the complaints that these name most, in lists of complaints
(`dialogues.split`); the vault has the other dialogues about them. The reference of a question are the held-out
dialogues about its subject, by the phrase rule that finds the vault's own dialogues.

reader       who read the statements of the vault, and of the references: the model, or rules for this data
question     `complaints`, `treatments`: a list of the statements of this kind; `overview`: a summary of all kinds
answer       plain RAG; the whole text of the nearest dialogue; one short private answer (`murag-ada`, by votes of
             what was read, for the whole epsilon); a private list or summary, with the number of a dialogue's
             statements that count (6, or 8 in a summary); the same with hardly any noise; and two that no command
             gives: a list from four copies of each dialogue, and noisy counts of public statements
released     the part of the answers that say anything
statements   the mean number of statements of these
precision    the part of an answer's statements that a tenth of the references share, and two at least; in answers that
             say anything
any          the part that one reference shares at least
recall       the part of the statements that a tenth of the references share, and two at least, in the answer
F1           of precision and recall, for each answer; 0 if it says nothing
F1 twentieth the same, of what a twentieth of the references share, and two at least

An item of a list is a statement; a text is cut at its marks, and at "and" and "or". A statement is shared if one that
was read in the references stands in it, and if their texts say this one, by the phrase rule. The subject itself, which
the question names, is no statement.

What is weak: dialogues are artificial, and list complaints as few patients would. What a reader does not find in the
references does not count, so each reader has a measure of its own, and rows of two readers are not to be compared. A
long part of a text is one statement, and shares as much as its best words, which favours texts. The rules were written
with held-out dialogues at hand. The public statements are those that two held-out dialogues about other subjects state.
What a model read and answered is kept in FOLDER: take a new folder for another model.
"""

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import mean

from benchmarks.data_part import lines_of
from benchmarks.dialogues import dialogue_reader, split
from benchmarks.models import add_model_option, asked_model, model_name, open_vault
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.answer import GeneratedAnswer
from discreet.algorithms.statistics.list_values import ListValues
from discreet.algorithms.statistics.noisy_cells import choose_counts
from discreet.algorithms.statistics.population import Phrase
from discreet.algorithms.statistics.summary import Summary
from discreet.algorithms.statistics.value_counts import USUAL_MOST, ValueCounts, sample
from discreet.algorithms.text.attributes import matches
from discreet.algorithms.text.phrases import sentences_of, spans_of
from discreet.algorithms.text.yes_no_claim import content
from discreet.generation.model import VotingModel
from discreet.planning.prices import vault_budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import RAG, Consensus, MuRAGAda
from discreet.retrieval.documents import Document, Passage
from discreet.retrieval.unit_records import UnitRecord, UnitRecords
from discreet.vault import Vault
from discreet_lab.evaluation.caching_model import CachingModel

DELTA = 1e-5
QUESTIONS = {
    "complaints": ("What do patients with {s} complain of most often?", "symptoms"),
    "treatments": ("What are the most common treatments for {s}?", "treatments"),
    "overview": ("What do the notes say about {s}?", ""),
}
HEADINGS = "reader,question,answer,epsilon,released,statements,precision,any,recall,F1,F1 twentieth".split(",")
_CUT = re.compile(r"[.,;:?!()\n]|\b(?:and|or)\b", re.IGNORECASE)
Words = tuple[str, ...]
"""The words of a statement, without their endings."""
LEAST = 2
"""The least number of references that share a statement."""
EXACT = 1e6
"""The epsilon of a list with hardly any noise."""
COPIES = 4
EACH = (0, 3)
"""The numbers of values of a unit that count; 0 for the usual number."""
LISTED = {0: "private list", 3: "private list, each 3"}


@dataclass(frozen=True)
class Measure:
    """What the references of one question share.

    Attributes:
        tenth, twentieth: the statements that such a part of the references share, and two at least.
        stated: the statements that one reference says at least.
    """

    tenth: frozenset[Words]
    twentieth: frozenset[Words]
    stated: frozenset[Words]

    @staticmethod
    def of(references: Sequence[UnitRecord], subject: str, attribute: str) -> "Measure":
        """Return the measure of a question about a subject, whose answer has statements of a kind; of all if ""."""
        read = {words for record in references for words in read_in(record, subject, attribute)}
        counts = {words: sum(map(Phrase(" ".join(words)).holds, references)) for words in read}

        def shared(part: int) -> frozenset[Words]:
            least = max(LEAST, math.ceil(len(references) / part))
            return frozenset(words for words, count in counts.items() if count >= least)

        return Measure(shared(10), shared(20), frozenset(words for words, count in counts.items() if count))

    def score(self, subject: str, items: Sequence[str]) -> dict[str, float]:
        """Return the scores of the statements of one answer."""
        about = frozenset(content(subject))
        named = [sentences_of(one) for one in items if not about.issuperset(content(one))]
        if not named:
            return {"recall": 0.0, "F1": 0.0, "F1 twentieth": 0.0}
        found = {words: [bool(spans_of(one, words)) for one in named] for words in self.stated}
        precision, recall = _of(found, self.tenth)
        return {
            "statements": len(named),
            "precision": precision,
            "any": _of(found, self.stated)[0],
            "recall": recall,
            "F1": _both(precision, recall),
            "F1 twentieth": _both(*_of(found, self.twentieth)),
        }


def _of(found: Mapping[Words, Sequence[bool]], shared: Collection[Words]) -> tuple[float, float]:
    """Return the part of the statements in which a shared one stands, and the part of the shared ones that stand."""
    rows = [found[words] for words in shared]
    return (mean(map(any, zip(*rows, strict=True))), mean(map(any, rows))) if rows else (0.0, 0.0)


def _both(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True)
class Asked:
    """A question with its subject, its measure, and public statements: from held-out dialogues about other things."""

    text: str
    subject: str
    measure: Measure
    public: frozenset[str]


Ask = Callable[[Asked, int], list[str]]
"""Takes a question and a seed; returns the statements of an answer."""


class Nearest(RAG):
    """The whole text of the nearest dialogue: as much as one dialogue's wording can say."""

    def read(self, question: str, passages: Sequence[Passage], model: VotingModel) -> GeneratedAnswer:
        """Return the text of the first passage."""
        return GeneratedAnswer(passages[0].text, "end", 0)


RAGS: dict[str, RAG] = {
    "plain RAG": RAG(),
    "plain RAG, 5 dialogues": RAG(units=5, max_tokens=64),
    "nearest dialogue": Nearest(),
}


def read_in(record: UnitRecord, subject: str, attribute: str) -> set[Words]:
    """Return the words of the statements of a kind that were read in a dialogue, without the subject itself."""
    about = frozenset(content(subject))
    told = (one for one in record.statements if one.value and not one.negated)
    kind = (one for one in told if one.attribute and (not attribute or matches(one.attribute, attribute)))
    return {words for one in kind if (words := content(one.value)) and not about.issuperset(words)}


def cut(text: str) -> list[str]:
    """Return the statements of a text: its parts between marks, "and" and "or", if they have words with a meaning."""
    return [part.strip() for part in _CUT.split(text) if content(part)]


def vault_of(folder: Path, lines: Sequence[dict[str, str]], reader: str, embedder: str, asked: str | None) -> Vault:
    """Return the vault of some dialogues, made and read if it is not yet there."""
    if not folder.exists():
        made = Vault.create(folder, epsilon=20.0, delta=DELTA, embedder=embedder, model=model_name(asked))
        made.add_documents(Document(line["id"], line["unit"], line["text"]) for line in lines)
    vault = Vault.open(folder, model=dialogue_reader()) if reader == "rules" else open_vault(folder, asked)
    vault.read(lambda done, size: None)
    return vault


@cache
def records_of(vault: Vault) -> list[UnitRecord]:
    """Return the records of a vault: for a measurement alone."""
    return list(UnitRecords(vault.store, vault.components.readings).now().records.values())


class KeptAnswers:
    """Plain RAG's answers, in a file: they are the same for each reader, and take minutes."""

    def __init__(self, path: Path, asked: str | None) -> None:
        self._path = path
        self._model = CachingModel(asked_model(asked))
        self._kept: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def ask(self, vault: Vault, algorithm: RAG, asked: Asked, _: int) -> list[str]:
        """Return the statements of an answer."""
        key = f"{algorithm} {asked.text}"
        if key not in self._kept:
            self._kept[key] = vault.simulate(asked.text, algorithm, model=self._model).text
            self._path.write_text(json.dumps(self._kept, indent=1), encoding="utf-8")
        return cut(self._kept[key])


def by_votes(vault: Vault, epsilon: float, asked: Asked, seed: int) -> list[str]:
    """Return the statements of one short private answer: votes by what was read. Nothing if none is released."""
    algorithm = MuRAGAda(inner=Consensus(readings=True), uses=1)
    ledger = MemoryLedger(vault_budget(epsilon, DELTA), simulation=True)
    found = vault.simulate(asked.text, algorithm, noise=InsecureSeededNoise(seed), ledger=ledger)
    return cut(found.answer or "")


def by_list(vault: Vault, epsilon: float, each: int, asked: Asked, seed: int) -> list[str]:
    """Return the values of the list or the summary that `discreet ask` releases."""
    statistic = _statistic(vault, epsilon, each, asked)
    ledger = MemoryLedger(vault_budget(EXACT, DELTA), simulation=True)
    found = vault.simulate(asked.text, statistic, noise=InsecureSeededNoise(seed), ledger=ledger)
    kinds = isinstance(statistic, Summary)
    return [one.partition(": ")[2] if kinds else one for one in found.released]


def by_copies(vault: Vault, epsilon: float, each: int, asked: Asked, seed: int) -> list[str]:
    """Return the list or the summary of a vault with four dialogues for each one: counts alone, no vault."""
    statistic = _statistic(vault, epsilon, each, asked)
    counts = choose_counts(statistic.price(vault_budget(EXACT, DELTA)), statistic.each)[1]
    kinds = [[one.rpartition(": ")[2] for one in statistic.values(record)] for record in _inside(vault, statistic)]
    shares = [sample(own, statistic.each, b"%016d" % at) for at, own in enumerate(kinds)]
    return _top(counts.draw(shares * COPIES, InsecureSeededNoise(seed)))


def by_public(vault: Vault, epsilon: float, each: int, asked: Asked, seed: int) -> list[str]:
    """Return the public statements of the largest noisy counts, without a threshold, at the price of the list."""
    statistic = _statistic(vault, epsilon, each, asked)
    sigma = choose_counts(statistic.price(vault_budget(EXACT, DELTA)), statistic.each)[1].sigma
    counts, noise = Counter[str](), InsecureSeededNoise(seed)
    for at, record in enumerate(_inside(vault, statistic)):
        own = {" ".join(content(one.value)) for one in record.statements} & asked.public
        counts.update(sample(sorted(own), statistic.each, b"%016d" % at))
    return _top({one: counts[one] + noise.gaussian(sigma) for one in sorted(asked.public)})


def _inside(vault: Vault, statistic: ValueCounts) -> list[UnitRecord]:
    return [record for record in records_of(vault) if statistic.members.holds(record)]


def _top(counts: Mapping[str, float]) -> list[str]:
    return sorted(counts, key=lambda one: (-counts[one], one))[:USUAL_MOST]


def _statistic(vault: Vault, epsilon: float, each: int, asked: Asked) -> ValueCounts:
    found = vault.algorithm_for(asked.text, epsilon=epsilon, **({"each": each} if each else {}))
    if not isinstance(found, ValueCounts):
        raise TypeError(f"'{asked.text}' asks for no list: {found}.")
    return found


def row(
    reader: str, question: str, answer: str, epsilon: str, asked: Sequence[Asked], ask: Ask, seeds: int
) -> list[str]:
    """Return a row of the table."""
    scores = [one.measure.score(one.subject, ask(one, seed)) for one in asked for seed in range(seeds)]

    def of(name: str) -> str:
        some = [score[name] for score in scores if name in score]
        return f"{mean(some):.2f}" if some else "-"

    released = mean("statements" in score for score in scores)
    return [reader, question, answer, epsilon, f"{released:.2f}", *map(of, HEADINGS[5:])]


def ways(vault: Vault, kept: KeptAnswers, epsilons: Sequence[float]) -> Iterator[tuple[str, str, Ask, bool]]:
    """Yield the ways to answer: a name, an epsilon, the way, and whether it has noise."""
    for name, algorithm in RAGS.items():
        yield name, "-", partial(kept.ask, vault, algorithm), False
    for each in EACH:
        yield LISTED[each], "no noise", partial(by_list, vault, EXACT / 10, each), False
    for epsilon in epsilons:
        price = f"{epsilon:g}"
        yield "short private answer", price, partial(by_votes, vault, epsilon), True
        for each in EACH:
            yield LISTED[each], price, partial(by_list, vault, epsilon, each), True
        yield "four copies, each 3", price, partial(by_copies, vault, epsilon, 3), True
        yield "public statements, each 3", price, partial(by_public, vault, epsilon, 3), True


def note(reader: str, vault: Vault, subjects: Sequence[str], epsilons: Sequence[float]) -> str:
    """Return how much was read, and how many dialogues share a complaint, beside the thresholds of a list (each 3)."""
    records, largest = records_of(vault), list[int]()
    for subject in subjects:
        inside = filter(Phrase(subject).holds, records)
        largest.append(max(Counter(words for one in inside for words in read_in(one, subject, "symptoms")).values()))
    prices = [ListValues(attribute="symptoms", epsilon=one).price(vault_budget(EXACT, DELTA)) for one in epsilons]
    thresholds = ", ".join(str(choose_counts(price, 3)[1].threshold) for price in prices)
    return (
        f"{reader}: {mean(len(record.statements) for record in records):.1f} statements a dialogue. Of the complaints "
        f"beside a subject, the most frequent one is stated in {min(largest)} to {max(largest)} dialogues; thresholds: "
        f"{thresholds}."
    )


def questions(references: Sequence[UnitRecord], subjects: Sequence[str], wording: str, attribute: str) -> list[Asked]:
    """Return the questions of one kind, about each subject."""
    return [_asked(references, subject, wording, attribute) for subject in subjects]


def _asked(references: Sequence[UnitRecord], subject: str, wording: str, attribute: str) -> Asked:
    phrase = Phrase(subject)
    inside = [record for record in references if phrase.holds(record)]
    others = Counter(
        words for record in references if not phrase.holds(record) for words in read_in(record, subject, attribute)
    )
    public = frozenset(" ".join(words) for words, count in others.items() if count >= LEAST)
    return Asked(wording.format(s=subject), subject, Measure.of(inside, subject, attribute), public)


def main() -> None:
    """Make and read the vaults, ask, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "folder", type=Path, help="where the vaults are made, or are already: READER/vault, READER/held-out"
    )
    parser.add_argument("--readers", nargs="+", choices=["rules", "model"], default=["rules", "model"])
    parser.add_argument("--subjects", type=int, default=12)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 2.0, 4.0])
    parser.add_argument("--seeds", type=int, default=5)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    parts = split(lines_of(given.data, "documents"), given.subjects)
    given.folder.mkdir(parents=True, exist_ok=True)
    kept, table = KeptAnswers(given.folder / "answers.json", given.model), TableWriter(HEADINGS, given.csv)
    notes = list[str]()
    for reader in given.readers:
        folder, model = given.folder / reader, given.model
        vault = vault_of(folder / "vault", parts.others, reader, "minilm+words", model)
        references = records_of(vault_of(folder / "held-out", parts.held_out, reader, "hashing", model))
        for question, (wording, attribute) in QUESTIONS.items():
            asked = questions(references, parts.subjects, wording, attribute)
            for answer, epsilon, ask, noisy in ways(vault, kept, given.epsilon):
                table.write(row(reader, question, answer, epsilon, asked, ask, given.seeds if noisy else 1))
        notes.append(note(reader, vault, parts.subjects, given.epsilon))
    print(
        f"\nSubjects: {', '.join(parts.subjects)}. {len(parts.others)} dialogues, {len(parts.held_out)} held out.",
        *notes,
        sep="\n",
    )


if __name__ == "__main__":
    main()
