"""The settings of each paper, and ours, for each algorithm: `discreet bench TABLE --preset paper|ours`.

privacy-spec wins over the papers. Where a setting of a paper does not keep its epsilon, the preset takes that of the
specification, and its note says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.dp_vote_rag import DPSparseVoteRAG, DPVoteRAG, TokenVoting
from discreet.algorithms.ensemble import Rounds
from discreet.algorithms.logit_sum import log_softmax
from discreet.algorithms.text.normalize import keywords
from discreet.models.answers import write_answers
from discreet.models.length_buckets import map_in_buckets
from discreet.models.prompts import record_layout
from discreet.models.protocol import Prompt, ScoringModel
from discreet.synthesis.base import ListKeywords, Ranked
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.synthesis.extraction import BLOCK
from discreet_lab.bench.experiments.accounting import by_advanced_composition, by_sum

DELTA_TOTAL, DELTA_TOKEN = 1e-4, 1e-5
"""The deltas of Koga, Wu and Chaudhuri."""


@dataclass(frozen=True)
class PaperSettings:
    """The settings of one algorithm.

    Attributes:
        parameters: of the algorithm, by name. A value that the table varies, or that is given, goes before.
        note: what of the paper is not private, or not run, and what is taken in its place; "" if nothing.
        epsilon: the budget of a unit for all questions, in place of the table's.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    epsilon: float | None = None


_VOTES = {"selection": "limited-domain", "voters": 40, "units_per_voter": 1, "delta": DELTA_TOTAL, "epsilon_token": 2.0}
_DOUBLED = (
    "LimitedDomain as printed costs twice its epsilon where a vote is replaced: its noise is doubled, and the number "
    "of tokens is the paper's"
)
_INNER = {
    "inner": "dp-sparse-vote-rag",
    "selection": "vocabulary",
    "voters": 50,
    "epsilon_token": 1.0,
    "uses": 1,
}
_REUSED = "each run of the sparse vector has a threshold noise of its own, which Algorithm 5 reuses"
_KEYWORDS = {"voters": 80, "question_words": True}

PAPER: Mapping[str, PaperSettings] = {
    "dp-vote-rag": PaperSettings(_VOTES, _DOUBLED),
    "dp-sparse-vote-rag": PaperSettings(_VOTES, _DOUBLED),
    "vote-rag": PaperSettings({"voters": 40, "units_per_voter": 1}),
    "dp-ksa": PaperSettings(
        {**_KEYWORDS, "delta": 1e-4},
        "a gap of counts moves by two: the choice of k has Gumbel(4/epsilon), twice the paper's noise; words leave as "
        "a set, and search is exact",
    ),
    "ksa": PaperSettings(_KEYWORDS),
    "murag": PaperSettings(_INNER, _REUSED),
    "murag-ada": PaperSettings({**_INNER, "epsilon_threshold": 1.0}, _REUSED),
    "naive-multi-rag": PaperSettings(_INNER, _REUSED, epsilon=1000.0),
    "dp-synrag": PaperSettings(
        {
            "keywords": 10,
            "clusters": 500,
            "overlap": 5,
            "first": "rare",
            "tokens": 70,
            "shape": "centred",
            "wanted": 80,
        },
        "that a keyword occurs reveals a unit: one is released above a threshold for which delta pays",
    ),
}
"""By algorithm. The papers vary voters (30, 40, 50) and epsilon_token (1, 2, 5; of MuRAG 0.5, 1, 2), and take R = 500
or 1000, 80 to 100 units a cluster, centred or plain clipping: here is one of each, and --param takes the others."""
PRESETS: Mapping[str, Mapping[str, PaperSettings]] = {"paper": PAPER, "ours": {}}
"""By name. Ours has the defaults of each algorithm, as a table has without a preset."""


def preset_of(name: str, algorithm: str) -> PaperSettings:
    """Return the settings of an algorithm in a preset; its defaults if the preset has none, or is ""."""
    return PRESETS.get(name, {}).get(algorithm, PaperSettings())


