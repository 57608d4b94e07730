"""A model worker as its clients see it: over its socket and its port, by its own routes and by OpenAI's."""

import http.client
import json
import os
import signal
import stat
import threading
from ast import literal_eval
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import UsageError
from discreet.generation.model import Completer, Prompt
from discreet.generation.opening import open_model
from discreet.generation.remote.endpoint import KEY, Endpoint, ServerGone
from discreet.generation.remote.openai_model import open_openai
from discreet.generation.remote.worker_model import WORKER, WorkerModel
from discreet.server.model_worker.main import bind_port, bind_socket, remove_socket
from discreet.server.model_worker.turns import JobFailed, Turns
from discreet.testing import ModelSuite
from tests.server.model_worker.processes import short_folder, worker


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with short_folder() as folder, worker(folder / "model", 0.02):
        yield folder / "model"


class TestWorkerModel(ModelSuite):
    @pytest.fixture
    def model(self, socket: Path) -> Completer:
        return WorkerModel(str(socket))


class TestOpenAIModelOfWorker(ModelSuite):
    @pytest.fixture(params=["", "?rows=together", "?endpoint=chat"])
    def model(self, request: pytest.FixtureRequest, socket: Path) -> Completer:
        return open_openai(f"unix:{socket}{request.param}")


def post(socket: Path, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    reply = Endpoint("unix", str(socket)).request("POST", path, body)
    return reply.status, reply.content


def test_environment_names_the_worker_of_a_model(socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER, str(socket))
    model = open_model("toy")
    assert isinstance(model, WorkerModel)
    assert (model.name, model.row_independent) == ("toy", True)
    with pytest.raises(UsageError, match="serves 'toy', and the vault's model is 'smollm2-135m'"):
        open_model("smollm2-135m")


def test_socket_is_for_its_owner_alone(socket: Path) -> None:
    assert stat.S_IMODE(os.stat(socket).st_mode) == 0o600
    with pytest.raises(UsageError, match="Another worker listens"):
        bind_socket(socket)


def test_completions_have_the_form_of_the_protocol(socket: Path) -> None:
    status, reply = post(socket, "/v1/completions", {"prompt": ["say: a b c .", "say: d ."], "max_tokens": 2})
    assert status == 200
    found = [(one["index"], one["text"], one["finish_reason"]) for one in reply["choices"]]
    assert found == [(0, " a b", "length"), (1, " d", "stop")]
    status, reply = post(socket, "/v1/completions", {"prompt": "say: a b c .", "max_tokens": 9, "stop": " b"})
    assert (reply["choices"][0]["text"], reply["choices"][0]["finish_reason"]) == (" a", "stop")
    messages = [{"role": "system", "content": "Answer."}, {"role": "user", "content": "say: a ."}]
    status, reply = post(socket, "/v1/chat/completions", {"messages": messages, "max_tokens": 9})
    assert reply["choices"][0]["message"] == {"role": "assistant", "content": " a"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/completions", {"prompt": "secret", "temperature": 1}, 400),
        ("/v1/completions", {"prompt": "secret", "stream": True}, 400),
        ("/v1/completions", {"prompt": "secret", "model": "other"}, 404),
        ("/v1/completions", {"prompt": {"secret": 1}}, 422),
        ("/v1/completions", {"prompt": "secret " * 5000}, 400),
        ("/v1/completions", {"prompt": [999_999_999]}, 400),
        ("/v1/chat/completions", {"messages": [{"role": "assistant", "content": "secret"}]}, 400),
        ("/discreet/answers", {"shared": [], "prompts": [[0, [5]], [0, [5, 6]]], "max_tokens": 4}, 400),
        ("/discreet/answers", {"shared": [], "prompts": [], "max_tokens": 4}, 400),
        ("/discreet/embed", {"embedder": "minilm+words", "texts": ["secret"] * 1000}, 422),
        ("/nowhere", {}, 404),
    ],
)
def test_refusal_repeats_nothing(socket: Path, path: str, body: dict[str, Any], status: int) -> None:
    found, reply = post(socket, path, body)
    assert found == status
    assert "secret" not in json.dumps(reply)


def test_first_come_is_first_served() -> None:
    turns, order, begun = Turns(), list[int](), threading.Event()
    first = turns.put(lambda: begun.wait(30))
    jobs = [turns.put(partial(order.append, number)) for number in range(5)]
    assert jobs[2].cancel()  # its asker left
    begun.set()
    for job in (first, jobs[4]):
        job.result(30)
    assert order == [0, 1, 3, 4]


def test_failed_job_tells_its_type_alone_and_the_next_runs() -> None:
    def fail() -> None:
        raise ValueError("secret")

    turns = Turns()
    with pytest.raises(JobFailed, match=r"^ValueError$") as caught:
        turns.put(fail).result(30)
    assert caught.value.__context__ is None
    assert turns.put(lambda: 7).result(30) == 7


