"""Every method of making a synthetic corpus, from the store to the file, on two neighbouring vaults.

As with algorithms (algorithms.py), the vaults are real ones in a temporary folder, with a toy language model. What is
audited is all that leaves the vault: every text that was written, kept or not, the receipt, and what is left to
everybody.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.attacks.bounds import Key
from discreet.audit.case import FAILURE, Told
from discreet.audit.pairs import Pair
from discreet.generation.toy import LOUD, ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import Noise
from discreet.retrieval.vectors import LARGEST
from discreet.synthesis.aug_pe import AugPE
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_facts import DPFacts
from discreet.synthesis.dp_synrag.parameters import DPSynRAG
from discreet.synthesis.dp_synth import DPSynth
from discreet.synthesis.runner import METHODS
from discreet.vault import Vault

WORDS = "x y z who knows"
"""What the model can say. A prompt without a document says "who knows"."""
VOCABULARY = 16
GLOOP = "gloopgloopgloop say: {} ."
"""A document, whose longest word is what it is about."""
RASH = "rashrashrashrash say: {} ."
OTHERS = {"other": ["other say: z ."], "somebody": ["somebody say: z ."]}
"""With them there are always enough units to begin."""

PAIRS = (
    Pair("one of those that agree goes", {"u1": [GLOOP.format("x")]}, goes="u1"),
    Pair("a unit goes that says something else", {"u1": [GLOOP.format("y")]}, goes="u1"),
    Pair("a unit comes that is about something else", {"u1": [GLOOP.format("x")]}, comes={"u2": [RASH.format("y")]}),
    Pair(
        "a unit with three documents goes",
        {"u1": [GLOOP.format("y"), RASH.format("x"), GLOOP.format("z")], "u2": [GLOOP.format("y")]},
        goes="u1",
    ),
    Pair("a unit becomes another", {"u1": [GLOOP.format("x")]}, goes="u1", comes={"u2": [GLOOP.format("y")]}),
)


@dataclass(frozen=True)
class CorpusCase:
    """A method and two neighbouring vaults.

    Attributes:
        name: of the method.
        method: with its parameters.
        crowd: so many more units agree: what is released only if many agree needs them.
        pair: on what it runs.
        draws: how many corpora of each vault, unless told otherwise.
    """

    name: str
    method: SynthesisAlgorithm[Any]
    crowd: int
    pair: Pair
    draws: int = 400

    @property
    def inputs(self) -> str:
        """The pair."""
        return self.pair.name

    @property
    def claim(self) -> tuple[float, float]:
        """What the steps of the plan cost together, at the delta that was asked for."""
        delta = _granted(self.method).delta
        return self.pair.claim(Spending.of(_plan(self.method).cost).epsilon(delta), delta)

    def sample(self, draws: int, noise: Noise, told: Told) -> tuple[list[Key], list[Key]]:
        """So many corpora of each vault."""
        crowd = {f"crowd {n}": [GLOOP.format("x")] for n in range(self.crowd)}
        return self.pair.sample({**crowd, **OTHERS}, lambda vault: self._corpora(vault, draws, noise, told))

    def _corpora(self, vault: Vault, draws: int, noise: Noise, told: Told) -> list[Key]:
        model = ToyModel(WORDS.split(), default="who knows", size=VOCABULARY)
        vault = Vault.open(vault.path, model=model, embedder=vault.embedder, store=vault.store)
        found: list[Key] = []
        for _ in range(draws):
            found.append(self._corpus(vault, noise))
            told(1)
        return found

    def _corpus(self, vault: Vault, noise: Noise) -> str:
        """All that leaves the vault."""
        ledger = MemoryLedger(_granted(self.method), simulation=True)
        shop = vault.workshop(noise, ledger)
        made = shop.make(self.method)
        shop.finish(made)
        texts = [[text.text, text.keyword, text.kept] for text in made.texts]
        return json.dumps([texts, made.receipt.describe(), made.plan, ledger.budget.left(ledger.spent())])


def corpus_cases(epsilon: float, names: Sequence[str] = ()) -> list[CorpusCase]:
    """All cases of the named methods (all if none is named), each for a price of `epsilon`."""
    return [
        CorpusCase(name, method, crowd, pair)
        for name, (method, crowd) in corpora(epsilon).items()
        if not names or name in names
        for pair in PAIRS
    ]


def corpora(epsilon: float) -> dict[str, tuple[SynthesisAlgorithm[Any], int]]:
    """Every method for a price of `epsilon`, with so many units that what they say is heard about half of the time."""
    price: dict[str, Any] = {"epsilon": epsilon, "delta": FAILURE}
    facts = DPFacts(**price, keywords=1, facts=1, tokens=4, text_tokens=16)
    synrag = DPSynRAG(**price, keywords=1, tokens=2, wanted=2, text_tokens=16)
    # So hot that the toy model's texts differ.
    evolving = AugPE(**price, about="a cure", texts=3, variations=5, generations=2, tokens=3, temperature=9.0)
    alone = DPSynth(**price, subsets=1, tokens=2, text_tokens=16)
    found: dict[str, tuple[SynthesisAlgorithm[Any], int]] = {
        "dp-synrag": (synrag, _plan(synrag).counts.threshold - 1),
        "dp-facts": (facts, _plan(facts).counts.threshold - 1),
        # As many as outweigh what the toy model says by itself, but for one.
        "dp-synth": (alone, round(LOUD / (2 * _plan(alone).clip)) - 1),
        "aug-pe": (evolving, 4),
    }
    assert set(found) == set(METHODS)
    return found


def _plan(method: SynthesisAlgorithm[Any]) -> Any:
    return method.plan(_granted(method), Spending.nothing(), 64, LARGEST)


def _granted(method: SynthesisAlgorithm[Any]) -> Budget:
    """A plan fills a budget of its own; the order at which this one adds up costs a little more."""
    assert method.delta is not None
    return Budget(2 * method.epsilon + 1, method.delta, 0.5 * method.delta)
