"""The keeper's socket for the desk: its schema, its rights, and long work that can be stopped."""

import json
import os
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from discreet.privacy.filter import Receipt
from discreet.synthesis.base import SyntheticText
from discreet.synthesis.dp_synth import DPSynth
from discreet.synthesis.runner import Synthetic
from discreet.vault import Vault
from discreet_server.custody_messages import (
    CUSTODY,
    Add,
    CorpusWanted,
    HowRead,
    Listed,
    Listing,
    Made,
    Make,
    Overview,
    Progress,
    Undo,
    UploadAdded,
)
from discreet_server.desk.desk import KeeperBusy, KeeperRefused
from discreet_server.desk.uploads import Quarantine
from discreet_server.keeper.custody import make_synthetic
from discreet_server.sockets import KeeperGone
from discreet_server.wire import ANALYSTS, WireError, decode, encode
from tests.server.desk.desks import make_desk
from tests.server.keepers import ask, config_of, exchange, keeping, make_vault, wait_for


def test_schema_refuses_what_it_does_not_have() -> None:
    message = Add("v", "0" * 32, HowRead())
    content = encode(message)
    assert decode(Add, content) == message
    found = json.loads(content)
    for wrong in (
        found | {"more": 1},
        found | {"vault": 1},
        found | {"how": found["how"] | {"manifest": 0}},
        found | {"how": {}},
        {"vault": "v"},
    ):
        with pytest.raises(WireError):
            decode(Add, json.dumps(wrong, separators=(",", ":")).encode())
    with pytest.raises(WireError):
        decode(Overview, b'{"x": 1}')
    with pytest.raises(ValidationError) as caught:
        Undo("v", 1.5)  # type: ignore[arg-type]
    assert "1.5" not in str(caught.value)
    assert all(kind.__name__ not in {one.__name__ for one in ANALYSTS.kinds} for kind in CUSTODY.kinds)


def test_plain_data_keeps_its_form() -> None:
    listed = Listed(({"name": "a", "parts": ["b", {"c": 1.5, "d": None}]},), more=False)
    assert decode(Listed, encode(listed)) == listed
    tuples = Listed(({"parts": ("b", "c")},), more=False)
    assert decode(Listed, encode(tuples)).rows == ({"parts": ["b", "c"]},)


def test_desk_socket_is_for_the_keepers_user_alone(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    with keeping(config) as keeper:
        assert stat.S_IMODE(os.stat(config.desk_socket).st_mode) == 0o600
        assert make_desk(config).ask(Overview()).vaults[0].units == 60
        with pytest.raises(KeeperRefused, match="no vault 'w'"):
            make_desk(config).ask(Listing("w", "units"))
        with pytest.raises(ValidationError, match="pattern"):  # nothing is sent
            make_desk(config).ask(Add("v", "../../v", HowRead()))
        assert keeper.end() == 0
    assert not config.desk_socket.exists()


@pytest.mark.long
def test_long_work_waits_for_a_question_and_refuses_the_rest(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    pause = tmp_path / "pause"
    pause.mkdir()
    upload = _upload(config.uploads, tmp_path, 3)
    desk = make_desk(config)
    with keeping(config, pause):
        question = threading.Thread(target=exchange, args=(config, ask()))
        question.start()
        wait_for(pause / "begun")
        added: list[UploadAdded] = []
        adding = threading.Thread(target=lambda: added.append(desk.ask(Add("v", upload, HowRead()))))
        adding.start()
        while not desk.ask(Progress()).running:
            time.sleep(0.01)
        with pytest.raises(KeeperBusy):
            desk.ask(Overview())
        (pause / "go").touch()
        adding.join()
        question.join()
        assert added[0].added == 3
        assert not desk.ask(Progress()).running


@pytest.mark.long
def test_addition_stops_with_the_keeper_and_goes_on(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    upload = _upload(config.uploads, tmp_path, 4_000)
    failed: list[Exception] = []

    def add() -> None:
        try:
            make_desk(config).ask(Add("v", upload, HowRead()))
        except (KeeperRefused, KeeperGone) as error:
            failed.append(error)

    with keeping(config) as keeper:
        adding = threading.Thread(target=add)
        adding.start()
        while make_desk(config).ask(Progress()).done == 0:
            time.sleep(0.01)
        assert keeper.end() == 0
        adding.join()
    assert failed
    assert "The server stops" in str(failed[0])
    vault = Vault.open(tmp_path / "v")
    assert 60 < vault.store.count_documents() < 4_060
    assert vault.inventory.batches(1)[0].documents > 0


def test_corpus_is_made_and_kept_for_the_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    config.uploads.parent.mkdir(parents=True)
    vault, asked = Vault.open(tmp_path / "v"), []

    def synthesize(self: Vault, out: Path, parameters: Any, **how: Any) -> Synthetic:
        asked.append((parameters, how["only_new"]))
        receipt = Receipt(3.5, 1e-6, "add-remove", "patient", (), "renyi", "system")
        made = Synthetic((SyntheticText("a text"),), receipt)
        made.write(out)
        return made

    monkeypatch.setattr(Vault, "synthesize", synthesize)
    make = Make("v", CorpusWanted("dp-synth", 4.0, only_new=True), "first")
    assert make_synthetic(vault, make, config, lambda *_: None) == Made("first", 1, 1, 3.5, 1e-6)
    assert asked == [(DPSynth(epsilon=4.0), True)]
    assert (config.corpora / "v" / "first.jsonl").read_text() == '{"text": "a text"}\n'
    assert stat.S_IMODE(os.stat(config.corpora).st_mode) == 0o700
    with pytest.raises(ValidationError, match="pattern"):
        replace(make, name="../first")


def _upload(folder: Path, tmp_path: Path, count: int) -> str:
    """Write an upload of so many documents; return its id."""
    path = tmp_path / "new.jsonl"
    with path.open("w") as file:
        for number in range(count):
            text = f"My thumbs are numb. say: winterhand {number} ."
            file.write(json.dumps({"id": f"n{number}", "patient": f"q{number}", "text": text}) + "\n")
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.open("rb") as file:
        return Quarantine(folder).take("v", HowRead(), [("new.jsonl", file)], None).id
