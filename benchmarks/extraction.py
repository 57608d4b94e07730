"""How many addresses, links and phone numbers come out of kNN-LM and of direct prompting, protected in several ways.

    .venv/bin/python -m benchmarks.extraction DATA/mail_pii [--prompts PROMPTS.jsonl [--every 5]] [--commands]
        [--informed 10] [--mails 300] [--held-out 30] [--tokens 32] [--epsilon 5.051]
        [--weight 0.1] [--consensus 5] [--corpus CORPUS.jsonl] [--only knn|prompting]

Prints Markdown tables. The first `--mails` documents are the collection; the last `--held-out` are not in it, and
perplexity is measured on them: of all their tokens, and without those of addresses, links and numbers. For
direct prompting that is the second half of a mail, after the passage that its first half finds. "email", "url",
"phone": different strings of the collection that prompts for that kind brought out; "untargeted": of any kind, by
prompts that ask for whatever was read; "all": by all prompts; "invented": strings that look like such and stand in no
mail. "dp-rp-g" and "export" (the sound variant) have `--epsilon`, for a small change of one vector and for any one
vector replaced. Answers of `consensus` (epsilon 2) are asked for with so many prompts of each kind as `--consensus`
says, in a simulation; `--corpus` is a file of `discreet synthesize`. `--informed`: prompts of somebody who knows the
80 characters before so many strings of each kind. Everything is seeded and nothing is paid.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.models import add_model_option, asked_model, model_name
from benchmarks.writing import TableWriter, add_csv_option, name_part

from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Consensus
from discreet.retrieval.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks.extraction import (
    COMMANDS,
    KINDS,
    PROMPTS,
    extracted,
    informed_prompts,
    read_prompts,
    sensitive_strings,
)
from discreet_lab.bench.experiments.extraction import Extraction, ExtractionRow, measure_knn_lm, measure_prompting

K = 64


def tried(given: argparse.Namespace, texts: Sequence[str], held_out: Sequence[str]) -> Extraction:
    """What is tried."""
    return Extraction(given.attacks, texts, held_out, given.tokens, given.epsilon, given.weight)


def consensus_row(given: argparse.Namespace, vault: Vault, texts: Sequence[str]) -> ExtractionRow:
    """Whole answers that voters agree on: a guarantee, for comparison."""
    chosen = [
        prompt
        for kind in dict.fromkeys(prompt.target for prompt in given.attacks)
        for prompt in [p for p in given.attacks if p.target == kind][: given.consensus]
    ]
    algorithm = Consensus(epsilon=2.0, max_tokens=given.tokens)
    begin, answers = time.perf_counter(), []
    for number, prompt in enumerate(chosen):
        said = vault.simulate(prompt.text, algorithm, noise=InsecureSeededNoise(number))
        answers.append((prompt, said.text_or_public))
        print(f"consensus {number + 1}/{len(chosen)}", file=sys.stderr, flush=True)
    seconds = (time.perf_counter() - begin) / len(chosen)
    found = extracted(answers, sensitive_strings(texts))
    return ExtractionRow(f"consensus, {len(chosen)} prompts", found, float("nan"), float("nan"), seconds)


def text_of(row: ExtractionRow) -> list[str]:
    """The cells of a row as text."""
    name, *counts, all_tokens, without, seconds = row.cells().values()
    measured = [f"{value:.2f}" if np.isfinite(value) else "-" for value in (all_tokens, without)]
    return [name, *map(str, counts), *measured, "-" if seconds is None else f"{seconds:.2f}"]


def write_rows(rows: Iterator[ExtractionRow], path: Path | None) -> TableWriter:
    """Write rows as they come, and return their table."""
    measured = ["perplexity", "without sensitive strings", "seconds"]
    table = TableWriter(["configuration", *KINDS, "untargeted", "all", "invented", *measured], path)
    for row in rows:
        table.write(text_of(row))
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--every", type=int, default=1, help="of the file's prompts, every so many")
    parser.add_argument("--commands", action="store_true", help="follow each prompt by each of five commands, too")
    parser.add_argument("--informed", type=int, help="instead: the text before so many strings of each kind")
    parser.add_argument("--mails", type=int, default=300)
    parser.add_argument("--held-out", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--epsilon", type=float, default=5.051)
    parser.add_argument("--weight", type=float, default=0.1, help="of the neighbours: the paper's lambda")
    parser.add_argument("--consensus", type=int, default=5)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--only", choices=["knn", "prompting"])
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    given.attacks = read_prompts(given.prompts)[:: given.every] if given.prompts else list(PROMPTS)
    if given.commands:
        given.attacks += [replace(p, text=f"{p.text} {c}") for p in given.attacks for c in COMMANDS]
    lines = (given.data / "documents.jsonl").read_text().splitlines()
    mails = [json.loads(line) for line in lines]
    inside, outside = mails[: given.mails], mails[len(mails) - given.held_out :]
    texts, held_out = [mail["text"] for mail in inside], [mail["text"] for mail in outside]
    if given.informed:
        given.attacks = informed_prompts(texts, given.informed)
    counts = {kind: len(values) for kind, values in sensitive_strings(texts).items()}
    if given.only != "prompting":
        write_rows(measure_knn_lm(tried(given, texts, held_out), asked_model(given.model)), given.csv)
    if given.only != "knn":
        print()
        with tempfile.TemporaryDirectory() as folder:
            vault = Vault.create(
                Path(folder) / "vault", epsilon=20, delta=1e-5, payment="corpus", model=model_name(given.model)
            )
            vault.add_documents(Document(mail["id"], mail["unit"], mail["text"]) for mail in inside)
            path = given.csv if given.only else name_part(given.csv, "prompting")
            model = vault.model
            assert isinstance(model, TransformersModel)
            what = tried(given, texts, held_out)
            table = write_rows(measure_prompting(what, model, vault.embedder, vault.store.texts(), given.corpus), path)
            if given.consensus:
                table.write(text_of(consensus_row(given, vault, texts)))
    print(
        f"\n{len(given.attacks)} prompts; {len(texts)} mails with {counts}; {len(held_out)} held out; k {K}, ", end=""
    )
    print(f"epsilon {given.epsilon:g}, {given.tokens} tokens, {model_name(given.model)}, minilm+words")


if __name__ == "__main__":
    main()
