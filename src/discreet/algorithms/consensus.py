"""Consensus: one payment for the whole short answer.

Each voter writes an answer. Answers with the same canonical form are votes for one candidate. One selection releases
the winner (privacy-spec, part 5). If the voters agree, the whole answer costs as much as one or two tokens of a vote on
tokens. With public choices the selection is among these choices, and it never fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

from discreet.algorithms.base import GeneratedAnswer, Input, Support
from discreet.algorithms.consensus_release import (
    ChoiceRelease,
    OpenRelease,
    OpenSelection,
    Proposing,
    best_chance,
    comes_and_goes,
    count_after,
    counts_votes,
    heard_candidates,
    release_answers,
    voters_needed,
)
from discreet.algorithms.dp_ksa import DPKSA
from discreet.algorithms.dp_vote_rag import DPSparseVoteRAG
from discreet.algorithms.ensemble import RoundBudget, VoterConfig, VoterEnsemble
from discreet.algorithms.text.attributes import attribute_asked, attribute_in_question, matches
from discreet.algorithms.text.normalize import (
    candidates_of,
    canonical,
    check_choices,
    choice,
    claim_of,
    content,
    named_candidate,
    shared_words,
    without_choices,
)
from discreet.algorithms.text.phrases import NO, YES, is_about, vote
from discreet.algorithms.text.writing import fitting_window, phrase
from discreet.errors import UnknownName, UsageError
from discreet.models.capabilities import Capability
from discreet.models.protocol import VotingModel
from discreet.models.voters import VoterBatch
from discreet.privacy.filter import Priced, PrivacyFilter
from discreet.privacy.mechanisms.leader import MOST_CANDIDATES
from discreet.privacy.mechanisms.order_selection import Prices
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Change, Private
from discreet.store.codebook import Codebook
from discreet.store.documents import Passage
from discreet.store.sealed_corpus import Asked, SealedCorpus

Answers = tuple[Private[tuple[tuple[str, ...], str]], str]
"""The answer of each voter with its texts, and the public answer."""
_FALLBACKS = ("keywords", "sparse")
_MOST_CHOICES = 10_000
_MOST_PROPOSED = 100


def _check_parameters(given: "Consensus") -> None:
    """Refuse parameters that contradict each other.

    Raises:
        UsageError: if they do, or if one is out of range.
    """
    for stage in given.fallback:
        if stage not in _FALLBACKS:
            raise UnknownName("fallback", stage, _FALLBACKS)
    if len(set(given.fallback)) < len(given.fallback):
        raise UsageError(f"A fallback is named twice: {', '.join(given.fallback)}. Name each once.")
    if not 0 < given.fallback_share < 1:
        raise UsageError(f"fallback_share lies between 0 and 1, not {given.fallback_share}.")
    if given.readings and (given.fallback or given.prefix):
        raise UsageError("What was read before has no fallback and no prefix. Leave them out, or ask the model.")
    if len(given.propose) > _MOST_PROPOSED:
        raise UsageError(f"{len(given.propose)} proposed answers are more than {_MOST_PROPOSED}. Propose fewer.")
    if given.choices:
        if given.with_count:
            raise UsageError(
                "Among choices, --vote-shares releases the votes, for half of the price. Leave out --with-count."
            )
        if given.propose:
            raise UsageError("With choices, no other answer can be released. Leave out `propose` or the choices.")
        check_choices(given.choices)
        if len(given.choices) > _MOST_CHOICES:
            raise UsageError(f"{len(given.choices)} choices are more than {_MOST_CHOICES:,}.")
        if given.fallback:
            raise UsageError(
                "With choices, one of them is always released, so a fallback never runs. Leave out one of both."
            )
        if given.unsaid and given.unsaid not in given.choices:
            raise UsageError(f"'{given.unsaid}' (unsaid) is not among the choices. Add it to them.")
        if given.grounded and (not given.unsaid or set(given.choices) != {YES, NO, given.unsaid}):
            raise UsageError(f"Grounded votes are '{YES}', '{NO}' and `unsaid`. Make these the choices.")
    elif given.vote_shares or given.flip or given.unsaid:
        raise UsageError("Shares of the vote, permute-and-flip and `unsaid` need public choices. Name at least two.")


# The prompt lists at most so many choices. More would leave no room for the question.
_NAMED_IN_PROMPT = 20
# A budget is refused if even a unanimous answer would be released with a smaller probability.
_HOPELESS = 0.01
# The choice of a voter without documents, if votes come and go.
_ABSENT = ""
# The number of a vote for no choice.
_ABSTAINS = -1


@dataclass(frozen=True, kw_only=True)
class PassageConfig(VoterConfig):
    """Parameters of voters: those of `VoterConfig`, and one more.

    Attributes:
        passage_tokens: the public number of tokens of the window of a unit's passage that fits the question, which is
            read in place of the passage's beginning; 0 for the beginning. Fewer tokens take less time.
    """

    passage_tokens: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passage_tokens < 0:
            raise UsageError(f"passage_tokens is at least 1, or 0 for no window, not {self.passage_tokens}. Try 64.")
        if self.passage_tokens and self.document_tokens:
            raise UsageError(
                f"document_tokens ({self.document_tokens}) reads the beginning of a passage, and passage_tokens "
                f"({self.passage_tokens}) a window of it. Leave out one of both."
            )

    @property
    def text_tokens(self) -> int:
        """The public number of tokens for a unit's passage, or for its window."""
        return self.passage_tokens or super().text_tokens

    def reader(self, question: str, model: VotingModel) -> Callable[[str], Sequence[int]]:
        """Return a function from a passage to its tokens, or to those of the window that fits the question."""
        if not self.passage_tokens:
            return super().reader(question, model)
        return partial(fitting_window, model.encode, question, tokens=self.passage_tokens)


