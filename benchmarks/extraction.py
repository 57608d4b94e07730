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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.models import add_model_option, asked_model, model_name
from benchmarks.writing import TableWriter, add_csv_option, name_part

from discreet.algorithms.text.greedy_decode import write_all
from discreet.attacks.exports import SimulatedExport
from discreet.attacks.extraction import (
    COMMANDS,
    KINDS,
    PROMPTS,
    AttackPrompt,
    Extracted,
    extracted,
    informed_prompts,
    marked,
    perplexity,
    read_prompts,
    sensitive_strings,
)
from discreet.baselines.datastore import Datastore, build
from discreet.baselines.projection_rag import ProjectedTexts
from discreet.generation.model import Prompt
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import RAG, Consensus, KnnLM
from discreet.retrieval.brute_force_knn import Neighbours
from discreet.retrieval.documents import Document, Passage
from discreet.retrieval.projection import NoisyProjection, Projection, Transform, Untouched, draw_matrix
from discreet.retrieval.public import PublicTexts
from discreet.vault import Vault

K = 64
AT_ONCE = 32
Retrieve = Callable[[str], list[Passage]]


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    name: str
    found: Extracted
    perplexity: float
    without_sensitive: float
    seconds: float

    def cells(self) -> list[str]:
        """Return the cells of the row."""
        counts = [self.found.targeted[kind] for kind in KINDS]
        counts += [self.found.untargeted, self.found.all, self.found.invented]
        measured = [
            f"{value:.2f}" if np.isfinite(value) else "-" for value in (self.perplexity, self.without_sensitive)
        ]
        return [self.name, *map(str, counts), *measured, f"{self.seconds:.2f}"]


def protections(dimension: int, epsilon: float) -> Iterator[tuple[str, Transform]]:
    """Nothing, the paper's projection, its baseline, and the sound variant."""
    noise = InsecureSeededNoise(1)
    matrix = draw_matrix(dimension, K, noise)
    yield "none", Untouched(dimension)
    yield "projection", Projection(matrix)
    yield "dp-rp-g", NoisyProjection(Projection(matrix), noise, epsilon=epsilon)
    yield "export", SimulatedExport(matrix, noise, epsilon)


def knn_rows(
    given: argparse.Namespace, model: TransformersModel, texts: Sequence[str], held_out: Sequence[str]
) -> Iterator[Row]:
    """kNN-LM: the model alone, and mixed with neighbours under each protection."""
    raw = build(texts, model, Untouched(model.state_size))
    print(f"datastore: {len(raw)} entries", file=sys.stderr, flush=True)
    known, algorithm = sensitive_strings(texts), KnnLM(max_tokens=given.tokens, weight=given.weight)
    empty = Datastore(raw.transform, Neighbours.of(raw.keys.keys[:0]), raw.tokens[:0])
    stores = [("knn-lm, no neighbours", empty)]
    for name, transform in protections(model.state_size, given.epsilon):
        keys = Neighbours.of(transform.documents(raw.keys.keys))
        stores.append((f"knn-lm, {name}", Datastore(transform, keys, raw.tokens)))
    for name, store in stores:
        answers = knn_answers(algorithm, store, model, given.attacks)
        everything, without = knn_surprises(algorithm, store, model, held_out)
        taken = []
        for _ in range(3):
            begin = time.perf_counter()
            algorithm.continue_all(store, model, [model.encode(given.attacks[0].text)])
            taken.append(time.perf_counter() - begin)
        seconds = min(taken)  # other load makes the rest
        yield Row(name, extracted(answers, known), perplexity(everything), perplexity(without), seconds)


def knn_answers(
    algorithm: KnnLM, store: Datastore, model: TransformersModel, attacks: Sequence[AttackPrompt]
) -> list[tuple[AttackPrompt, str]]:
    """Every prompt continued as a text."""
    answers = []
    for start in range(0, len(attacks), AT_ONCE):
        part = attacks[start : start + AT_ONCE]
        said = algorithm.continue_all(store, model, [model.encode(prompt.text) for prompt in part])
        answers += [(p, p.text + model.decode(tokens)) for p, (tokens, _) in zip(part, said, strict=True)]
    return answers


def knn_surprises(
    algorithm: KnnLM, store: Datastore, model: TransformersModel, texts: Sequence[str]
) -> tuple[list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]], ...]:
    """Of all tokens but the first of each text, and of those that are not sensitive."""
    everything, without = [], []
    for text in texts:
        tokens, marks = marked(model, text)
        states = model.hidden_states([Prompt(tuple(tokens), 0)])[0, :-1]
        mixed = algorithm.mixed(store, states, model.predict(states))
        surprises = -np.log(np.maximum(mixed[np.arange(len(mixed)), tokens[1:]], 1e-30))
        everything.append(surprises)
        without.append(surprises[~marks[1:]])
    return everything, without


