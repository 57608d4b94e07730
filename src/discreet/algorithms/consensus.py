"""Consensus: pay once, for the whole short answer.

Every voter writes an answer of its own; answers that are the same in canonical form are votes for one; the winner
is released by one selection (privacy-spec, part 5). Where the voters agree, that buys a complete answer for what a
token or two cost otherwise. With public choices it is a selection among those, which never fails.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from discreet.algorithms.common.answer import GeneratedAnswer
from discreet.algorithms.common.ensemble import RoundBudget, VoterEnsemble
from discreet.algorithms.common.grounded_votes import NO, YES, vote
from discreet.algorithms.dp_ksa import DPKSA
from discreet.algorithms.dp_sparse_vote_rag import DPSparseVoteRAG
from discreet.algorithms.text.normalize import canonical, check_choices, choice
from discreet.algorithms.text.rephrase import phrase
from discreet.algorithms.text.yes_no_claim import claim_of
from discreet.errors import UnknownName, UsageError
from discreet.generation.capabilities import Capability
from discreet.generation.model import LanguageModel
from discreet.privacy.change import Change
from discreet.privacy.filter import Priced, PrivacyFilter
from discreet.privacy.mechanisms.exponential import ExponentialMechanism, PermuteAndFlip, vote_scale
from discreet.privacy.mechanisms.histogram import NoisyHistogram
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.retrieval.documents import Passage

FALLBACKS = ("keywords", "sparse")
MOST_CHOICES = 10_000
# So many choices are written under the question; more would leave no room for it.
_NAMED_IN_PROMPT = 20
# A budget is refused if not even what all voters say would be released so often.
_HOPELESS = 0.01


@dataclass(frozen=True, kw_only=True)
class Consensus(VoterEnsemble):
    """Parameters: those of `VoterEnsemble`, and more.

    Attributes:
        choices: the public answers to choose among; none: whatever the voters say.
        flip: choose among them by permute-and-flip, which never picks worse but composes worse than the exponential
            mechanism.
        vote_shares: also release how many voters there are for each choice, with noise, for half of epsilon.
        unsaid: the choice of a voter that has no document, or names no choice; empty: it abstains. It keeps the model
            from answering a question for which there is no document.
        grounded: whether a voter votes yes or no by its own documents and its answer to the open question,
            not by what the model thinks of yes and no. The choices are yes, no, and `unsaid`.
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
    unsaid: str = ""
    grounded: bool = False
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
            if self.unsaid and self.unsaid not in self.choices:
                raise UsageError(f"'{self.unsaid}' (unsaid) is none of the choices. Add it to them.")
            if self.grounded and (not self.unsaid or set(self.choices) != {YES, NO, self.unsaid}):
                raise UsageError(f"Grounded votes are '{YES}', '{NO}' and `unsaid`. Make these the choices.")
        elif self.vote_shares or self.flip or self.unsaid or self.grounded:
            raise UsageError(
                "Shares of the vote, permute-and-flip, `unsaid` and `grounded` need public choices. Name at least two."
            )

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

    def check(self, rounds: RoundBudget) -> None:
        """Refuse a budget with which not even an answer of all voters would be released."""
        selection = self._stages(rounds.epsilon, rounds.delta, REPLACE_ONE)[0]
        if isinstance(selection, ObservedSelection) and selection.chance(self.voters) < _HOPELESS:
            raise UsageError(
                f"Too little for any answer: with {self.voters} voter{'s' * (self.voters != 1)}, epsilon "
                f"{rounds.epsilon:.3g} for the vote and a chance of {rounds.delta:.2g} to fail, even an answer that "
                f"all of them give would not be released. It takes epsilon {self._needed(rounds):.2g}, or "
                f"{self._voters_needed(selection)} voters."
            )

    def asked(self, question: str) -> str:
        """The question, with the choices if they are few; the open question, if votes are grounded."""
        if self.grounded:
            return claim_of(question).open or question
        if 0 < len(self.choices) <= _NAMED_IN_PROMPT:
            return f"{question} Choose one of: {'; '.join(self.choices)}."
        return question

    @property
    def required(self) -> frozenset[Capability]:
        """Votes on tokens as well, if they are a fallback."""
        return self.requires | ({Capability.VOTES} if "sparse" in self.fallback else set())

    @property
    def public_choices(self) -> tuple[str, ...]:
        """The choices."""
        return self.choices

    @property
    def releases_shares(self) -> bool:
        """Whether `vote_shares` are released."""
        return self.vote_shares

    def with_choices(self, choices: tuple[str, ...], unsaid: str) -> Self:
        """Return the consensus that chooses among `choices`; itself if it has choices, a prefix or a fallback."""
        if self.choices or self.fallback or self.prefix:
            return self
        return replace(self, choices=choices, unsaid=unsaid, grounded=True)

    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        model: LanguageModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,
        known: str = "",
    ) -> GeneratedAnswer:
        """Answer with what most voters say, if enough do."""
        if self.grounded:
            return self._choose(self._grounded(question, documents, model, known), model, privacy, rounds)
        voters = self.start_voters(question, documents, model, known)
        answers, public = voters.answers()
        if self.choices:
            return self._choose(answers.read(partial(self._named, question), None), model, privacy, rounds)
        selection = self._stages(rounds.epsilon, rounds.delta, documents.change)[0]
        votes = answers.read(lambda answer: canonical(self.prefix + answer, question) or None, otherwise=None)
        winner = privacy.release(selection, votes)
        if winner is not None:
            # Compared after the release, with a text that was made without documents: both are public.
            same = winner == canonical(self.prefix + public, question)
            return self._said(question, winner, model, public if same else "")
        draft = GeneratedAnswer.unreleased(self.prefix + public, len(model.encode(public)))
        for stage in self.fallback:
            inner, share = self._fallback(stage)
            each = RoundBudget(rounds.plan, share * rounds.epsilon, share * rounds.delta)
            if isinstance(inner, DPKSA):
                draft = inner.decide(question, answers, public, model, privacy, each, known)
            else:
                draft = inner.vote(voters, documents, model, privacy, each)
            if draft.stopped != "public":
                break
        return draft

    def _named(self, question: str, answer: str) -> str | None:
        """The choice that an answer names."""
        number = choice(self.prefix + answer, self.choices, question)
        return None if number is None else self.choices[number]

    def _grounded(
        self, question: str, documents: Private[tuple[Passage, ...]], model: LanguageModel, known: str
    ) -> Private[str | None]:
        """Yes, no, or nothing: what each voter makes of the claim. The model is asked only if the claim needs it."""
        claim = claim_of(question)
        if not claim.open:
            return documents.read(lambda own: vote(claim, [passage.text for passage in own]) or None, None)
        shares, _ = self.start_voters(question, documents, model, known).grounded()
        return shares.read(lambda share: vote(claim, *share) or None, None)

    def _choose(
        self, named: Private[str | None], model: LanguageModel, privacy: PrivacyFilter, rounds: RoundBudget
    ) -> GeneratedAnswer:
        """Release the choice that most voters name, or `unsaid` for those that name none."""
        other = self.choices.index(self.unsaid) if self.unsaid else -1  # -1: an abstention
        votes = named.map(lambda one: other if one is None else self.choices.index(one))
        selection, *others = self._stages(rounds.epsilon, rounds.delta, named.change)
        chosen = self.choices[privacy.release(selection, votes)]
        shares = None
        for histogram in others:
            counts = privacy.release(histogram, votes)
            shares = dict(zip(self.choices, counts, strict=True))
        return GeneratedAnswer(chosen, "end", len(model.encode(chosen)), released=(chosen,), shares=shares)

    def _said(self, question: str, winner: str, model: LanguageModel, public: str) -> GeneratedAnswer:
        text = phrase(model, question, winner, self.prefix, self.max_tokens) if self.sentence else winner
        return GeneratedAnswer(text, "end", len(model.encode(text)), released=(winner,), public_text=public)

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

    def _needed(self, rounds: RoundBudget) -> float:
        """The least epsilon of a question with which an answer of all voters is released nine times in ten."""
        share = 1 - self.fallback_share if self.fallback else 1.0
        wanted = math.log(1 / (share * rounds.delta) - 1) + math.log(9)
        return 2 * wanted / max(self.voters - 1, 1) / share + rounds.plan.selection_epsilon

    def _voters_needed(self, selection: ObservedSelection) -> int:
        return math.ceil(selection.bottom + selection.scale * math.log(9))
