"""Consensus: pay once, for the whole short answer.

Every voter writes an answer of its own; answers that are the same in canonical form are votes for one; the winner
is released by one selection (privacy-spec, part 5). Where the voters agree, that buys a complete answer for what a
token or two cost otherwise. With public choices it is a selection among those, which never fails.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.canonical import canonical, check_choices, choice
from discreet.algorithms.dp_ksa import DPKSA
from discreet.algorithms.dp_sparse_vote_rag import DPSparseVoteRAG
from discreet.algorithms.ensemble import Ensemble, Rounds
from discreet.algorithms.phrasing import phrase
from discreet.errors import UnknownName, UsageError
from discreet.generation.model import LanguageModel
from discreet.privacy.change import Change
from discreet.privacy.filter import Mechanism, Priced, PrivacyFilter
from discreet.privacy.mechanisms.exponential import ExponentialMechanism, PermuteAndFlip, vote_scale
from discreet.privacy.mechanisms.histogram import NoisyHistogram
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.private import Private
from discreet.retrieval.documents import Passage
from discreet.retrieval.retriever import TOP_UNITS

FALLBACKS = ("keywords", "sparse")
MOST_CHOICES = 10_000
# So many choices are written under the question; more would leave no room for it.
_NAMED_IN_PROMPT = 20
# A budget is refused if not even what all voters say would be released so often.
_HOPELESS = 0.01


@dataclass(frozen=True, kw_only=True)
class Consensus(Ensemble):
    """Parameters: those of `Ensemble`, and more.

    Attributes:
        choices: the public answers to choose among; none: whatever the voters say.
        flip: choose among them by permute-and-flip, which never picks worse but composes worse than the exponential
            mechanism.
        vote_shares: also release how many voters there are for each choice, with noise, for half of epsilon.
        fallback: what to try with what is left if the voters do not agree, in order: "keywords" (dp-ksa, on
            the same answers), "sparse" (votes on tokens). Each stage that runs is paid, and no other.
        fallback_share: the part of epsilon that is kept for the fallback, in equal parts, if there is one.
        private_tokens: how many private tokens the stage "sparse" should afford.
        sentence: whether the released answer is put into a sentence, by the public model and for nothing.
    """

    name: ClassVar[str] = "consensus"

    epsilon: float = 2.0
    choices: tuple[str, ...] = ()
    flip: bool = False
    vote_shares: bool = False
    fallback: tuple[str, ...] = ()
    fallback_share: float = 0.5
    private_tokens: int = 4
    sentence: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("choices", "fallback"):  # a list will do
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is a sequence of texts, not one text.")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for stage in self.fallback:
            if stage not in FALLBACKS:
                raise UnknownName("fallback", stage, FALLBACKS)
        if len(set(self.fallback)) < len(self.fallback):
            raise UsageError("A fallback is tried once. Name each once.")
        if not 0 < self.fallback_share < 1:
            raise UsageError(f"fallback_share lies between 0 and 1, not {self.fallback_share}.")
        if self.choices:
            check_choices(self.choices)
            if len(self.choices) > MOST_CHOICES:
                raise UsageError(f"{len(self.choices)} choices are more than {MOST_CHOICES:,}.")
            if self.fallback:
                raise UsageError("One of the choices is always released; there is nothing to fall back to.")
        elif self.vote_shares or self.flip:
            raise UsageError("Shares of the vote, and permute-and-flip, need public choices.")

    def failures(self, delta: float) -> float:
        """All of a delta that is given for the question: one release of bounded range needs none for conversion."""
        if self.delta is None:
            return super().failures(delta)
        return 0.5 * delta if self.fallback else delta

    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Sequence[Priced]:
        """The selection of the answer; then what the fallbacks may run."""
        if not self.choices and not 0 < delta < 1:
            raise UsageError("A consensus fails with a small probability: it needs a delta above 0, or public choices.")
        found = self._stages(epsilon, delta, change)
        for stage in self.fallback:
            inner, share = self._fallback(stage)
            found += [*inner.mechanisms(share * epsilon, share * delta, change, vocabulary)] * inner.rounds
        return found

    def check(self, rounds: Rounds) -> None:
        """Refuse a budget with which not even an answer of all voters would be released."""
        selection = self._stages(rounds.epsilon, rounds.delta, TOP_UNITS)[0]
        if isinstance(selection, ObservedSelection) and selection.chance(self.voters) < _HOPELESS:
            raise UsageError(
                f"Too little for any answer: with {self.voters} voters, epsilon {rounds.epsilon:.3g} and a chance of "
                f"{rounds.delta:.2g} to fail, even an answer that all of them give would not be released. It takes "
                f"epsilon {self._needed(rounds):.2g}, or {self._voters_needed(selection)} voters."
            )

    def asked(self, question: str) -> str:
        """The question, with the choices if they are few."""
        if 0 < len(self.choices) <= _NAMED_IN_PROMPT:
            return f"{question} Choose one of: {'; '.join(self.choices)}."
        return question

    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        model: LanguageModel,
        privacy: PrivacyFilter,
        rounds: Rounds,
        known: str = "",
    ) -> Draft:
        """Answer with what most voters say, if enough do."""
        voters = self.start_voters(question, documents, model, known)
        answers, public = voters.answers()
        selection, *others = self._stages(rounds.epsilon, rounds.delta, documents.change)
        if self.choices:
            return self._choose(question, answers, model, privacy, selection, others)
        votes = answers.read(lambda answer: canonical(self.prefix + answer, question) or None, otherwise=None)
        winner = privacy.release(selection, votes)
        if winner is not None:
            return self._said(question, winner, model)
        draft = Draft(self.prefix + public, "public", len(model.encode(public)))
        for stage in self.fallback:
            inner, share = self._fallback(stage)
            each = Rounds(rounds.plan, share * rounds.epsilon, share * rounds.delta)
            if isinstance(inner, DPKSA):
                draft = inner.decide(question, answers, public, model, privacy, each, known)
            else:
                draft = inner.vote(voters, documents, model, privacy, each)
            if draft.stopped != "public":
                break
        return draft

    def _choose(
        self,
        question: str,
        answers: Private[str],
        model: LanguageModel,
        privacy: PrivacyFilter,
        selection: Mechanism[Any, Any],
        others: Sequence[Mechanism[Any, Any]],
    ) -> Draft:
        def vote(answer: str) -> int:
            named = choice(self.prefix + answer, self.choices, question)
            return -1 if named is None else named  # an abstention

        votes = answers.read(vote, otherwise=-1)
        chosen = self.choices[privacy.release(selection, votes)]
        shares = None
        for histogram in others:
            counts = privacy.release(histogram, votes)
            shares = dict(zip(self.choices, counts, strict=True))
        return Draft(chosen, "end", len(model.encode(chosen)), released=(chosen,), shares=shares)

    def _said(self, question: str, winner: str, model: LanguageModel) -> Draft:
        text = phrase(model, question, winner, self.prefix, self.max_tokens) if self.sentence else winner
        return Draft(text, "end", len(model.encode(text)), released=(winner,))

    def _stages(self, epsilon: float, delta: float, change: Change) -> list[Any]:
        """The selection of the answer, and the shares of the vote if they are wanted."""
        if not self.choices:
            share = 1 - self.fallback_share if self.fallback else 1.0
            return [ObservedSelection.calibrated(share * epsilon, share * delta, change)]
        epsilon = epsilon / 2 if self.vote_shares else epsilon
        kind = PermuteAndFlip if self.flip else ExponentialMechanism
        selection = kind(len(self.choices), vote_scale(change, epsilon))
        return [selection, *([NoisyHistogram.calibrated(epsilon, len(self.choices), change)] * self.vote_shares)]

    def _fallback(self, stage: str) -> tuple[DPKSA | DPSparseVoteRAG, float]:
        """The algorithm of a stage, and which part of epsilon and delta each of its rounds has."""
        same: dict[str, Any] = {"voters": self.voters, "max_tokens": self.max_tokens, "prefix": self.prefix}
        share = self.fallback_share / len(self.fallback)
        if stage == "keywords":
            return DPKSA(**same), share
        sparse = DPSparseVoteRAG(**same, private_tokens=self.private_tokens)
        return sparse, share / sparse.rounds

    def _needed(self, rounds: Rounds) -> float:
        """The least epsilon of a question with which an answer of all voters is released nine times in ten."""
        share = 1 - self.fallback_share if self.fallback else 1.0
        wanted = math.log(1 / (share * rounds.delta) - 1) + math.log(9)
        return 2 * wanted / max(self.voters - 1, 1) / share + rounds.plan.entry

    def _voters_needed(self, selection: ObservedSelection) -> int:
        return math.ceil(selection.bottom + selection.scale * math.log(9))
