"""The same questions in many wordings, by kind. The wordings are in `wordings.json`.

Plain wordings are those of the documentation, or near to them. Held-out wordings are what an analyst says: in lower
case, without a question mark, clumsy or polite. They were committed before the rules of `discreet.query` were read, and
did not change afterwards; the rules were then mended for them. Further wordings were committed before the rules were
mended, by an author who had read the rules. Two of them counted another thing, and the rules were mended for these
("seen more often in", "compared with"). For the others no rule was mended.

{d}, {e} are diseases, {s}, {r} symptoms, {t}, {u} treatments, {a}, {b}, {c} symptoms of one disease.
"""

import argparse
import json
import random
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm, Answer, Figure
from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.text.attributes import attribute_asked
from discreet.algorithms.text.attributes import matches as matches_attribute
from discreet.algorithms.text.normalize import content
from discreet.cli.kinds import Chooser
from discreet.demo.corpus import DISEASES, Disease, documents
from discreet.errors import DiscreetError
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import matches
from discreet.questions.sentences import CHOICES, with_choices
from discreet.registry import Compare, Count, Difference, ListValues, Share, Summary, Trend, Typical
from discreet.retrieval.documents import Document
from discreet.vault import Vault
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    name_part,
    vault_in,
    write_table,
)

YEAR = 2025
DELTA = 1e-6


@dataclass(frozen=True)
class Patient:
    """A patient: the disease, the symptoms that the note states, and the declared fields."""

    document: Document
    disease: Disease
    symptoms: frozenset[str]
    age: int
    month: int


def patients(seed: int = 11) -> Iterator[Patient]:
    """Yield the patients. Ages differ by disease. Half of the diseases become more frequent over the year."""
    draw = random.Random(seed)
    for place, document in enumerate(documents()):
        kind = place % len(DISEASES)
        age = draw.randrange(20 + 2 * kind, 61 + 2 * kind)
        month = 1 + int(12 * draw.betavariate(*((2, 1) if kind % 2 else (1, 2))))
        dated = replace(document, fields={"age": str(age), "seen": f"{YEAR}-{month:02d}-{draw.randrange(1, 29):02d}"})
        stated = frozenset(symptom for symptom in DISEASES[kind].symptoms if symptom in document.text)
        yield Patient(dated, DISEASES[kind], stated, age, month)


def read_vault(path: Path, model: str | None = None) -> Vault:
    """Return the vault of these notes in a folder. Make it if it is not there, and read what is not read yet."""
    fields, new = {"age": "number", "seen": "date"}, not path.exists()
    vault = vault_in(path, model, epsilon=20.0, delta=DELTA, unit_field="patient", fields=fields)
    if new:
        vault.add_documents(one.document for one in patients())
    if not vault.components.readings.complete:
        vault.read()
    return vault


Wordings = dict[str, tuple[str, ...]]
"""The wordings of each kind."""


def read_wordings() -> dict[str, Wordings]:
    """Return the wordings by where they come from, then by kind."""
    found = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return {origin: {kind: tuple(some) for kind, some in kinds.items()} for origin, kinds in found.items()}


ORIGINS = read_wordings()
PLAIN, HELD_OUT = ORIGINS["plain"], ORIGINS["held out"]
VOTES = {"name": "treatment", "diagnosis": "diagnosis", "choice": "treatment", "yes/no": "treatment"}
"""Kinds that voters answer, each with the attribute that decides it."""
PERIOD: dict[str, Any] = {"since": f"{YEAR}-01", "until": f"{YEAR}-12"}
ALONE = Budget(1e6, 1e-5, 5e-6)
NEAR = 0.05
SUMMARY = ("kind", "best", "mean", "worst", *(f"near the best, {origin}" for origin in ORIGINS))
COLUMNS = "kind,of,wording,questions,understood,right,less,otherwise".split(",")


@dataclass(frozen=True)
class Asked:
    """What a question is about, in whichever words: a disease and another one, with a symptom of each, and a claim."""

    one: Disease
    other: Disease
    symptom: str
    strange: str
    claim: bool
    first: bool

    def text(self, wording: str) -> str:
        """Return the question in a wording."""
        right, wrong = self.one.treatment, self.other.treatment
        two = (right, wrong) if self.first else (wrong, right)
        shown = _is_claim(wording)
        return wording.format(
            d=self.one.name,
            e=self.other.name,
            s=self.symptom,
            r=self.strange,
            t=(right if self.claim else wrong) if shown else two[0],
            u=two[1],
            **dict(zip("abc", self.one.symptoms, strict=False)),
        )