@dataclass(frozen=True, kw_only=True)
class Consensus(PassageConfig, VoterEnsemble):
    """Parameters: those of `VoterEnsemble` and `PassageConfig`, and more.

    Attributes:
        choices: the public answers to choose among. If empty, the candidates are the answers of the voters.
        flip: whether to choose by permute-and-flip. Its error is never larger than that of the exponential mechanism,
            but it composes worse.
        vote_shares: whether to release the noisy number of votes for each choice as well, for half of epsilon.
        unsaid: the choice of a voter that has no document or names no choice. If empty, such a voter abstains. It keeps
            the model from answering a question for which no document exists.
        grounded: whether a voter's vote rests on its own documents. Without choices, it is the longest run of words of
            its answer that stands in its documents (`text.shared_words`). With the choices yes, no and `unsaid`, it is
            yes or no by its documents and its answer to the open question, and not by the model's own yes or no.
        leader: whether the answer is selected by the leader's law, which needs half of the votes (`mechanisms.leader`),
            if there are at most `MOST_LEADER_VOTERS` voters, and its epsilon is at most 8.
        propose: public answers that are candidates before a voter votes, at most 20 with different canonical forms. A
            candidate needs about half of the votes that another answer needs. With probability 0.02 at most, one that
            no voter gave is released. They are heard where votes come and go, or the leader's law is proved with them.
        counts: whether an answer is released by counts with Gaussian noise, if votes come and go. `murag` and its kin
            choose the release by the price.
        curve: whether `murag` and its kin may release by the curve that is best at the vault's order. It needs the
            fewest votes in a stream, and counts none: it says how many units said so at least.
        with_count: whether the number of units that gave a released answer is released, too. If the release does not
            count by itself, noise of a standard deviation of 4 is added. The count is paid if an answer is released,
            and cannot be bought later.
        fallback: the stages to try in order with the remaining budget if the voters do not agree: "keywords" (dp-ksa,
            on the same answers), "sparse" (votes on tokens). Only stages that run are paid.
        fallback_share: the part of epsilon for the fallback, in equal parts for its stages. Unused without a fallback.
        private_tokens: the number of private tokens that the stage "sparse" should afford.
        sentence: whether the public model puts the released answer into a sentence. This costs nothing.
        readings: whether a voter's answer is what was read of its documents before (`discreet code`): the value of the
            statement that fits the question best. No model is asked then, and the answer is in no sentence.
    """

    name: ClassVar[str] = "consensus"

    epsilon: float = 1.0
    choices: tuple[str, ...] = ()
    flip: bool = False
    vote_shares: bool = False
    unsaid: str = ""
    grounded: bool = False
    leader: bool = True
    propose: tuple[str, ...] = ()
    counts: bool = False
    fallback: tuple[str, ...] = ()
    fallback_share: float = 0.5
    private_tokens: int = 4
    sentence: bool = True
    readings: bool = False
    curve: bool = True
    with_count: bool = False
    prices: Prices = field(default=(), metadata={"hidden": True})

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("choices", "propose", "fallback"):  # accepts a list, too
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is a sequence of texts, not one text.")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        _check_parameters(self)
        inputs = {Input.PASSAGES, Input.READINGS if self.readings else Input.MODEL}
        inputs |= {Input.PROPOSALS} if self.hears_candidates(REPLACE_ONE) else set()
        needed = type(self).spec.capabilities | ({Capability.VOTES} if "sparse" in self.fallback else set())
        self.declare(
            capabilities=needed, inputs=frozenset(inputs), choices=self.choices, counts_choices=self.vote_shares
        )

    def failures(self, delta: float) -> float:
        """Return the part of a question's delta that the mechanisms may use.

        If the question has a delta of its own, it is all of it: one release of bounded range needs none for conversion.
        A fallback needs the other half.
        """
        if self.delta is None:
            return super().failures(delta)
        return 0.5 * delta if self.fallback else delta

    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Sequence[Priced]:
        """Return the mechanisms of a question: the selection of the answer, and then those of the fallbacks.

        Raises:
            UsageError: if there are no public choices, and delta is 0.
        """
        if not self.choices and not 0 < delta < 1:
            raise UsageError(
                f"Without public choices, consensus needs a delta between 0 and 1, not {delta:g}. "
                "Raise delta, or give choices."
            )
        mechanisms = self._stages(epsilon, delta, change)
        for stage in self.fallback:
            inner, share = self._fallback(stage)
            mechanisms += [*inner.mechanisms(share * epsilon, share * delta, change, vocabulary)] * inner.rounds.wanted
        return mechanisms

    def check(self, rounds: RoundBudget) -> None:
        """Refuse a budget that would not release even a unanimous answer.

        Raises:
            UsageError: if the budget is too small. The message names the epsilon or the number of voters that suffices.
                Or if a count is wanted where votes are replaced, and would cost more than the answer.
        """
        if self.with_count and not comes_and_goes(rounds.change):
            raise UsageError(
                "A count is bought where each unit that votes comes or goes by itself: with murag or murag-ada, and a "
                "vault in which units pay. Leave out --with-count. Nothing was paid."
            )
        selection = self._stages(rounds.epsilon, rounds.delta, rounds.change)[0]
        if not isinstance(selection, OpenSelection):
            return
        if best_chance(selection, self.voters, self.propose[:MOST_CANDIDATES]) < _HOPELESS:
            given, vote_alone = f"{rounds.plan.ceiling.epsilon + _entry(rounds):.3g}", f"{rounds.epsilon:.3g}"
            of_it = f" ({vote_alone} of it for the vote)" if vote_alone != given else ""
            raise UsageError(
                f"Too little for any answer: with {self.voters} voter{'s' * (self.voters != 1)}, epsilon "
                f"{given}{of_it} and a failure probability of {rounds.delta:.2g}, even a unanimous "
                f"answer would not be released. It takes epsilon {self._needed(rounds):.2g}, or "
                f"{voters_needed(selection)} voters."
            )

    def asked(self, question: str) -> str:
        """Return the question for the voters: with few choices, or the open question for grounded votes."""
        if self.grounded and self.choices:
            return claim_of(question).open or question
        if 0 < len(self.choices) <= _NAMED_IN_PROMPT:
            return f"{question} Choose one of: {'; '.join(self.choices)}."
        return question

    @property
    def abstains(self) -> bool:
        """Whether a voter without documents abstains. In a vote on tokens it says the public token."""
        return all(stage == "keywords" and self._fallback(stage)[0].abstains for stage in self.fallback)

    def releases(self) -> tuple[VoterEnsemble, ...]:
        """Return itself with counts, and with a selection; itself alone if there are public choices."""
        return (self,) if self.choices else (replace(self, counts=True), replace(self, counts=False))

    def at_prices(self, prices: Prices) -> Self | None:
        """Return itself with the curve that costs so much for an epsilon of 1; None if it may have none."""
        return replace(self, prices=prices) if self.curve and not self.choices and not self.fallback else None

    def bought_later(self) -> Sequence[Priced]:
        """Return the count of an answer, if it is asked for."""
        return (count_after(),) if self.with_count else ()

    def units_needed(self, rounds: RoundBudget) -> int:
        """Return the number of units of which 60 % release an answer nine times in ten, the others with one rival."""
        selection = self._stages(rounds.epsilon, rounds.delta, rounds.change)[0]
        if isinstance(selection, OpenSelection):
            return self._open.units_needed(selection)
        return self._choice.units_needed(selection)

    def with_choices(self, choices: tuple[str, ...], unsaid: str) -> Self:
        """Return the consensus that chooses among `choices`; itself if it has choices, a prefix or a fallback."""
        if self.choices or self.fallback or self.prefix:
            return self
        return replace(self, choices=choices, unsaid=unsaid, grounded=True, propose=())

    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,
        known: str = "",
    ) -> GeneratedAnswer:
        """Return the answer that most voters gave, if enough voters agree."""
        if self.grounded and self.choices:
            return self._choose(self._grounded(question, documents, model, known), model, privacy, rounds)
        voters, (shares, public) = self._ask(question, documents, model, known)
        answers = shares.map(lambda share: share[1])
        if self.choices:
            goes = comes_and_goes(shares.change)
            named = shares.read(
                lambda share: _ABSENT if goes and not share[0] else self._named(question, share[1]), None
            )
            return self._choose(named, model, privacy, rounds)
        selection, *after = self._stages(rounds.epsilon, rounds.delta, documents.change)
        if isinstance(selection, Proposing):
            selection = selection.with_candidates(self._candidates(question))
        released, support = release_answers(selection, self._votes(question, shares, selection), after, privacy)
        if released:
            # The comparison is post-processing: answers are released, and `public` was written without documents.
            same = released == (self._vote(question, (public,), public),)
            return self._said(question, released, model, public if same else "", support)
        draft = GeneratedAnswer.unreleased(self.prefix + public, len(model.encode(public)))
        for stage in self.fallback:
            inner, share = self._fallback(stage)
            each = RoundBudget(rounds.plan, share * rounds.epsilon, share * rounds.delta)
            if isinstance(inner, DPKSA):
                draft = inner.decide(question, answers, public, model, privacy, each, known)
            else:
                assert voters is not None  # no fallback without a model
                draft = inner.vote(voters, documents, model, privacy, each)
            if draft.stopped != "public":
                break
        return draft

    def look_up(
        self, question: str, documents: Private[tuple[Passage, ...]], corpus: SealedCorpus
    ) -> Private[tuple[Passage, ...]]:
        """Return the documents, with their statements that fit the question if these are the answers."""
        if not self.readings:
            return documents
        plain = self.asked(question) if self.grounded else without_choices(question, self.choices)
        return look_up_statements(plain, documents, corpus)

    def _ask(
        self, question: str, documents: Private[tuple[Passage, ...]], model: VotingModel, known: str
    ) -> tuple[VoterBatch | None, Answers]:
        """Return the voters, and their answers with their documents; without a model, what was read before."""
        if self.readings:
            return None, stated_answers(documents)
        voters = self.start_voters(question, documents, model, known)
        return voters, voters.grounded(continued="sparse" in self.fallback)

    def with_readings(self) -> Self:
        """Return the consensus that votes by what was read before; itself if it has a prefix or a fallback."""
        return self if self.fallback or self.prefix else replace(self, readings=True)

    def hears_candidates(self, change: Change) -> bool:
        """Return whether public answers can be candidates of the vote if units change it like this."""
        return not self.choices and self._open.hears_candidates(change)

    def with_candidates(self, answers: tuple[str, ...]) -> Self:
        """Return the consensus with public answers as candidates, after its own."""
        return replace(self, propose=tuple(dict.fromkeys((*self.propose, *answers)))[:_MOST_PROPOSED])

    def _candidates(self, question: str) -> tuple[str, ...]:
        """Return the public candidates in the form of votes."""
        return candidates_of(self.propose, lambda text: self._vote(question, (text,), text), question, MOST_CANDIDATES)

    def _votes(
        self, question: str, shares: Private[tuple[tuple[str, ...], str]], selection: OpenSelection
    ) -> Private[str | None]:
        """Return each voter's vote; None is an abstention. If votes come and go, a voter without documents abstains."""
        goes = comes_and_goes(shares.change)
        candidates = heard_candidates(selection)

        def vote(share: tuple[tuple[str, ...], str]) -> str | None:
            if goes and not share[0]:
                return None
            own = self._vote(question, *share)
            said = own if self.grounded else self.prefix + share[1]
            return named_candidate(own, said, candidates, question) or None

        return shares.read(vote, otherwise=None)

    def _vote(self, question: str, texts: Sequence[str], answer: str) -> str:
        """Return one voter's vote: a function of the question, its documents and its answer alone."""
        if self.grounded:
            return shared_words(answer, texts, question)
        return canonical(self.prefix + answer, question)

    def _named(self, question: str, answer: str) -> str | None:
        """Return the choice that `answer` names; None if it names no choice."""
        number = choice(self.prefix + answer, self.choices, question)
        return None if number is None else self.choices[number]

    def _grounded(
        self, question: str, documents: Private[tuple[Passage, ...]], model: VotingModel, known: str
    ) -> Private[str | None]:
        """Return each voter's vote on the claim: yes, no, or None. The model is called only if the claim needs it."""
        claim = claim_of(question)
        if claim.open:
            _, (shares, _) = self._ask(question, documents, model, known)
        else:
            shares = documents.map(lambda own: (tuple(passage.text for passage in own), ""))
        goes = comes_and_goes(documents.change)

        def read(share: tuple[tuple[str, ...], str]) -> str | None:
            decides = bool(share[0]) and is_about(claim, share[0])
            return _ABSENT if goes and not decides else vote(claim, *share) or None

        return shares.read(read, None)

    def _choose(
        self, named: Private[str | None], model: VotingModel, privacy: PrivacyFilter, rounds: RoundBudget
    ) -> GeneratedAnswer:
        """Release the choice that most voters name. A voter that names no choice votes for `unsaid`."""
        numbers: dict[str | None, int] = {name: number for number, name in enumerate(self.choices)}
        numbers[None] = numbers[self.unsaid] if self.unsaid else _ABSTAINS
        numbers[_ABSENT] = _ABSTAINS
        votes = named.map(lambda one: numbers[one])
        selection, *others = self._stages(rounds.epsilon, rounds.delta, named.change)
        chosen = self.choices[privacy.release(selection, votes)]
        shares = None
        for histogram in others:
            counts = privacy.release(histogram, votes)
            shares = dict(zip(self.choices, counts, strict=True))
        return GeneratedAnswer(chosen, "end", len(model.encode(chosen)), released=(chosen,), shares=shares)

    def _said(
        self, question: str, released: tuple[str, ...], model: VotingModel, public: str, support: Support | None
    ) -> GeneratedAnswer:
        if self.sentence and not self.readings and len(released) == 1:
            text = phrase(model, question, released[0], self.prefix, self.max_tokens)
        else:
            text = "; ".join(released)
        tokens = len(model.encode(text))
        return GeneratedAnswer(text, "end", tokens, released=released, support=support, public_text=public)

    def _stages(self, epsilon: float, delta: float, change: Change) -> list[Any]:
        """Return the selection of the answer, and the counts of votes that are released with it or after it."""
        if self.choices:
            return self._choice.mechanisms(epsilon, change)
        selection = self._open.selection(self._share * epsilon, self._share * delta, change)
        return [selection, *(self.bought_later() if comes_and_goes(change) and not counts_votes(selection) else ())]

    @property
    def _share(self) -> float:
        """The part of epsilon and delta for the selection of the answer; the rest is for the fallbacks."""
        return 1 - self.fallback_share if self.fallback else 1.0

    @property
    def _open(self) -> OpenRelease:
        return OpenRelease(self.voters, self.leader, self.counts, self.prices)

    @property
    def _choice(self) -> ChoiceRelease:
        return ChoiceRelease(self.choices, self.unsaid, self.flip, self.vote_shares)

    def _fallback(self, stage: str) -> tuple[DPKSA | DPSparseVoteRAG, float]:
        """Return the algorithm of a stage, and the part of epsilon and delta that each of its rounds has."""
        same: dict[str, Any] = {"voters": self.voters, "max_tokens": self.max_tokens, "prefix": self.prefix}
        share = self.fallback_share / len(self.fallback)
        if stage == "keywords":
            return DPKSA(**same), share
        sparse = DPSparseVoteRAG(**same, private_tokens=self.private_tokens)
        return sparse, share / sparse.rounds.wanted

    def _needed(self, rounds: RoundBudget) -> float:
        """Return an epsilon of a question that releases a unanimous answer with probability 0.9."""
        needed = self._open.epsilon_needed(self._share * rounds.delta, rounds.change) / self._share
        if comes_and_goes(rounds.change):  # the counts are a part of the price
            return needed * rounds.plan.ceiling.epsilon / rounds.epsilon
        return needed + _entry(rounds)


