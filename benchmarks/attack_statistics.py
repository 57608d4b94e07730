"""A differencing attacker of counts, shares and lists: all but one person's presence is known, and all is asked.

    .venv/bin/python -m benchmarks.attack_statistics [--people 40] [--draws 400] [--grant 1 3 20] [--uses 20]

A vault of made-up people who take the same drug, and a second one with one more: the person. The attacker knows all
others, so what is left of a noisy count is the person and noise. The attacks:

one count             "How many people have the rash?"
the same, in words    the same count in several wordings; an answer that was released is free, and is the same number
many counts           different sets with the person in them, as many as the grant pays for
complements           counts of those who do NOT have something, which the person has not
shares                the person in one of the two cells, in different sets
a list                the drug that all of them take; so many people that it is listed half of the time
many lists            of different sets, as many as the grant pays for
a summary             of eight statements that all of them make; so many people that each of these is nearly always told
many summaries        of different sets, as many as the grant pays for
what only one states  whether a statement that the person alone makes is in a summary
more counts           each at half of the grant: what two of them tell, and what those tell for which nothing is left

The score is the likelihood of the person by the counts in which it is (of a single list that is not released: the
least). "optimal": the area of the best attack on that noise, if it is Gaussian. The other columns are those of
`benchmarks.attack_votes`. BROKEN twins: each question has a ledger of its own, so that there is no cap on what a person
pays; a tenth of the noise; and a summary without a threshold. Nothing is paid; noise is seeded. A rule reads the texts
for the summaries.
"""

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import NormalDist

from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.algorithm import Query
from discreet.algorithms.common.answer import Answer, Figure, GeneratedAnswer
from discreet.algorithms.statistics.noisy_cells import choose_counts
from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.statistics.value_counts import ValueCounts
from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.function_model import FunctionModel
from discreet.generation.model import VotingModel
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.mechanisms.histogram import GaussianHistogram
from discreet.privacy.mechanisms.keyword_counts import KeywordCounts
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.answer_cache import AnswerCache
from discreet.registry import Count, ListValues, Share, Summary
from discreet.retrieval.documents import Document
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet.vault import Vault
from discreet_lab.attacks.advantage import Advantage
from discreet_lab.audit.broken_noise import BrokenNoise

DELTA = 1e-6
WORDINGS = (
    "How many people have a rash?",
    "Count the people with a rash.",
    "What is the number of people with the rash?",
    "How many people have rash?",
    "Count people who have a rash.",
)
HAS = "rash fever cough ache chill itch cramp faint limp sneeze".split()
HAS_NOT = "gout mumps palsy scurvy rickets".split()
NOTE = "The symptoms are rash, fever, cough, ache, chill, itch, cramp. The drug is sandalol."
FEWER = NOTE.replace(", cramp", "")
ALONE = "allergy: tansy"
"""What the person alone states, beside `FEWER`: it makes eight statements, so all of them count."""
TOO_MANY = 30
LEAST = -1e9
HEADINGS = ["attack", "grant", "asked", "paid", "area", "optimal", "most area", "advantage", "most", "shown"]


@dataclass(frozen=True)
class Attempt:
    """An attack.

    Attributes:
        label: its name in the table.
        asked: each question with its statistic.
        figures: which numbers of an answer hold the person, by their places in its table; of values, all counts.
        capped: whether all questions are paid from one grant.
        part: the part of the noise that is drawn.
        unpaid: whether the score is of the questions that the grant does not pay for, and not of the others.
        alone: whether the person makes a statement of its own, and the score is whether that is told.
    """

    label: str
    asked: Sequence[tuple[str, Statistic]]
    figures: tuple[int, ...] = (0,)
    capped: bool = True
    part: float = 1.0
    unpaid: bool = False
    alone: bool = False


class NoThreshold(KeywordCounts):
    """BROKEN: every value that occurs is told, at the price of the sound counts."""

    threshold = -sys.maxsize


@dataclass(frozen=True, kw_only=True)
class BareSummary(Summary):
    """BROKEN: a summary without a threshold: each statement that occurs is told."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Release the noisy count of each statement."""
        _, values = choose_counts(self.price(account.budget), self.each)
        able, paid = self.admit(corpus, account)
        nothing: tuple[str, ...] = ()
        brought = able.read(lambda member: self.values(member.value), otherwise=nothing)
        found = paid.release(NoThreshold(values.words, values.sigma, values.delta, values.of), brought)
        return GeneratedAnswer("", "end", 0, released=tuple(found))


def sets() -> list[tuple[str, ...]]:
    """Different sets of which the person is in each: those who have one complaint, or two."""
    return [(f"{one}=yes",) for one in HAS] + [(f"{a}=yes", f"{b}=yes") for a, b in combinations(HAS, 2)]


