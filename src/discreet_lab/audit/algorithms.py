"""Audits of all algorithms, from the store to the receipt, on two neighbouring vaults.

The vaults are real ones in a temporary folder, marked as simulations. A toy language model gives the answer that its
prompt states. The second vault is derived from the first by removing and adding units, as a custodian would do it.

The outcome of a draw is a transcript. It has all that an analyst sees, except time: each answer with its text, reason
for stopping, number of tokens and receipt, each refusal, and the budget that is left for every unit. Released answers
are stored and reused, as in a vault.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.consensus_release import OpenSelection
from discreet.algorithms.ensemble import calibrate_to_epsilon
from discreet.algorithms.murag import NaiveMultiRAG
from discreet.errors import BudgetExhausted, PlanExceeded, UsageError
from discreet.models.toy import ToyModel
from discreet.parameters import read_parameters
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.mechanisms.optimal_selection import CountedSelection
from discreet.privacy.mechanisms.selection import StableSet, gap_to_pass
from discreet.privacy.noise import Noise
from discreet.privacy.partition import REPLACE_ONE
from discreet.query.answer_cache import AnswerCache
from discreet.registry import (
    ALGORITHMS,
    DPKSA,
    DPRAG,
    Adaptive,
    Compare,
    Consensus,
    Count,
    Difference,
    DPRAGPure,
    DPSparseVoteRAG,
    DPVoteRAG,
    ListValues,
    MuRAG,
    MuRAGAda,
    Share,
    Themes,
    Trend,
    make_algorithm,
)
from discreet.statistics.cells import StatisticPrice, choose_counts
from discreet.statistics.statistic import Statistic
from discreet.store.codebook import Attribute, Codebook, CodedValue
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import UnitRecords
from discreet.synthesis.statements import Found
from discreet.vault import Vault
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.case import DATE, DELTA, FAILURE, YEAR, ProgressCallback, VaultPair

# --- statistics -------------------------------------------------------------------------------------------------------


USES = 3
"""The number of statistics among which the grant of an audit is divided."""
CROWD = 40
"""The number of further units: a share of fewer is not told from a share of none."""
UNSEEN = frozenset({"typical", "summary"})
"""Statistics of numbers and of whole texts, which these vaults have not. The histogram of the first and the counts of
the second are audited as mechanisms."""


CODE = "said"
"""The code of the texts: what they say."""
BOOK = Codebook(
    attributes=(Attribute(name=CODE, type="any of", most=2, values=tuple(CodedValue(name=one) for one in "xyz")),)
)


LARGE = 15
"""A count that is larger is one of many units."""


def large_rows(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with the names of the values that many units have, in place of its table."""
    rows = [row["name"] for row in answer["table"] if row["kind"] == "count" and row["value"] > LARGE]
    return answer | {"answer": "", "table": sorted(rows)}


class WordCoder:
    """A coder of tests and audits: a text states the values whose names are words of it."""

    def about(self, book: Codebook) -> tuple[Any, ...]:
        """Return all that the codes depend on beside the text."""
        return ("words", book.digest)

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        """Yield the position of each text, and its codes."""
        for place, text in enumerate(texts):
            words = text.split()
            named = [(own.name, one) for own in book.coded for one in own.names if one in words]
            yield place, [(name, value, False, None, "") for name, value in named]


def audited_statistics() -> dict[str, Statistic]:
    """Return each statistic that sees something in these vaults, by its name."""
    statistics: tuple[Statistic, ...] = (
        Count(condition="cough", uses=USES),
        Share(condition="cough", uses=USES),
        Compare(groups=("fever", "say"), condition="cough", uses=USES),
        Difference(groups=("fever", "cough"), uses=USES),
        Trend(by="year", date_field=DATE, since=f"{YEAR + 1}", until=f"{YEAR + 1}", uses=USES),
        Themes(attribute=CODE, uses=USES),
    )
    return {statistic.name: statistic for statistic in statistics}


