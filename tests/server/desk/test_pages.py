"""Each page of the desk renders, says what it must, and escapes what comes from documents and analysts."""

import json
import re
from typing import Any

import pytest
from lxml import html  # type: ignore[import-untyped]

from discreet.privacy.accounting import Budget
from discreet.vault import Vault
from discreet_server.accounts import Limits
from discreet_server.accounts.keys import METER_READS
from discreet_server.desk.desk import PAGES
from tests.server.accounts.helpers import pure
from tests.server.desk.desks import Opened, read_vault, text_of

SCRIPT = "<script>alert(1)</script>"


@pytest.mark.parametrize("path", [path for path, _ in PAGES])
def test_page_is_marked_private_and_can_be_navigated(desk: Opened, path: str) -> None:
    reply = desk.browser.get(path)
    assert reply.status_code == 200
    page = html.fromstring(reply.text)
    assert "Private: not for analysts" in text_of(reply.text)
    assert page.get("lang") == "en"
    assert len(page.xpath("//h1")) == len(page.xpath("//main")) == 1
    assert page.xpath(f"//nav//a[@aria-current='page' and @href='{path}']")
    named = {one.get("for") for one in page.xpath("//label")}
    inputs = page.xpath("//input[not(@type='hidden')] | //select | //textarea")
    assert all(one.get("id") in named for one in inputs)
    ids = [one.get("id") for one in page.xpath("//*[@id]")]
    assert len(ids) == len(set(ids))
    assert not page.xpath("//@style | //style | //script[not(@src)] | //@onclick")


def test_overview_tells_grant_histogram_and_counts(desk: Opened) -> None:
    page = desk.get("/")
    text = text_of(page)
    assert "epsilon 20 at delta 1e-06" in text
    assert "Documents60" in text.replace(" ", "")
    rects = html.fromstring(page).xpath("//svg//rect")
    assert len(rects) == 10
    table = html.fromstring(page).xpath("//table//td")
    assert len(table) == 20


def test_questions_list_those_of_keys_without_texts(desk: Opened) -> None:
    accounts = desk.desk.accounts
    accounts.grant("v", _grant(desk))
    key, _ = accounts.issue("question page", ["v"], Limits(epsilon=5.0))
    accounts.reserve(key.id, "a" * 32, pure(1.0), vault="v", model="v:triage", fingerprint="f")
    text = text_of(desk.get("/questions"))
    assert "question page" in text
    assert "v:triage" in text
    assert "a" * 32 in text
    assert "in flight" in text
    assert "The accounts keep an answer for up to two days" in text
    assert "--no-history" in text


def test_key_shows_its_secret_once(desk: Opened) -> None:
    page = desk.post("/keys/issue", name="ana", epsilon="10", rate="6/min", expires="90d").text
    (secret,) = html.fromstring(page).xpath("//code[@id='secret']/text()")
    assert re.search(
        r"It buys \d+ open questions?, or \d+ counts?, or \d+ lists?, at their usual prices", text_of(page)
    )
    found = desk.desk.accounts.find(secret)
    assert found is not None
    assert found.name == "ana"
    assert secret not in desk.get("/keys")
    assert "ana" in text_of(desk.get("/keys"))
    act = desk.acts()[-1]
    assert (act["act"], act["of"]) == ("key-issue", found.id)
    assert secret not in json.dumps(act)
    desk.agree("/keys/extend", key=found.id, epsilon="12")
    assert desk.desk.accounts.get(found.id).epsilon == 12
    renewed = desk.agree("/keys/rotate", key=found.id).text
    assert html.fromstring(renewed).xpath("//code[@id='secret']/text()") != [secret]
    assert desk.desk.accounts.find(secret) is None
    desk.agree("/keys/revoke", key=found.id)
    assert desk.desk.accounts.get(found.id).revoked


def test_key_is_bound_to_a_population_of_declared_fields(desk: Opened) -> None:
    assert "floor" in text_of(desk.post("/keys/issue", 400, name="dora", epsilon="5", where="floor=3").text)
    assert "ward" in text_of(desk.post("/keys/issue", 400, name="dora", epsilon="5", where="ward=3\nward=9").text)
    for refused in ("\n".join(["ward=3"] * 40), "\n".join([f"ward={'3' * 190}"] * 20)):
        desk.post("/keys/issue", 400, name="dora", epsilon="5", where=refused)
    twice = ["ward=3", "floor=3"]  # a field that stands twice: both count
    assert "floor" in text_of(desk.post("/keys/issue", 400, name="dora", epsilon="5", where=twice).text)
    assert "dora" not in {key.name for key in desk.desk.accounts.list_keys()}
    desk.post("/keys/issue", name="dora", epsilon="5", where=" ward=3 \n")
    assert desk.desk.accounts.get("dora").where == ("ward=3",)
    assert desk.acts()[-1]["details"]["where"] == "ward=3"
    assert "among ward=3 alone" in text_of(desk.get("/keys"))
    assert METER_READS in text_of(desk.get("/keys"))


