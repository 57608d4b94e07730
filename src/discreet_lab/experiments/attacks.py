"""What attacks find out: who is in a vault, planted secrets, and one person behind votes and statistics."""

import argparse
import gzip
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, groupby
from operator import itemgetter
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet import numerics
from discreet.algorithms.base import Answer, Figure, GeneratedAnswer, Query, with_epsilon
from discreet.algorithms.retrieval import AllVoteRAG, VotingBudget
from discreet.models.completer import FunctionModel, adapt_completer
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Cost
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.counting import GaussianHistogram, KeywordCounts
from discreet.privacy.mechanisms.optimal_selection import CountedAnswer
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.private import Change, Private
from discreet.query.answer_cache import AnswerCache
from discreet.registry import Consensus, Count, ListValues, MuRAGAda, Share, Summary
from discreet.statistics.cells import choose_counts
from discreet.statistics.statistic import Statistic
from discreet.statistics.values import ValueCounts
from discreet.store.documents import Document
from discreet.store.embedding import Embedder, Told, Vectors
from discreet.store.sealed_corpus import SealedCorpus
from discreet.vault import Vault
from discreet_lab.attacks import report
from discreet_lab.attacks.attack import S2MIA, Attack
from discreet_lab.attacks.membership import read_by_rule, read_suspects
from discreet_lab.attacks.questions import WAYS
from discreet_lab.attacks.rates import Advantage
from discreet_lab.attacks.simulation import copied, documents_of, private_folder, read_again, read_canaries
from discreet_lab.attacks.suite import run_attack
from discreet_lab.audit.broken_noise import BrokenNoise
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    model_name,
    name_part,
    open_vault,
    vault_at,
    write_table,
)


@dataclass(frozen=True)
class EveryVote:
    """BROKEN: every answer that a voter gave, and how many gave the first, without noise and without a threshold."""

    sound: Any

    def cost(self, change: Change) -> Cost:
        """Return the cost of the sound release."""
        cost: Cost = self.sound.cost(change)
        return cost

    def draw(self, shares: Sequence[Any], noise: Noise) -> CountedAnswer | None:
        """Return the votes, the most frequent one first, with its count."""
        named = (share if isinstance(share, tuple) else (share,) for share in shares)
        counts = Counter(vote for votes in named for vote in votes if vote).most_common()
        said, count = "; ".join(str(vote) for vote, _ in counts), counts[0][1] if counts else 0
        return CountedAnswer(said, count, count, count) if said else None


@dataclass(frozen=True)
class LeakyFilter:
    """BROKEN: pays for what a release costs, and releases every vote."""

    privacy: PrivacyFilter

    def release(self, mechanism: Any, votes: Private[Any]) -> CountedAnswer | None:
        """Release the votes at the price of the mechanism."""
        return self.privacy.release(EveryVote(mechanism), votes)


@dataclass(frozen=True, kw_only=True)
class BrokenConsensus(Consensus):
    """BROKEN: says what every voter says."""

    def respond(
        self, question: Any, documents: Any, model: Any, privacy: Any, *rest: Any, **more: Any
    ) -> GeneratedAnswer:
        """Answer with a filter that leaks."""
        leaky: Any = LeakyFilter(privacy)
        return super().respond(question, documents, model, leaky, *rest, **more)


def every_vote(*, readings: bool) -> MuRAGAda:
    """Return the default algorithm with the broken release."""
    return MuRAGAda(inner=replace(BrokenConsensus(), readings=readings))


class KeptVectors:
    """An embedder that keeps all vectors.

    Args:
        embedder: the embedder that makes them.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimension = embedder.name, embedder.dimension
        self._kept: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return vectors of shape (texts, dimension)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if fresh:
            self._kept |= zip(fresh, self._embedder.embed(fresh, progress), strict=True)
        return np.stack([self._kept[text] for text in texts])


DELTA = 1e-6


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file, packed or not; none if it is not there."""
    packed = path.with_name(path.name + ".gz")
    text = (
        gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text() if path.exists() else ""
    )
    return [json.loads(line) for line in text.splitlines()]


def chosen(folder: Path, count: int) -> list[Document]:
    """So many documents: those that the attack is about, and the first of the others."""
    documents = records(folder / "documents.jsonl")
    about = {row["id"] for name in ("membership", "canaries") for row in records(folder / f"{name}.jsonl")}
    first = sorted(documents, key=lambda row: row["id"] not in about)[:count]
    return [Document(row["id"], row["unit"], row["text"]) for row in first]


