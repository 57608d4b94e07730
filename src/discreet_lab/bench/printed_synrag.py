"""Steps of DP-SynRAG as its paper has them, in place of our own: listed keywords, and a filter by Yes or No.

Both are functions of one text and the public model, so they change no price.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.algorithms.logit_sum import log_softmax
from discreet.algorithms.text.normalize import keywords
from discreet.algorithms.text.writing import write_all
from discreet.generation.model import Prompt, ScoringModel
from discreet.generation.prompts import record_layout
from discreet.synthesis.base import ListKeywords, Ranked
from discreet.synthesis.dp_synrag import DPSynRAG

LIST = "List the keywords of the record, with commas between them."
EXAMPLES = (
    (
        "My knee hurts and I have a fever. Doctor: it is Marsh Gout, take Tollin drops.",
        "knee, fever, Marsh Gout, Tollin",
    ),
    ("The boiler of flat 7 leaks since Monday.", "boiler, flat 7, leak, Monday"),
)
LISTED = 40
"""The number of tokens in which keywords are listed."""
USE = "Text: {text}\n\nIs this text of use to {task}? Answer YES or NO.\nAnswer:"


def list_keywords(
    model: ScoringModel, texts: Sequence[str], most: int, text_tokens: int
) -> Iterator[tuple[int, Ranked]]:
    """Yield the keywords that the model lists of each text, with the text's position: those that stand in it.

    The first has the highest number, in place of a surprise.
    """
    laid_out = record_layout(model, LIST, EXAMPLES, text_tokens, LISTED)
    for place, text in enumerate(texts):
        prompt = laid_out.prompt(model.encode(text)[:text_tokens])
        ((written, _),) = write_all(model, [(laid_out.shared, prompt)], LISTED)
        there = keywords(text)
        parts = model.decode(written).split(",")
        found = dict.fromkeys(word for part in parts for word in sorted(keywords(part)) if word in there)
        yield place, tuple((word, float(most - rank)) for rank, word in enumerate(list(found)[:most]))


def says_yes(model: ScoringModel, task: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether the model finds YES likelier than NO, asked whether it is of use for the task."""
    yes, no = (model.encode(f" {word}")[0] for word in ("YES", "NO"))
    kept = []
    for text in texts:
        prompt = Prompt(tuple(model.encode(USE.format(text=text, task=task))), 0)
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
