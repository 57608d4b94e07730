"""How fast files of mixed kinds are read: files a minute, and the memory that it takes.

    .venv/bin/python -m benchmarks.reading [--add] [--files 10000] [--seed 0]

The files are made first, as many of each kind: text, Markdown, HTML, mail, Word, PDF, CSV and XLSX, each letter of 200
words, each table of 20 records of 40 words. They are read as `discreet add` reads them, without what follows (vectors
and the store). Memory is the peak of this process, and of the largest of those that read documents.

With `--add`, `discreet add` reads and stores them instead: see storing.py.
"""

import argparse
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from benchmarks.storing import store
from tests.reading import samples

from discreet.reading.files import BadRecord, FoundFile, find_files, kind_of, read_records

WORDS = "the patient of ward seven slept well and was given two tablets against a cold hand Zoë said".split()
KINDS: dict[str, Callable[[Random], bytes]] = {
    "txt": lambda random: letter(random).encode(),
    "md": lambda random: f"# Letter\n\n{letter(random)}".encode(),
    "html": lambda random: samples.html(*letter(random).split("\n")),
    "eml": lambda random: samples.eml(*letter(random).split("\n")),
    "docx": lambda random: samples.docx(*letter(random).split("\n")),
    "pdf": lambda random: samples.pdf(letter(random), letter(random)),
    "csv": lambda random: "".join(f"{','.join(map(str, row))}\n" for row in rows(random)).encode(),
    "xlsx": lambda random: samples.xlsx(*rows(random)),
}


def main() -> None:
    """Make the files, read them, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", action="store_true", help="store them in a vault, too")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "files", given.files, Random(given.seed))
        if given.add:
            store(Path(folder) / "files", Path(folder) / "vault")
            return
        print("| kind | files | records | seconds | files a minute |\n|" + " --- |" * 5)
        found = find_files([Path(folder)]).files
        for kind in KINDS:
            timed(kind, [file for file in found if kind_of(file.path) == kind])
        timed("all, in the order of their names", found)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    other = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"\n{os.cpu_count()} cores. Peak memory: {own} MiB, and {other} MiB in the largest process beside it.")


def timed(name: str, files: Sequence[FoundFile]) -> None:
    """Read files, and print one row of the table."""
    start = time.perf_counter()
    read = Counter(isinstance(record, BadRecord) for record in read_records(files))
    seconds = time.perf_counter() - start
    assert not read[True]
    print(
        f"| {name} | {len(files):,} | {read[False]:,} | {seconds:.1f} | {60 * len(files) / seconds:,.0f} |", flush=True
    )


def make(folder: Path, count: int, random: Random) -> None:
    """Make the files, each kind in turn."""
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        place = folder / f"{number // 1000}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.{kind}").write_bytes(KINDS[kind](random))


def letter(random: Random) -> str:
    """A letter of 200 words in 20 lines."""
    return "\n".join(" ".join(random.choices(WORDS, k=10)) for _ in range(20))


def rows(random: Random) -> list[list[str | float]]:
    """A table of 20 records below the names of the columns."""
    records: list[list[str | float]] = [
        [random.randrange(10**12), f"P{random.randrange(10_000)}", " ".join(random.choices(WORDS, k=40))]
        for _ in range(20)
    ]
    return [["id", "patient", "text"], *records]


if __name__ == "__main__":
    main()