def _is_claim(wording: str) -> bool:
    return "{u}" not in wording


def questions(number: int, seed: int = 0) -> list[Asked]:
    """Return what is asked, in all wordings: each disease in turn."""
    draw = random.Random(seed)
    found = []
    for place in range(number):
        one = DISEASES[place % len(DISEASES)]
        other = draw.choice([disease for disease in DISEASES if disease is not one])
        symptom, strange = draw.choice(one.symptoms), draw.choice(other.symptoms)
        found.append(Asked(one, other, symptom, strange, bool(place // len(DISEASES) % 2), draw.random() < 0.5))
    return found


@dataclass(frozen=True)
class Truth:
    """What the notes state."""

    patients: Sequence[Patient]

    def of(self, disease: Disease) -> list[Patient]:
        """Return the patients with a disease."""
        return [one for one in self.patients if one.disease is disease]

    def stating(self, symptom: str) -> int:
        """Return the number of patients with a symptom."""
        return sum(symptom in one.symptoms for one in self.patients)

    def share(self, disease: Disease, symptom: str) -> float:
        """Return the share of the patients with a disease that state a symptom."""
        return sum(symptom in one.symptoms for one in self.of(disease)) / len(self.of(disease))


# --- what is understood -----------------------------------------------------------------------------------------------


def wanted(kind: str, asked: Asked) -> Statistic:
    """Return the statistic that a question asks for."""
    name = asked.one.name
    made: dict[str, Callable[[], Statistic]] = {
        "count": lambda: Count(condition=name),
        "share": lambda: Share(population=name, condition=asked.symptom),
        "comparison": lambda: Compare(condition=asked.symptom, groups=(name, asked.other.name)),
        "difference": lambda: Difference(groups=(asked.symptom, asked.strange)),
        "list": lambda: ListValues(population=name, attribute="symptoms"),
        "top n": lambda: ListValues(population=name, attribute="symptoms", most=3),
        "trend": lambda: Trend(condition=name, date_field="seen"),
        "typical number": lambda: Typical(population=name, attribute="age"),
        "summary": lambda: Summary(population=name),
    }
    return made[kind]()


def is_same(found: Statistic, other: Statistic) -> bool:
    """Return whether two statistics are about the same: a median is taken for a mean, and a sign for a symptom."""
    return _essence(found) == _essence(other)


def _essence(statistic: Statistic) -> tuple[object, ...]:
    parts = statistic.parts
    held = tuple(content(parts.get(name, "")) for name in ("population", "condition"))
    about = frozenset(held) - {()} if isinstance(statistic, Count) else held
    denied = parts.get("condition", "").startswith("not ")
    return (
        *(statistic.name, about, denied, frozenset(map(content, parts.get("groups", ())))),
        *(_plain(parts.get("attribute", "")), parts.get("most", 0), parts.get("by", "")),
    )


def _plain(attribute: str) -> str:
    return "symptoms" if matches_attribute(attribute, "symptoms") else attribute


@dataclass(frozen=True)
class Way:
    """The way that a question goes.

    Attributes:
        name: "refused", "voters" for those that read, "readings", or the name of a statistic.
        algorithm: the algorithm; None if the question is refused.
        understood: whether it is the right one.
    """

    name: str
    algorithm: Algorithm | None = None
    understood: bool = False


def way_of(vault: Vault, kind: str, asked: Asked, text: str) -> Way:
    """Return the way of a question in `discreet ask`, by its text and public choices alone."""
    choices = (asked.one.treatment, asked.other.treatment) if kind == "choice" else ()
    chooser = Chooser(vault, "", (), {"choices": choices or None})
    try:
        chooser.check(text)
        algorithm = with_choices(_chosen(chooser, text), text)
    except DiscreetError:
        return Way("refused")
    if isinstance(algorithm, Statistic):
        return Way(algorithm.name, algorithm, kind not in VOTES and is_same(algorithm, wanted(kind, asked)))
    name = "readings" if algorithm.needs_readings else "voters"
    right = kind in VOTES and attribute_asked(text) == VOTES[kind]
    decided = kind != "yes/no" or algorithm.public_choices == CHOICES
    return Way(name, algorithm, name == "readings" and right and decided)


def _chosen(chooser: Chooser, text: str) -> Algorithm:
    """Return the algorithm of a question; a statistic has the price and the period of this benchmark."""
    found = chooser.choose(text)
    if not isinstance(found, Statistic):
        return found
    epsilon = 4.0 if isinstance(found, ListValues | Summary) else 1.0
    return replace(found, epsilon=epsilon, **(PERIOD if isinstance(found, Trend) else {}))


# --- what is right ----------------------------------------------------------------------------------------------------


def is_right(kind: str, truth: Truth, asked: Asked, answer: Answer) -> bool:
    """Return whether an answer is right, as this kind defines it."""
    if kind in VOTES:
        said = {
            "name": asked.one.treatment,
            "diagnosis": asked.one.name,
            "choice": asked.one.treatment,
            "yes/no": "yes" if asked.claim else "no",
        }
        return matches(answer.text, [said[kind]])
    return bool(answer.table) and _RIGHT[kind](truth, asked, answer)


def _holds(figure: Figure, number: float) -> bool:
    return figure.low - 1e-9 <= number <= figure.high + 1e-9


def _figures(answer: Answer, kind: str) -> list[Figure]:
    return [figure for figure in answer.table if figure.kind == kind]


def _right_count(truth: Truth, asked: Asked, answer: Answer) -> bool:
    return _holds(answer.table[0], len(truth.of(asked.one)))


def _right_share(truth: Truth, asked: Asked, answer: Answer) -> bool:
    return _holds(_figures(answer, "share")[0], truth.share(asked.one, asked.symptom))


def _right_comparison(truth: Truth, asked: Asked, answer: Answer) -> bool:
    both = {content(one.name): truth.share(one, asked.symptom) for one in (asked.one, asked.other)}
    return all(_holds(figure, both[content(figure.name)]) for figure in _figures(answer, "share"))


def _right_difference(truth: Truth, asked: Asked, answer: Answer) -> bool:
    counts = {content(one): truth.stating(one) for one in (asked.symptom, asked.strange)}
    first, second = (counts[content(figure.name)] for figure in answer.table[:2])
    return _holds(_figures(answer, "difference")[0], first - second)


def _right_list(truth: Truth, asked: Asked, answer: Answer) -> bool:
    return _listed(asked, answer) >= 3


def _right_top(truth: Truth, asked: Asked, answer: Answer) -> bool:
    return _listed(asked, answer) == len(answer.released) == 3


def _listed(asked: Asked, answer: Answer) -> int:
    """Return the number of symptoms of a disease that a list has; 0 if it has something else, too."""
    named = {content(one) for one in answer.released}
    return len(named) if named <= {content(one) for one in asked.one.symptoms} else 0


def _right_trend(truth: Truth, asked: Asked, answer: Answer) -> bool:
    months = Counter(f"{YEAR}-{one.month:02d}" for one in truth.of(asked.one))
    return sum(_holds(figure, months[figure.name]) for figure in answer.table) >= 10


def _right_number(truth: Truth, asked: Asked, answer: Answer) -> bool:
    ages = [one.age for one in truth.of(asked.one)]
    true = {"median": statistics.median(ages), "mean": statistics.fmean(ages)}
    figure = answer.table[0]
    return figure.name in true and _holds(figure, true[figure.name])


def _right_summary(truth: Truth, asked: Asked, answer: Answer) -> bool:
    said = answer.text.casefold()
    return asked.one.treatment in said and sum(one in said for one in asked.one.symptoms) >= 2


_RIGHT: dict[str, Callable[[Truth, Asked, Answer], bool]] = {
    "count": _right_count,
    "share": _right_share,
    "comparison": _right_comparison,
    "difference": _right_difference,
    "list": _right_list,
    "top n": _right_top,
    "trend": _right_trend,
    "typical number": _right_number,
    "summary": _right_summary,
}


# --- the tables -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What one wording is worth."""

    kind: str
    origin: str
    wording: str
    asked: int
    understood: float
    right: float
    otherwise: str


def measure(vault: Vault, truth: Truth, kind: str, origin: str, wording: str, asked: Sequence[Asked]) -> Measured:
    """Ask all questions in one wording."""
    understood, right, others = 0, 0, Counter[str]()
    for place, one in enumerate(asked):
        text = one.text(wording)
        way = way_of(vault, kind, one, text)
        if not way.understood or way.algorithm is None:
            others[way.name] += 1
            continue
        understood += 1
        ledger = MemoryLedger(vault.ledger.budget if kind in VOTES else ALONE, simulation=True)
        answer = vault.simulate(text, way.algorithm, noise=InsecureSeededNoise(place), ledger=ledger)
        right += is_right(kind, truth, one, answer)
    most = others.most_common(1)
    return Measured(
        kind, origin, wording, len(asked), understood / len(asked), right / len(asked), most[0][0] if most else ""
    )


def by_kind(found: Sequence[Measured]) -> list[list[str]]:
    """Return a row for each kind: the best and the worst wording, and how many are near the best, by origin."""
    rows = []
    for kind in dict.fromkeys(one.kind for one in found):
        own = [one for one in found if one.kind == kind]
        best = max(one.right for one in own)
        near = []
        for origin in ORIGINS:
            part = [best - one.right <= NEAR + 1e-9 for one in own if one.origin == origin]
            near.append(f"{sum(part)} of {len(part)}")
        mean = statistics.fmean(one.right for one in own)
        rows.append([kind, f"{best:.2f}", f"{mean:.2f}", f"{min(one.right for one in own):.2f}", *near])
    return rows


def measure_wordings(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Accuracy by wording: the same questions in many wordings, by kind.

    A vault is made from the notes of the demonstration, with an age and a day for each patient, and read by the
    packaged model: five minutes of a thread that does nothing else. With --vault it is kept, and used again. The
    wordings are in wordings.json. A question goes the way of `discreet ask`, from its text on.
    Nothing is paid, and noise is seeded: the n-th question of a kind has the same noise in each wording, so what is
    understood alike has one answer.

    of           plain: like the documentation; held out: written before the rules were read; further: see there
    understood   a statistic of the right kind, set and condition; of an open question, the right attribute, so that
                 statements that were read answer it; of a yes/no question, that too, and the choices yes and no
    right        see below
    less         the best wording's `right` less this one's
    otherwise    what most of the questions are that were not understood: refused unpaid, asked of voters that read,
                 or
                 another statistic; such an answer is not right. Voters that read are not asked here

    What is right:

    name, diagnosis, choice, yes/no    the true treatment, disease or answer is released
    count, share, difference           the interval holds the true number
    comparison                         both intervals hold the true shares
    list                               three of the four symptoms of the disease are listed, and nothing else
    top n                              three symptoms of the disease are listed, and nothing else
    trend                              the intervals of ten of twelve months hold the true count
    typical number                     the interval holds the true median or mean
    summary                            the treatment and two of the symptoms are in it

    A statistic costs epsilon 1, one with values (list, top n, summary) 4. Votes cost what they do in a vault of
    epsilon 20. With `--csv`, a second file has each kind: the wordings within 0.05 of the best one, by origin.
    """
    parser.add_argument("--vault", type=Path, help="where the vault is made or is; else in a folder that is removed")
    parser.add_argument("--questions", type=int, default=24, help="of a multiple of 24, half of the claims hold")
    parser.add_argument("--kinds", nargs="+", default=list(PLAIN), choices=list(PLAIN), metavar="KIND")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        vault = read_vault(given.vault or Path(folder) / "v", given.model)
        all_found = print_wordings(vault, given.kinds, questions(given.questions), given.csv)
    print()
    write_table(SUMMARY, by_kind(all_found), name_part(given.csv, "kinds"))


def print_wordings(vault: Vault, kinds: Sequence[str], asked: Sequence[Asked], path: Path | None) -> list[Measured]:
    """Print the table of all wordings, and return its rows."""
    truth, table, all_found = Truth(list(patients())), TableWriter(COLUMNS, path), list[Measured]()
    for kind in kinds:
        found = [
            measure(vault, truth, kind, origin, wording, asked)
            for origin, wordings in ORIGINS.items()
            for wording in wordings[kind]
        ]
        best = max(one.right for one in found)
        for one in found:
            numbers = [f"{number:.2f}" for number in (one.understood, one.right, best - one.right)]
            table.write([one.kind, one.origin, one.wording, str(one.asked), *numbers, one.otherwise])
        all_found += found
    return all_found
