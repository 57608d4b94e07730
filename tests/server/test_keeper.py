import io
import os
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import PriceChanged, UsageError
from discreet.models.toy import ToyModel
from discreet.questions.vocabulary import public_words
from discreet.vault import Vault
from discreet_server.keeper.answering import Answering
from discreet_server.keeper.hardening import KeeperLog
from discreet_server.keeper.served import Served
from discreet_server.wire import (
    Answered,
    Catalog,
    Catalogued,
    Condense,
    Condensed,
    Estimate,
    Estimated,
    Readied,
    Ready,
    Refused,
    Turn,
    UnitCharge,
)
from tests.server.keepers import (
    TRIES,
    Keeper,
    ask,
    config_of,
    connect,
    exchange,
    keeping,
    make_vault,
    receive,
    request_of,
    wait_for,
    write_message,
)


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeper]:
    path = make_vault(tmp_path_factory.mktemp("k") / "v", epsilon=200).path
    with keeping(config_of(path)) as running:
        yield running


def test_question_is_paid_under_its_own_id_and_given_again_free(keeper: Keeper) -> None:
    for number in range(TRIES):
        question = ask(f"Which disease makes the thumbs of {number + 2} sailors numb?")
        estimated = exchange(keeper.config, Estimate(question))
        answered = exchange(keeper.config, question)
        assert isinstance(answered, Answered)
        if answered.answer["answer"]:
            break
    assert answered.answer["answer"] == "Winterhand"
    understood = f"fact: {question.question}"
    assert estimated == Estimated(estimated.most, False, "voters", understood)
    assert answered.spent.spending.within(estimated.most.spending)
    ledger = Vault.open(Path(keeper.config.vaults[0].path)).ledger
    assert ledger.spent_at_most([question.id]) == answered.spent.spending
    released = exchange(keeper.config, Estimate(ask(question.question)))
    assert released == Estimated(estimated.most, True, "records", understood)  # the ceiling of a new answer
    again = exchange(keeper.config, ask(question.question))
    assert (again.answer["receipt"]["payment"], again.spent) == ("nobody", UnitCharge.nothing())
    anew = exchange(keeper.config, Estimate(ask(question.question, anew=True)))
    assert not anew.free


def test_id_that_was_paid_is_refused_with_what_it_paid(keeper: Keeper) -> None:
    question = ask("Which disease makes the thumbs of bakers numb?")
    answered = exchange(keeper.config, question)
    refused = exchange(keeper.config, question)
    assert refused == Refused("interrupted", paid=refused.paid)
    assert refused.paid.spending == answered.spent.spending
    ledger = Vault.open(Path(keeper.config.vaults[0].path)).ledger
    assert ledger.spent_at_most([question.id]) == answered.spent.spending


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (ask("   "), "invalid_request"),
        (ask("x " * 5000), "question_too_long"),
        (ask("Summarise what the patients say."), "cannot_answer"),
        (ask(model="nonsense"), "model_not_found"),
        (ask(model="rag"), "model_not_found"),
        (ask(model="non-rag"), "model_not_found"),
        (ask(model="projection-rag"), "model_not_found"),
        (ask(vault="w"), "model_not_found"),
        (ask(vault="../v"), "model_not_found"),
        (ask("Which thumbs, doctor?", model="triage", epsilon=3), "invalid_request"),
        (ask("Which thumbs, doctor?", model="triage", choices=("a", "b")), "invalid_request"),
        (ask("Which thumbs, doctor?", model="free", choices=("a", "b")), "invalid_request"),
        (ask("Which thumbs, doctor?", choices=("same", "same")), "invalid_request"),
        (ask("What makes a thumb numb?", epsilon=1000), "vault_budget_exhausted"),
    ],
)
def test_refusal_is_a_code_and_nothing_is_paid(keeper: Keeper, question: object, code: str) -> None:
    refused = exchange(keeper.config, question)  # type: ignore[arg-type]
    assert isinstance(refused, Refused)
    assert (refused.code, refused.paid) == (code, UnitCharge.nothing())
    assert not Vault.open(Path(keeper.config.vaults[0].path)).ledger.began(question.id)  # type: ignore[attr-defined]