def audited_list(budget: Budget) -> tuple[ListValues, int]:
    """Return the list of the treatments that were read, and a crowd with which its value is about at the threshold."""
    listed = ListValues(attribute="treatment", each=1, uses=USES)
    _, values = choose_counts(StatisticPrice(budget, uses=USES), listed.each)
    return listed, round(values.threshold) - 2


# --- algorithms -------------------------------------------------------------------------------------------------------


WORDS = "x y z w who knows"
"""The words of the model. Its answer to a prompt without a document is "who knows"."""
VOCABULARY = 8
QUESTIONS = ("fever", "fever again", "fever once more", "fever at last", "fever after all")
"""The questions. Each unit with a document about fever is near to each of them."""

PAIRS = (
    VaultPair(
        "a unit goes, the only one that says y",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: x ."], "u3": ["fever cough cough say: y ."]},
        goes="u3",
    ),
    VaultPair(
        "a unit goes, and another moves in",
        {
            "u1": ["fever say: x ."],
            "u2": ["fever cough say: y ."],
            "u3": ["fever cough cough say: z ."],
            "u4": ["fever cough cough cough say: z ."],
        },
        goes="u2",
    ),
    VaultPair(
        "a unit comes",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: x ."]},
        comes={"u3": ["fever cough cough say: x ."]},
    ),
    VaultPair(
        "a unit becomes another",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: x ."], "u3": ["fever cough cough say: x ."]},
        goes="u3",
        comes={"u4": ["fever cough cough say: y ."]},
    ),
    VaultPair(
        "a unit with three documents goes",
        {
            "u1": ["fever say: y .", "fever cough say: y .", "fever cough cough say: y ."],
            "u2": ["fever cough say: x ."],
            "u3": ["fever cough cough say: x ."],
        },
        goes="u1",
    ),
    VaultPair(
        "one of six goes that are equally near",
        {
            "u1": ["fever say: x ."],
            "u2": ["fever say: x ."],
            "u3": ["fever say: z ."],
            "u4": ["fever say: x ."],
            "u5": ["fever say: z ."],
            "u6": ["fever say: y ."],  # of equally near units the first, with the fixed key of these vaults (pairs.py)
        },
        goes="u6",
    ),
    VaultPair("the only unit goes: fewer units than voters", {"u1": ["fever say: x ."]}, goes="u1"),
    VaultPair(
        "a unit goes; three questions, for which nobody can pay to the end",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: y ."], "u3": ["fever cough cough say: z ."]},
        goes="u1",
        asked=QUESTIONS[:3],
    ),
    VaultPair(
        "a unit goes; of those near the second question some have paid for the first; the third was asked before",
        {
            "u1": ["rash say: x .", "fever say: y ."],
            "u2": ["rash say: y .", "fever say: z ."],
            "u3": ["fever cough say: x ."],
            "u4": ["fever cough cough say: z ."],
        },
        goes="u1",
        asked=("rash", "fever", "fever"),
    ),
)


@dataclass(frozen=True)
class AuditSetting:
    """An algorithm with the parameters of its audit.

    Attributes:
        algorithm: the algorithm, with its parameters.
        budget: the ledger's grant for all questions together, which is the claim.
        crowd: the number of further units that say x. An answer that needs the agreement of many units needs them.
        replacing: whether a replaced unit costs no more than a removed one.
        read: whether the model has read the texts before, which then state a treatment.
        coded: whether the texts have been coded before.
        see: what is looked at of an answer. A table of many noisy counts is never the same twice, so no event would
            repeat: a part of it is looked at that follows from what an analyst sees.
    """

    algorithm: Algorithm
    budget: Budget
    crowd: int = 0
    replacing: bool = True
    read: bool = False
    coded: bool = False
    see: Callable[[dict[str, Any]], dict[str, Any]] = dict


