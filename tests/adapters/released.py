"""A synthetic corpus that a small vault has released and paid for."""

from pathlib import Path

from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.vault import Vault

WORDS = ["winterhand", "wants", "sand", "glassknee", "steam", "cold"]
# Price enough for forty units to be heard, however few tokens.
PLENTY = DPSynRAG(epsilon=300.0, overlap=2, tokens=12, keywords=3, text_tokens=16, wanted=30)


def release(folder: Path) -> Path:
    """Make a vault, `v`, and return the corpus that it released beside it."""
    Vault.create(folder / "v", epsilon=1000, delta=1e-5, unit_field="patient", embedder="hashing")
    vault = Vault.open(folder / "v", model=ToyModel(WORDS, size=60))
    for number, words in enumerate(("winterhand wants sand", "glassknee wants steam")):
        units = range(40 * number, 40 * number + 40)
        vault.add_documents(Document(f"{words}-{n}", f"unit {n}", f"say: {words} .") for n in units)
    vault.synthesize(folder / "corpus.jsonl", PLENTY)
    return folder / "corpus.jsonl"