def test_catalog_has_private_models_and_free_ones_alone(keeper: Keeper) -> None:
    catalog = exchange(keeper.config, Catalog())
    assert isinstance(catalog, Catalogued)
    (card,) = catalog.vaults
    models = {model.name: model for model in card.models}
    assert {"", "consensus", "dp-ksa", "free", "triage"} <= models.keys()
    assert not {"rag", "vote-rag", "ksa", "projection-rag", "knn-lm", "public"} & models.keys()
    assert [name for name, model in models.items() if not model.private] == ["free"]
    assert models["free"].most == UnitCharge.nothing()
    assert (card.unit, card.epsilon, card.payment) == ("patient", 200, "unit")
    assert 1.9 < models["triage"].most.epsilon <= 2.0


def test_free_model_reads_no_document_and_pays_nothing(keeper: Keeper) -> None:
    answered = exchange(keeper.config, ask("How many thumbs are numb?", model="free", epsilon=3))
    assert (answered.answer["text"], answered.spent) == ("yes", UnitCharge.nothing())


def follow_up(said: str, vault: str = "v") -> Condense:
    return Condense(vault, (Turn("user", said), Turn("assistant", "Winterhand"), Turn("user", "And of cooks?")))


def test_follow_up_is_rewritten_without_a_document(keeper: Keeper) -> None:
    ledger = Vault.open(Path(keeper.config.vaults[0].path)).ledger
    before = ledger.questions()
    asked = follow_up("say: What makes the thumbs of cooks numb? .")
    for _ in range(2):
        assert exchange(keeper.config, asked) == Condensed("What makes the thumbs of cooks numb?")
    assert exchange(keeper.config, follow_up("say: What " + "goes and " * 40)) == Condensed("")  # it does not end
    assert exchange(keeper.config, Condense("v", asked.messages[-1:])) == Condensed("")
    assert exchange(keeper.config, follow_up("say: What?", vault="w")).code == "model_not_found"
    assert ledger.questions() == before


