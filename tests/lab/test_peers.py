"""The parts of the comparison with peers that need no peer."""

import sys
from pathlib import Path

import pytest

from discreet.query.known_answers import Question
from discreet_lab.experiments.peers.comparison import COLUMNS, NotAskedError, Run, System, run_driver, table_rows
from discreet_lab.experiments.peers.drivers.invisibleink import prompts_for
from discreet_lab.experiments.peers.drivers.job import Job, write_result
from discreet_lab.experiments.peers.environments import (
    INVISIBLEINK,
    PRESIDIO,
    SARUS,
    UnavailableError,
)


def job(**given: object) -> Job:
    """A small job."""
    content: dict[str, object] = {
        "model": "m",
        "embedder": "e",
        "documents": ["Ann has {braces}."],
        "questions": ["Who?", "What?"],
        "retrieved": [["Ann."], ["Ann."]],
        "system": "Answer.",
        "examples": [["Question: {set}?", "Answer {1}."]],
        "before": "Question: {question}\nRecord: ",
        "after": "\nQuestion: {question}",
        "epsilon": 10.0,
        "delta": 1e-5,
        "records": 1,
        "tokens": 8,
    }
    return Job(**(content | given))  # type: ignore[arg-type]


def test_invisibleink_prompts_are_filled_by_position() -> None:
    public, private = prompts_for(job())
    assert public.format("Who?", "") == "Question: {set}?\nAnswer {1}.\n\nQuestion: Who?\nRecord: \nQuestion: Who?"
    assert "Record: Ann {x}.\n" in private.format("Who?", "Ann {x}.")


def test_every_peer_has_pinned_packages() -> None:
    pinned = [package for one in (SARUS, INVISIBLEINK, PRESIDIO) for package in one.packages]
    assert all("==" in package for package in pinned)


def test_a_driver_that_fails_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"no_such_driver ended with 1: .*No module named"):
        run_driver(Path(sys.executable), "no_such_driver", tmp_path / "job.json", tmp_path / "result.json")


def test_table_compares_the_questions_that_all_answered() -> None:
    questions = [Question("1", "Who?", ("Ann",)), Question("2", "What?", ("fever",)), Question("3", "?", ("x",))]
    rag = [{"text": text, "seconds": 1.0} for text in ("It is Ann.", "none", "x")]
    slow = [{"text": text, "seconds": 3.0} for text in ("Bob", "a fever")]
    found = table_rows(
        [System("plain RAG", rag), System("slow", slow, "10", "20"), System("gone", [], reason="no package")], questions
    )
    assert all(len(row) == len(COLUMNS) for row in found)
    assert [row[0] for row in found] == ["plain RAG", "slow", "gone"]
    assert found[1][1] == "0.50 (0.01-0.99)"
    assert found[1][2:] == ["10", "20", "3.0", "2"]
    assert found[2] == ["gone", "-", "-", "not run: no package", "-", "0"]


def test_only_leaves_out_what_is_not_kept(tmp_path: Path) -> None:
    run = Run(job(), tmp_path, tmp_path, [])
    run.require("invisibleink")
    run.only = ["plain"]
    run.require("plainRAG")
    with pytest.raises(NotAskedError, match="invisibleink: not asked for by --only"):
        run.require("invisibleink")
    write_result(tmp_path / "invisibleink.json", {})
    run.require("invisibleink")


@pytest.mark.torch
def test_gap_is_what_a_filter_lets_through() -> None:
    import torch

    from discreet_lab.experiments.peers.drivers.sarus_pair import gap, largest, made_up

    assert gap(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]), 1.0) == (0.5, 0.5)
    assert gap(torch.tensor([0.5, 0.5]), torch.tensor([0.4, 0.6]), 1.0) == (0.0, 0.0)
    scores = made_up(100)

    def best(given: torch.Tensor) -> torch.Tensor:
        found = given[0] + given[1:].clamp(max=0.5).sum(dim=0)
        return found.where(found >= found.topk(50).values[-1], -torch.inf).softmax(0)

    delta, only = largest(scores, best, 1.0)
    assert 0 < delta <= only < 0.1
