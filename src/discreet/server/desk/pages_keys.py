"""Keys, and the requests of analysts for more."""

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import UsageError
from discreet.server.accounts import CAP_IS_POLICY, Key, Limits
from discreet.server.accounts.keys import METER_READS, parse_expiry, parse_models, parse_rate
from discreet.server.custody_messages import Bind, Overview
from discreet.server.desk.desk import Desk, action, lines_of, number_of, page, text_of, ticked, whole_of


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
        page(desk, "/keys", _show),
        action(desk, "/keys/issue", _issue),
        action(desk, "/keys/extend", _extend, "Change the caps of this key?"),
        action(desk, "/keys/rotate", _rotate, "Replace the secret of this key? The one in use ends at once."),
        action(desk, "/keys/revoke", _revoke, "Revoke this key for good?"),
        action(desk, "/keys/approve", _approve, "Approve this request? The cap of its key rises."),
        action(desk, "/keys/deny", _deny, "Deny this request?"),
    ]


def _show(desk: Desk, request: Request) -> Response:
    keys = desk.accounts.list_keys()
    return desk.show(
        request,
        "keys.html",
        "Keys",
        keys=[(key, desk.accounts.odometer(key.id)) for key in keys],
        requests=desk.accounts.requests(),
        names={key.id: key.name for key in keys},
        policy=CAP_IS_POLICY,
        meter_reads=METER_READS,
    )


def _issue(desk: Desk, request: Request, form: FormData) -> Response:
    name, limits = text_of(form, "name"), _limits(form)
    if limits.epsilon is None:
        raise UsageError("A key needs a cap in epsilon. Give a number, such as 10.")
    limits.check()
    chosen = [desk.vault(one) for one in form.getlist("vaults")] or [desk.vault("")]
    reserved, keep = ticked(form, "reserved"), number_of(form, "keep")
    states = {state.name: state for state in desk.ask(Overview()).vaults}
    usual = {name: state.usual.spending if state.usual else None for name, state in states.items()}
    where = lines_of(form, "where")
    for vault in chosen if where else ():
        desk.ask(Bind(vault, where))
    for vault in chosen:
        desk.accounts.grant(vault, states[vault].grant, kept=keep, typical=usual[vault])
    key, secret = desk.accounts.issue(
        name,
        chosen,
        limits,
        reserved=reserved,
        footer=ticked(form, "footer"),
        typical=usual[chosen[0]],
        where=where,
    )
    bound = {"where": " and ".join(where)} if where else {}
    desk.record("key-issue", key.id, name=key.name, epsilon=key.epsilon, reserved=reserved, **bound)
    return _show_secret(desk, request, key, secret)


def _extend(desk: Desk, request: Request, form: FormData) -> Response:
    limits = _limits(form)
    if limits == Limits():
        raise UsageError("Nothing is to be changed. Give a new cap.")
    key = desk.accounts.extend(_key(desk, form).id, limits)
    desk.record("key-extend", key.id, epsilon=limits.epsilon, questions=limits.questions)
    return desk.go(request, "/keys", f"The caps of the key {key.id} ({key.name}) are changed.")


def _rotate(desk: Desk, request: Request, form: FormData) -> Response:
    key, secret = desk.accounts.rotate(_key(desk, form).id)
    desk.record("key-rotate", key.id)
    return _show_secret(desk, request, key, secret)


def _revoke(desk: Desk, request: Request, form: FormData) -> Response:
    key = desk.accounts.revoke(_key(desk, form).id)
    desk.record("key-revoke", key.id)
    return desk.go(request, "/keys", f"The key {key.id} ({key.name}) is revoked. What it spent stays spent.")


def _approve(desk: Desk, request: Request, form: FormData) -> Response:
    found, key = desk.accounts.approve(whole_of(form, "request"))
    desk.record("request-approve", key.id, request=found.id, epsilon=found.epsilon)
    return desk.go(request, "/keys", f"Request {found.id} is approved. The cap of {key.name} is {key.epsilon:g}.")


def _deny(desk: Desk, request: Request, form: FormData) -> Response:
    found = desk.accounts.deny(whole_of(form, "request"))
    desk.record("request-deny", found.key, request=found.id, epsilon=found.epsilon)
    return desk.go(request, "/keys", f"Request {found.id} is denied. The cap stays.")


def _show_secret(desk: Desk, request: Request, key: Key, secret: str) -> Response:
    return desk.show(request, "secret.html", "A new secret", key=key, secret=secret)


def _key(desk: Desk, form: FormData) -> Key:
    return desk.accounts.get(text_of(form, "key"))


def _limits(form: FormData) -> Limits:
    """Return the caps of a form. The messages of their checks name the options of `discreet key`, spelled alike."""
    questions = number_of(form, "questions")
    if questions is not None and not questions.is_integer():
        raise UsageError(f"The number of questions is {questions:g}. Give a whole number.")
    return Limits(
        epsilon=number_of(form, "epsilon"),
        questions=None if questions is None else int(questions),
        per_question=number_of(form, "per_question"),
        rate=parse_rate(text_of(form, "rate") or None),
        expires=parse_expiry(text_of(form, "expires") or None),
        models=parse_models(text_of(form, "models") or None),
    )
