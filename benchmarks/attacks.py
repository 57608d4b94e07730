"""The figures of docs/attacks.md: what leaks from plain RAG, from redacted documents, and from private answers.

    .venv/bin/python -m benchmarks.attacks DATA/chatdoctor --documents 1000 --target non-rag rag dp-sparse-vote-rag
        [--epsilon 10] [--members 60] [--questions 2] [--planted 10] [--tokens 48] [--voters 40]
        [--wanted 80] [--asked 4] [--both-ways] [--no-extraction] [--float32] [--seed 0] [--readings] [--twin]
        [--form "What is the diagnosis? {}"] [--vault VAULT]

Makes a vault of so many documents of the folder, those that `membership.jsonl` or `canaries.jsonl` name among them, and
attacks it as `discreet attack` does, with these files if they are there. With --both-ways people of the vault are tried
instead of those of `membership.jsonl`, each in one copy and out of the other. --asked: so many questions about each
canary of the file. --no-extraction: without prompts that are after strings of any document. --float32: so on processors
with instructions for bfloat16, too, as where there are none. --readings: voters say what was read of their documents
before; the vault is read first. --form: of the first question about a person, with {} for the known words. --twin: a
broken release is attacked as well. --vault: the vault to attack, which is there already or is kept there. Prints
Markdown. Nothing is paid.
"""

import argparse
import gzip
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.attack_twins import every_vote
from benchmarks.models import add_model_option, model_name, open_vault
from benchmarks.writing import add_csv_option, name_part, write_table

from discreet.numerics import dtype
from discreet.retrieval.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks import report
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.canaries import read_canaries
from discreet_lab.attacks.membership import read_suspects
from discreet_lab.attacks.suite import run_attack

DELTA = 1e-6


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file, packed or not; none if it is not there."""
    packed = path.with_name(path.name + ".gz")
    text = (
        gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text() if path.exists() else ""
    )
    return [json.loads(line) for line in text.splitlines()]


def chosen(folder: Path, count: int) -> list[Document]:
    """So many documents: those that the attack is about, and the first of the others."""
    documents = records(folder / "documents.jsonl")
    about = {row["id"] for name in ("membership", "canaries") for row in records(folder / f"{name}.jsonl")}
    first = sorted(documents, key=lambda row: row["id"] not in about)[:count]
    return [Document(row["id"], row["unit"], row["text"]) for row in first]


def vault_at(folder: Path, data: Path, documents: int, model: str | None = None) -> Vault:
    """The vault in `folder`, made of so many documents if it is not there."""
    if (folder / "vault.json").exists():
        return open_vault(folder, model)
    vault = Vault.create(folder, epsilon=20, delta=DELTA, model=model_name(model))
    vault.add_documents(chosen(data, documents))
    return vault


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--target", nargs="+", default=["non-rag", "rag", "redacted", "dp-sparse-vote-rag"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0])
    parser.add_argument("--members", type=int, default=60)
    parser.add_argument("--questions", type=int, default=2)
    parser.add_argument("--planted", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--wanted", type=int, default=80)
    parser.add_argument("--asked", type=int)
    parser.add_argument("--both-ways", action="store_true")
    parser.add_argument("--no-extraction", action="store_true")
    parser.add_argument("--float32", action="store_true")
    parser.add_argument("--readings", action="store_true")
    parser.add_argument("--twin", action="store_true")
    parser.add_argument("--form", default="{}")
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    if given.float32:
        dtype.has_bfloat16_instructions = lambda capabilities: False
    suspects, secrets = given.data / "membership.jsonl", given.data / "canaries.jsonl"
    canaries = read_canaries(secrets) if secrets.exists() else []
    attack = Attack(
        targets=tuple(given.target),
        epsilons=tuple(given.epsilon),
        members=given.members,
        questions=given.questions,
        form=given.form,
        suspects=tuple(read_suspects(suspects)) if suspects.exists() and not given.both_ways else (),
        canaries=tuple(replace(each, questions=each.questions[: given.asked]) for each in canaries),
        planted=given.planted,
        prompts=() if given.no_extraction else None,
        options={"max_tokens": given.tokens, "voters": given.voters, "wanted": given.wanted}
        | ({"readings": True} if given.readings else {}),
        seed=given.seed,
        twins={"broken murag-ada": every_vote(readings=given.readings)} if given.twin else {},
    )

    def told(step: str, done: int, total: int) -> None:
        print(f"{step} {done} of {total}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        vault = vault_at(given.vault or Path(folder) / "vault", given.data, given.documents, given.model)
        if given.readings:
            vault.read(lambda done, size: told("reading", done, size))
        findings = run_attack(vault, attack, told)
    for headings, rows, path in (
        (report.HEADINGS, report.membership_rows(findings), given.csv),
        (report.TRUE, report.true_positive_rows(findings), name_part(given.csv, "true-positives")),
        (report.SECRETS, report.secret_rows(findings), name_part(given.csv, "secrets")),
    ):
        write_table(headings, rows, path)
        print()
    asked = "{} questions about each person, {} about canaries, {} for extraction".format(*findings.results[0].asked)
    print(f"{report.summary(findings)} {asked}.", end=" ")
    float32 = ", float32" * given.float32
    print(
        f"{model_name(given.model)}, minilm+words, {given.tokens} tokens, {given.voters} voters, "
        f"seed {given.seed}{float32}"
    )


if __name__ == "__main__":
    main()
