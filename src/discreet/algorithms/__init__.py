"""The algorithms, one file each, laid out as their pseudo-code."""

from dataclasses import fields
from typing import Any

from discreet.algorithms.answer import Algorithm
from discreet.algorithms.dp_sparse_vote_rag import DPSparseVoteRAG
from discreet.algorithms.dp_vote_rag import DPVoteRAG
from discreet.algorithms.non_rag import NonRAG
from discreet.algorithms.rag import RAG
from discreet.algorithms.vote_rag import VoteRAG
from discreet.errors import UnknownName, UsageError

ALGORITHMS = {kind.name: kind for kind in (NonRAG, RAG, VoteRAG, DPVoteRAG, DPSparseVoteRAG)}
"""By the names that the command line uses."""
DEFAULT = DPSparseVoteRAG.name


def make_algorithm(name: str, options: dict[str, Any], *, strict: bool = True) -> Algorithm:
    """The algorithm called `name`, with those of `options` that are not None.

    Args:
        name: one of `ALGORITHMS`.
        options: parameters by the names of its fields.
        strict: whether to refuse parameters that it does not have, or to leave them out.

    Raises:
        UnknownName, UsageError: no such algorithm or parameter, or a value out of range.
    """
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, ALGORITHMS)
    kind = ALGORITHMS[name]
    known = {field.name for field in fields(kind)}
    given = {key: value for key, value in options.items() if value is not None}
    strange = sorted(given.keys() - known)
    if strange and strict:
        raise UsageError(f"'{name}' has no {', '.join(strange)}. It has: {', '.join(sorted(known))}.")
    algorithm: Algorithm = kind(**{key: value for key, value in given.items() if key in known})
    return algorithm


__all__ = ["ALGORITHMS", "DEFAULT", "RAG", "DPSparseVoteRAG", "DPVoteRAG", "NonRAG", "VoteRAG", "make_algorithm"]