def test_worker_with_a_key_refuses_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with short_folder() as folder:
        monkeypatch.setenv(KEY, "right")
        with worker(folder / "model"):
            assert WorkerModel(str(folder / "model")).name == "toy"
            monkeypatch.setenv(KEY, "wrong")
            with pytest.raises(UsageError, match="refuses the key"):
                WorkerModel(str(folder / "model"))


def test_worker_that_was_away_in_a_question_gives_no_answer_to_it() -> None:
    """A text that could not be encoded meanwhile has another prompt: no answer may depend on that."""
    with short_folder() as folder:
        place = folder / "model"
        with worker(place):
            model = WorkerModel(str(place))
        with pytest.raises(ServerGone):
            model.encode("say: a .")
        with worker(place):
            prompts = [Prompt((5, 6), 0)]
            with pytest.raises(ServerGone, match="could have cost is charged"):
                model.answers((), prompts, 2)
            model.check_ready()  # the next question
            assert len(model.answers((), prompts, 2)) == 1


def test_text_that_cannot_be_encoded_is_one_row_alone(socket: Path) -> None:
    """In one process its row becomes the public prompt. A worker must not fail the question for it."""
    model = WorkerModel(str(socket))
    with pytest.raises(ValueError, match="fails with this text"):
        model.encode("unreadable")
    assert len(model.answers((), [Prompt((5, 6), 0)], 2)) == 1


@pytest.mark.parametrize("padding", [-1, 3, 9])
def test_padding_beyond_a_row_is_refused(socket: Path, padding: int) -> None:
    status, _ = post(socket, "/discreet/answers", {"shared": [], "prompts": [[padding, [1, 2]]], "max_tokens": 2})
    assert status == 400


def test_second_worker_at_a_path_is_refused_while_the_first_loads() -> None:
    with short_folder() as folder:
        first = bind_socket(folder / "m")  # its model is not loaded yet
        with pytest.raises(UsageError, match="Another worker listens"):
            bind_socket(folder / "m")
        first.close()
        second = bind_socket(folder / "m")
        remove_socket(folder / "m", first)
        assert (folder / "m").exists()
        remove_socket(folder / "m", second)
        assert not (folder / "m").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is tested where the tests may become one")
def test_socket_of_another_user_gets_nothing() -> None:
    with short_folder() as folder:
        folder.chmod(0o777)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            listener = bind_socket(folder / "m")
            os.write(write, b".")  # the file is there before it listens
            listener.accept()
            os._exit(0)
        os.close(write)
        try:
            assert os.read(read, 1)
            with pytest.raises(ServerGone, match="PermissionError"):
                Endpoint("unix", str(folder / "m")).request("POST", "/discreet/encode", {"texts": ["private"]})
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)


def test_port_refuses_the_name_of_a_page_of_the_web() -> None:
    with worker(0) as process:
        _, port = literal_eval(process.said)
        for host, status in (("evil.example", 400), (f"127.0.0.1:{port}", 200), (f"localhost:{port}", 200)):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/v1/models", headers={"Host": host})
            assert connection.getresponse().status == status
            connection.close()


def test_absent_worker_is_named() -> None:
    with pytest.raises(ServerGone, match=r"none runs.*discreet serve-model --socket /nowhere/model"):
        WorkerModel("/nowhere/model")


def test_folder_that_is_not_there_is_named_with_the_command_that_makes_it() -> None:
    with short_folder() as folder:
        path = folder / "my run" / "model"
        result = CliRunner().invoke(app, ["serve-model", "--socket", str(path)])
        assert result.exit_code == 2
        assert f"mkdir -p -m 700 '{path.parent}'" in " ".join(result.output.split())
        path.parent.mkdir()
        bind_socket(path).close()


def test_port_of_this_machine_alone() -> None:
    with pytest.raises(UsageError, match="this machine alone"):
        bind_port("0.0.0.0", 0)
    bind_port("127.0.0.1", 0).close()


def test_port_serves_the_protocol_and_ctrl_c_ends_it() -> None:
    with worker(0) as process:
        _, port = literal_eval(process.said)
        assert open_openai(f"http://127.0.0.1:{port}/v1#toy").complete(["say: a b ."], 4) == [" a b"]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.parametrize("options", [[], ["--port", "1", "--socket", "x"]])
def test_command_wants_one_place(options: list[str]) -> None:
    result = CliRunner().invoke(app, ["serve-model", *options])
    assert result.exit_code == 2
    assert "one of --socket" in result.output


@pytest.mark.parametrize(
    ("given", "nearest"), [(["smolm2-135m"], "smollm2-135m"), (["--embedder", "minilm+worts"], "minilm+words")]
)
def test_command_names_the_nearest_model(given: list[str], nearest: str) -> None:
    with short_folder() as folder:
        result = CliRunner().invoke(app, ["serve-model", *given, "--socket", str(folder / "model")])
        assert result.exit_code == 2
        assert f"Did you mean {nearest}" in result.output
        assert not (folder / "model").exists()
