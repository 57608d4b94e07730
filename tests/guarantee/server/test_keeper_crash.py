"""The keeper is killed in the middle of an answer, or asked to end: nothing is unpaid, and nothing is paid twice."""

import threading
from contextlib import closing
from pathlib import Path

from discreet.vault import Vault
from discreet_server.wire import Answered, Refused
from tests.server.keepers import (
    TRIES,
    ask,
    config_of,
    connect,
    exchange,
    keeping,
    make_vault,
    read_message,
    receive,
    start_keeper,
    wait_for,
    write_message,
)

ASKED = "Which disease makes thumbs numb?"


def test_killed_keeper_leaves_a_paid_question_that_is_not_paid_again(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    question = ask(ASKED)
    with keeping(config, tmp_path) as keeper, closing(connect(config)) as asking:
        write_message(asking, question)
        wait_for(tmp_path / "begun")
        keeper.kill()
        assert read_message(asking) is None
    (tmp_path / "go").touch()
    ledger = Vault.open(tmp_path / "v").ledger
    paid = ledger.spent_at_most([question.id])
    assert ledger.began(question.id)
    with keeping(config, tmp_path):
        refused = exchange(config, question)
        assert (refused.code, refused.paid.spending) == ("interrupted", paid)
        assert refused.paid.is_something
        assert ledger.spent_at_most() == paid
        for _ in range(TRIES):
            answered = exchange(config, ask(ASKED, anew=True))
            assert isinstance(answered, Answered)
            paid += answered.spent.spending
            assert ledger.spent_at_most() == paid
            if answered.answer["answer"]:
                break
        assert answered.answer["answer"] == "Winterhand"


def test_client_that_goes_away_does_not_break_a_question_off(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    question = ask(ASKED)
    with keeping(config, tmp_path) as keeper:
        with closing(connect(config)) as asking:
            write_message(asking, question)
            wait_for(tmp_path / "begun")
        (tmp_path / "go").touch()
        again = exchange(config, question)  # joins, or finds it finished
        assert isinstance(again, Answered) or again.code == "interrupted"
        assert keeper.end() == 0
    (record,) = Vault.open(tmp_path / "v").ledger.questions()
    # In one of a hundred, a noisy count lets nothing be released; a question that broke off has no outcome at all.
    assert (record.id, record.stopped) in {(question.id, "end"), (question.id, "public")}
    if isinstance(again, Answered):
        assert record.stopped == again.answer["stopped"]


def test_sigterm_finishes_the_running_question_and_refuses_the_others(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    running, waiting = ask(ASKED), ask("Which disease makes toes blue?")
    ended: list[int] = []
    with keeping(config, tmp_path) as keeper, closing(connect(config)) as first, closing(connect(config)) as second:
        write_message(first, running)
        wait_for(tmp_path / "begun")
        write_message(second, waiting)
        ending = threading.Thread(target=lambda: ended.append(keeper.end()))
        ending.start()
        for _ in range(100):
            if "stopping" in keeper.errors.read_text():
                break
            ending.join(0.05)
        (tmp_path / "go").touch()
        assert isinstance(receive(first), Answered)
        assert receive(second) == Refused("stopping")
        ending.join(60)
    assert ended == [0]
    assert not config.ask_socket.exists()
    (record,) = Vault.open(tmp_path / "v").ledger.questions()
    assert record.id == running.id


def test_second_keeper_in_the_same_folder_ends(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    with keeping(config):
        assert start_keeper(config).process.wait(60) == 1
        assert isinstance(exchange(config, ask()), Answered)


def test_vault_that_cannot_be_opened_is_named_by_type_alone(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    (tmp_path / "v" / "ledger.sqlite").write_bytes(b"canary " * 1000)
    assert start_keeper(config).process.wait(60) == 1
    lines = Path(f"{config.state}.errors").read_text()
    assert "LedgerError" in lines
    assert "canary" not in lines
    assert str(tmp_path) not in lines
