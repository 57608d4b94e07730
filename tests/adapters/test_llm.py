"""The plug-in for llm: its command line in a process of its own, and its model here."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.llm_command import environment, run
from tests.adapters.needs import needs
from tests.server.front.serving import Server

needs("llm")

import llm  # noqa: E402

from discreet.adapters.llm import Discreet  # noqa: E402

COUNT = "How many patients have numb thumbs?"


@pytest.fixture(autouse=True)
def no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of the user who runs the tests are not read."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.delenv("DISCREET_KEY", raising=False)


def ask(tmp_path: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return run(["-m", "llm", "-m", "discreet", *words], environment(tmp_path, **more))


def test_command_asks_a_vault(tmp_path: Path, folder: Path) -> None:
    found = ask(tmp_path, "-o", "vault", str(folder), COUNT)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("About ")


def test_command_refuses_in_words(tmp_path: Path, folder: Path) -> None:
    found = ask(tmp_path, "-o", "vault", str(folder), "Which patient has numb thumbs?")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("Error: No answer: The vault cannot answer a question of this kind.")
    assert "Traceback" not in found.stderr


def test_command_asks_a_server(tmp_path: Path, server: Server, issue: Callable[..., str]) -> None:
    found = ask(tmp_path, "-o", "url", server.root, "-o", "model", "v", "--key", issue(), COUNT)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("About ")


def test_response_has_the_metadata(folder: Path, server: Server, issue: Callable[..., str]) -> None:
    for options in ({"vault": str(folder)}, {"url": server.root, "key": issue()}):
        response = Discreet().prompt(COUNT, **options)
        assert response.text().startswith("About ")
        assert response.response_json["table"][0]["kind"] == "count"


def test_key_comes_from_the_environment(
    server: Server, issue: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_KEY", issue())
    assert Discreet().prompt(COUNT, url=server.root).text().startswith("About ")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epsilon": 50.0}, "it may cost 50, left is 20"),
        ({"vault": "/nowhere"}, "nowhere"),
        ({"vault": "", "url": "http://127.0.0.1:9"}, "The key is missing"),
        ({"url": "http://127.0.0.1:9"}, "Name a vault .* and not both"),
        ({"vault": ""}, "Name a vault"),
    ],
)
def test_model_refuses_in_words(folder: Path, options: dict[str, object], reason: str) -> None:
    with pytest.raises(llm.ModelError, match=reason):
        Discreet().prompt("Which disease makes feet numb?", **{"vault": str(folder)} | options).text()
