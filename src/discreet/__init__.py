"""discreet: private question answering over other people's documents, with a receipt that is true.

import discreet

vault = discreet.Vault.create("hospital", epsilon=20, delta=1e-6, unit_field="patient")
vault.add("notes.jsonl")
answer = vault.ask("What helps against numb thumbs?", algorithm=discreet.MuRAGAda(uses=2))
print(answer.text, answer.receipt.epsilon, vault.budget().left)
"""

from discreet.algorithms import (
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
    VoteRAG,
)
from discreet.algorithms.answer import Answer
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
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import Receipt
from discreet.retrieval.documents import Document
from discreet.vault import Vault

__version__ = "0.1.0"

__all__ = [
    "DPKSA",
    "DPRAG",
    "RAG",
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
    "Interrupted",
    "LedgerError",
    "MissingPart",
    "MuRAG",
    "MuRAGAda",
    "NaiveMultiRAG",
    "NonRAG",
    "Receipt",
    "StoreError",
    "UsageError",
    "Vault",
    "VoteRAG",
]
