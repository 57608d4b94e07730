"""The capabilities of a language model, from the least to the most, what it cannot promise, and its probes."""

import hashlib
from collections.abc import Callable, Sequence, Set
from enum import StrEnum

from discreet.errors import DiscreetError, UsageError
from discreet.models.answers import WholeAnswers, write_answers
from discreet.models.protocol import Completer, ContextModel, Prompt, ScoringModel, VotingModel


class Capability(StrEnum):
    """What an algorithm may require of a language model.

    Attributes:
        COMPLETIONS: complete each prompt greedily, by at most N tokens: whole answers.
        VOTES: the best next token of each row, where all rows are continued by the same token.
        LOGITS: the logits of all next tokens.
        STATES: the hidden states of the last layer.
    """

    COMPLETIONS = "completions"
    VOTES = "votes"
    LOGITS = "logits"
    STATES = "states"


_LADDER = ((VotingModel, Capability.VOTES), (ScoringModel, Capability.LOGITS), (ContextModel, Capability.STATES))
# `isinstance` would list the members of a protocol again for each question.
_MEMBERS = {capability: [name for name in dir(kind) if name[0] != "_"] for kind, capability in _LADDER}


def capabilities(model: Completer) -> frozenset[Capability]:
    """Return the capabilities of a model."""
    kinds = {Capability.COMPLETIONS}
    if not isinstance(model, WholeAnswers):  # it has the methods of a voting model, but rows cannot vote on tokens
        kinds |= {
            capability
            for capability, members in _MEMBERS.items()
            if all(getattr(model, member, None) is not None for member in members)
        }
    return frozenset(kinds)


def require_capabilities(model: Completer, required: Set[Capability], user: str) -> None:
    """Check that a model has the capabilities that an algorithm requires.

    Args:
        model: the model.
        required: what the algorithm requires.
        user: the name of the algorithm, for the error.

    Raises:
        UsageError: if the model lacks one of them.
    """
    lacking = required - capabilities(model)
    if lacking:
        raise UsageError(
            f"'{user}' requires a language model with {_words(lacking)}; '{model.name}' has only "
            f"{_words(capabilities(model))}. Use another model, or the algorithm 'consensus', which needs completions."
        )


def require_scores(model: Completer, user: str) -> ScoringModel:
    """Return the model, which has logits. `user` is the name of what needs them, for the error.

    Raises:
        UsageError: if the model has no logits.
    """
    require_capabilities(model, {Capability.LOGITS}, user)
    assert isinstance(model, ScoringModel)
    return model


def find_assumptions(model: Completer) -> tuple[str, ...]:
    """Return what a guarantee takes for granted about a model that does not promise it; for `Receipt.assumed`."""
    if getattr(model, "row_independent", False):
        return ()
    stated = getattr(model, "assumptions", ())
    if stated:
        return tuple(stated)
    return (f"each output of the model '{model.name}' depends on its own prompt alone",)


def _words(some: Set[Capability]) -> str:
    meaning = {Capability.LOGITS: "logits (the probability of each token)"}
    return ", ".join(meaning.get(capability, capability.value) for capability in Capability if capability in some)


# Probes: what a model returns for public rows. As many rows as a batch has, and short: seconds on one core, even where
# that computes in float32.
_LENGTH = 8
_PADS = tuple(row % _LENGTH for row in range(32))
_WORDS = ("red", "house", "three", "winter", "hand", "open", "the", "of", "a", "rain", "is")
_STEPS = 2


def probe(model: VotingModel) -> str:
    """Return a digest of a model's outputs on public rows: it differs between kinds of machine.

    A model on a cluster has the digest that all its workers share in its attribute `probe`. The digest of a model
    without logits is that of its answers.
    """
    own_probe = getattr(model, "probe", None)
    if isinstance(own_probe, str):
        return own_probe
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