def attempts(uses: int) -> Iterator[Attempt]:
    """The attacks, each at the price at which a grant pays for so many questions."""
    some = sets()[:uses]
    counts = [("", Count(where=where, uses=uses)) for where in some]
    yield Attempt("one count", [(WORDINGS[0], Count(condition="rash", uses=uses))])
    yield Attempt("the same, in words", [(asked, Count(condition="rash", uses=uses)) for asked in WORDINGS])
    yield Attempt("many counts", counts)
    lacking = [(where, one) for one in HAS_NOT for where in sets()][:uses]
    without = [Count(where=where, condition=one, negated=True, uses=uses) for where, one in lacking]
    yield Attempt("complements", [("", one) for one in without])
    yield Attempt("shares", [("", Share(where=where, condition="rash", uses=uses)) for where in some], (1,))
    yield Attempt("a list", [("", ListValues(attribute="drug", each=1, uses=uses))])
    listed = [ListValues(where=where, attribute="drug", each=1, uses=uses) for where in some]
    yield Attempt("many lists", [("", one) for one in listed])
    summary = [("", Summary(uses=uses))]
    told = [("", Summary(where=where, uses=uses)) for where in some]
    yield Attempt("a summary", summary)
    yield Attempt("many summaries", told)
    yield Attempt("what only one states", summary, alone=True)
    half = [("", Count(where=where, uses=2)) for where in sets()[:TOO_MANY]]
    yield Attempt("more counts than the grant pays for", half)
    yield Attempt("those that it does not pay for", half, unpaid=True)
    yield Attempt("BROKEN: no cap", half, capped=False)
    yield Attempt("BROKEN: a tenth of noise", counts, part=0.1)
    yield Attempt("BROKEN: summaries, a tenth of noise", told, part=0.1)
    yield Attempt("BROKEN: no threshold for what only one states", [("", BareSummary(uses=uses))], alone=True)


def vault_of(folder: Path, people: int, text: str = "A rash.", last: str = "") -> Vault:
    """A vault of so many people, all alike but for what the last one states as well.

    A text of statements is read: by a rule, which repeats it.
    """
    fields = dict.fromkeys((*HAS, "drug"), "category")
    known = dict.fromkeys(HAS, "yes") | {"drug": "sandalol"}
    texts = [text] * (people - 1) + [f"{text}{last}"]
    vault = Vault.create(folder, epsilon=20, delta=DELTA, embedder="hashing", fields=fields)
    vault.add_documents(Document(f"d{one}", f"person {one}", text, fields=known) for one, text in enumerate(texts))
    if text not in (NOTE, FEWER):
        return vault
    vault = Vault.open(folder, model=adapt_completer(FunctionModel(_repeated, name="rule", row_independent=True)))
    vault.read()
    return vault


def _repeated(prompt: str, _: int) -> str:
    return f" {prompt.rsplit('Record:', 1)[-1].strip().splitlines()[0]}"


def pair_of(folder: Path, attempt: Attempt, people: int) -> tuple[Vault, Vault]:
    """The vault without the person, and the one with it."""
    stated = FEWER if attempt.alone else NOTE
    text = stated if isinstance(attempt.asked[0][1], Summary) else "A rash."
    last = " The allergy is tansy." if attempt.alone else ""
    return vault_of(folder / "without", people, text), vault_of(folder / "with", people + 1, text, last)


def likelihood(statistic: Statistic, budget: Budget, of: str, value: float, people: int, part: float) -> float:
    """The logarithm of how much likelier a number is with the person than without, by the law of its noise: public."""
    if isinstance(statistic, ValueCounts):
        size, values = choose_counts(statistic.price(budget), statistic.each)
        gaussian, deviation = True, size.sigma if of == "of" else values.sigma
    else:
        assert isinstance(statistic, Count | Share)
        histogram = statistic.histogram(budget)
        gaussian, deviation = isinstance(histogram, GaussianHistogram), histogram.deviation
    off, wide = value - people, part * deviation
    if gaussian:
        return (off - 0.5) / wide**2
    return (abs(off) - abs(off - 1)) * math.sqrt(2) / wide