def test_key_that_cannot_be_issued_is_explained(desk: Opened) -> None:
    assert "A key needs a cap" in text_of(desk.post("/keys/issue", 400, name="x", epsilon="").text)
    assert "Give a number" in text_of(desk.post("/keys/issue", 400, name="x", epsilon="ten").text)
    assert "discreet" not in {key.name for key in desk.desk.accounts.list_keys()}


def test_request_is_approved_or_denied(desk: Opened) -> None:
    accounts = desk.desk.accounts
    accounts.grant("v", _grant(desk))
    key, _ = accounts.issue("asker", ["v"], Limits(epsilon=5.0))
    first, second = (accounts.request(key.id, 2.0, f"more {SCRIPT}") for _ in range(2))
    page = desk.get("/keys")
    assert SCRIPT not in page
    assert SCRIPT in text_of(page)
    desk.agree("/keys/approve", request=str(first.id))
    desk.agree("/keys/deny", request=str(second.id))
    assert accounts.get(key.id).epsilon == 7.0
    assert [one["act"] for one in desk.acts()[-2:]] == ["request-approve", "request-deny"]


@pytest.mark.parametrize("path", ["/keys/revoke", "/keys/rotate", "/keys/extend", "/keys/approve", "/keys/deny"])
def test_act_on_a_key_is_asked_about_first(desk: Opened, path: str) -> None:
    accounts = desk.desk.accounts
    accounts.grant("v", _grant(desk))
    key, secret = accounts.issue(f"k{path[6:]} {SCRIPT}", ["v"], Limits(epsilon=5.0))
    wanted = accounts.request(key.id, 2.0, "more")
    before = desk.acts()
    of = str(wanted.id) if path in ("/keys/approve", "/keys/deny") else key.id
    (form,) = html.fromstring(desk.get("/keys")).xpath(f"//form[@action='{path}'][input/@value='{of}']")
    page = desk.post(path, **dict(form.form_values()) | {"epsilon": "12"}).text
    assert "Are you sure?" in text_of(page)
    assert key.name in text_of(page)
    assert ("By epsilon: 2" if of == str(wanted.id) else "Epsilon: 12") in text_of(page)
    assert SCRIPT not in page
    assert (accounts.get(key.id), accounts.requests(), desk.acts()) == (key, [wanted], before)
    assert accounts.find(secret) is not None
    desk.agree("/keys/deny", request=str(wanted.id))


def test_act_on_documents_is_asked_about_first(desk: Opened) -> None:
    held, before = Vault.open(read_vault(desk.desk)).store.count_documents(), desk.acts()
    forms: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/erasure/erase", {"unit": f"p8{SCRIPT}", "anyway": "yes"}),
        ("/erasure/readmit", {"unit": "p8"}),
        ("/documents/undo", {"batch": "1"}),
    )
    for path, form in forms:
        page = desk.post(path, vault="v", **form).text
        assert "Are you sure?" in text_of(page)
        assert SCRIPT not in page
        assert dict(html.fromstring(page).xpath("//main//form")[0].form_values()) == form | {
            "vault": "v",
            "sure": "yes",
        }
    assert (Vault.open(read_vault(desk.desk)).store.count_documents(), desk.acts()) == (held, before)


def test_upload_preview_add_undo(desk: Opened) -> None:
    lines = [{"id": f"new{n}", "patient": f"q{n % 2}", "text": "Thumbs. say: winterhand ."} for n in range(4)]
    content = "\n".join(json.dumps(one) for one in [*lines, {"id": "bad", "patient": "q9"}]).encode()
    upload, preview = desk.upload("new.jsonl", content)
    text = text_of(preview)
    assert "4 records of 2 patients" in text
    assert "1 cannot be added" in text
    assert upload in desk.get("/documents")
    added = desk.post("/documents/add", upload=upload)
    assert "/progress" in str(added.url)
    done = text_of(desk.wait())
    assert "4 added, 0 replaced, 0 unchanged" in done
    batch = re.search(r"Batch (\d+)", done)
    assert batch is not None
    assert upload not in desk.get("/documents")
    assert not (desk.desk.config.uploads / upload).exists()
    assert "q1" in text_of(desk.get("/documents?list=units&skip=50"))
    reply = desk.agree("/documents/undo", vault="v", batch=batch[1])
    assert f"4 documents of batch {batch[1]} are erased" in text_of(reply.text)
    acts = [(one["act"], one["details"]) for one in desk.acts()]
    names = [act for act, _ in acts]
    start = names.index("upload")
    assert names[start : start + 4] == ["upload", "add-begin", "add", "undo"]
    assert "q1" not in json.dumps(acts)
    assert "new.jsonl" not in json.dumps(acts)
    assert "added" not in acts[start + 2][1]


