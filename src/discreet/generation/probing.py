"""Probes of a language model: what it returns for public rows."""

import hashlib
from collections.abc import Callable, Sequence

from discreet.errors import DiscreetError
from discreet.generation.answers import WholeAnswers, write_answers
from discreet.generation.model import Completer, Prompt, ScoringModel, VotingModel

# As many rows as a batch has, and short: seconds on one core, even where that computes in float32.
_LENGTH = 8
_PADS = tuple(row % _LENGTH for row in range(32))
_WORDS = ("red", "house", "three", "winter", "hand", "open", "the", "of", "a", "rain", "is")
_STEPS = 2


def probe(model: VotingModel) -> str:
    """Return a digest of a model's outputs on public rows: it differs between kinds of machine.

    A model on a cluster has the digest that all its workers share in its attribute `probe`. The digest of a model
    without logits is that of its answers.
    """
    found = getattr(model, "probe", None)
    if isinstance(found, str):
        return found
    if not isinstance(model, ScoringModel):
        return _answers_digest(model)
    prompts = [Prompt((model.pad_token,) * pads + (7,) * (_LENGTH - pads), pads) for pads in _PADS]
    decoding = model.start((5, 6), prompts, _STEPS)
    before = decoding.logits()
    decoding.append(9)
    outputs = (before, decoding.logits(), model.token_nll((5, 6), prompts))
    return hashlib.blake2b(b"".join(output.tobytes() for output in outputs)).hexdigest()


def check_ready(model: Completer) -> None:
    """Let a model in another process check itself by public rows, before a question is paid.

    Such a model has a method `check_ready`, which raises a `DiscreetError`.
    """
    check = getattr(model, "check_ready", None)
    if callable(check):
        check()


def _answers_digest(model: VotingModel) -> str:
    texts = [" ".join(_WORDS[row % len(_WORDS) :]) for row in range(len(_PADS))]
    shared = model.encode("Text:") or [model.pad_token]
    written = write_answers(model, shared, [_lay_out(model, text) for text in texts], _LENGTH)
    return hashlib.blake2b(repr([answer.text for answer in written]).encode(errors="replace")).hexdigest()


def check_row_independence(model: Completer) -> None:
    """Compare a model's outputs on public rows beside other rows, bit for bit, if it declares `row_independent`.

    Raises:
        DiscreetError: if an output depends on the other rows of its batch, or on the row's position.
    """
    if not model.row_independent:
        return
    texts = [" ".join(_WORDS[row % len(_WORDS) :]) for row in range(len(_PADS))]
    others = ["\n".join(_WORDS) * (row % 3) for row in range(len(_PADS))]
    if isinstance(model, VotingModel) and not isinstance(model, WholeAnswers):
        read = _row_reader(model)
    else:
        read = _completion_reader(model)
    expected = read(texts)
    reverse = read(texts[::-1])[::-1]
    half = len(texts) // 2
    mixed = [*read([*texts[:half], *others[half:]])[:half], *read([*others[:half], *texts[half:]])[half:]]
    if expected != reverse or expected != mixed:
        raise DiscreetError(
            f"The model '{model.name}' declares row_independent=True, but its output for a public prompt changed with "
            "the other prompts of the batch. Declare row_independent=False; receipts then name the assumption."
        )


def _completion_reader(model: Completer) -> Callable[[Sequence[str]], list[bytes]]:
    return lambda texts: [text.encode(errors="replace") for text in model.complete(texts, _LENGTH)]


def _row_reader(model: VotingModel) -> Callable[[Sequence[str]], list[bytes]]:
    """Return a function from texts to what the model computes for each, in bytes."""
    shared, appended = model.encode("Text:") or [model.pad_token], model.encode("and")[:1] or [model.pad_token]

    def read(texts: Sequence[str]) -> list[bytes]:
        prompts = [_lay_out(model, text) for text in texts]
        decoding = model.start(shared, prompts, _STEPS)
        outputs = [decoding.best()]
        decoding.append(appended[0])
        outputs.append(decoding.best())
        rows = [b"".join(output[row].tobytes() for output in outputs) for row in range(len(texts))]
        return [row + more for row, more in zip(rows, _score(model, shared, prompts), strict=True)]

    return read


def _score(model: VotingModel, shared: Sequence[int], prompts: Sequence[Prompt]) -> list[bytes]:
    if not isinstance(model, ScoringModel):
        return [b""] * len(prompts)
    logits, losses = model.start(shared, prompts, _STEPS).logits(), model.token_nll(shared, prompts)
    # Values at padding are undefined.
    return [logits[row].tobytes() + losses[row, prompt.padding :].tobytes() for row, prompt in enumerate(prompts)]


def _lay_out(model: VotingModel, text: str) -> Prompt:
    tokens = tuple(model.encode(text)[:_LENGTH])
    padding = _LENGTH - len(tokens)
    return Prompt((model.pad_token,) * padding + tokens, padding)
