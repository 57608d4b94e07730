"""The report as one page of HTML, in plain words, to be read by a person, printed and signed."""

from collections import Counter
from collections.abc import Sequence

from discreet.ledger.records import QuestionRecord
from discreet.operations.markup import Markup, element, listed, page, paragraph, private, section, strong, table
from discreet.operations.odds import percent
from discreet.operations.releases import outcome
from discreet.operations.report import Report

MOST_ROWS = 1000
"""So many questions are listed, the newest ones; all are counted."""


def as_page(report: Report) -> str:
    """The report as HTML."""
    title = f"Report on the vault {report.vault}"
    return page(
        title,
        element("h1", title),
        paragraph(
            f"Made on {_time(report.made)} UTC by discreet {report.versions['discreet']}, from the vault itself. It "
            "holds no text of a document, and no name but those that stand in the texts of questions, where the vault "
            "keeps them. Parts that are marked private must not reach the people who ask questions.",
            kind="note",
        ),
        _promise(report),
        _payment(report),
        _content(report),
        _questions(report),
        _releases(report),
        _erasures(report),
        _limits(report),
        _settings(report),
        _findings(report),
        _proof(),
        _signatures(),
    )


def _promise(report: Report) -> Markup:
    unit, epsilon, delta = report.settings.unit_field, report.settings.epsilon, report.settings.delta
    return section(
        "What is promised",
        paragraph(
            f"The vault answers questions about documents. Each document belongs to one '{unit}': one individual. An "
            "analyst may see all answers, and may know everything else. How much that shows about whether any one "
            "individual's documents are in the vault has a limit: all answers would have been nearly as likely "
            "without them. This is differential privacy.",
            kind="lead",
        ),
        paragraph(
            f"How nearly is a number that was fixed when the vault was made: epsilon {epsilon:g}. All answers together "
            "never exceed it. It bounds how much more sure an attacker can become:",
        ),
        table(
            (f"Sure beforehand that one '{unit}' is in the vault", "Sure after all answers, at most"),
            [(percent(before), percent(after)) for before, after in report.odds()],
        ),
        paragraph(
            "The table is the worst case over all questions, all answers and all that an attacker may know. "
            + (
                "Above an epsilon of about 4 the worst case says little by itself: it protects against attacks that "
                "are known, rather than against each one that is conceivable."
                if epsilon > 4
                else "Measured attacks reach far less."
            )
        ),
        paragraph(
            f"Delta, {delta:g}, is the probability that this bound fails for an individual. It should be far below one "
            "divided by the number of individuals."
        ),
    )


def _payment(report: Report) -> Markup:
    budget, unit = report.budget, report.settings.unit_field
    if report.settings.payment == "unit":
        said = (
            f"A question costs each '{unit}' whose documents it could have used, and no other. The ledger knows what "
            "each has paid, under a keyed hash in place of a name. One that has no budget left takes no part in later "
            f"questions. Beyond that, all have paid epsilon {budget.spent:.4g} together."
        )
    else:
        said = (
            f"Each question is paid by each '{unit}' alike. Epsilon {budget.spent:.4g} of {budget.granted:g} is spent, "
            f"and {budget.left:.4g} is left. When nothing is left, nothing is answered."
        )
    return section("Who pays", paragraph(said), paragraph("The grant cannot be raised, and is sealed in the ledger."))


def _content(report: Report) -> Markup:
    unit, expected = report.settings.unit_field, report.settings.delta * report.units
    parts: list[object] = [
        paragraph(f"Documents: {report.documents:,}. Individuals ('{unit}'): {report.units:,}."),
        paragraph(
            f"Delta times their number is {expected:.2g}. "
            + ("It should be far below 1." if expected < 0.1 else "That is too much: it should be far below 1."),
            kind="" if expected < 0.1 else "problem",
        ),
    ]
    if report.budget.levels:
        rows = [(f"{one.low:.2f} to {one.high:.2f}", f"{one.units:,}") for one in reversed(report.budget.levels)]
        parts += [
            table(("Epsilon that is left", "Individuals who have so much left"), rows),
            paragraph("Individuals who paid and were erased since are counted in this table, too.", kind="note"),
        ]
    return section("What is in the vault", private(*parts))


def _questions(report: Report) -> Markup:
    questions = report.questions
    if not questions:
        return section("Questions", paragraph("No question was asked yet."))
    counted = Counter((one.algorithm, outcome(one)) for one in questions)
    kept = any(one.text is not None for one in questions)
    shown = questions[-MOST_ROWS:]
    parts: list[object] = [
        paragraph(
            f"{_count(len(questions), 'question')} asked, from {_time(questions[0].time)} to "
            f"{_time(questions[-1].time)} (UTC). The cost is what a question cost an individual who took part in it."
        ),
        table(("Method", "Outcome", "Questions"), [(*key, f"{count:,}") for key, count in sorted(counted.items())]),
    ]
    if len(shown) < len(questions):
        parts.append(paragraph(f"The newest {len(shown):,} are listed.", kind="note"))
    if not kept:
        parts.append(paragraph("The ledger of this vault keeps no texts of questions.", kind="note"))
    headings = ("Time (UTC)", "Method", "Cost (epsilon)", "Outcome", *(("Question",) if kept else ()))
    parts.append(table(headings, (_row(one, kept) for one in shown)))
    return section("Questions", *parts)


def _row(question: QuestionRecord, with_text: bool) -> Sequence[object]:
    row = (_time(question.time), question.algorithm, f"{question.epsilon:.4g}", outcome(question))
    return (*row, question.text or "") if with_text else row


