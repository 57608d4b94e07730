"""Audits of all methods of synthesis, from the store to the file, on two neighbouring vaults.

As for algorithms (algorithms.py), the vaults are real ones in a temporary folder, with a toy language model. The
outcome is all that leaves the vault: every text that was written, kept or not, the receipt, and the budget that is left
for every unit.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.models.toy import LOUD, ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import Noise
from discreet.store.vectors import LARGEST
from discreet.synthesis.aug_pe import AugPE
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_facts import DPFacts, FactsPlan
from discreet.synthesis.dp_synrag import DPSynRAG, SynRAGPlan
from discreet.synthesis.dp_synth import DPSynth
from discreet.synthesis.runner import METHODS
from discreet.vault import Vault
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.case import FAILURE, ProgressCallback, VaultPair

WORDS = "x y z who knows"
"""The words of the model. Its answer to a prompt without a document is "who knows"."""
VOCABULARY = 16
GLOOP = "gloopgloopgloop say: {} ."
"""A document. Its longest word is its topic."""
RASH = "rashrashrashrash say: {} ."
OTHERS = {"other": ["other say: z ."], "somebody": ["somebody say: z ."]}
"""Further units, so that there are always enough to begin."""
WORDS_OF_UNITS = 8
"""The words that units bring together, at most: a word and a fact each, and units of a crowd bring the same."""

PAIRS = (
    VaultPair("one of those that agree goes", {"u1": [GLOOP.format("x")]}, goes="u1"),
    VaultPair("a unit goes that says something else", {"u1": [GLOOP.format("y")]}, goes="u1"),
    VaultPair(
        "a unit comes that is about something else", {"u1": [GLOOP.format("x")]}, comes={"u2": [RASH.format("y")]}
    ),
    VaultPair(
        "a unit with three documents goes",
        {"u1": [GLOOP.format("y"), RASH.format("x"), GLOOP.format("z")], "u2": [GLOOP.format("y")]},
        goes="u1",
    ),
    VaultPair("a unit becomes another", {"u1": [GLOOP.format("x")]}, goes="u1", comes={"u2": [GLOOP.format("y")]}),
)


class SmallFacts(DPFacts):
    """DP-Facts with small calls for noise: what a call of the usual size leaves over takes half of an audit's time."""

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> FactsPlan:
        """Return the steps for few words."""
        plan = super().steps(rho, delta, dimension, length)
        few = plan.counts.of_units(WORDS_OF_UNITS), plan.stated.of_units(WORDS_OF_UNITS)
        return replace(plan, counts=few[0], stated=few[1])


class SmallSynRAG(DPSynRAG):
    """DP-SynRAG with small calls for noise."""

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> SynRAGPlan:
        """Return the steps for few words."""
        plan = super().steps(rho, delta, dimension, length)
        return replace(plan, counts=plan.counts.of_units(WORDS_OF_UNITS))


@dataclass(frozen=True)
class CorpusCase:
    """A method and two neighbouring vaults.

    Attributes:
        name: the name of the method.
        method: the method, with its parameters.
        crowd: the number of further units that agree. A value that needs the agreement of many units needs them.
        pair: the two inputs.
        draws: the default number of corpora of each vault.
    """

    name: str
    method: SynthesisAlgorithm[Any]
    crowd: int
    pair: VaultPair
    draws: int = 400

    @property
    def inputs(self) -> str:
        """The name of the pair."""
        return self.pair.name

    @property
    def claim(self) -> tuple[float, float]:
        """The cost of all steps of the plan together, at the requested delta."""
        delta = _granted(self.method).delta
        return self.pair.claim(Spending.of(_plan(self.method).cost).epsilon(delta), delta)

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[list[Key], list[Key]]:
        """Return the outcomes of `draws` corpora of each vault."""
        crowd = {f"crowd {n}": [GLOOP.format("x")] for n in range(self.crowd)}
        return self.pair.sample({**crowd, **OTHERS}, lambda vault: self._corpora(vault, draws, noise, on_progress))

    def _corpora(self, vault: Vault, draws: int, noise: Noise, on_progress: ProgressCallback) -> list[Key]:
        model = ToyModel(WORDS.split(), default="who knows", size=VOCABULARY)
        vault = Vault.open(vault.path, model=model, embedder=vault.embedder, store=vault.store)
        keys: list[Key] = []
        for _ in range(draws):
            keys.append(self._corpus(vault, noise))
            on_progress(1)
        return keys

    def _corpus(self, vault: Vault, noise: Noise) -> str:
        """Return all that leaves the vault, as JSON."""
        ledger = MemoryLedger(_granted(self.method), simulation=True)
        shop = vault.workshop(noise, ledger)
        corpus = shop.make(self.method)
        shop.finish(corpus)
        texts = [[text.text, text.keyword, text.kept] for text in corpus.texts]
        return json.dumps([texts, corpus.receipt.describe(), corpus.plan, ledger.budget.left(ledger.spent())])


def corpus_cases(epsilon: float, names: Sequence[str] = ()) -> list[CorpusCase]:
    """Return all cases of the named methods (all if none is named), each for a price of `epsilon`."""
    return [
        CorpusCase(name, method, crowd, pair)
        for name, (method, crowd) in corpora(epsilon).items()
        if not names or name in names
        for pair in PAIRS
    ]


def corpora(epsilon: float) -> dict[str, tuple[SynthesisAlgorithm[Any], int]]:
    """Return all methods for a price of `epsilon`, each with the size of its crowd.

    The crowd is so large that its common value is released about half of the time.
    """
    price: dict[str, Any] = {"epsilon": epsilon, "delta": FAILURE}
    facts = SmallFacts(**price, keywords=1, facts=1, tokens=4, text_tokens=16)
    synrag = SmallSynRAG(**price, keywords=1, tokens=2, wanted=2, text_tokens=16)
    # A temperature so high that the toy model's texts differ.
    evolving = AugPE(**price, about="a cure", texts=3, variations=5, generations=2, tokens=3, temperature=9.0)
    alone = DPSynth(**price, subsets=1, tokens=2, text_tokens=16)
    by_name: dict[str, tuple[SynthesisAlgorithm[Any], int]] = {
        "dp-synrag": (synrag, _plan(synrag).counts.threshold - 1),
        "dp-facts": (facts, _plan(facts).counts.threshold - 1),
        # One unit fewer than outweigh the toy model's own answer.
        "dp-synth": (alone, round(LOUD / (2 * _plan(alone).clip)) - 1),
        "aug-pe": (evolving, 4),
    }
    assert set(by_name) == set(METHODS)
    return by_name


def _plan(method: SynthesisAlgorithm[Any]) -> Any:
    return method.plan(_granted(method), Spending.nothing(), 64, LARGEST)


def _granted(method: SynthesisAlgorithm[Any]) -> Budget:
    """Return a grant above the plan's own budget. The plan's cost adds up to slightly more at the grant's order."""
    assert method.delta is not None
    return Budget(2 * method.epsilon + 1, method.delta, 0.5 * method.delta)
