"""discreet: private question answering over other people's documents, with a receipt that is true.

import discreet

vault = discreet.Vault.create("hospital", epsilon=20, delta=1e-6, unit_field="patient")
vault.add("notes.jsonl")
answer = vault.ask("What helps against numb thumbs?", algorithm=discreet.MuRAGAda(uses=2))
print(answer.text, answer.receipt.epsilon, vault.budget().left)
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# MKL reads this before its first product: results must not depend on a row's position (`discreet.numerics`).
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

if TYPE_CHECKING:  # loaded at first use by `__getattr__`: a refusal, or `--help`, does not wait for all of it
    from discreet.algorithms.base import (
        Algorithm,
        AlgorithmSpec,
        Answer,
        GeneratedAnswer,
        Guarantee,
        Input,
        Plan,
        Query,
    )
    from discreet.errors import (
        BadData,
        BudgetExhausted,
        DiscreetError,
        Interrupted,
        LedgerError,
        MissingPart,
        StoreError,
        UsageError,
    )
    from discreet.files.units import UnitRules
    from discreet.privacy.account import Account, Payment
    from discreet.privacy.accounting import Budget
    from discreet.privacy.filter import Receipt
    from discreet.questions.request import Request, count, difference, share
    from discreet.registry import (
        DPKSA,
        DPRAG,
        RAG,
        Consensus,
        DPRAGPure,
        DPSparseVoteRAG,
        DPVoteRAG,
        MuRAG,
        MuRAGAda,
        NaiveMultiRAG,
        NonRAG,
    )
    from discreet.statistics.conditions import all_of, any_of, same_record, says, where
    from discreet.store.documents import Document
    from discreet.vault import Vault

__version__ = "0.2.0"

__all__ = [
    "DPKSA",
    "DPRAG",
    "RAG",
    "Account",
    "Algorithm",
    "AlgorithmSpec",
    "Answer",
    "BadData",
    "Budget",
    "BudgetExhausted",
    "Consensus",
    "DPRAGPure",
    "DPSparseVoteRAG",
    "DPVoteRAG",
    "DiscreetError",
    "Document",
    "GeneratedAnswer",
    "Guarantee",
    "Input",
    "Interrupted",
    "LedgerError",
    "MissingPart",
    "MuRAG",
    "MuRAGAda",
    "NaiveMultiRAG",
    "NonRAG",
    "Payment",
    "Plan",
    "Query",
    "Receipt",
    "Request",
    "StoreError",
    "UnitRules",
    "UsageError",
    "Vault",
    "all_of",
    "any_of",
    "count",
    "difference",
    "same_record",
    "says",
    "share",
    "where",
]

_HOME = {
    "discreet.algorithms.base": (
        "Algorithm",
        "AlgorithmSpec",
        "Answer",
        "GeneratedAnswer",
        "Guarantee",
        "Input",
        "Plan",
        "Query",
    ),
    "discreet.errors": (
        *("BadData", "BudgetExhausted", "DiscreetError", "Interrupted", "LedgerError", "MissingPart"),
        *("StoreError", "UsageError"),
    ),
    "discreet.privacy.account": ("Account", "Payment"),
    "discreet.privacy.accounting": ("Budget",),
    "discreet.privacy.filter": ("Receipt",),
    "discreet.questions.request": ("Request", "count", "difference", "share"),
    "discreet.statistics.conditions": ("all_of", "any_of", "same_record", "says", "where"),
    "discreet.files.units": ("UnitRules",),
    "discreet.store.documents": ("Document",),
    "discreet.vault": ("Vault",),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """The part of the face that is called `name`, loaded at first use."""
    if name not in __all__:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(import_module(_MODULES.get(name, "discreet.registry")), name)
