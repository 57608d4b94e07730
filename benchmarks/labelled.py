"""Intervals of counts and shares with a labelled sample, against exact truth.

    .venv/bin/python -m benchmarks.labelled DOCUMENTS [--samples 200 1000 3000] [--questions 60] [--epsilon 0.5 1]

The notes of medical_synth are dealt by chance: some are the public sample, with the truth of the doctor's sentence, and
the others are the vault. A question goes the way of `discreet ask`. Nothing is paid, and noise is seeded.

noise      the intervals of the noise alone that hold the truth
sample     those with the sample that do
own        the intervals for which the condition had enough labels of its own; the others pool all conditions
wider      the median of the width with the sample, by the width of the noise alone
"""

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.analyst import ALONE, Asked, Note, questions, stated_notes, statistic_for
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.answer import Figure
from discreet.algorithms.statistics.labelled import LabelledSample, labelled
from discreet.errors import UsageError
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.derived import asked_of
from discreet.query.recall import widen_answer
from discreet.reading.opening import open_bytes
from discreet.retrieval.documents import Document
from discreet.vault import Vault


def covers(figure: Figure, true: float) -> bool:
    """Whether an interval holds the truth."""
    return figure.low - 1e-9 <= true <= figure.high + 1e-9


def measure(vault: Vault, asked: Sequence[Asked], kind: str, epsilon: float, sample: LabelledSample) -> list[str]:
    """One row: a kind at a price, with a sample."""
    noise, wide, own, wider, refused = 0, 0, 0, list[float](), 0
    for place, one in enumerate(asked):
        statistic = statistic_for(vault, one, kind, {"epsilon": epsilon})
        if statistic is None:
            continue
        ledger = MemoryLedger(ALONE, simulation=True)
        answer = vault.simulate(one.text, statistic, noise=InsecureSeededNoise(place), ledger=ledger)
        try:
            found = widen_answer(vault.history, one.text, statistic, answer, sample)
        except UsageError:
            refused += 1
            continue
        first, widened, true = answer.table[0], found.table[0], one.truth[0]
        noise, wide = noise + covers(first, true), wide + covers(widened, true)
        own += not any(sample.check(phrases).pooled for phrases in asked_of(statistic))
        wider.append((widened.high - widened.low) / max(1e-9, first.high - first.low))
    number = max(1, len(wider))
    return [
        kind,
        f"{epsilon:g}",
        f"{len(sample):,}",
        *(f"{part / number:.2f}" for part in (noise, wide, own)),
        f"{sorted(wider)[len(wider) // 2]:.1f}" if wider else "-",
        str(refused),
    ]


def sample_of(texts: Sequence[str], notes: Sequence[Note]) -> LabelledSample:
    """The labelled sample of notes whose truth is known."""
    lines = ({"text": text, "holds": [note.diagnosis, *note.symptoms]} for text, note in zip(texts, notes, strict=True))
    return LabelledSample([labelled(line) for line in lines])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, help="the documents of medical_synth")
    parser.add_argument("--samples", type=int, nargs="+", default=[200, 1000, 3000])
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0])
    add_csv_option(parser)
    given = parser.parse_args()
    with open_bytes(given.documents) as lines:
        texts = [json.loads(line)["text"] for line in lines]
    dealt = list(zip(texts, stated_notes(given.documents), strict=True))
    random.Random(0).shuffle(dealt)
    public, private = dealt[: max(given.samples)], dealt[max(given.samples) :]
    notes = [note for _, note in private]
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "v", epsilon=20.0, delta=1e-6, embedder="hashing", unit_field="patient")
        vault.add_documents(Document(f"d{n}", f"p{n}", text) for n, (text, _) in enumerate(private))
        table = TableWriter("kind,epsilon,sample,noise,with sample,own,wider,refused".split(","), given.csv)
        for size in given.samples:
            sample = sample_of(*zip(*public[:size], strict=True))
            for kind in ("count", "share"):
                asked = list(questions(notes, kind, given.questions))
                for epsilon in given.epsilon:
                    table.write(measure(vault, asked, kind, epsilon, sample))
    print(f"\n{given.questions} questions of each kind; {len(private):,} notes in the vault; seeded noise.")


if __name__ == "__main__":
    main()
