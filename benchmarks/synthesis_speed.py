"""How fast a synthetic corpus is made, step by step, and how near the writing is to its floor.

    .venv/bin/python -m benchmarks.synthesis_speed DOCUMENTS [--documents 256] [--cluster 80] [--tokens 48] [--repeat 3]

Prints Markdown: documents a minute and the peak memory of each step, each step in a process of its own; the ratio of
writing to its floor, which is feeding the same prompts to the model and continuing them by as many tokens, with nothing
made of what it says; and what ten million documents would take at these rates. Medians; noise is seeded.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from benchmarks.models import add_model_option, asked_model
from benchmarks.writing import add_csv_option, write_table

from discreet.algorithms.common.logit_sum import BLOCK, Writers
from discreet.generation.prompts import rewrite_layout
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Private
from discreet.reading.intake import read_documents
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import open_embedder
from discreet.synthesis.dp_facts import DPFacts
from discreet.synthesis.dp_synrag.keywords import ranked_keywords
from discreet.synthesis.dp_synrag.parameters import DPSynRAG
from discreet.synthesis.dp_synrag.rewrite import write_texts
from discreet.synthesis.dp_synrag.select import useful
from discreet.synthesis.fact_extraction import stated

MANY = 10_000_000
CLIP = 0.2
STEPS = ("embedding", "keywords", "facts", "writing", "writing, the floor", "selection")
Step = Callable[[list[str]], None]


def steps(given: argparse.Namespace) -> dict[str, Step]:
    """Each step, as a function of texts."""
    model, text_tokens, tokens = asked_model(given.model), DPSynRAG().text_tokens, given.tokens
    laid_out = rewrite_layout(model, text_tokens, tokens)

    def embed(texts: list[str]) -> None:
        open_embedder("minilm").embed(texts)

    def keywords(texts: list[str]) -> None:
        list(ranked_keywords(model, texts, DPSynRAG().keywords, text_tokens))

    def facts(texts: list[str]) -> None:
        list(stated(model, texts, DPFacts().tokens, text_tokens))

    def write(texts: list[str]) -> None:
        ledger = MemoryLedger(Budget(1e6, 1e-5), simulation=True)
        paid = PrivacyFilter(ledger, ledger.budget, "speed", noise=InsecureSeededNoise(0))
        writers = Writers(model, laid_out, Private(texts[: given.cluster], ADD_REMOVE_ONE), tokens)
        write_texts(writers, model, paid, tokens=tokens, shape="votes", clip=CLIP)

    def floor(texts: list[str]) -> None:
        prompts = [laid_out.prompt(model.encode(text)) for text in texts[: given.cluster]]
        rows = [*prompts, *[laid_out.prompt()] * (BLOCK - len(prompts) % BLOCK)]
        for first in range(0, len(rows), BLOCK):
            block = model.start(laid_out.shared, rows[first : first + BLOCK], tokens)
            for _ in range(tokens - 1):
                block.append(model.encode(" the")[0])

    def select(texts: list[str]) -> None:
        useful(model, "answer questions about illnesses", texts[:16])

    return {
        "embedding": embed,
        "keywords": keywords,
        "facts": facts,
        "writing": write,
        "writing, the floor": floor,
        "selection": select,
    }


def measured(step: str, given: argparse.Namespace) -> dict[str, float]:
    """Seconds (median) and peak memory (MiB) of a step, in this process."""
    read = (document.text for document in read_documents(given.documents_file) if isinstance(document, Document))
    texts, run = list(islice(read, given.documents)), steps(given)[step]
    run(texts[:BLOCK])  # what is loaded once
    seconds = []
    for _ in range(given.repeat):
        began = time.perf_counter()
        run(texts)
        seconds.append(time.perf_counter() - began)
    return {
        "seconds": statistics.median(seconds),
        "documents": {"writing": given.cluster, "writing, the floor": given.cluster, "selection": 16}.get(
            step, len(texts)
        ),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents_file", type=Path, metavar="DOCUMENTS")
    parser.add_argument("--documents", type=int, default=256)
    parser.add_argument("--cluster", type=int, default=80, help="documents that write together")
    parser.add_argument("--tokens", type=int, default=DPSynRAG().tokens)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--step", help="run one, in this process, and print what it took")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(measured(given.step, given)))
        return
    found: dict[str, dict[str, float]] = {}
    for step in STEPS:
        command = [sys.executable, "-m", "benchmarks.synthesis_speed", *sys.argv[1:], "--step", step]
        found[step] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rates = {step: 60 * told["documents"] / told["seconds"] for step, told in found.items()}
    rows = ([step, f"{rates[step]:.0f}", f"{told['memory']:.0f}"] for step, told in found.items())
    write_table(["step", "documents a minute", "peak memory, MiB"], rows, given.csv)
    ratio = found["writing"]["seconds"] / found["writing, the floor"]["seconds"]
    days = {step: MANY / rates[step] / 60 / 24 for step in ("embedding", "keywords", "writing", "facts")}
    common = days["embedding"] + days["keywords"]
    print(
        f"\nWriting takes {ratio:.2f} times its floor: {given.cluster} documents, {given.tokens} tokens, "
        f"{found['writing']['seconds']:.1f} seconds.\n{MANY:,} documents, each in one cluster of {given.cluster}, "
        f"would take {common + days['writing']:.0f} days of such a processor by dp-synrag, and "
        f"{common + days['facts']:.0f} by dp-facts: "
        + ", ".join(f"{step} {took:.0f}" for step, took in days.items())
        + "."
    )


if __name__ == "__main__":
    main()