@dataclass(frozen=True)
class AlgorithmCase:
    """An algorithm and two neighbouring vaults.

    Attributes:
        name: the algorithm's name on the command line.
        setting, pair: the algorithm, and its two inputs.
        corpus: the class that searches documents; another one than the vault's in a mutant.
        ledger: the class that records payments; another one in a mutant.
        draws: the default number of transcripts of each vault.
    """

    name: str
    setting: AuditSetting
    pair: VaultPair
    corpus: type[SealedCorpus] = SealedCorpus
    ledger: Callable[[Budget], MemoryLedger] = MemoryLedger
    draws: int = 1000

    @property
    def inputs(self) -> str:
        """The name of the pair."""
        return self.pair.name

    @property
    def claim(self) -> tuple[float, float]:
        """The ledger's grant. If a replaced unit counts as two steps, the group property gives the claim."""
        granted = self.setting.budget.epsilon, self.setting.budget.delta
        return granted if self.setting.replacing else self.pair.claim(*granted)

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[list[Key], list[Key]]:
        """Return `draws` transcripts of each vault."""
        crowd = VaultPair("", {f"crowd {n}": ["fever say: x ."] for n in range(self.setting.crowd)})
        pair, crowd = (self.pair.stating(), crowd.stating()) if self.setting.read else (self.pair, crowd)
        return pair.sample(crowd.units, lambda vault: self._transcripts(vault, pair, draws, noise, on_progress))

    def find_fault(self, first: Sequence[Key], second: Sequence[Key]) -> str:
        """Return why the transcripts of the two vaults show nothing: no answer, or no release; "" if they do."""
        entries = [entry for transcript in {*first, *second} for entry in json.loads(str(transcript))[::2]]
        answers = [entry for entry in entries if isinstance(entry, dict)]
        if faults := [entry["fault"] for entry in answers if "fault" in entry]:
            return str(faults[0])
        if not answers:
            return f"Every draw of '{self.name}' ended in a refusal. {entries[0]}"
        paid = any(entry["receipt"]["charges"] for entry in answers)
        if paid or self.setting.algorithm.spec.payment is Payment.NOTHING:
            return ""
        return f"No draw of '{self.name}' released anything, though its plan has a cost."

    def _transcripts(
        self, vault: Vault, pair: VaultPair, draws: int, noise: Noise, on_progress: ProgressCallback
    ) -> list[Key]:
        model = ToyModel(WORDS.split(), default="who knows", size=VOCABULARY)
        if self.setting.read:
            vault = Vault.open(vault.path, model=model, embedder=vault.embedder, store=vault.store)
            vault.read(lambda *_: None)
        if self.setting.coded:
            vault.use_book(BOOK)
            vault.code(lambda *_: None, coder=WordCoder())
        records = UnitRecords(vault.store, vault.components.readings, vault.components.codes)
        vault.components.corpus = self.corpus(vault.store, vault.embedder, vault.corpus.secret, records)
        transcripts: list[Key] = []
        for _ in range(draws):
            transcripts.append(self._transcript(vault, pair, model, noise))
            on_progress(1)
        return transcripts

    def _transcript(self, vault: Vault, pair: VaultPair, model: ToyModel, noise: Noise) -> str:
        """Return all that an analyst sees, as JSON."""
        ledger, seen = self.ledger(self.setting.budget), list[object]()
        history = _new_history(vault)
        for question in pair.asked:
            try:
                answer = vault.simulate(
                    question, self.setting.algorithm, noise=noise, model=model, ledger=ledger, history=history
                )
                # Without the moments of earlier releases: one vault is asked after the other, so they tell them apart.
                seen.append(
                    self.setting.see(answer.describe(show_public=True) | {"released_at": len(answer.released_at)})
                )
            except BudgetExhausted as refusal:
                seen.append(str(refusal))
            except PlanExceeded as fault:
                seen.append({"fault": str(fault)})
            seen.append(ledger.budget.left(ledger.spent()))
        return json.dumps(seen)


def _new_history(vault: Vault) -> AnswerCache:
    """Return an answer cache without any answer."""
    path = vault.path / "audited.jsonl"
    path.unlink(missing_ok=True)
    return AnswerCache(path, vault.embedder)


def algorithm_cases(epsilon: float, names: Sequence[str] = ()) -> list[AlgorithmCase]:
    """Return all cases of the named algorithms (all if none is named), each for a total of `epsilon`."""
    return [
        AlgorithmCase(name, setting, pair)
        for name, setting in settings(epsilon).items()
        if not names or name in names
        for pair in PAIRS
    ]


