"""A part of a data set: some questions, and the documents that are about them, for readings that take a while.

    .venv/bin/python -m benchmarks.data_part DATA/nq_notes FOLDER [--questions 30] [--support 20] [--documents 0]

A document is about a question if it quotes it (nq_notes), or if it names the question's condition (chatdoctor). Of the
questions with enough support, so many are taken, spread evenly over the file. `--documents` adds others, spread evenly
as well, up to so many. Writes FOLDER/documents.jsonl and FOLDER/questions.jsonl.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from discreet.reading.opening import open_bytes

Line = dict[str, Any]


def lines_of(folder: Path, name: str) -> list[Line]:
    """The objects of a file of a data set, packed or not.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    found = [path for path in (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz") if path.is_file()]
    if not found:
        raise FileNotFoundError(f"{folder} has no {name}.jsonl and no {name}.jsonl.gz; name the folder of a data set")
    with open_bytes(found[0]) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def spread(found: Sequence[Line], most: int) -> list[Line]:
    """So many of the objects, spread evenly."""
    return [found[place * len(found) // most] for place in range(most)] if most < len(found) else list(found)


def about(question: Line) -> Callable[[Line], bool]:
    """Whether a document is about a question."""
    named = (question.get("meta") or {}).get("condition") or question["question"].rstrip(" ?")
    wanted = str(named).casefold()
    return lambda document: wanted in document["text"].casefold()


def main() -> None:
    """Write the part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--support", type=int, default=20)
    parser.add_argument("--documents", type=int, default=0)
    given = parser.parse_args()
    try:
        asked, documents = lines_of(given.data, "questions"), lines_of(given.data, "documents")
    except FileNotFoundError as error:
        parser.error(str(error))
    questions = spread([one for one in asked if (one["support"] or 0) >= given.support], given.questions)
    tests = [about(question) for question in questions]
    chosen = {one["id"] for one in documents if any(test(one) for test in tests)}
    others = [one for one in documents if one["id"] not in chosen]
    chosen |= {one["id"] for one in spread(others, max(0, given.documents - len(chosen)))}
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = [one for one in documents if one["id"] in chosen]
    for name, found in (("questions", questions), ("documents", kept)):
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)
        (given.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    print(f"{len(questions)} questions; {len(kept):,} of {len(documents):,} documents")


if __name__ == "__main__":
    main()
