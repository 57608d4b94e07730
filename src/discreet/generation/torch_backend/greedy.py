"""Greedy decoding of a batch, in which each row is continued by its own best tokens."""

from discreet.generation.model import Decoding, Tokens


def decode_rows(
    decoding: Decoding, best: Tokens, steps: int, end_tokens: frozenset[int], *, all_steps: bool
) -> list[tuple[list[int], bool]]:
    """Return the tokens of each row up to its end token, and whether it reached one.

    Args:
        decoding: the batch, which continues from its current step.
        best: the best next tokens.
        steps: the most tokens of a row.
        end_tokens: tokens that end a text.
        all_steps: whether to compute all steps after every row has ended, so that the time does not depend on the rows.
    """
    written: list[list[int]] = [[] for _ in best]
    ended = [False] * len(written)
    for step in range(steps):
        for row, token in enumerate(best.tolist()):
            ended[row] = ended[row] or token in end_tokens
            if not ended[row]:
                written[row].append(token)
        if step == steps - 1 or (all(ended) and not all_steps):
            break
        decoding.append_each(best.tolist())
        best = decoding.best()
    return list(zip(written, ended, strict=True))