def with_preset(name: str, algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an algorithm: those given, and where they are None or missing, those of the preset."""
    return {**preset_of(name, algorithm).parameters, **{key: one for key, one in given.items() if one is not None}}


def printed_tokens(epsilon_token: float, epsilon: float, delta: float = DELTA_TOTAL) -> int:
    """Return the private tokens of an answer by the accounting of Koga, Wu and Chaudhuri (footnote 3).

    It is the larger of plain and of advanced composition. Each token also costs `DELTA_TOKEN`, which allows ten.
    """
    most = int(delta / DELTA_TOKEN + 1e-9)
    return min(most, max(by_sum(epsilon_token, epsilon), by_advanced_composition(epsilon_token, epsilon, DELTA_TOKEN)))


class _PrintedTokens(TokenVoting):
    """Votes on tokens whose number is that of the paper's accounting.

    A token's cost is pure but for `DELTA_TOKEN`, so that plain composition holds as it stands.
    """

    @property
    def rounds(self) -> Rounds:
        """The private tokens that the paper's accounting affords."""
        afforded = printed_tokens(self.epsilon_token or self.epsilon, self.epsilon, self.delta or DELTA_TOTAL)
        return replace(super().rounds, most=min(self.max_tokens, max(1, afforded)))

    def failures(self, delta: float) -> float:
        """Return the delta of all tokens."""
        return min(DELTA_TOKEN * self.rounds.most, delta)


@dataclass(frozen=True, kw_only=True)
class PrintedVoteRAG(_PrintedTokens, DPVoteRAG):
    """DPVoteRAG with the accounting of its paper. Parameters: see `TokenVoting`."""


@dataclass(frozen=True, kw_only=True)
class PrintedSparseVoteRAG(_PrintedTokens, DPSparseVoteRAG):
    """DPSparseVoteRAG with the accounting of its paper. Parameters: see `DPSparseVoteRAG`."""


def as_printed(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm of votes on tokens with the accounting of its paper; any other one unchanged."""
    kinds: dict[type, type[Algorithm]] = {DPVoteRAG: PrintedVoteRAG, DPSparseVoteRAG: PrintedSparseVoteRAG}
    kind = kinds.get(type(algorithm))
    return kind(**{one.name: getattr(algorithm, one.name) for one in fields(algorithm)}) if kind else algorithm


# -- DP-SynRAG as printed: listed keywords, and a filter by Yes or No; both see one text alone, so no price changes --

_LIST = "List the keywords of the record, with commas between them."
_EXAMPLES = (
    (
        "My knee hurts and I have a fever. Doctor: it is Marsh Gout, take Tollin drops.",
        "knee, fever, Marsh Gout, Tollin",
    ),
    ("The boiler of flat 7 leaks since Monday.", "boiler, flat 7, leak, Monday"),
)
_LISTED = 40
"""The number of tokens in which keywords are listed."""
_USE = "Text: {text}\n\nIs this text of use to {task}? Answer YES or NO.\nAnswer:"


def list_keywords(
    model: ScoringModel, texts: Sequence[str], most: int, text_tokens: int
) -> Iterator[tuple[int, Ranked]]:
    """Yield the keywords that the model lists of each text, with the text's position: those that stand in it.

    The first has the highest number, in place of a surprise.
    """
    laid_out = record_layout(model, _LIST, _EXAMPLES, text_tokens, _LISTED)

    def read(room: int, block: list[list[int]]) -> list[Ranked]:
        own = replace(laid_out, document_tokens=room)
        prompts = [own.prompt(text) for text in block] + [own.prompt()] * (BLOCK - len(block))
        written = write_answers(model, own.shared, prompts, _LISTED, all_steps=False)
        return [_standing(model.decode(text), one.text, most) for text, one in zip(block, written, strict=False)]

    yield from map_in_buckets(model, texts, text_tokens, BLOCK, read)


def _standing(text: str, listed: str, most: int) -> Ranked:
    there = keywords(text)
    found = dict.fromkeys(word for part in listed.split(",") for word in sorted(keywords(part)) if word in there)
    return tuple((word, float(most - rank)) for rank, word in enumerate(list(found)[:most]))


def says_yes(model: ScoringModel, task: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether the model finds YES likelier than NO, asked whether it is of use for the task."""
    yes, no = (model.encode(f" {word}")[0] for word in ("YES", "NO"))
    kept = []
    for text in texts:
        prompt = Prompt(tuple(model.encode(_USE.format(text=text, task=task))), 0)
        logits = log_softmax(model.start([], [prompt], 1).logits())[0]
        kept.append(bool(logits[yes] > logits[no]))
    return kept


@dataclass(frozen=True, kw_only=True)
class PrintedSynRAG(DPSynRAG):
    """DP-SynRAG with keywords that the model lists. Parameters: see `DPSynRAG`."""

    @property
    def list_keywords(self) -> ListKeywords:
        """The model's own list."""
        return list_keywords

    def keeps(self, text: str, words: Sequence[str]) -> bool:
        """Return True: the paper drops no text for want of a keyword."""
        return True