def _entry(rounds: RoundBudget) -> float:
    """Return the epsilon of the retrieval, which is paid beside the ceiling; 0 if the counts are a part of it."""
    selected = rounds.plan.selection
    return float(selected.curve[-1]) if selected and not comes_and_goes(rounds.change) else 0.0


# --- votes by what was read before (`discreet code`) ------------------------------------------------------------------
# A voter's answer is a statement of its own documents: that which fits the question best. No model is asked. A vote is
# a function of the question and of one voter's documents alone.


def look_up_statements(
    question: str, documents: Private[tuple[Passage, ...]], corpus: SealedCorpus
) -> Private[tuple[Passage, ...]]:
    """Return the documents of the voters, each with its statement that fits the question best.

    Under a schema, that is a statement of the attribute that the question names; if none is, the embedder decides.
    """
    return corpus.stated(question, documents, content, _is_asked(question, corpus.schema))


def names_attribute(question: str, schema: Codebook | None) -> bool:
    """Return whether a question names an attribute, by public words, so that statements of it can answer.

    The model writes statements of the kinds that it knows. On notes about other things these are guesses, and the
    embedder alone finds the wrong one: there, voters that read the documents are right far more often.
    """
    return _is_asked(question, schema) is not None


def _is_asked(question: str, schema: Codebook | None) -> Asked | None:
    if schema is not None:
        found = attribute_in_question(schema, question)
        return found.name.__eq__ if found else None
    attribute = attribute_asked(question)
    return partial(matches, attribute=attribute) if attribute else None


def stated_answers(documents: Private[tuple[Passage, ...]]) -> Answers:
    """Return the first statement of each voter that fits, with its texts. There is no public answer without a model."""

    def answer(own: tuple[Passage, ...]) -> tuple[tuple[str, ...], str]:
        return tuple(one.text for one in own), next((one.stated for one in own if one.stated), "")

    return documents.map(answer), ""
