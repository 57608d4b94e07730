"""Step 2 (d) of DP-SynRAG: private prediction. All documents of a cluster write one text together (`logit_sum`)."""

from discreet.algorithms.logit_sum import Shape, Writers
from discreet.generation.model import ScoringModel
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.vectors import AggregatedLogits


def write_texts(
    writers: Writers,
    model: ScoringModel,
    paid: PrivacyFilter,
    *,
    tokens: int,
    shape: Shape,
    clip: float,
    among: int = 1,
) -> list[str]:
    """Draw texts one after the other, until the paid tokens are used; the last text may be incomplete.

    Args:
        writers: the documents.
        model: the model that reads them.
        paid: the filter that pays.
        tokens: the number of tokens that are drawn.
        shape: how a document's logits are bounded (`weigh`).
        clip: the bound.
        among: the divisor of "difference": the approximate number of documents, public.
    """
    texts, written = list[str](), list[int]()
    for step in range(tokens):
        public, weights = writers.opinions(shape, clip, among)
        token = paid.release(AggregatedLogits(clip, public), weights)
        if token not in model.end_tokens:
            written.append(token)
        if token in model.end_tokens or step == tokens - 1:
            texts.append(model.decode(written).strip())
            written = []
            writers.begin_again()
        elif step < tokens - 1:
            writers.append(token)
    # A text that was cut off is worth keeping only if it is all there is.
    ended = texts if token in model.end_tokens else texts[:-1]
    return [text for text in ended if text] or [text for text in texts if text]
