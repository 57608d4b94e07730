"""Attacks on small vaults, with a toy model that says what it reads: plain RAG leaks, and votes do not."""

import os
import re
import signal
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.baselines import RAG
from discreet.errors import BadData, UnknownName, UsageError
from discreet.models.toy import ToyModel
from discreet.registry import ALGORITHMS
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks import report, suite
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.membership import Suspect
from discreet_lab.attacks.simulation import Canary, copied, documents_of, private_folder
from discreet_lab.attacks.suite import run_attack
from discreet_lab.attacks.targets import ANSWERING, ROWS, Target, finder, read_all
from discreet_lab.attacks.verdict import exceeded, most_shown


def note(number: int) -> Document:
    """The first half is what its person is known by; the second is what the model says if it reads the note."""
    known = " ".join(f"k{number}{letter}" for letter in "abcdef")
    told = " ".join(f"s{number}{letter}" for letter in "abcd")
    return Document(f"n{number}", f"person {number}", f"{known} say: {told} .")


def planted(number: int, *, really: bool) -> Canary:
    secret = chr(ord("A") + number) * 6 + "77"
    text = f"The code of holder{number} : say: {secret} ."
    return Canary(Document(f"c{number}", f"holder{number}", text), (secret,), (f"The code of holder{number}",), really)


CANARIES = tuple(planted(number, really=number % 2 == 0) for number in range(8))
SMALL = Attack(targets=("non-rag", "rag", "consensus"), members=8, canaries=CANARIES, options={"voters": 4})


@pytest.fixture
def notes(vault: Vault) -> Vault:
    vault = Vault.open(vault.path, model=ToyModel(size=2000))
    vault.add_documents([*(note(number) for number in range(24)), Document("p", "caller", "Ring (519) 555-0146 .")])
    return vault


@pytest.fixture
def findings(notes: Vault) -> report.Findings:
    return run_attack(notes, SMALL)


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_plain_rag_tells_members_and_secrets_and_votes_do_not(findings: report.Findings) -> None:
    alone, plain, private = findings.results
    assert [result.target.label for result in findings.results] == ["non-rag", "rag", "consensus, epsilon 10"]
    for measured in (plain.one, plain.many):
        assert measured["bleu"].auc.value > 0.9
        assert measured["rouge-l"].auc.value > 0.9
    assert plain.one["bleu"].found[0.01].count >= findings.members - 1
    assert (plain.canaries.whole.count, plain.canaries.whole.of) == (4, 4)
    assert (plain.canaries.control.count, plain.canaries.control_part.count) == (0, 0)
    for result in (alone, private):
        # Whoever is asked about, the answer is the same.
        assert {found[name].auc.value for found in (result.one, result.many) for name in ("bleu", "rouge-l")} == {0.5}
        assert result.canaries.part.count == 0
    assert findings.strings == 1
    assert (findings.members, findings.others, findings.left_out) == (8, 8, True)
    assert 25 - 8 + 4 <= findings.documents <= 25 + 4  # as many of the eight are left out of it as coins say
    assert plain.questions == 2 * 16 + plain.asked[1] + plain.asked[2]
    assert plain.target.price(2) is None
    assert private.target.price(2) == (20, 2e-5)


