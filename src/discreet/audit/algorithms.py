"""Every algorithm, from the store to the receipt, on two neighbouring vaults; the whole transcript is what is audited.

The vaults are real ones in a temporary folder, marked as simulations, with a toy language model that says what its
prompt tells it to say. The second vault is made of the first by removing and adding units, as a custodian would. A
transcript is every answer with its text, reason for stopping, number of tokens and receipt, every refusal, and what is
left to everybody: all that an analyst sees. Answers that were released are remembered, as a vault does, and used again.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.ensemble import calibrate_to_epsilon
from discreet.algorithms.naive_multi_rag import NaiveMultiRAG
from discreet.attacks.bounds import Key
from discreet.audit.case import DELTA, FAILURE, Told
from discreet.audit.pairs import Pair
from discreet.errors import BudgetExhausted
from discreet.generation.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.mechanisms.stable_set import StableSet, gap_to_pass
from discreet.privacy.noise import Noise
from discreet.privacy.partition import REPLACE_ONE
from discreet.query.answer_cache import AnswerCache
from discreet.registry import (
    DPKSA,
    DPRAG,
    Adaptive,
    Consensus,
    DPRAGPure,
    DPSparseVoteRAG,
    DPVoteRAG,
    MuRAG,
    MuRAGAda,
)
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet.vault import Vault

WORDS = "x y z w who knows"
"""What the model can say. A prompt without a document says "who knows"."""
VOCABULARY = 8
QUESTIONS = ("fever", "fever again", "fever once more", "fever at last", "fever after all")
"""Everybody with a document about fever is near to each of them."""

PAIRS = (
    Pair(
        "a unit goes, the only one that says y",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: x ."], "u3": ["fever cough cough say: y ."]},
        goes="u3",
    ),
    Pair(
        "a unit goes, and another moves in",
        {
            "u1": ["fever say: x ."],
            "u2": ["fever cough say: y ."],
            "u3": ["fever cough cough say: z ."],
            "u4": ["fever cough cough cough say: z ."],
        },
        goes="u2",
    ),
    Pair(
        "a unit comes",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: x ."]},
        comes={"u3": ["fever cough cough say: x ."]},
    ),
    Pair(
        "a unit becomes another",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: x ."], "u3": ["fever cough cough say: x ."]},
        goes="u3",
        comes={"u4": ["fever cough cough say: y ."]},
    ),
    Pair(
        "a unit with three documents goes",
        {
            "u1": ["fever say: y .", "fever cough say: y .", "fever cough cough say: y ."],
            "u2": ["fever cough say: x ."],
            "u3": ["fever cough cough say: x ."],
        },
        goes="u1",
    ),
    Pair(
        "one of six goes that are equally near",
        {
            "u1": ["fever say: x ."],
            "u2": ["fever say: x ."],
            "u3": ["fever say: z ."],
            "u4": ["fever say: x ."],
            "u5": ["fever say: z ."],
            "u6": ["fever say: y ."],  # of equally near ones the first, with the key that such vaults have (pairs.py)
        },
        goes="u6",
    ),
    Pair("the only unit goes: fewer units than voters", {"u1": ["fever say: x ."]}, goes="u1"),
    Pair(
        "a unit goes; three questions, for which nobody can pay to the end",
        {"u1": ["fever say: x ."], "u2": ["fever cough say: y ."], "u3": ["fever cough cough say: z ."]},
        goes="u1",
        asked=QUESTIONS[:3],
    ),
    Pair(
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
class Setting:
    """An algorithm as it is audited.

    Attributes:
        algorithm: with its parameters.
        budget: what the ledger grants for all questions together, which is what is claimed.
        crowd: so many more units say x: what is released only if many agree needs them.
        replacing: whether a unit that becomes another costs no more than one that goes.
    """

    algorithm: Algorithm
    budget: Budget
    crowd: int = 0
    replacing: bool = True


@dataclass(frozen=True)
class AlgorithmCase:
    """An algorithm and two neighbouring vaults.

    Attributes:
        name: of the algorithm, as the command line knows it.
        setting, pair: what runs, and on what.
        corpus: how documents are searched; as the vault does, but in a broken twin.
        ledger: who pays; as it should be, but in a broken twin.
        draws: how many transcripts of each vault, unless told otherwise.
    """

    name: str
    setting: Setting
    pair: Pair
    corpus: type[SealedCorpus] = SealedCorpus
    ledger: Callable[[Budget], MemoryLedger] = MemoryLedger
    draws: int = 1000

    @property
    def inputs(self) -> str:
        """The pair."""
        return self.pair.name

    @property
    def claim(self) -> tuple[float, float]:
        """What the ledger grants; for a unit that becomes another where that is two steps, by the group property."""
        granted = self.setting.budget.epsilon, self.setting.budget.delta
        return granted if self.setting.replacing else self.pair.claim(*granted)

    def sample(self, draws: int, noise: Noise, told: Told) -> tuple[list[Key], list[Key]]:
        """So many transcripts of each vault."""
        crowd = {f"crowd {n}": ["fever say: x ."] for n in range(self.setting.crowd)}
        return self.pair.sample(crowd, lambda vault: self._transcripts(vault, draws, noise, told))

    def _transcripts(self, vault: Vault, draws: int, noise: Noise, told: Told) -> list[Key]:
        vault.components.corpus = self.corpus(vault.store, vault.embedder, vault.corpus.secret)
        model = ToyModel(WORDS.split(), default="who knows", size=VOCABULARY)
        found: list[Key] = []
        for _ in range(draws):
            found.append(self._transcript(vault, model, noise))
            told(1)
        return found

    def _transcript(self, vault: Vault, model: ToyModel, noise: Noise) -> str:
        """All that an analyst sees."""
        ledger, seen = self.ledger(self.setting.budget), list[object]()
        history = _new_history(vault)
        for question in self.pair.asked:
            try:
                answer = vault.simulate(
                    question, self.setting.algorithm, noise=noise, model=model, ledger=ledger, history=history
                )
                seen.append(answer.describe(show_public=True))
            except BudgetExhausted as refusal:
                seen.append(str(refusal))
            seen.append(ledger.budget.left(ledger.spent()))
        return json.dumps(seen)


def _new_history(vault: Vault) -> AnswerCache:
    """One without any answer."""
    path = vault.path / "audited.jsonl"
    path.unlink(missing_ok=True)
    return AnswerCache(path, vault.embedder)


def algorithm_cases(epsilon: float, names: Sequence[str] = ()) -> list[AlgorithmCase]:
    """All cases of the named algorithms (all if none is named), each for a total of `epsilon`."""
    return [
        AlgorithmCase(name, setting, pair)
        for name, setting in settings(epsilon).items()
        if not names or name in names
        for pair in PAIRS
    ]


def settings(epsilon: float) -> dict[str, Setting]:
    """Every algorithm that promises something, for a total of `epsilon`."""
    votes = {"voters": 3, "max_tokens": 2, "private_tokens": 1}
    converted, failing = Budget(epsilon, DELTA), Budget(epsilon, FAILURE, FAILURE)
    pure = Budget(epsilon, 0.0, accountant="pure")
    token = DPVoteRAG(voters=3, private_tokens=1, max_tokens=1)
    about_it = {"similarity": 0.05}  # a document without a word of the question has 0
    found: dict[str, Setting] = {
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
        "naive-multi-rag": Setting(NaiveMultiRAG(inner=token, uses=2), pure),
        "murag": Setting(MuRAG(inner=token, uses=1, **about_it), pure, replacing=False),
        "murag-ada": Setting(
            MuRAGAda(inner=token, uses=1, epsilon_threshold=epsilon / 2, highest=0.9, lowest=-0.9, bins=2, enough=2),
            pure,
            replacing=False,
        ),
    }
    return found


def _alone(algorithm: Algorithm, granted: Budget, crowd: int = 0, *, replacing: bool = True) -> Setting:
    """One that everybody pays for: what it plans to spend is all that there is."""
    plan = algorithm.plan(granted, VOCABULARY)
    return Setting(algorithm, plan.ceiling if plan else granted, crowd, replacing)


def _agreeing(algorithm: Consensus | DPKSA, granted: Budget) -> Setting:
    """One that releases what many agree on: with a crowd that, with two or three more, is heard half of the time."""
    rounds = calibrate_to_epsilon(algorithm, FAILURE, VOCABULARY)
    *_, last = algorithm.mechanisms(rounds.epsilon, rounds.delta, REPLACE_ONE, VOCABULARY)
    if isinstance(last, StableSet):
        crowd = gap_to_pass(0.5, last.sigma, last.delta) - 2
    else:
        crowd = max(0, round(last.bottom) - 3) if isinstance(last, ObservedSelection) else 0
    return _alone(replace(algorithm, voters=crowd + 3), granted, crowd)
