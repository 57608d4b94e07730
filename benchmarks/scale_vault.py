"""What a whole question costs in a vault with many records: rows of `benchmarks.scale`.

A record is one unit with one short note, whose disease is one of a hundred. The vault is made as a custodian makes it:
documents are added with the hashing embedder, and read. The model is a toy that repeats what a note says, so a row has
what everything but the language model costs. Each kind of question has a process of its own, for its first question
and the next one.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.generation.toy import ToyModel
from discreet.registry import Consensus, MuRAGAda
from discreet.retrieval.documents import Document
from discreet.vault import Vault

KINDS = ("search", "share", "votes by readings")
DISEASES = 100
GRANT = 1000.0
_DIGITS = "zero one two three four five six seven eight nine".split()
_FIRST = "Winter Glass Copper Velvet Thunder Paper Amber Marble Silver Garden".split()
_SECOND = "Hand Heart Knee Lung Ear Spine Tooth Wrist Ankle Shoulder".split()

Found = dict[str, float]


def run_alone(work: Callable[..., Found], *arguments: Any) -> Found:
    """Return what `work` finds in a fresh process, whose memory is its own.

    Raises:
        RuntimeError: if the process ends without a result.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(send, work, *arguments))
    process.start()
    send.close()
    try:
        found: Found = receive.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"The process of {work.__name__} ended with {process.exitcode} and found nothing.") from None
    process.join()
    return found


def _send(pipe: Any, work: Callable[..., Found], *arguments: Any) -> None:
    pipe.send(work(*arguments))


def of_vault(folder: Path, count: int) -> Found:
    """Return the costs of questions, of opening and of an erasure in a vault with `count` records."""
    path = folder / "vault"
    run_alone(make_vault, path, count)
    found: Found = {}
    for kind in KINDS:
        found |= run_alone(ask_in_turn, path, kind)
    return found | run_alone(remove_unit, path, count)


def make_vault(path: Path, count: int) -> Found:
    """Make the vault, add its documents, and read them."""
    vault = Vault.create(path, epsilon=GRANT, delta=1e-6, unit_field="patient", embedder="hashing", people=count)
    vault = Vault.open(path, model=toy())
    vault.add_documents(notes(count))
    vault.read()
    return {}


def notes(count: int) -> Iterator[Document]:
    """Yield one note of each unit. All notes differ, and they have few different words."""
    for number in range(count):
        named = " ".join(_DIGITS[int(digit)] for digit in f"{number // DISEASES:06d}")
        disease = number % DISEASES
        said = f"The treatment is {_treatment(disease, number)}. The disease is {_disease(disease)}."
        yield Document(f"d{number}", f"unit {number}", f"Visit {named} . say: {said}")


def _disease(number: int) -> str:
    return f"{_FIRST[number // 10]} {_SECOND[number % 10]}"


def _treatment(disease: int, number: int) -> str:
    """Return the treatment of two thirds of the units, or that of the others."""
    return f"{_FIRST[disease % 10].lower()} {('tea', 'tea', 'rest')[number // DISEASES % 3]}"


def toy() -> ToyModel:
    """Return the model that repeats what a note says."""
    return ToyModel(default="nothing known", size=2000)


def ask_in_turn(path: Path, kind: str) -> Found:
    """Return the costs of opening a vault, and of three questions of a kind: the last after a commit."""
    begun = time.thread_time()  # a large ledger is checked in another thread
    vault = Vault.open(path, model=toy())
    opened = time.thread_time() - begun
    times = []
    first = 10 * KINDS.index(kind)  # a question that was asked before would get the same answer for nothing
    for number in range(first, first + 3):
        if number == first + 2:
            vault.add_documents([Document(f"later for a {kind}", f"later for a {kind}", "A note that says nothing.")])
        start = time.process_time()
        question, algorithm = asked(kind, number)
        vault.ask(question, algorithm)
        times.append(time.process_time() - start)
    found = {"vault: open, ms": 1e3 * opened} if kind == "search" else {}
    return found | {
        f"ask: {kind}, the first of a process, ms": 1e3 * times[0],
        f"ask: {kind}, the next one, ms": 1e3 * times[1],
        f"ask: {kind}, after a commit, ms": 1e3 * times[2],
        f"ask: {kind}, peak memory, MiB": peak_memory(),
    }


def asked(kind: str, number: int) -> tuple[str, Algorithm | None]:
    """Return a question about a disease, and its algorithm; None for the statistic that the question asks for."""
    if kind == "share":
        treatment = _treatment(number, 0)
        return f"What share of patients with {_disease(number)} had {treatment}?", None
    inner = Consensus(readings=kind == "votes by readings")
    return f"What is the treatment for {_disease(number)}?", MuRAGAda(inner=inner)


def remove_unit(path: Path, count: int) -> Found:
    """Return the cost of erasing a unit through the vault, with all that was derived from its documents."""
    vault = Vault.open(path, model=toy())
    begun = time.process_time()
    if vault.remove_unit(f"unit {count // 2}") != 1:
        raise RuntimeError(f"unit {count // 2} had no document to erase.")
    taken = time.process_time() - begun
    return {"vault: remove a unit, ms": 1e3 * taken, "vault: remove a unit, peak memory, MiB": peak_memory()}


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in MiB.

    It is read from the process, since `getrusage` counts that of the parent before the start of the program, too.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return max(int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmRSS"))) / 1024