def test_nothing_is_paid_and_nothing_is_written(notes: Vault) -> None:
    before, spent = files(notes.path), notes.ledger.spent()
    run_attack(notes, SMALL)
    assert files(notes.path) == before
    assert notes.ledger.spent() == spent
    assert not notes.ledger.questions()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_copies_are_removed_after_an_error(
    notes: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()
    seen = []

    def told(step: str, done: int, total: int) -> None:
        if done:
            seen.append(sorted((tmp_path / "copies").rglob("store.sqlite")))
            raise error

    with pytest.raises(error):
        run_attack(notes, SMALL, told)
    assert len(seen[0]) == 1
    assert not list((tmp_path / "copies").iterdir())


@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_copies_are_private_and_removed_after_a_signal(told: signal.Signals) -> None:
    made: list[Path] = []

    def work() -> None:
        with private_folder() as folder:
            assert folder.stat().st_mode & 0o777 == 0o700
            made.append(folder)
            os.kill(os.getpid(), told)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not made[0].exists()


def test_what_nohup_has_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with private_folder() as folder:
            os.kill(os.getpid(), signal.SIGHUP)
            assert folder.exists()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_copy_finds_what_the_vault_finds(notes: Vault, tmp_path: Path) -> None:
    with copied(notes, tmp_path / "copy", documents_of(notes), [note(99)]) as copy:
        asked = "k3a k3b s7c 555-0146"
        assert copy.store.count_documents() == 26
        # All the others are as far away, and their order is another in every store.
        assert finder(copy, 2)(asked) == finder(notes, 2)(asked)
        assert finder(copy)("k99a k99b")[0].unit == "person 99"
        first, second = ({t.text: t.vector.tolist() for t in v.store.texts()} for v in (notes, copy))
        assert first.items() <= second.items()


def test_the_page_is_whole_and_tells_no_text(findings: report.Findings) -> None:
    page = report.page(findings, "<vault>")
    root = ElementTree.fromstring(page.replace("<!DOCTYPE html>", ""))
    assert {"table", "svg", "polyline"} <= {element.tag.split("}")[-1] for element in root.iter()}
    assert "&lt;vault&gt;" in page
    assert "https" not in page
    assert report.NOTICE in page
    told = page + str(report.shown(findings)) + "".join(map(str, report.secret_rows(findings)))
    words = {word for number in range(24) for word in note(number).text.split() if word[0] in "ks"} - {"say:"}
    assert not words & set(re.findall(r"\w+", told))
    assert not any(canary.secrets[0] in told or canary.document.unit in told for canary in CANARIES)
    assert "person" not in " ".join(str(value) for row in report.membership_rows(findings) for value in row)


def test_what_is_more_than_epsilon_allows_is_named(findings: report.Findings) -> None:
    assert exceeded(findings.compared) == report.shown(findings).exceeded == []
    # Members of a file may differ from others by themselves.
    assert exceeded(replace(findings, left_out=False).compared) == []
    # As if votes told as much as plain RAG does.
    broken = replace(findings.results[1], target=Target("consensus", 0.1, 1e-5))
    wrong = replace(findings, results=[broken])
    assert exceeded(wrong.compared) == ["consensus, epsilon 0.1"]
    assert exceeded(replace(wrong, left_out=False).compared) == []
    backwards = {name: replace(each, auc=replace(each.auc, value=0.0)) for name, each in broken.one.items()}
    upside_down = replace(broken, one=backwards, many=backwards)
    assert exceeded(replace(findings, results=[upside_down]).compared) == ["consensus, epsilon 0.1"]
    assert "bug" in report.warnings(wrong)[0]


def test_what_so_few_people_can_show_is_said(findings: report.Findings) -> None:
    few = most_shown(findings.compared)
    assert few is not None
    assert few == report.shown(findings).most_epsilon_shown_by_rates
    assert few is not None
    assert few < 0.5
    assert most_shown(replace(findings, left_out=False).compared) is None


def test_others_from_a_file(notes: Vault) -> None:
    others = tuple(Suspect(f"o{number}", False, note(100 + number).text) for number in range(4))
    inside = tuple(Suspect(f"n{number}", True, note(number).text) for number in range(4))
    found = run_attack(notes, Attack(targets=("rag",), suspects=others + inside, canaries=CANARIES))
    assert (found.members, found.others, found.left_out) == (4, 4, False)
    assert found.documents == 25 + 4
    assert found.results[0].one["bleu"].auc.value == 1
    assert "from a file" in report.warnings(found)[0]
    drawn = run_attack(notes, Attack(targets=("rag",), suspects=others, canaries=CANARIES))
    assert (drawn.members, drawn.others) == (20, 4)
    with pytest.raises(BadData, match="1 documents that should be outside"):
        run_attack(notes, Attack(targets=("rag",), suspects=(*others, Suspect("z", False, note(1).text))))
    with pytest.raises(BadData, match="1 documents that are marked"):
        run_attack(notes, Attack(targets=("rag",), suspects=(*others, Suspect("z", True, note(99).text))))


def test_canaries_that_are_in_the_vault_already(notes: Vault) -> None:
    notes.add_documents([CANARIES[0].document])
    found = run_attack(notes, Attack(targets=("rag",), canaries=CANARIES, planted=2))
    assert found.results[0].canaries.whole.count == found.results[0].canaries.whole.of == 2
    notes.add_documents([CANARIES[1].document])
    with pytest.raises(BadData, match="control canary"):
        run_attack(notes, Attack(targets=("rag",), canaries=CANARIES))


def test_canary_with_the_name_of_another_unit_is_refused(notes: Vault) -> None:
    notes.add_documents([Document("x", CANARIES[0].document.unit, "Something else.")])
    with pytest.raises(BadData, match="another name"):
        run_attack(notes, Attack(targets=("rag",), canaries=CANARIES))


PRIVATE = [name for name in ANSWERING if ALGORITHMS[name].spec.private]


def test_every_private_algorithm_is_a_target(notes: Vault) -> None:
    few = Attack(targets=tuple(PRIVATE), members=2, questions=1, canaries=CANARIES, planted=1, options={"voters": 4})
    results = run_attack(notes, replace(few, options={"voters": 4, "max_tokens": 2})).results
    assert [result.target.name for result in results] == PRIVATE
    for result in results:
        if result.target.name != "non-rag":
            assert result.target.price(1) is not None
            assert result.target.algorithm is not None
            plan = result.target.algorithm.plan(notes.ledger.budget, notes.model.vocabulary_size)
            assert plan is not None  # and costs no more than is said:
            assert plan.ceiling.spent(plan.max_cost) <= (result.target.epsilon or 0) == 10
            assert result.private is not None
            assert 0 <= result.private <= result.questions
        # No count is expected: so few voters at epsilon 10 may well release what one of them says.
        assert result.canaries.whole.of == 1


def test_what_is_redacted_is_read_redacted(notes: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a redactor that takes out every secret: plain RAG tells none, and who is a member all the same."""

    read: list[str] = []

    class Blind:
        def redact(self, texts: Sequence[str], told: Callable[[], None]) -> list[str]:
            read.extend(texts)
            for _ in texts:
                told()
            return [re.sub(r"[A-H]{6}77", "<CODE>", text) for text in texts]

    monkeypatch.setattr(suite, "Redactor", Blind)
    plain, redacted = run_attack(notes, replace(SMALL, targets=("rag", "redacted"))).results
    assert (plain.canaries.whole.count, redacted.canaries.whole.count) == (4, 0)
    assert redacted.one["bleu"].auc.value > 0.9
    assert len(read) == len(set(read)) == 25 + 4  # once for both copies


def test_a_corpus_is_a_target(notes: Vault, write_jsonl: Callable[..., Path]) -> None:
    corpus = write_jsonl([{"text": "k1a k1b k1c say: s1a s1b s1c s1d ."}])
    others = tuple(Suspect(f"o{number}", False, note(100 + number).text) for number in range(4))
    found = run_attack(notes, Attack(targets=("corpus",), suspects=others, corpus=corpus))
    assert found.results[0].one["bleu"].auc.value <= 0.6
    made = run_attack(notes, Attack(targets=("dp-facts",), epsilons=(1.0,), members=4)).results[0]
    assert made.target.price(3) == (1.0, notes.settings.delta)  # paid once
    assert made.canaries.whole.count == 0


def test_bad_wishes(vault: Vault) -> None:
    with pytest.raises(UnknownName, match="redacted"):
        Attack(targets=("redakted",))
    with pytest.raises(UsageError, match="--non-members"):
        Attack(targets=("corpus",), corpus=Path("x"))
    with pytest.raises(UsageError, match="outside the vault"):
        Attack(targets=("rag",), suspects=(Suspect("a", True, note(1).text),))
    with pytest.raises(UsageError, match="--corpus"):
        Attack(targets=("corpus",))
    vault = Vault.open(vault.path, model=ToyModel())
    vault.add_documents([note(1)])
    with pytest.raises(BadData, match="at least 2"):
        run_attack(vault, Attack(targets=("rag",)))


def test_questions_that_are_answered_together_are_answered_alike(notes: Vault) -> None:
    asked = [" ".join(note(number).text.split()[: 1 + number % 6]) for number in range(ROWS + 3)]
    alone = [notes.simulate(question, RAG(max_tokens=5, prefix="So:")).text for question in asked]
    assert read_all(notes.model, RAG(max_tokens=5, prefix="So:"), asked, finder(notes)) == alone
    assert len(set(alone)) > ROWS


def test_statistic_is_no_target(notes: Vault) -> None:
    with pytest.raises(UnknownName, match="count"):
        run_attack(notes, Attack(targets=("count",), members=2, questions=1))


def test_findings_have_a_row_for_each_target(findings: report.Findings) -> None:
    pytest.importorskip("pandas")
    found = findings.to_pandas()
    assert found["target"].tolist() == ["non-rag", "rag", "consensus"]
    assert found["membership.one.bleu.auc"].between(0, 1).all()