def _releases(report: Report) -> Markup:
    parts: list[object] = []
    if report.corpora:
        rows = [
            (_time(one.time) if one.time else "not noted", f"{one.epsilon:.4g}", "; ".join(one.mechanisms) or "begun")
            for one in report.corpora
        ]
        parts += [
            paragraph("Synthetic corpora that were paid for. All people may read such a file, for ever."),
            table(("First payment (UTC)", "Cost (epsilon)", "What was drawn"), rows),
        ]
    if report.exports:
        rows = [(_time(one.time), f"{one.epsilon:.4g}", _ended(one)) for one in report.exports]
        parts += [
            paragraph("Vectors with noise, for a database that is not trusted:"),
            table(("Time (UTC)", "Cost (epsilon)", "Outcome"), rows),
        ]
    if parts:
        parts.append(
            paragraph(
                "The cost is by the vault's own sum, at one order that is fixed in advance. It may be above what the "
                "release's receipt says (docs/privacy-details.md, The filter).",
                kind="note",
            )
        )
    if report.public_corpus:
        parts.append(
            paragraph(
                f"The custodian has named a public corpus (SHA-256 {report.public_corpus}). Its texts may be told word "
                "for word: the custodian says that they are public."
            )
        )
    return section("Other releases", *(parts or [paragraph("No corpus and no vectors were released.")]))


def _erasures(report: Report) -> Markup:
    remains = paragraph(
        "Answers and corpora that were released before an erasure stay released; the individual is protected in them "
        "as all are. What an individual has spent stays in the ledger, under a keyed hash."
    )
    if report.erased is None:
        said = paragraph("This vault's store keeps no list of erasures: its format is older than such lists.")
        return section("Erasures", said, remains)
    if not report.erased:
        return section("Erasures", paragraph("No individual was erased and is kept out."), remains)
    rows = [(_time(one.time), f"{one.documents:,}") for one in report.erased]
    return section(
        "Erasures",
        private(
            paragraph(f"{_count(len(rows), 'individual')} erased, and kept out. No names are kept, but keyed hashes."),
            table(("Time (UTC)", "Documents"), rows),
        ),
        remains,
    )


def _limits(report: Report) -> Markup:
    said: list[object] = []
    if report.unprotected:
        rows = [(_time(one.time), one.algorithm, outcome(one)) for one in report.unprotected[-MOST_ROWS:]]
        said += [
            paragraph(
                strong(f"{_count(len(report.unprotected), 'question')} asked without a guarantee. "),
                "The promise does not cover what they showed, and may not hold for those whom they were about.",
                kind="problem",
            ),
            table(("Time (UTC)", "Method", "Outcome"), rows),
        ]
    said += [paragraph(one.what, kind="problem") for one in report.findings if one.check == "origin"]
    if report.settings.accept_claims:
        said.append(
            paragraph("This vault accepts methods whose published bounds are no guarantee.", kind="problem"),
        )
    said.append(
        listed(
            (
                "A person who appears under two names is two individuals here, with two budgets.",
                "A person who is mentioned in another person's document is not protected as to that mention.",
                "What many individuals share is not protected: it is what the vault is for.",
                "The vault's folder, backups, and the machine: a person who reads these reads the documents.",
                "Documents that were read while they were being added, and questions asked meanwhile.",
                "How long an answer takes, where it can be measured finely (see docs/privacy-details.md, Time).",
                "Two copies of the vault that both answer: they spend the grant twice.",
            )
        )
    )
    return section("What the promise does not cover", *said)


def _settings(report: Report) -> Markup:
    settings = report.settings
    rows: list[tuple[object, object]] = [
        ("Grant", f"epsilon {settings.epsilon:g}, delta {settings.delta:g}"),
        ("Individual", f"the field '{settings.unit_field}'"),
        ("Payment", "by units" if settings.payment == "unit" else "by all alike"),
        ("Language model", f"{settings.model}; SHA-256 {report.digests['model'] or 'not on this machine'}"),
        ("Embedder", f"{settings.embedder}; SHA-256 {report.digests['embedder'] or 'none'}"),
        ("Texts of questions in the ledger", _yes(settings.log_questions)),
        ("Released answers are kept", f"{_yes(settings.history)}, with their questions" * settings.history or "no"),
        ("Ledger", "in a PostgreSQL database" if settings.ledger else "in the vault"),
        ("Claims that are no guarantees", "accepted" if settings.accept_claims else "refused"),
        *report.versions.items(),
    ]
    return section("Settings and versions", table((), rows))


def _findings(report: Report) -> Markup:
    rows = [
        (element("span", one.level, kind=one.level), one.check, f"{one.what} {one.remedy}".strip())
        for one in report.findings
    ]
    wrong = sum(one.level == "problem" for one in report.findings)
    return section(
        "State of the vault",
        paragraph(f"Looked over by `discreet doctor` when this report was made. Problems: {wrong}."),
        table(("State", "What was looked at", "What was found"), rows),
    )


def _proof() -> Markup:
    return section(
        "Evidence",
        paragraph(
            "`discreet audit` looks for more privacy loss than is claimed, on made-up inputs, with the programs and "
            "the random numbers of this machine. The vault does not know when it was last run: attach its report "
            "(discreet audit --markdown). docs/audit.md says what it shows. docs/privacy-details.md has the exact "
            "promise and the sketch of its proof. `discreet attack` measures what known attacks get from copies of the "
            "vault."
        ),
        paragraph("What is private here was read from the vault; nothing was paid for it, and nothing was released."),
    )


def _signatures() -> Markup:
    rows = [("Custodian, date", "Data-protection officer, date")]
    return section("Signatures", table((), rows, kind="signs"))


def _time(time: str) -> str:
    return time[:16].replace("T", " ")


def _ended(question: QuestionRecord) -> str:
    return "released" if question.stopped else "it did not end"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what} was" if number == 1 else f"{number:,} {what}s were"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