def settings(epsilon: float) -> dict[str, AuditSetting]:
    """Return all algorithms with a guarantee, by name, for a total of `epsilon`."""
    votes = {"voters": 3, "max_tokens": 2, "private_tokens": 1}
    converted, failing = Budget(epsilon, DELTA), Budget(epsilon, FAILURE, FAILURE)
    both = Budget(epsilon, FAILURE + DELTA, FAILURE)
    pure = Budget(epsilon, 0.0, accountant="pure")
    token = DPVoteRAG(voters=3, private_tokens=1, max_tokens=1)
    about_it = 0.05  # the similarity: a document without a common word with the question has 0
    widely: dict[str, Any] = {"highest": 0.9, "lowest": about_it}
    by_name: dict[str, AuditSetting] = {
        "dp-vote-rag": _alone(DPVoteRAG(epsilon=epsilon, **votes), converted),  # type: ignore[arg-type]
        "dp-sparse-vote-rag": _alone(DPSparseVoteRAG(epsilon=epsilon, **votes), converted),  # type: ignore[arg-type]
        "dp-rag-pure": _alone(DPRAGPure(epsilon=epsilon, **votes), converted),  # type: ignore[arg-type]
        "dp-ksa": _agreeing(DPKSA(epsilon=epsilon, delta=FAILURE, most_keywords=2), failing),
        "consensus": _agreeing(Consensus(epsilon=epsilon, delta=FAILURE), failing),
        "consensus-choices": _alone(
            Consensus(voters=3, epsilon=epsilon, choices=("x", "y", "z"), vote_shares=True), converted
        ),
        "dp-rag": _alone(
            DPRAG(epsilon=epsilon, max_tokens=2, wanted=2, levels=(0.4, 0.2), omega=0.0), converted, replacing=False
        ),
        "adaptive": _alone(Adaptive(inner=DPVoteRAG(epsilon=epsilon, **votes), numbers=(2, 4)), converted),  # type: ignore[arg-type]
        "naive-multi-rag": AuditSetting(NaiveMultiRAG(inner=token, uses=2), pure),
        "murag": AuditSetting(MuRAG(inner=token, uses=1, similarity=about_it), pure, replacing=False),
        "murag-all-vote": _all_voting(epsilon, about_it),
        "murag-all-vote-candidate": _all_voting(epsilon, about_it, ("x",)),
        "murag-ada": AuditSetting(
            MuRAGAda(inner=token, uses=1, epsilon_threshold=epsilon / 2, highest=0.9, lowest=-0.9, bins=2, enough=2),
            pure,
            replacing=False,
        ),
        "murag-ada-curve": _by_curve(MuRAGAda(inner=Consensus(max_tokens=2, sentence=False), **widely), both),
        "murag-ada-read": _by_curve(MuRAGAda(inner=Consensus(readings=True), **widely), both, read=True),
    }
    listed, crowd = audited_list(both)
    by_name[listed.name] = AuditSetting(listed, both, crowd, replacing=False, read=True)
    counted = {
        name: AuditSetting(one, failing, CROWD, replacing=False, coded=True, see=large_rows)
        if isinstance(one, Themes)
        else AuditSetting(one, failing, CROWD, replacing=False)
        for name, one in audited_statistics().items()
    }
    return by_name | counted


def _all_voting(epsilon: float, similarity: float, candidates: tuple[str, ...] = ()) -> AuditSetting:
    """Return the setting of an open answer by all admitted units; two more than its crowd release it half the time."""
    inner = Consensus(max_tokens=2, sentence=False, propose=candidates)
    granted = Budget(epsilon, FAILURE, FAILURE)
    algorithm = MuRAG(inner=inner, uses=1, similarity=similarity, rows=60)
    voters, rounds = algorithm.count_votes(granted, VOCABULARY)
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)[0]
    assert isinstance(selection, CountedSelection)
    with_candidates = selection.with_candidates(candidates)
    votes = with_candidates.candidate_votes_needed(0.5) if candidates else with_candidates.votes_needed(0.5)
    return AuditSetting(algorithm, granted, max(0, votes - 2), replacing=False)


