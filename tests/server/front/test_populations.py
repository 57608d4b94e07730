"""A key that is bound to a population, over HTTP and in front of a real vault: no question of it looks at others."""

from pathlib import Path
from typing import Any

import pytest

from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.config import ServedVault
from discreet_server.keeper.answering import refusal
from discreet_server.keeper.served import Served
from discreet_server.wire import Catalog, Catalogued, Estimate, Question
from tests.server.front.fakes import FakeKeeper, drive, receipt, running
from tests.server.keepers import config_of

UNITS = 300
"""In ward 3, all have a fever; in ward 4, none."""


class VaultKeeper(FakeKeeper):
    """Answers by a vault, in this process."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        fields = {"ward": "category(3, 4)", "age": "number"}
        path = folder / "hospital"
        vault = Vault.create(
            path, epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing", fields=fields, people=UNITS
        )
        vault.add_documents(
            Document(
                f"d{n}", f"p{n}", "A high fever." if n % 2 else "A cough.", fields={"ward": "34"[n % 2 == 0], "age": n}
            )
            for n in range(UNITS)
        )
        config = config_of(path)
        opened = Vault.open(path, model=ToyModel(default="yes"))
        self.served = Served(ServedVault("hospital", str(path)), config, lambda _: opened, load=False)

    async def question(self, question: Question) -> Any:
        self.asked.append(question)
        return self._reply(self.served.answer, question)

    async def estimate(self, asked: Estimate) -> Any:
        return self._reply(self.served.estimate, asked.question, asked.air)

    async def catalog(self, _: Catalog) -> Catalogued:
        return Catalogued((self.served.card(),))

    def _reply(self, act: Any, *values: Any) -> Any:
        try:
            return act(*values)
        except Exception as error:
            return refusal(error)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("where", "text", "echo", "low", "high"),
    [
        ((), 'count: "fever"', 'count: "fever"', UNITS / 2 - 30, UNITS / 2 + 30),
        (("ward=3",), 'count: "fever"', 'count: "fever", among ward = 3', UNITS / 2 - 30, UNITS / 2 + 30),
        (("ward=4",), 'count: "fever"', 'count: "fever", among ward = 4', -30, 30),
        (("ward=4",), "How many patients have fever?", 'count: "fever", among ward = 4', -30, 30),
        (("ward=4",), "count: all, among ward = 3", "count: all, among ward = 3 and ward = 4", -30, 30),
        (("ward=4",), "count: all, among ward = 3 or ward = 4", "ward = 4", UNITS / 2 - 30, UNITS / 2 + 30),
        (("ward=4",), "count: all, among not ward = 4", "ward = 4", -30, 30),
        (("ward=3", "age<100"), 'count: "fever"', "ward = 3 and age < 100", 20, 80),
    ],
)
def test_question_of_a_bound_key_is_among_its_population(
    tmp_path: Path, where: tuple[str, ...], text: str, echo: str, low: float, high: float
) -> None:
    async def test() -> None:
        async with running(tmp_path, VaultKeeper(tmp_path)) as front:
            _, secret = front.accounts.issue("ana", ["hospital"], front.limits, where=where)
            given = {"authorization": f"Bearer {secret}"}
            body = {"model": "hospital", "messages": said(text)}
            estimate = (await front.client.post("/v1/estimate", json=body, headers=given)).json()
            found = receipt(await front.ask(secret, messages=said(text)))
            assert echo in estimate["understood"]
            assert estimate["understood"].startswith(found["understood"])
            bound = list(where) or None
            assert (estimate["key"].get("where"), found["key"].get("where")) == (bound, bound)
            assert (await front.get("/v1/budget", secret)).json()["where"] == list(where)
            (figure,) = [one for one in found["table"] if one["kind"] == "count"] or found["table"][:1]
            assert low <= figure["value"] <= high
            assert front.accounts.get("ana").where == where

    drive(test)


@pytest.mark.parametrize("model", ["hospital", "hospital:consensus"])
def test_bound_key_asks_no_voters(tmp_path: Path, model: str) -> None:
    async def test() -> None:
        async with running(tmp_path, VaultKeeper(tmp_path)) as front:
            _, secret = front.accounts.issue("ana", ["hospital"], front.limits, where=("ward=3",))
            refused = await front.ask(secret, model=model, messages=said("What is the treatment for winter hand?"))
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "cannot_answer")
            assert "bound to a population" in refused.json()["error"]["message"]
            assert front.keeper.asked == []
            assert (await front.get("/v1/budget", secret)).json()["spent"] == 0.0

    drive(test)
