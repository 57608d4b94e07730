"""The algorithms, one file each, laid out as their pseudo-code."""

from dataclasses import fields
from typing import Any

from discreet.algorithms.adaptive import Adaptive
from discreet.algorithms.answer import Algorithm
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.dp_ksa import DPKSA
from discreet.algorithms.dp_rag import DPRAG
from discreet.algorithms.dp_rag_pure import DPRAGPure
from discreet.algorithms.dp_sparse_vote_rag import DPSparseVoteRAG
from discreet.algorithms.dp_vote_rag import DPVoteRAG
from discreet.algorithms.ensemble import Ensemble
from discreet.algorithms.knn_lm import KnnLM
from discreet.algorithms.ksa import KSA
from discreet.algorithms.multi import ManyQuestions
from discreet.algorithms.murag import MuRAG
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.algorithms.naive_multi_rag import NaiveMultiRAG
from discreet.algorithms.non_rag import NonRAG
from discreet.algorithms.projection_rag import ProjectionRAG
from discreet.algorithms.rag import RAG
from discreet.algorithms.vote_rag import VoteRAG
from discreet.errors import UnknownName, UsageError

ALGORITHMS: dict[str, type[Algorithm] | type[ManyQuestions]] = {
    kind.name: kind
    for kind in (
        NonRAG,
        RAG,
        VoteRAG,
        DPVoteRAG,
        DPSparseVoteRAG,
        DPRAGPure,
        DPRAG,
        Consensus,
        KSA,
        DPKSA,
        Adaptive,
        NaiveMultiRAG,
        MuRAG,
        MuRAGAda,
        ProjectionRAG,
        KnnLM,
    )
}
"""By the names that the command line uses."""


_INSTEAD = (("epsilon", "uses"), ("private_tokens", "epsilon_token"))
"""Parameters of which one is given instead of the other: of both, one would not be heard."""


def make_algorithm(name: str, options: dict[str, Any], *, strict: bool = True) -> Algorithm | ManyQuestions:
    """The algorithm called `name`, with those of `options` that are not None.

    Args:
        name: one of `ALGORITHMS`.
        options: parameters by the names of its fields. For an algorithm that has another one answer: `inner`, by
            name, and the parameters of that one.
        strict: whether to refuse parameters that it does not have, or to leave them out.

    Raises:
        UnknownName, UsageError: no such algorithm or parameter, or a value out of range.
    """
    kind = _kind(name)
    given = {key: value for key, value in options.items() if value is not None}
    for one, other in _INSTEAD:
        if one in given and other in given:
            raise UsageError(f"Give {one} or {other}, not both: each says what the other one follows from.")
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    inner: set[str] = set()
    if issubclass(kind, (ManyQuestions, Adaptive)):
        answering = _kind(given.pop("inner", Consensus.name))
        if not issubclass(answering, Ensemble):
            raise UsageError(f"'{answering.name}' cannot answer for '{name}'; consensus can.")
        inner = {field.name for field in fields(answering)} - known - ({"voters"} if kind is Adaptive else set())
        given["inner"] = answering(**{key: given.pop(key) for key in inner & given.keys()})
    strange = sorted(given.keys() - known)
    if strange and strict:
        own = sorted((known | inner) & options.keys() or known | inner)
        raise UsageError(f"'{name}' has no {', '.join(strange)}. It has: {', '.join(own)}.{_who_has(strange[0])}")
    algorithm: Algorithm | ManyQuestions = kind(**{key: value for key, value in given.items() if key in known})
    return algorithm


def _who_has(parameter: str) -> str:
    names = [name for name, kind in ALGORITHMS.items() if parameter in {field.name for field in fields(kind)}]  # type: ignore[arg-type]
    return f" These have {parameter}: {', '.join(names)}." if names else ""


def _kind(name: str) -> type[Algorithm] | type[ManyQuestions]:
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


__all__ = [
    "ALGORITHMS",
    "DPKSA",
    "DPRAG",
    "KSA",
    "RAG",
    "Adaptive",
    "Consensus",
    "DPRAGPure",
    "DPSparseVoteRAG",
    "DPVoteRAG",
    "KnnLM",
    "MuRAG",
    "MuRAGAda",
    "NaiveMultiRAG",
    "NonRAG",
    "ProjectionRAG",
    "VoteRAG",
    "make_algorithm",
]
