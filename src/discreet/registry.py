"""The algorithms by name: the algorithms of this package, and the plug-ins of other packages."""

from dataclasses import fields, is_dataclass
from typing import Any

from discreet import plugins
from discreet.algorithms.adaptive import Adaptive
from discreet.algorithms.base import Algorithm, is_declared
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.dp_ksa import DPKSA
from discreet.algorithms.dp_rag import DPRAG
from discreet.algorithms.dp_vote_rag import DPSparseVoteRAG, DPVoteRAG
from discreet.algorithms.ensemble import VoterEnsemble
from discreet.algorithms.murag import DPRAGPure, MuRAG, MuRAGAda, NaiveMultiRAG
from discreet.baselines import RAG, NonRAG
from discreet.errors import UnknownName, UsageError
from discreet.plugins import PluginFailure, find_failures, load_usable
from discreet.statistics.counts import Compare, Count, Difference, Share
from discreet.statistics.themes import Themes
from discreet.statistics.trend import Trend
from discreet.statistics.typical import Typical
from discreet.statistics.values import ListValues, Summary

BUILT_IN: dict[str, type[Algorithm]] = {
    kind.name: kind
    for kind in (
        NonRAG,
        RAG,
        DPVoteRAG,
        DPSparseVoteRAG,
        DPRAGPure,
        DPRAG,
        Consensus,
        DPKSA,
        Adaptive,
        NaiveMultiRAG,
        MuRAG,
        MuRAGAda,
        Count,
        Share,
        Compare,
        Difference,
        Trend,
        Typical,
        ListValues,
        Summary,
        Themes,
    )
}
"""The algorithms of this package, by the names that the command line uses."""


def find_defect(name: str, kind: Any) -> str:
    """Return why a plug-in cannot be an algorithm called `name`; an empty string if it can."""
    if not (isinstance(kind, type) and issubclass(kind, Algorithm) and is_dataclass(kind)):
        return "it is not a dataclass that derives from discreet.Algorithm."
    if getattr(kind, "name", None) != name:
        return f"its class has the name '{getattr(kind, 'name', '')}', and its entry point has '{name}'."
    if not is_declared(kind):
        return "its class does not declare a `spec`: an AlgorithmSpec."
    return ""


def find_plugin_failures() -> list[PluginFailure]:
    """Return the algorithms of other packages that cannot be used, with the reasons."""
    return find_failures(plugins.ALGORITHMS, BUILT_IN, find_defect)


def _load_plugins() -> dict[str, type[Algorithm]]:
    usable = load_usable(plugins.ALGORITHMS, BUILT_IN)
    return {name: kind for name, kind in usable.items() if not find_defect(name, kind)}


ALGORITHMS: dict[str, type[Algorithm]] = BUILT_IN | _load_plugins()
"""All algorithms: those of this package, and those that other packages declare (`discreet.algorithms`)."""


_EXCLUSIVE = (("epsilon", "uses"), ("private_tokens", "epsilon_token"))
"""Pairs of parameters that exclude each other: the first determines the second."""


def make_algorithm(name: str, options: dict[str, Any], *, strict: bool = True) -> Algorithm:
    """Return the algorithm called `name`, with those of `options` that are not None.

    Args:
        name: one of `ALGORITHMS`.
        options: parameters by the names of the fields. An algorithm that has a generation also accepts `inner`, the
            name of the generation, and the generation's parameters.
        strict: whether to refuse unknown parameters; if false, they are ignored.

    Raises:
        UnknownName: if no algorithm has the name.
        UsageError: if a parameter is unknown, or its value is out of range.
    """
    kind = _kind(name)
    given = {key: value for key, value in options.items() if value is not None}
    for one, other in _EXCLUSIVE:
        if one in given and other in given:
            raise UsageError(f"Give {one} or {other}, not both: each determines the other one.")
    own_fields = {field.name: field for field in fields(kind)}
    names, inner = own_fields.keys(), set[str]()
    if "inner" in names:
        answering = _kind(given.pop("inner", Consensus.name))
        if not issubclass(answering, VoterEnsemble):
            raise UsageError(f"'{answering.name}' cannot answer for '{name}'; consensus can.")
        decided = own_fields["inner"].metadata.get("decides")  # a parameter that the algorithm chooses itself
        inner = {field.name for field in fields(answering)} - names - {decided}
        given["inner"] = answering(**{key: given.pop(key) for key in inner & given.keys()})
    strange = sorted(given.keys() - names)
    if strange and strict:
        own = sorted((names | inner) & options.keys() or names | inner)
        raise UsageError(f"'{name}' has no {', '.join(strange)}. It has: {', '.join(own)}.{_find_owners(strange[0])}")
    return kind(**{key: value for key, value in given.items() if key in names})


def _find_owners(parameter: str) -> str:
    names = [name for name, kind in ALGORITHMS.items() if parameter in {field.name for field in fields(kind)}]
    return f" These have {parameter}: {', '.join(names)}." if names else ""


def _kind(name: str) -> type[Algorithm]:
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


__all__ = [
    "ALGORITHMS",
    "DPKSA",
    "DPRAG",
    "RAG",
    "Adaptive",
    "Compare",
    "Consensus",
    "Count",
    "DPRAGPure",
    "DPSparseVoteRAG",
    "DPVoteRAG",
    "Difference",
    "ListValues",
    "MuRAG",
    "MuRAGAda",
    "NaiveMultiRAG",
    "NonRAG",
    "Share",
    "Summary",
    "Themes",
    "Trend",
    "Typical",
    "make_algorithm",
]
