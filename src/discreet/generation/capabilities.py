"""The capabilities of a language model, from the least to the most, and what a model cannot promise."""

from collections.abc import Set
from enum import StrEnum

from discreet.errors import UsageError
from discreet.generation.answers import WholeAnswers
from discreet.generation.model import Completer, ContextModel, ScoringModel, VotingModel


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
    found = {Capability.COMPLETIONS}
    if not isinstance(model, WholeAnswers):  # it has the methods of a voting model, but rows cannot vote on tokens
        found |= {
            capability
            for capability, members in _MEMBERS.items()
            if all(getattr(model, member, None) is not None for member in members)
        }
    return frozenset(found)


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
    return ", ".join(capability.value for capability in Capability if capability in some)
