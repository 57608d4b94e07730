"""Rows of a batch that write each its own best tokens."""

from discreet.generation.model import Decoding, Tokens


def own_tokens(
    decoding: Decoding, best: Tokens, steps: int, end_tokens: frozenset[int], *, all_steps: bool
) -> list[tuple[list[int], bool]]:
    """What each row writes up to its end, and whether it came to one.

    Args:
        decoding: the rows, from where they are.
        best: its best next tokens.
        steps: the most tokens of a row.
        end_tokens: tokens that end a text.
        all_steps: go on to the last step when every row has ended: how long it takes then tells nothing.
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