def drawn(vault: Vault, attempt: Attempt, budget: Budget, people: int, seed: int, history: Path) -> tuple[float, int]:
    """The attacker's score, and the number of questions that the person paid for if it is in."""
    history.unlink(missing_ok=True)
    cache, ledger = AnswerCache(history, vault.embedder), MemoryLedger(budget, simulation=True)
    total, paid = 0.0, 0
    for number, (asked, statistic) in enumerate(attempt.asked):
        sound = InsecureSeededNoise(1000 * seed + number)
        noise = sound if attempt.part == 1 else BrokenNoise(sound, attempt.part)
        used = ledger if attempt.capped else MemoryLedger(budget, simulation=True)
        kept = cache if asked else None
        answer = vault.simulate(asked or "any", statistic, noise=noise, ledger=used, history=kept)
        receipt = answer.receipt
        # Which questions are paid is public: it follows from the grant and from the prices.
        if receipt is None or receipt.payment == "nobody":
            continue
        affords = not attempt.capped or number < affordable(statistic, budget)
        paid += affords
        if affords == attempt.unpaid:
            continue
        held = counts_of(attempt, statistic, answer)
        if attempt.alone:
            total += ALONE in answer.released
        elif attempt.unpaid:  # the likelihood of numbers so far from what is expected would hide a difference
            total += sum(figure.value for figure in held)
        elif held:
            total += sum(
                likelihood(statistic, budget, figure.name, figure.value, people, attempt.part) for figure in held
            )
        elif len(attempt.asked) == 1:
            total = LEAST
    return total, paid


def counts_of(attempt: Attempt, statistic: Statistic, answer: Answer) -> list[Figure]:
    """The numbers of an answer in which the person is."""
    if isinstance(statistic, ValueCounts):
        return [figure for figure in answer.table if figure.kind == "count"]
    return [answer.table[place] for place in attempt.figures if answer.table]


def affordable(statistic: Statistic, budget: Budget) -> int:
    """How many such questions a grant pays for."""
    return statistic.uses or statistic.usual_uses


def optimal(attempt: Attempt, budget: Budget, paid: int) -> str:
    """The area of the best attack on so many numbers with Gaussian noise; "-" for other noise, and for lists."""
    statistic = attempt.asked[0][1]
    if not isinstance(statistic, Count | Share) or not isinstance(statistic.histogram(budget), GaussianHistogram):
        return "-"
    shift = math.sqrt(paid) / (attempt.part * statistic.deviation(budget))
    return f"{NormalDist().cdf(shift / math.sqrt(2)):.3f}"


def row(
    pair: tuple[Vault, Vault], attempt: Attempt, grant: float, people: int, draws: int, seed: int, history: Path
) -> list[str]:
    """Attack, and return the row of the table."""
    budget = Budget(grant, DELTA, 0.5 * DELTA)
    scores, paid = list[list[float]](), 0
    for place, vault in enumerate(pair):
        found = [drawn(vault, attempt, budget, people, seed + 2 * number + place, history) for number in range(draws)]
        scores.append([one for one, _ in found])
        paid = max(count for _, count in found)
    seen = Advantage.of(scores[1], scores[0], grant, DELTA)
    return [
        attempt.label,
        f"{grant:g}",
        str(len(attempt.asked)),
        str(paid),
        f"{seen.auc.value:.3f} ({seen.auc.low:.3f}-{seen.auc.high:.3f})",
        optimal(attempt, budget, paid),
        f"{seen.most_auc:.3f}",
        f"{seen.value:.2f}",
        f"{seen.most:.2f}",
        f"{seen.shown:.2f}" + (" (refuted)" if seen.exceeded else ""),
    ]


def people_for(attempt: Attempt, budget: Budget, usual: int) -> int:
    """How many people a vault has: for a list, so many that it is told half of the time; for summaries, nearly always.

    What one person states alone is told or not, whatever the others state, so the usual number will do.
    """
    statistic = attempt.asked[0][1]
    if attempt.alone or not isinstance(statistic, ValueCounts):
        return usual
    _, values = choose_counts(statistic.price(budget), statistic.each)
    return values.threshold + (math.ceil(3 * values.sigma) if isinstance(statistic, Summary) else 0)


def main() -> None:
    """Attack and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--grant", type=float, nargs="+", default=[1.0, 3.0, 20.0])
    parser.add_argument("--only", nargs="+", default=[], help="attacks by their labels; all if none is named")
    parser.add_argument("--uses", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    add_csv_option(parser)
    given = parser.parse_args()
    table = TableWriter(HEADINGS, given.csv)
    for grant in given.grant:
        for attempt in (one for one in attempts(given.uses) if not given.only or one.label in given.only):
            people = people_for(attempt, Budget(grant, DELTA, 0.5 * DELTA), given.people)
            with tempfile.TemporaryDirectory() as folder:
                pair = pair_of(Path(folder), attempt, people)
                table.write(row(pair, attempt, grant, people, given.draws, given.seed, Path(folder) / "history.jsonl"))
    print(f"\n{given.draws} draws of each vault, delta {DELTA:g}, {given.people} people, seed {given.seed}")


if __name__ == "__main__":
    main()