def _by_curve(algorithm: MuRAGAda, granted: Budget, *, read: bool = False) -> AuditSetting:
    """Return the setting of the default release: at the usual epsilon, the curve that is best at the vault's order.

    The crowd is such that a unit that comes brings an answer over one half.
    """
    voters, rounds = algorithm.count_votes(granted, VOCABULARY)
    (selection,) = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)
    assert isinstance(selection, OpenSelection)
    return AuditSetting(algorithm, granted, max(0, (selection.votes_needed(0.5) or 0) - 3), replacing=False, read=read)


def _alone(algorithm: Algorithm, granted: Budget, crowd: int = 0, *, replacing: bool = True) -> AuditSetting:
    """Return the setting of an algorithm that every unit pays for. Its grant is its plan's ceiling."""
    plan = algorithm.plan(granted, VOCABULARY)
    return AuditSetting(algorithm, plan.ceiling if plan else granted, crowd, replacing)


def _agreeing(algorithm: Consensus | DPKSA, granted: Budget) -> AuditSetting:
    """Return the setting of an algorithm that releases common values.

    Its crowd, with two or three more units, reaches a release half of the time.
    """
    last = _last_mechanism(algorithm)
    if isinstance(last, StableSet):
        crowd = gap_to_pass(0.5, last.sigma, last.delta) - 2
    else:
        crowd = next(more for more in count() if _releases(replace(algorithm, voters=more + 3)))
    return _alone(replace(algorithm, voters=crowd + 3), granted, crowd)


def _releases(algorithm: Consensus | DPKSA) -> bool:
    """Return whether all its voters together release a value half of the time. Their number may decide by which law."""
    selection = _last_mechanism(algorithm)
    assert isinstance(selection, OpenSelection)
    needed = selection.votes_needed(0.5)
    return needed is not None and needed <= algorithm.voters


def _last_mechanism(algorithm: Consensus | DPKSA) -> object:
    rounds = calibrate_to_epsilon(algorithm, FAILURE, VOCABULARY)
    return algorithm.mechanisms(rounds.epsilon, rounds.delta, REPLACE_ONE, VOCABULARY)[-1]


# --- plugin cases -----------------------------------------------------------------------------------------------------

# Its claim is the ceiling of its plan, for one unit that comes or goes. A unit that becomes another counts as two
# steps, since it is not known which change the algorithm charges.


NOTHING_CLAIMED = Budget(1e-9, 0.0, accountant="pure")
"""The grant of an algorithm whose plan costs nothing: its answers must not depend on documents at all."""


def plugin_cases(epsilon: float, name: str, options: Mapping[str, Any] | None = None) -> list[AlgorithmCase]:
    """Return the cases of one registered algorithm, for a total of `epsilon`: one for each pair of vaults.

    Args:
        epsilon: the grant.
        name: its name in the registry.
        options: parameters in place of those of the audit: its epsilon, the choices x, y and z, and three voters.

    Raises:
        UsageError: if it has no guarantee, or if the grant does not pay for its plan.
    """
    if not ALGORITHMS[name].spec.private:
        raise UsageError(f"'{name}' has no guarantee, so there is no claim to audit. Expected Guarantee.DP.")
    usual = {"epsilon": epsilon, "choices": ("x", "y", "z"), "voters": 3, "max_tokens": 2}
    own = {one.name for one in read_parameters(ALGORITHMS[name])}
    given = {key: value for key, value in usual.items() if key in own} | dict(options or {})
    setting = _set(make_algorithm(name, given), Budget(epsilon, DELTA))
    return [AlgorithmCase(name, setting, pair) for pair in PAIRS]


def _set(algorithm: Algorithm, granted: Budget) -> AuditSetting:
    """Return the setting of an algorithm: its ledger grants what the plan of one question allows."""
    plan = algorithm.plan(granted, VOCABULARY)
    if plan is None:
        return AuditSetting(algorithm, NOTHING_CLAIMED, replacing=False)
    budget = granted if algorithm.spec.payment is Payment.EACH_UNIT else plan.ceiling
    return AuditSetting(algorithm, budget, replacing=False)
