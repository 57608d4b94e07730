"""The parts of the comparison with peers that need no peer."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks.peers.__main__ import NotAskedError, Run, few_shot_true, run_driver
from benchmarks.peers.drivers.few_shot import by_label, noise_scale
from benchmarks.peers.drivers.few_shot_model import Encoding, shared
from benchmarks.peers.drivers.few_shot_pair import CHOSEN, OTHER, MadeUp, default_seed, texts_of, uncovered
from benchmarks.peers.drivers.invisibleink import prompts_for
from benchmarks.peers.drivers.job import Job, answer_all, write_result
from benchmarks.peers.environments import (
    FEW_SHOT,
    INVISIBLEINK,
    PRESIDIO,
    SARUS,
    Environment,
    UnavailableError,
    find_python,
    last_error,
    make_environment,
)
from benchmarks.peers.model_folder import portable_model
from benchmarks.peers.table import COLUMNS, System, table_rows

from discreet.query.known_answers import Question


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


def test_job_survives_its_file(tmp_path: Path) -> None:
    job().save(tmp_path / "job.json")
    assert Job.load(tmp_path / "job.json").questions == ["Who?", "What?"]


def test_job_is_the_same_with_more_time(tmp_path: Path) -> None:
    job().save(tmp_path / "job.json")
    assert job(minutes=5.0).same_as(tmp_path / "job.json")
    assert not job(epsilon=5.0).same_as(tmp_path / "job.json")


def test_messages_have_question_and_record_once_filled() -> None:
    said = job().messages("Who?", "Ann says {question}.")
    assert [one["role"] for one in said] == ["system", "user", "assistant", "user"]
    assert said[-1]["content"].startswith("Question: Who?\nRecord: Ann says ")


def test_invisibleink_prompts_are_filled_by_position() -> None:
    public, private = prompts_for(job())
    assert public.format("Who?", "") == "Question: {set}?\nAnswer {1}.\n\nQuestion: Who?\nRecord: \nQuestion: Who?"
    assert "Record: Ann {x}.\n" in private.format("Who?", "Ann {x}.")


def test_answers_end_with_the_time() -> None:
    assert len(answer_all(job(), lambda place, question: f"{place} {question}")) == 2
    assert answer_all(job(minutes=-1.0), lambda place, question: "") == []


def test_every_peer_has_pinned_packages() -> None:
    pinned = [package for one in (SARUS, INVISIBLEINK, PRESIDIO, FEW_SHOT) for package in one.packages]
    assert all("==" in package for package in pinned)


def test_a_python_that_is_too_old_is_a_reason() -> None:
    with pytest.raises(UnavailableError, match=r"needs Python 9\.9 \(a new package\)\. Name one: --python PATH"):
        find_python(Environment("x", (), (9, 9), "a new package"), [Path("no-such-python")])


def test_a_python_that_is_too_new_is_a_reason() -> None:
    wanted = Environment("x", (), (2, 0), "old packages", before=(3, 0))
    with pytest.raises(UnavailableError, match=r"needs Python 2\.0, before 3\.0 \(old packages\)\. Name one"):
        find_python(wanted, [Path(sys.executable)])


def test_environment_that_is_there_is_used(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "packages.txt").write_text("a==1\nb==2\n")
    assert make_environment(Environment("x", ("a==1", "b==2")), tmp_path) == tmp_path / "x" / "bin" / "python"


def test_reasons_have_no_addresses() -> None:
    said = "Collecting a\nERROR: No release of a | b\nERROR: see https://host/a\n"
    assert last_error(said) == "ERROR: No release of a / b"
    assert last_error("") == "no reason given"


def test_a_driver_that_fails_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"no_such_driver ended with 1: .*No module named"):
        run_driver(Path(sys.executable), "no_such_driver", tmp_path / "job.json", tmp_path / "result.json")


def test_results_that_are_there_are_used(tmp_path: Path) -> None:
    write_result(tmp_path / "result.json", {"claimed": 1})
    assert run_driver(Path("none"), "none", tmp_path / "job.json", tmp_path / "result.json") == {"claimed": 1}


def test_portable_model_has_what_release_4_reads(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "model.safetensors").write_bytes(b"w")
    config = {"dtype": "bfloat16", "rope_parameters": {"rope_theta": 100000.0}}
    (source / "config.json").write_text(json.dumps(config))
    (source / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "TokenizersBackend"}))
    (source / "chat_template.jinja").write_text("{{ messages }}")
    made = portable_model(source, tmp_path / "made")
    config = json.loads((made / "config.json").read_text())
    assert (config["rope_theta"], config["torch_dtype"]) == (100000.0, "bfloat16")
    tokenizer = json.loads((made / "tokenizer_config.json").read_text())
    assert tokenizer["chat_template"] == "{{ messages }}"
    assert tokenizer["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (made / "model.safetensors").read_bytes() == b"w"


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
    run.require("few_shot")
    run.only = ["plain"]
    run.require("plainRAG")
    with pytest.raises(NotAskedError, match="few_shot: not asked for by --only"):
        run.require("few_shot")
    write_result(tmp_path / "few_shot.json", {})
    run.require("few_shot")


def test_few_shot_has_one_row_for_documents_and_one_for_labels() -> None:
    labelled = job(documents=["b 1", "a 1", "b 2"], labels=["b", "a", "b"])
    assert by_label(labelled) == {"a": ["a 1"], "b": ["b 1", "b 2"]}


def test_few_shot_epsilon_is_that_of_secret_subsamples() -> None:
    """Without subsampling, one token at this multiplier is the Gaussian mechanism with a known epsilon."""
    found = few_shot_true({"multiplier": 3.730631634944469, "sampled": 1.0, "tokens": 1}, 1e-5)
    assert found.startswith("1.00 for all questions, if its subsamples are secret; ")


def test_few_shot_noise_is_that_of_one_changed_prompt() -> None:
    assert noise_scale(1.0) == pytest.approx(2**0.5 / 20)


def test_few_shot_seed_is_known_by_default() -> None:
    assert default_seed() == default_seed(example=1, synth_seed=0) < 100_000
    assert default_seed(example=1, synth_seed=1) == default_seed(example=2, synth_seed=0)


def test_few_shot_delta_is_that_of_a_token_that_the_neighbour_rarely_writes() -> None:
    one, other = ({CHOSEN: 1.0, OTHER: 0.0}, {CHOSEN: 0.0, OTHER: 1.0})
    assert uncovered(one, other, 0.05, 10.0) == pytest.approx(1.0, abs=1e-9)
    assert uncovered(one, one, 0.05, 10.0) < 0


def test_few_shot_reads_prompts_from_where_they_differ() -> None:
    assert shared([1, 2, 3], [1, 2, 4]) == 2
    assert shared([1, 2], [1, 2, 3]) == 2
    assert shared([], [1]) == 0


def test_few_shot_made_up_model_tells_chosen_documents() -> None:
    texts = texts_of(3, {1})
    assert [MadeUp().encode(text) for text in texts] == [[OTHER], [CHOSEN], [OTHER]]


def test_few_shot_single_tokens_are_single() -> None:
    class Words:
        """A tokenizer of words."""

        def encode(self, text: str, add_special_tokens: bool) -> list[int]:
            """Return a number for each word."""
            return [len(word) for word in text.split()]

    assert Encoding(Words(), 10).encode_single_token("END") == 3
    with pytest.raises(KeyError):
        Encoding(Words(), 10).encode_single_token("two words")


@pytest.mark.torch
def test_gap_is_what_a_filter_lets_through() -> None:
    import torch
    from benchmarks.peers.drivers.sarus_pair import gap, largest, made_up

    assert gap(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]), 1.0) == (0.5, 0.5)
    assert gap(torch.tensor([0.5, 0.5]), torch.tensor([0.4, 0.6]), 1.0) == (0.0, 0.0)
    scores = made_up(100)

    def best(given: torch.Tensor) -> torch.Tensor:
        found = given[0] + given[1:].clamp(max=0.5).sum(dim=0)
        return found.where(found >= found.topk(50).values[-1], -torch.inf).softmax(0)

    delta, only = largest(scores, best, 1.0)
    assert 0 < delta <= only < 0.1