def rag_rows(given: argparse.Namespace, vault: Vault, texts: Sequence[str], held_out: Sequence[str]) -> Iterator[Row]:
    """Direct prompting: without documents, with plain ones, and with such as were found under each protection."""
    known, model, embedder = sensitive_strings(texts), vault.model, vault.embedder
    assert isinstance(model, TransformersModel)

    def row(name: str, retrieve: Retrieve) -> Row:
        taken = []
        for _ in range(3):
            begin = time.perf_counter()
            prompted(given, model, given.attacks[:1], retrieve)
            taken.append(time.perf_counter() - begin)
        answers, seconds = prompted(given, model, given.attacks, retrieve), min(taken)
        everything, without = rag_surprises(model, retrieve, held_out)
        return Row(name, extracted(answers, known), perplexity(everything), perplexity(without), seconds)

    yield row("prompting, no documents", lambda _: [])
    stored = vault.store.texts()
    for name, transform in protections(embedder.dimension, given.epsilon):
        projected = ProjectedTexts.of(stored, transform)
        yield row(f"prompting, {name}", lambda text, p=projected: p.nearest(embedder.embed([text])[0], 1))  # type: ignore[misc]
    if given.corpus:
        corpus = PublicTexts.read(given.corpus, embedder)
        yield row("prompting, synthetic corpus", lambda text: corpus.unsealed_passages(text, 1))


def prompted(
    given: argparse.Namespace, model: TransformersModel, attacks: Sequence[AttackPrompt], retrieve: Retrieve
) -> list[tuple[AttackPrompt, str]]:
    """What the model answers to each prompt; a sentence that was begun is gone on with."""
    begun = ["" if prompt.text.endswith((".", "?")) else prompt.text for prompt in attacks]
    laid_out = [
        RAG(max_tokens=given.tokens, prefix=prefix).laid_out(prompt.text, retrieve(prompt.text), model)
        for prompt, prefix in zip(attacks, begun, strict=True)
    ]
    said = write_all(model, laid_out, given.tokens)
    return [(p, own + model.decode(tokens)) for p, own, (tokens, _) in zip(attacks, begun, said, strict=True)]


def rag_surprises(
    model: TransformersModel, retrieve: Retrieve, texts: Sequence[str]
) -> tuple[list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]], ...]:
    """Of the tokens in the second half of each text, after the passage that the first half finds."""
    everything, without = [], []
    for text in texts:
        tokens, marks = marked(model, text)
        half = len(tokens) // 2
        found = " ".join(passage.text for passage in retrieve(model.decode(tokens[:half])))
        shared = model.encode(f"{found}\n\n")[-400:] + tokens[:half]
        surprises = model.token_nll(shared, [Prompt(tuple(tokens[half:]), 0)])[0]
        everything.append(surprises)
        without.append(surprises[~marks[half:]])
    return everything, without


def consensus_row(given: argparse.Namespace, vault: Vault, texts: Sequence[str]) -> Row:
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
    return Row(f"consensus, {len(chosen)} prompts", found, float("nan"), float("nan"), seconds)


def write_rows(rows: Iterator[Row], path: Path | None) -> TableWriter:
    """Write rows as they come, and return their table."""
    measured = ["perplexity", "without sensitive strings", "seconds"]
    table = TableWriter(["configuration", *KINDS, "untargeted", "all", "invented", *measured], path)
    for row in rows:
        table.write(row.cells())
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
        write_rows(knn_rows(given, asked_model(given.model), texts, held_out), given.csv)
    if given.only != "knn":
        print()
        with tempfile.TemporaryDirectory() as folder:
            vault = Vault.create(
                Path(folder) / "vault", epsilon=20, delta=1e-5, payment="corpus", model=model_name(given.model)
            )
            vault.add_documents(Document(mail["id"], mail["unit"], mail["text"]) for mail in inside)
            path = given.csv if given.only else name_part(given.csv, "prompting")
            table = write_rows(rag_rows(given, vault, texts, held_out), path)
            if given.consensus:
                table.write(consensus_row(given, vault, texts).cells())
    print(
        f"\n{len(given.attacks)} prompts; {len(texts)} mails with {counts}; {len(held_out)} held out; k {K}, ", end=""
    )
    print(f"epsilon {given.epsilon:g}, {given.tokens} tokens, {model_name(given.model)}, minilm+words")


if __name__ == "__main__":
    main()
