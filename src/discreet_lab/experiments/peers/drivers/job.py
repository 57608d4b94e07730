"""What a driver is given, and what it gives back."""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Job:
    """The work of one driver.

    Attributes:
        model: the folder of the language model.
        embedder: the folder of the embedder.
        documents: the texts of all individuals, one text each.
        questions: the questions.
        retrieved: for each question, the texts nearest to it, for peers that do not search.
        system: the instructions of our prompt.
        examples: made-up dialogues of our prompt: what the user says, and the answer.
        before, after: what our prompt says before and after a record; `{question}` stands for the question.
        epsilon, delta: what each question may cost.
        records: how many records are wanted for a question.
        tokens: the longest answer in tokens.
        minutes: no question is begun after so many minutes.
        dtype: the numbers in which the language model computes: "bfloat16" or "float32", as ours does on this machine.
        path: the folder of the peer's code, if it is no package.
    """

    model: str
    embedder: str
    documents: Sequence[str]
    questions: Sequence[str]
    retrieved: Sequence[Sequence[str]]
    system: str
    examples: Sequence[tuple[str, str]]
    before: str
    after: str
    epsilon: float
    delta: float
    records: int
    tokens: int
    minutes: float = 60.0
    dtype: str = "float32"
    path: str = ""

    def save(self, path: Path) -> None:
        """Write the job to a file."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Job":
        """Return the job of a file."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def same_as(self, path: Path) -> bool:
        """Return whether a file's job has the same work, apart from the time that it had."""
        kept = json.loads(path.read_text(encoding="utf-8"))
        mine = json.loads(json.dumps(asdict(self)))
        return bool(kept | {"minutes": 0} == mine | {"minutes": 0})

    def messages(self, question: str, record: str) -> list[dict[str, str]]:
        """Return our prompt for one record as the messages of a chat; without a record, the public prompt."""
        said = [{"role": "system", "content": self.system}]
        for asked, answer in self.examples:
            said += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        asked = (self.before + record + self.after).replace("{question}", question)
        return [*said, {"role": "user", "content": asked}]


def read_arguments(about: str | None) -> tuple[Job, Path]:
    """Return the job of a driver, and the file for its result. `about` is the help of the driver."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", type=Path)
    parser.add_argument("result", type=Path)
    given = parser.parse_args()
    return Job.load(given.job), given.result


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Write what a driver found."""
    path.write_text(json.dumps(result), encoding="utf-8")


def answer_all(job: Job, answer: Callable[[int, str], str]) -> list[dict[str, Any]]:
    """Return the answer to each question, with the seconds that its processor computed. Models should be loaded before.

    No question is begun after `Job.minutes`.
    """
    found, begun = list[dict[str, Any]](), time.monotonic()
    for place, question in enumerate(job.questions):
        if time.monotonic() - begun > 60 * job.minutes:
            break
        started = time.process_time()
        text = answer(place, question)
        found.append({"text": text, "seconds": time.process_time() - started})
        print(f"{place + 1} of {len(job.questions)}: {text!r}", flush=True)
    return found
