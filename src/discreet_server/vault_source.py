"""A vault in this process as a source of answers: the checks and the allow-list of a server, without HTTP."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.adapters.source import Reopened, Reply, check_epsilon, refusal_of, request_body
from discreet.errors import Interrupted, MissingPart, UsageError
from discreet.query.execution import at_a_multiple
from discreet.vault import Vault
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.front.asking import error_of
from discreet_server.front.errors import FrontError
from discreet_server.front.replies import AnsweredQuestion, no_answer
from discreet_server.front.requests import parse_chat
from discreet_server.keeper.answering import refusal
from discreet_server.keeper.served import FREE, NoSuchModel, Served
from discreet_server.wire import Answered, Estimated, Question, Refused, UnitCharge

_NAME = "vault"
_WORDS = {
    "invalid_request": "The question, or a parameter of it, is not valid for this vault. Nothing was paid. The "
    "custodian finds the reason with: discreet ask VAULT QUESTION.",
    "interrupted": "The question was broken off after it may have been paid. The custodian finds the charge with: "
    "discreet budget VAULT.",
    "internal_error": "An unexpected error broke the question off. Its details may be private, and are withheld.",
}
"""Messages in place of those of the server that name its routes."""
_UNKNOWN = _WORDS["internal_error"] + " What it cost is not known either: discreet budget VAULT."
_WHY = " The custodian finds the whole reason with: discreet ask VAULT QUESTION."


class VaultSource(Reopened):
    """A vault in this process.

    The documents lie open in this process. Use it in programs of the custodian alone, and a server for others.

    Args:
        vault: the folder of a vault, or an open vault.
        model: the name of a model, as a server has them: "" (the default), "consensus", "free", ...
        epsilon: the most that a question may cost; the model's own price if None.
        quantum: seconds; replies come at multiples of it. 0 for no wait (docs/privacy-details.md, "Time").

    Raises:
        DiscreetError: if the vault cannot be opened, or an argument is out of range.
    """

    def __init__(
        self, vault: str | Path | Vault, *, model: str = "", epsilon: float | None = None, quantum: float = 0.0
    ) -> None:
        check_epsilon(epsilon)
        self._vault = vault if isinstance(vault, Vault) else Vault.open(vault)
        config = ServeConfig((ServedVault(_NAME, str(self._vault.path)),), state="", quantum=quantum)
        self._served = Served(config.vaults[0], config, lambda _: self._vault, load=False)
        self._model, self._epsilon, self._quantum = model, epsilon, quantum

    def ask(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Ask one question, and pay for it; see `AnswerSource`.

        Raises:
            Interrupted: if Ctrl-C was pressed.
        """
        return self._in_turn(question, choices, lambda asked: self._answered(self._served.answer(asked), asked))

    def estimate(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Tell how a question is understood and what it may cost; see `AnswerSource`."""
        return self._in_turn(question, choices, lambda asked: self._estimated(self._served.estimate(asked, ())))

    def _in_turn(self, question: str, choices: Sequence[str], reply: Callable[[Question], Reply]) -> Reply:
        """Return the reply to a question, in its turn.

        Raises:
            Interrupted: if Ctrl-C was pressed.
        """
        refused = self._look_over(question, choices)
        if refused is not None:
            return refused
        try:
            request = Question(secrets.token_hex(16), _NAME, self._model, question, tuple(choices), self._epsilon)
        except ValidationError:
            return _refused(Refused("invalid_request"))
        with at_a_multiple(self._quantum) as pace, self._vault.turn:
            result = self._reply(replace(request, begun=pace.begun, quantum=pace.quantum), reply)
        if isinstance(result, Interrupted):
            raise result
        return result

    def describe(self) -> dict[str, Any]:
        """Return the arguments of `open_source`; see `AnswerSource`."""
        options = {"model": self._model, "epsilon": self._epsilon, "quantum": self._quantum}
        return {"where": str(self._vault.path), **options}

    def _look_over(self, question: str, choices: Sequence[str]) -> Reply | None:
        """Return a refusal in a server's words if the question or a choice is not valid; they alone decide."""
        try:
            parse_chat(request_body(_NAME, question, choices, self._epsilon))
        except FrontError as error:
            return refusal_of(error.body().model_dump(), unpaid=True)
        except UsageError as error:
            return Reply.of_refusal(str(error), "invalid_request", epsilon=0.0)
        return None

    def _reply(self, asked: Question, reply: Callable[[Question], Reply]) -> Reply | Interrupted:
        """Return the reply that a server would give. An error ends here: its text and its frames may be private."""
        try:
            return reply(asked)  # checked by the server's allow-list
        except Interrupted as error:
            return Interrupted(error.epsilon)
        except MissingPart as error:  # its text names packages, and nothing was paid
            return Reply.of_refusal(str(error), "missing_part", epsilon=0.0)
        except Exception as error:
            failed = error
        # Outside of the block: an error of what follows would carry the first one with it.
        paid = self._paid(asked)
        if isinstance(failed, NoSuchModel):
            known = ", ".join(preset.name for preset in self._served.presets if preset.name)
            words = f"The vault has no model of this name. Leave it out, or name one of: {known}. Nothing was paid."
            return Reply.of_refusal(words, "model_not_found", epsilon=0.0)
        return _refused(refusal(failed, paid)) if paid else Reply.of_refusal(_UNKNOWN, "internal_error")

    def _paid(self, asked: Question) -> UnitCharge | None:
        """Return what a question cost, at most; None if neither the ledger nor an estimate tells."""
        with suppress(Exception):
            return self._served.paid(asked.id)
        with suppress(Exception):
            return self._served.most(asked)
        return None

    def _estimated(self, found: Estimated) -> Reply:
        epsilon = 0.0 if found.free else found.most.epsilon
        unit, left = self._vault.settings.unit_field, self._vault.pipeline.left
        about = {"understood": found.understood or None, "epsilon_most": epsilon, "free": found.free}
        return Reply.of_estimate(about | {"unit": unit, "key": {"left": left}})

    def _answered(self, found: Answered, asked: Question) -> Reply:
        unit, free = self._vault.settings.unit_field, self._model == FREE
        outcome = AnsweredQuestion(asked.id, 0, self._model, unit, free, found.answer)
        paid = outcome.receipt["payment"] != "nobody"
        about = {
            **found.answer,
            "receipt": outcome.receipt,
            "question_id": asked.id if paid else None,
            "replayed": bool(outcome.receipt["reused"]) and not paid,
            "key": {"left": found.answer["remaining"]},
        }
        return Reply.of_answer(no_answer(outcome) or str(found.answer["text"]), about)


def _refused(found: Refused) -> Reply:
    words = _WORDS.get(found.code) or error_of(found).body().error.message
    if found.code == "cannot_answer":
        words += _WHY
    numbers = {"asked": found.asked, "left": found.left, "would_fit": found.would_fit}
    return Reply.of_refusal(words, found.code, epsilon=found.paid.epsilon, **numbers)