@pytest.mark.long
def test_follow_up_waits_for_the_answer_that_runs(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v", epsilon=200).path)
    with keeping(config, tmp_path), closing(connect(config)) as asking, closing(connect(config)) as condensing:
        write_message(asking, ask("Which disease makes thumbs numb?"))
        wait_for(tmp_path / "begun")
        write_message(condensing, follow_up("say: What is it of cooks here? ."))
        condensing.settimeout(0.3)
        with pytest.raises(TimeoutError):
            receive(condensing)
        (tmp_path / "go").touch()
        assert isinstance(receive(asking), Answered)
        condensing.settimeout(60)
        assert receive(condensing) == Condensed("What is it of cooks here?")


HEAD = b"POST /ready HTTP/1.1\r\nhost: keeper\r\n"
HOSTILE = {
    "no request": (b"\0\0\0\x10{\r\n\r\n", 400),
    "no JSON": (request_of("/ready", b"{"), 422),
    "an unknown field": (request_of("/ready", b'{"canary": 1}'), 422),
    "an unknown path": (request_of("/canary", b"{}"), 404),
    "a reply": (request_of("/readied", b'{"loaded": true, "ledger_writable": true}'), 404),
    "documentation": (b"GET /openapi.json HTTP/1.1\r\nhost: keeper\r\n\r\n", 404),
    "another method": (b"GET /ready HTTP/1.1\r\nhost: keeper\r\n\r\n", 405),
    "a broken header": (HEAD + b"canary\r\n\r\n", 400),
    "two lengths": (HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}", 400),
    "a long header": (HEAD + b"canary: " + b"x" * 100_000, 400),
    "a long body": (request_of("/question", b" " * 300_000), 422),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_keeper_closes_on_hostile_bytes_without_repeating_them(keeper: Keeper, case: str) -> None:
    sent, status = HOSTILE[case]
    with closing(connect(keeper.config)) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):  # it does not read to the end
            connection.sendall(sent)
        got = b""
        with suppress(ConnectionResetError):
            while part := connection.recv(65_536):
                got += part
    assert got.startswith(f"HTTP/1.1 {status}".encode())
    assert b"canary" not in got
    assert b"server:" not in got.lower()
    assert exchange(keeper.config, Ready()) == Readied(loaded=True, ledger_writable=True)
    assert "canary" not in keeper.errors.read_text()


def test_sockets_are_for_the_keepers_user_alone(keeper: Keeper) -> None:
    assert stat.S_IMODE(os.stat(keeper.config.ask_socket).st_mode) == 0o600


def test_log_has_ids_and_types_alone(keeper: Keeper) -> None:
    question = ask("Summarise what patients say about zebras.")
    exchange(keeper.config, question)
    lines = keeper.errors.read_text()
    assert f"refused {question.id} CannotAnswer" in lines
    for private in ("zebras", "patients", "Traceback", "winterhand", str(keeper.config.vaults[0].path)):
        assert private not in lines


def test_question_above_its_ceiling_is_refused_unpaid(keeper: Keeper) -> None:
    question = ask("Which disease makes the thumbs of cooks numb?")
    ledger = Vault.open(Path(keeper.config.vaults[0].path)).ledger
    assert exchange(keeper.config, replace(question, ceiling=UnitCharge.nothing())) == Refused("price_changed")
    assert not ledger.began(question.id)
    estimated = exchange(keeper.config, Estimate(question))
    assert isinstance(exchange(keeper.config, replace(question, ceiling=estimated.most)), Answered)
    again = replace(ask(question.question), ceiling=UnitCharge.nothing())
    assert isinstance(exchange(keeper.config, again), Answered)  # from the history, for nothing


@pytest.mark.long
def test_estimates_are_given_while_a_question_runs(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v", epsilon=200).path)
    slow = ask("Which disease makes thumbs numb?")
    with keeping(config, tmp_path) as keeper, closing(connect(config)) as asking:
        write_message(asking, slow)
        wait_for(tmp_path / "begun")
        assert isinstance(exchange(config, Estimate(ask("Which disease makes toes blue?"), air=(slow.id,))), Estimated)
        assert isinstance(exchange(config, Catalog()), Catalogued)
        assert exchange(config, Ready()).loaded
        # The same question under the same id joins the one that runs; another one under that id is refused.
        joined: list[object] = []
        thread = threading.Thread(target=lambda: joined.append(exchange(config, slow)))
        thread.start()
        assert exchange(config, replace(slow, anew=True)).code == "invalid_request"
        time.sleep(0.2)
        (tmp_path / "go").touch()
        answered = receive(asking)
        thread.join(60)
        assert joined == [answered]
        assert isinstance(answered, Answered)
        assert keeper.end() == 0
    assert len(Vault.open(tmp_path / "v").ledger.questions()) == 1


def test_many_questions_in_the_air_hide_none_of_them(tmp_path: Path) -> None:
    """A statistic may begin many times before the reply of the model leaves: what was public before it stays known."""
    config = config_of(make_vault(tmp_path / "v", epsilon=200).path)
    with keeping(config):
        slow = replace(ask("Which disease makes thumbs numb?"), quantum=20.0, begun=time.time(), lane="voters")
        assert isinstance(exchange(config, slow), Answered)
        for number in range(20):
            assert isinstance(exchange(config, ask(f'count: "thumbs {number}"')), Answered)
        again = ask("Which disease makes thumbs numb?")
        assert exchange(config, Estimate(again)).free
        assert not exchange(config, Estimate(again, air=(slow.id,))).free


@pytest.mark.long
def test_quantum_is_measured_on_dummies_once(tmp_path: Path) -> None:
    config = replace(config_of(make_vault(tmp_path / "v").path), quantum=None, models=("consensus",), presets=())
    longest = []
    for _ in range(2):
        with keeping(config):
            longest.append(exchange(config, Catalog()).vaults[0].longest_answer_s["voters"])
    assert longest[0] == longest[1] > 0
    assert Vault.open(tmp_path / "v").ledger.questions() == []


class OneAtATime(ToyModel):
    """A model that notes how many answers use it at one moment."""

    def __init__(self) -> None:
        super().__init__(default="yes")
        self.inside, self.most, self.threads = 0, 0, set[str]()

    def start(self, shared: Any, prompts: Any, max_tokens: int) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.threads.add(threading.current_thread().name)
        time.sleep(0.05)
        self.inside -= 1
        return super().start(shared, prompts, max_tokens)


def test_one_thread_answers(tmp_path: Path) -> None:
    config, model = config_of(make_vault(tmp_path / "v", epsilon=200).path), OneAtATime()
    answering = Answering(config, lambda path: Vault.open(path, model=model), KeeperLog(io.StringIO()), lambda: None)
    answering.start()
    answering.wait_loaded()
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(answering.reply, [ask(f"Which disease makes {one} numb?") for one in "abcd"]))
    answering.stop()
    assert {type(one) for one in replies} == {Answered}
    assert (model.most, len(model.threads)) == (1, 1)


def test_work_that_waits_for_a_thread_that_died_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the keeper's process ends as one that failed, so that what watches it starts it again."""
    log, ended, begun, go = io.StringIO(), threading.Event(), threading.Event(), threading.Event()
    config = config_of(make_vault(tmp_path / "v").path)
    answering = Answering(config, lambda path: Vault.open(path, model=ToyModel()), KeeperLog(log), ended.set)
    answering.start()
    answering.wait_loaded()

    def die(_: Served) -> None:
        begun.set()
        go.wait(60)
        raise SystemExit

    monkeypatch.setattr(Served, "warm_up", die)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(answering.work, lambda _: "done")
        assert begun.wait(60)
        second, third = pool.submit(answering.work, lambda _: "never"), pool.submit(answering.reply, ask())
        while answering._jobs.qsize() < 2:
            time.sleep(0.01)
        go.set()
        assert first.result(60) == "done"
        with pytest.raises(UsageError, match="nothing was done"):
            second.result(60)
        assert third.result(60) == Refused("stopping")
    assert ended.wait(60)
    assert answering.failed
    assert "the thread of the vaults stopped" in log.getvalue()
    with pytest.raises(UsageError, match="Try again"):
        answering.work(lambda _: "never")


def test_a_cheap_list_has_the_lane_of_the_model(tmp_path: Path) -> None:
    """The less it costs, the more noise it draws: its time is that of no other statistic."""
    config = config_of(make_vault(tmp_path / "v", fields={"kind": "category"}).path)
    served = Served(config.vaults[0], config, lambda path: Vault.open(path, model=ToyModel()))
    usual = served.estimate(ask("list: kind"))
    lanes = [served.estimate(ask("list: kind", epsilon=part * usual.most.epsilon)).lane for part in (0.9, 0.6, 0.3)]
    assert [usual.lane, *lanes] == ["records", "records", "records", "voters"]
    assert served.estimate(ask('count: "thumbs"', epsilon=0.001)).lane == "records"
    cheap = ask("list: kind", epsilon=0.3 * usual.most.epsilon, lane="records")
    with pytest.raises(PriceChanged):
        served.answer(cheap)


def test_words_are_loaded_before_the_first_question(tmp_path: Path) -> None:
    """Else its refusal would come after those of later ones."""
    config = config_of(make_vault(tmp_path / "v").path)
    public_words.cache_clear()
    Served(config.vaults[0], config, lambda path: Vault.open(path, model=ToyModel()))
    assert public_words.cache_info().currsize == 1