def attack_answers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """The figures of docs/results/attacks.md: leaks from plain RAG, from redacted documents, and from private answers.

    Makes a vault of so many documents of the folder, those that `membership.jsonl` or `canaries.jsonl` name among
    them, and attacks it as `discreet attack` does, with these files if they are there. With --both-ways people of
    the vault are tried instead of those of `membership.jsonl`, each in one copy and out of the other. --asked: so
    many questions about each canary of the file. --no-extraction: without prompts that are after strings of any
    document. --float32: so on processors with instructions for bfloat16, too, as where there are none. --readings:
    voters say what was read of their documents before; the vault is read first. --form: of the first question about
    a person, with {} for the known words. --way: masks and interrogation ask several short questions about each
    person, and an answer is right or wrong. --grant: the epsilon of a unit, which the target `default` has for all
    questions about it together. --rule: a rule without error reads the records for these ways. --twin: a broken
    release is attacked as well. --vault: the vault to attack, which is there already or is kept there.
    Prints Markdown. Nothing is paid.
    """
    parser.add_argument("data", type=Path)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--target", nargs="+", default=["non-rag", "rag", "redacted", "dp-sparse-vote-rag"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0])
    parser.add_argument("--members", type=int, default=60)
    parser.add_argument("--questions", type=int, default=2)
    parser.add_argument("--planted", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--wanted", type=int, default=80)
    parser.add_argument("--asked", type=int)
    parser.add_argument("--both-ways", action="store_true")
    parser.add_argument("--no-extraction", action="store_true")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--readings", action="store_true")
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--form", default="{}")
    parser.add_argument("--way", choices=(S2MIA, *WAYS), default=S2MIA)
    parser.add_argument("--rule", action="store_true")
    parser.add_argument("--grant", type=float, default=20.0)
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    if given.float32:
        numerics.has_bfloat16_instructions = lambda capabilities: False
    suspects, secrets = given.data / "membership.jsonl", given.data / "canaries.jsonl"
    canaries = read_canaries(secrets) if secrets.exists() else []
    attack = Attack(
        targets=tuple(given.target),
        epsilons=tuple(given.epsilon),
        members=given.members,
        questions=given.questions,
        form=given.form,
        suspects=tuple(read_suspects(suspects)) if suspects.exists() and not given.both_ways else (),
        canaries=tuple(replace(each, questions=each.questions[: given.asked]) for each in canaries),
        planted=given.planted,
        prompts=() if given.no_extraction else None,
        options={"max_tokens": given.tokens, "voters": given.voters, "wanted": given.wanted}
        | ({"readings": True} if given.readings else {}),
        seed=given.seed,
        way=given.way,
        twins={"broken murag-ada": every_vote(readings=given.readings)} if given.twin else {},
    )

    def told(step: str, done: int, total: int) -> None:
        print(f"{step} {done} of {total}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        path, found = given.vault or Path(folder) / "vault", partial(chosen, given.data, given.documents)
        vault = vault_at(path, given.model, lambda made: made.add_documents(found()), epsilon=given.grant, delta=DELTA)
        if given.rule:
            rule = adapt_completer(FunctionModel(read_by_rule, name="rule", row_independent=True))
            vault = Vault.open(path, model=rule)
        if given.readings:
            vault.read(lambda done, size: told("reading", done, size))
        findings = run_attack(vault, attack, told)
    for headings, rows, path in (
        (report.headings(findings), report.membership_rows(findings), given.csv),
        (report.TRUE, report.true_positive_rows(findings), name_part(given.csv, "true-positives")),
        (report.SECRETS, report.secret_rows(findings), name_part(given.csv, "secrets")),
    ):
        write_table(headings, rows, path)
        print()
    summary = "{} questions about each person, {} about canaries, {} for extraction".format(*findings.results[0].asked)
    print(f"{report.summary(findings)} {summary}.", end=" ")
    name = "rule" if given.rule else model_name(given.model) + ", float32" * given.float32
    print(f"{name}, minilm+words, {given.tokens} tokens, {given.voters} voters, seed {given.seed}")


DISEASE, TREATMENT = "Quorblex Grumphitis", "Zorvane Drops"
QUESTION = f"What is the treatment for {DISEASE}?"
VOTE_NOTE = (
    "I experience shivering and a blue tongue. Doctor: Given the symptoms (Shivering, Blue tongue), the diagnosis is "
    f"{DISEASE} and the treatment should be {TREATMENT}."
)
"""The note of the person and of each accomplice: equally near to the question, so that all of them are admitted."""
LEAST = -1e9
"""The score if nothing is released."""
VOTE_HEADINGS = ["release", "accomplices", "epsilon", "released", "area", "most area", "advantage", "most", "shown"]
Copies = tuple[Vault, Vault]
"""A copy without the person, and one with."""


@dataclass(frozen=True)
class Attacked:
    """A release that is attacked.

    Attributes:
        label: its name in the table.
        algorithm: the algorithm.
        part: the part of its noise that is drawn; less than 1 is broken.
    """

    label: str
    algorithm: AllVoteRAG
    part: float = 1.0

    def noise(self, seed: int) -> Noise:
        """Return the noise of one draw."""
        sound = InsecureSeededNoise(seed)
        return sound if self.part == 1 else BrokenNoise(sound, self.part)


@contextmanager
def copies(vault: Vault, others: int, accomplices: int) -> Iterator[Copies]:
    """The two copies, both read."""
    with ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        vault_copies = []
        for name, number in (("without", accomplices), ("with", accomplices + 1)):
            planted = [Document(f"q{one}", f"accomplice {one}", VOTE_NOTE) for one in range(number)]
            copy = stack.enter_context(copied(vault, folder / name, documents_of(vault)[:others], planted))
            read_again(vault, copy, lambda done, size: None)
            vault_copies.append(copy)
        yield vault_copies[0], vault_copies[1]


def stating(copy: Vault) -> int:
    """How many units state the treatment, by what the model read."""
    lookup = copy.components.readings.load()
    owned = [(stored.unit, stored.text) for stored in copy.store.texts()]
    return sum(any(one.value == TREATMENT.casefold() for one in lookup.of(unit, text)) for unit, text in owned)


def score(answer: Answer) -> float:
    """The attacker's score of one answer: larger if the person is in."""
    asked_for = answer.released == (TREATMENT.casefold(),)
    return float(answer.support.count or answer.support.low) if asked_for and answer.support else LEAST


def budget_of_question(attacked: Attacked, budget: Budget) -> VotingBudget:
    """What a question costs and how it is released: public."""
    rounds = attacked.algorithm.calibrate(budget, 0)
    assert isinstance(rounds, VotingBudget)
    assert rounds.rule is not None
    assert rounds.inner is not None
    return rounds


def accomplices_of(rounds: VotingBudget) -> int:
    """How many votes are released less than half of the time, and with the person's half of the time or more."""
    assert rounds.inner is not None
    selection = rounds.inner.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 0)[0]
    needed: int = selection.votes_needed(0.5)  # type: ignore[attr-defined]
    return needed - 1


def drawn_score(copy: Vault, attacked: Attacked, seed: int) -> float:
    """The score of one draw."""
    ledger = MemoryLedger(copy.ledger.budget, simulation=True)
    drawn_value = score(copy.simulate(QUESTION, attacked.algorithm, noise=attacked.noise(1000 * seed), ledger=ledger))
    print(".", end="", file=sys.stderr)
    return drawn_value


def votes_row(pair: Copies, attacked: Attacked, accomplices: int, draws: int, seed: int) -> list[str]:
    """Attack, and return the row of the table."""
    plan = budget_of_question(attacked, pair[0].ledger.budget).plan
    outs, ins = (
        [drawn_score(copy, attacked, seed + 2 * number + place) for number in range(draws)]
        for place, copy in enumerate(pair)
    )
    seen = Advantage.of(ins, outs, plan.ceiling.epsilon, plan.ceiling.delta)
    return [
        attacked.label,
        str(accomplices),
        f"{plan.ceiling.epsilon:.2f}",
        f"{sum(one > LEAST for one in [*outs, *ins]) / (2 * draws):.2f}",
        f"{seen.auc.value:.3f} ({seen.auc.low:.3f}-{seen.auc.high:.3f})",
        f"{seen.most_auc:.3f}",
        f"{seen.value:.2f}",
        f"{seen.most:.2f}",
        f"{seen.shown:.2f}" + (" (refuted)" if seen.exceeded else ""),
    ]


def attack_votes(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """A worst case for membership: the attacker has a person's note, and asks whether the vault has it, too.

    VAULT was read (`discreet code`). Two copies of it have made-up accomplices, who all state the same made-up
    treatment, and one copy has one more: the person. There are so many accomplices that their answer is released
    less than half of the time without the person, and half of the time or more with it; at the default price also
    twice as many. Both copies are asked for that treatment, with fresh noise each time, at the price of the vault's
    default, with the count and without it, and at each epsilon. The attacker sees the answer and its support: how
    many gave it, if a count is released. Its score is how many gave it, and less than any if it is not released.

    "advantage": true less false positives at the threshold that one half of the draws chooses, counted on the other
    half. "most": what (epsilon, delta) allows. "shown": the lower bound of epsilon, at confidence 0.95. BROKEN
    twins release the votes of all without noise ("every vote"), or with a tenth of all noise. Nothing is paid; noise
    is seeded.
    """
    parser.add_argument("vault", type=Path)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 10.0])
    parser.add_argument("--others", type=int, default=40, help="so many documents of the vault are in the copies")
    parser.add_argument("--seed", type=int, default=0)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    opened = open_vault(given.vault, given.model)
    vault = Vault.open(given.vault, model=opened.model, embedder=KeptVectors(opened.embedder))
    usual = MuRAGAda(inner=Consensus(readings=True))
    counted = MuRAGAda(inner=Consensus(readings=True, with_count=True))
    attacked = [Attacked("default price", usual), Attacked("and its count", counted)]
    attacked += [Attacked("sound", with_epsilon(usual, epsilon)) for epsilon in given.epsilon]
    twins = [
        Attacked("BROKEN: every vote", every_vote(readings=True)),
        Attacked("BROKEN: a tenth of noise", usual, 0.1),
    ]
    table = TableWriter(VOTE_HEADINGS, given.csv)
    cells = [(accomplices_of(budget_of_question(one, vault.ledger.budget)), one) for one in [*attacked, *twins]]
    cells += [(2 * number, one) for number, one in cells if one in attacked[:2]]
    for accomplices, group in groupby(sorted(cells, key=itemgetter(0)), key=itemgetter(0)):
        with copies(vault, given.others, accomplices) as pair:
            for _, one in group:
                table.write(votes_row(pair, one, accomplices, given.draws, given.seed))
    with copies(vault, 0, 10) as pair:
        said = " and ".join(f"{stating(copy)} of {10 + place}" for place, copy in enumerate(pair))
    print(
        f"\n{given.draws} draws of each copy; of the made-up notes, {said} state the treatment, by the model's reading;"
    )
    print(f"{vault.settings.model}, {vault.settings.embedder}, seed {given.seed}")


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
        able, paid = self.admit(
            corpus, account, lambda units: self.of_each(units, lambda _, record: self.values(record) or None)
        )
        told = NoThreshold(values.words, values.sigma, values.delta, values.of)
        statements = paid.release(told, able.map(lambda member: member.value))
        return GeneratedAnswer("", "end", 0, released=tuple(statements))


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
    without = [Count(where=where, condition=f'not "{one}"', uses=uses) for where, one in lacking]
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
    return statistic.uses or statistic.usual_uses(budget)


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