def test_upload_that_is_refused_says_why_and_is_discarded(desk: Opened) -> None:
    reply = desk.post("/documents/upload", 400, files={"files": ("x.jsonl", b'{"text": "no unit"}\n')}, vault="v")
    assert "patient" in text_of(reply.text)
    upload = str(reply.url).rsplit("=", 1)[1]
    desk.post("/documents/discard", upload=upload)
    assert not (desk.desk.config.uploads / upload).exists()
    desk.get(f"/documents/preview?upload={upload}", 400)


@pytest.mark.parametrize("name", ["../x.jsonl", "/etc/x.jsonl", "a/../../x.jsonl", "a\\b.jsonl"])
def test_upload_stays_in_its_folder(desk: Opened, name: str) -> None:
    before = {one.id for one in desk.desk.quarantine.list()}
    desk.post("/documents/upload", 400, files={"files": (name, b"{}")}, vault="v")
    assert {one.id for one in desk.desk.quarantine.list()} == before
    assert not list(desk.desk.config.uploads.parent.parent.rglob("x.jsonl"))


def test_names_from_documents_are_escaped(desk: Opened) -> None:
    one = {"id": f"!{SCRIPT}", "patient": f"! {SCRIPT}", "text": "say: winterhand ."}
    upload, preview = desk.upload("<img src=x onerror=alert(1)>.jsonl", json.dumps(one).encode())
    assert SCRIPT not in preview
    assert SCRIPT in text_of(preview)
    desk.post("/documents/add", upload=upload)
    desk.wait()
    for what in ("documents", "units", "batches"):
        page = desk.get(f"/documents?list={what}")
        assert "<script>alert" not in page
        assert "<img" not in page
    assert SCRIPT in text_of(desk.get("/documents?list=documents"))
    found = desk.post("/erasure/look", vault="v", unit=one["patient"]).text
    assert "<script>alert" not in found
    desk.agree("/erasure/erase", vault="v", unit=one["patient"])


def test_erasure_tells_what_stays_and_logs_no_name(desk: Opened) -> None:
    before = text_of(desk.post("/erasure/look", vault="v", unit="p7").text)
    assert "Not erased. Documents about this individual in the vault: 1" in before
    after = text_of(desk.agree("/erasure/erase", vault="v", unit="p7").text)
    assert "Erased, with 1 documents" in after
    assert "copies of the vault" in after
    act = desk.acts()[-1]
    assert act["act"] == "erase"
    assert len(act["of"]) == 32
    assert '"p7"' not in json.dumps(act)
    assert Vault.open(read_vault(desk.desk)).inventory.erased("p7") is not None
    assert "no individual" in text_of(desk.agree("/erasure/erase", 400, vault="v", unit="unknown").text)
    desk.agree("/erasure/readmit", vault="v", unit="p7")
    assert desk.acts()[-1]["of"] == act["of"]


def test_corpus_is_planned_before_it_is_paid(desk: Opened) -> None:
    page = text_of(desk.get("/corpora"))
    assert "None." in page
    reply = desk.post("/corpora/plan", vault="v", name="first", method="dp-synth", epsilon="4")
    text = text_of(reply.text)
    assert "Nothing is paid yet" in text
    assert "epsilon 4 at delta 1e-06" in text
    assert "/corpora/start" in reply.text
    wrong = desk.post("/corpora/plan", 400, vault="v", name="x", method="dp-synth", epsilon="")
    assert "Give a number" in text_of(wrong.text)
    desk.get("/corpora/file?name=../../v/units", 404)
    desk.get("/corpora/file?name=absent", 404)
    folder = desk.desk.config.corpora / "v"
    folder.mkdir(parents=True)
    (folder / "first.jsonl").write_text("{}\n")
    assert "first (" in text_of(desk.get("/corpora"))
    assert desk.get("/corpora/file?name=first") == "{}\n"


def test_audit_log_is_shown_and_checked(desk: Opened) -> None:
    head = desk.desk.log.append("custodian", "test", "it").hash
    assert head in desk.get("/audit")
    assert "lines are whole" in text_of(desk.post("/audit/check", head=head).text)
    assert "is not in the chain" in text_of(desk.post("/audit/check", head="0" * 63 + "1").text)
    assert desk.get("/audit/file").count("\n") == len(desk.acts())


def test_report_is_a_page_with_a_policy_of_its_own(desk: Opened) -> None:
    reply = desk.post("/report/page", vault="v")
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    text = text_of(reply.text)
    assert "Report on the vault v" in text
    assert "Signatures" in text
    assert desk.acts()[-1]["act"] == "report"
    assert desk.desk.log.head().hash in text


def _grant(desk: Opened) -> Budget:
    return Vault.open(read_vault(desk.desk)).ledger.budget


def test_unknown_vault_is_not_there(desk: Opened) -> None:
    for path in ("/documents?vault=w", "/erasure?vault=w", "/corpora?vault=w"):
        assert "no such vault" in desk.get(path, 404)
    assert "no such page" in desk.get("/nothing", 404)