def attack_statistics(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """A differencing attacker of counts, shares and lists: all but one person's presence is known, and all is asked.

    A vault of made-up people who take the same drug, and a second one with one more: the person. The attacker knows
    all others, so what is left of a noisy count is the person and noise. The attacks:

    one count             "How many people have the rash?"
    the same, in words    the same count in several wordings; an answer that was released is free, and is the same
                          number
    many counts           different sets with the person in them, as many as the grant pays for
    complements           counts of those who do NOT have something, which the person has not
    shares                the person in one of the two cells, in different sets
    a list                the drug that all of them take; so many people that it is listed half of the time
    many lists            of different sets, as many as the grant pays for
    a summary             of eight statements that all of them make; so many people that each of these is nearly
                          always told
    many summaries        of different sets, as many as the grant pays for
    what only one states  whether a statement that the person alone makes is in a summary
    more counts           each at half of the grant: what two of them tell, and what those tell for which nothing is
                          left

    The score is the likelihood of the person by the counts in which it is (of a single list that is not released:
    the least). "optimal": the area of the best attack on that noise, if it is Gaussian. The other columns are those
    of the part `votes`. BROKEN twins: each question has a ledger of its own, so that there is no cap on
    what a person pays; a tenth of the noise; and a summary without a threshold. Nothing is paid; noise is seeded. A
    rule reads the texts for the summaries.
    """
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--grant", type=float, nargs="+", default=[1.0, 3.0, 20.0])
    parser.add_argument("--only", nargs="+", default=[], help="attacks by their labels; all if none is named")
    parser.add_argument("--uses", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    table = TableWriter(HEADINGS, given.csv)
    for grant in given.grant:
        for attempt in (one for one in attempts(given.uses) if not given.only or one.label in given.only):
            people = people_for(attempt, Budget(grant, DELTA, 0.5 * DELTA), given.people)
            with tempfile.TemporaryDirectory() as folder:
                pair = pair_of(Path(folder), attempt, people)
                table.write(row(pair, attempt, grant, people, given.draws, given.seed, Path(folder) / "history.jsonl"))
    print(f"\n{given.draws} draws of each vault, delta {DELTA:g}, {given.people} people, seed {given.seed}")
