"""The report as one page of HTML, to read, print and sign: for a supervisor, or as a document that a law asks for."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from discreet.config import DEFAULT_STORE
from discreet.ledger.records import QuestionRecord
from discreet.operations.odds import percent
from discreet.operations.releases import outcome
from discreet.operations.report import Report
from discreet.system.database_url import is_postgres
from discreet.system.markup import Markup, element, listed, page, paragraph, private, section, strong, table
from discreet.system.words import how_spent_is_read

MOST_ROWS = 1000
"""The number of newest questions in the list. The counts include all questions."""


class Kind(StrEnum):
    """Whom a page is for.

    `DPIA` has the parts of a data-protection impact assessment that Article 35(7) of the GDPR asks for. `ANONYMITY`
    has the three tests of Opinion 05/2014 of the Article 29 Working Party on anonymisation techniques.
    `EXPERT_DETERMINATION` has what 45 CFR 164.514(b)(1) (HIPAA) asks for, with the principles of the guidance of the
    US Department of Health and Human Services of 2012. What a vault cannot know is left to fill in.
    """

    SUPERVISOR = "supervisor"
    DPIA = "dpia"
    ANONYMITY = "anonymity"
    EXPERT_DETERMINATION = "expert-determination"


def as_page(report: Report, kind: Kind = Kind.SUPERVISOR) -> str:
    """Return the report as HTML."""
    heading, write = _KINDS[kind]
    title = f"{heading} {report.vault}"
    return page(
        title,
        element("h1", title),
        paragraph(
            f"Made on {_time(report.made)} UTC by discreet {report.versions['discreet']} from the vault. The report "
            "contains no text of a document. Names occur only in texts of questions, if the vault keeps these texts. "
            "Analysts must not see the parts that are marked private.",
            kind="note",
        ),
        *write(report),
    )


def _for_supervisor(report: Report) -> Iterator[Markup]:
    yield from (_promise(report), _payment(report), _content(report), _questions(report), _releases(report))
    yield from (_erasures(report), _limits(report), _settings(report), _findings(report), _proof())
    yield _signatures("Custodian, date", "Data-protection officer, date")


def _for_impact_assessment(report: Report) -> Iterator[Markup]:
    settings = report.settings
    yield section(
        "The processing and its purposes, Article 35(7)(a)",
        paragraph(
            f"Analysts ask questions about a collection of documents. Each document belongs to one "
            f"'{settings.unit_field}'. A program reads the documents, and releases answers under differential privacy. "
            "Analysts see no document."
        ),
        _to_fill_in("the controller; the purposes; who may ask; where the documents come from; the processors."),
    )
    yield from (_content(report), _questions(report), _releases(report))
    kept = "The ledger keeps the texts of questions." if settings.log_questions else "The ledger keeps no questions."
    yield section(
        "Necessity and proportionality, Article 35(7)(b)",
        paragraph(f"No answer shows a document, and all answers together are limited. {kept}"),
        paragraph(
            "`discreet remove` erases an individual, and `discreet erasure-report` shows what remains. `discreet "
            "close-log` deletes who took part in which question."
        ),
        _to_fill_in("the legal basis; how individuals are informed; how long documents, backups and logs are kept."),
    )
    yield _erasures(report)
    yield section(
        "Risks for individuals, Article 35(7)(c)",
        paragraph("An analyst could find out from answers whether an individual is in the vault, or what a text says."),
        paragraph("The next two parts have the largest possible gain of such an analyst, and what it does not cover."),
        _to_fill_in("how likely and how severe each risk is for the individuals of this collection."),
    )
    yield from (_promise(report), _limits(report))
    yield section(
        "Measures, Article 35(7)(d)",
        paragraph("The grant is fixed, and each answer is charged before anything private is computed."),
        _to_fill_in("access to the machine, its disk and backups; training; the remaining risk, and who accepts it."),
    )
    yield from (_payment(report), _findings(report), _settings(report), _proof())
    yield section(
        "Advice and views, Article 35(2) and 35(9)",
        _to_fill_in(
            "the advice of the data-protection officer; the views of individuals; the date of the next review."
        ),
    )
    yield _signatures("Controller, date", "Data-protection officer, date")


def _for_anonymity(report: Report) -> Iterator[Markup]:
    unit = report.settings.unit_field
    yield section(
        "What is judged",
        paragraph(
            "This document is about the released answers and corpora. The vault itself holds documents about "
            "individuals: it stays personal data, and so do its backups."
        ),
        paragraph("It follows the three tests of Opinion 05/2014 on anonymisation techniques (WP 216)."),
        _to_fill_in("who receives the answers, and what these recipients know or can obtain."),
    )
    yield _promise(report)
    yield section(
        "Singling out",
        paragraph(
            f"Can a recipient isolate one '{unit}' in the answers? Whether the documents of one are in the vault "
            "changes the probability of the answers by the factor e^epsilon at most, except with probability delta. "
            "The table of the guarantee has what this means for a belief."
        ),
    )
    yield section(
        "Linkability",
        paragraph(
            f"Can a recipient connect the answers with other records of the same '{unit}'? The bound holds whatever "
            "else is known, and for all documents of one together."
        ),
    )
    yield section(
        "Inference",
        paragraph(
            f"Can a recipient deduce something about one '{unit}'? What follows from the answers would follow "
            "nearly as well if the documents of this one had never been there. What many individuals share is "
            "released on purpose, and may be true of this one, too."
        ),
    )
    yield from (_limits(report), _questions(report), _releases(report), _findings(report), _settings(report), _proof())
    yield section(
        "Conclusion",
        _to_fill_in("whether the remaining risk is small enough for these recipients; when it is judged again."),
    )
    yield _signatures("Controller, date", "Data-protection officer, date")


def _for_expert_determination(report: Report) -> Iterator[Markup]:
    expected = report.settings.delta * report.units
    yield section(
        "The expert, the information and its recipients",
        paragraph("The information is the answers and corpora that the vault releases, and not the vault."),
        _to_fill_in("the expert, and knowledge and experience of statistical principles; the anticipated recipients."),
    )
    yield section(
        "Principles and methods",
        paragraph(
            "The method is differential privacy with a fixed grant for each individual. docs/privacy-details.md has "
            "the definitions, each mechanism and the proofs; tests of the program check them."
        ),
    )
    yield from (_promise(report), _payment(report), _settings(report))
    yield section(
        "Risk by the principles of the guidance",
        paragraph(
            "Replicability: a fact about an individual that stays the same and is known elsewhere adds nothing to the "
            "bound, which holds for any knowledge."
        ),
        paragraph(
            "Availability of data sources: the bound does not assume that a source is out of reach. Other releases "
            "about the same individuals, also from a second vault, add to it."
        ),
        paragraph(
            "Distinguishability: an individual with a rare property is bounded as any other one. With an individual "
            "more or less, every answer is nearly as likely."
        ),
        private(paragraph(f"Delta times the number of individuals is {expected:.2g}.")),
    )
    yield from (_limits(report), _questions(report), _releases(report), _findings(report), _proof())
    yield section(
        "Determination",
        _to_fill_in(
            "whether the risk is very small that the information could be used, alone or with other reasonably "
            "available information, by an anticipated recipient to identify an individual; the results that justify "
            "it; for how long it holds."
        ),
    )
    yield _signatures("Expert, date", "Covered entity, date")


_KINDS: dict[Kind, tuple[str, Callable[[Report], Iterator[Markup]]]] = {
    Kind.SUPERVISOR: ("Report on the vault", _for_supervisor),
    Kind.DPIA: ("Data-protection impact assessment of the vault", _for_impact_assessment),
    Kind.ANONYMITY: ("Anonymity of what was released from the vault", _for_anonymity),
    Kind.EXPERT_DETERMINATION: ("Expert determination for what was released from the vault", _for_expert_determination),
}


def _to_fill_in(what: str) -> Markup:
    return paragraph(strong("To fill in: "), what, kind="note")


def _promise(report: Report) -> Markup:
    unit, epsilon, delta = report.settings.unit_field, report.settings.epsilon, report.settings.delta
    return section(
        "The guarantee",
        paragraph(
            f"The vault answers questions about documents. Each document belongs to one '{unit}': one individual. "
            "The guarantee limits what all answers together reveal about any one individual, for an analyst with any "
            "other knowledge. All answers would have been nearly as likely without the individual's documents. This is "
            "differential privacy.",
            kind="lead",
        ),
        paragraph(
            f"The limit was fixed when the vault was made: epsilon {epsilon:g}. All answers together never exceed it. "
            "It bounds an attacker's belief:",
        ),
        table(
            (f"Belief before that one '{unit}' is in the vault", "Belief after all answers, at most"),
            [(percent(before), percent(after)) for before, after in report.odds()],
        ),
        paragraph(
            "The table is the worst case over all questions, all answers and all knowledge of an attacker. "
            + (
                "Above an epsilon of about 4, the worst-case bound is weak: the vault protects against known attacks, "
                "but not against every conceivable one."
                if epsilon > 4
                else "Measured attacks achieve far less."
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
            f"A question charges each '{unit}' whose documents it could have used, and no other. The ledger has the "
            "charges of each under a keyed hash of the name. An individual without budget takes no part in later "
            f"questions. In addition, each individual was charged epsilon {budget.spent:.4g} for common releases."
        )
    else:
        said = (
            f"Each question charges every '{unit}'. Epsilon {budget.spent:.4g} of {budget.granted:g} is spent, "
            f"and {budget.left:.4g} is left. When nothing is left, the vault answers no question."
        )
    return section("Payment", paragraph(said), paragraph("The grant cannot be raised. It is sealed in the ledger."))


def _content(report: Report) -> Markup:
    unit, expected = report.settings.unit_field, report.settings.delta * report.units
    parts: list[object] = [
        paragraph(f"Documents: {report.documents:,}. Individuals ('{unit}'): {report.units:,}."),
        paragraph(
            f"Delta times the number of individuals is {expected:.2g}. "
            + ("It should be far below 1." if expected < 0.1 else "This is too much: it should be far below 1."),
            kind="" if expected < 0.1 else "problem",
        ),
    ]
    if report.budget.levels:
        rows = [(f"{one.low:.2f} to {one.high:.2f}", f"{one.units:,}") for one in reversed(report.budget.levels)]
        parts += [
            table(("Remaining epsilon", "Individuals"), rows),
            paragraph(
                "What is left is the grant without what is spent. "
                + how_spent_is_read("an individual", "grant", report.budget.accountant),
                kind="note",
            ),
            paragraph("The table includes erased individuals that were charged before.", kind="note"),
        ]
    return section("Content of the vault", private(*parts))


def _questions(report: Report) -> Markup:
    questions, start = report.questions, report.budget.start
    earlier = (
        [
            paragraph(
                f"The ledger's log was closed on {_time(start.since)} (UTC). Questions before, which "
                f"are not listed: {start.earlier_questions:,}. What they cost counts.",
                kind="note",
            )
        ]
        if start.earlier_questions
        else []
    )
    if not questions:
        return section("Questions", *(earlier or [paragraph("The vault has no questions yet.")]))
    counted = Counter((one.algorithm, outcome(one)) for one in questions)
    kept = any(one.question is not None for one in questions)
    shown = questions[-MOST_ROWS:]
    parts: list[object] = [
        paragraph(
            f"{_count(len(questions), 'question')} asked, from {_time(questions[0].time)} to "
            f"{_time(questions[-1].time)} (UTC). The cost is the charge of an individual that took part in a question, "
            "by itself, as the grant counts it. The receipt of its answer may state less."
        ),
        table(("Method", "Outcome", "Questions"), [(*key, f"{count:,}") for key, count in sorted(counted.items())]),
    ]
    if len(shown) < len(questions):
        parts.append(paragraph(f"The list has the newest {len(shown):,} questions.", kind="note"))
    if not kept:
        parts.append(paragraph("The ledger of this vault does not keep the texts of questions.", kind="note"))
    headings = ("Time (UTC)", "Method", "Cost (epsilon)", "Outcome", *(("Question",) if kept else ()))
    parts.append(table(headings, (_row(one, kept) for one in shown)))
    return section("Questions", *parts, *earlier)


def _row(question: QuestionRecord, with_text: bool) -> Sequence[object]:
    row = (_time(question.time), question.algorithm, f"{question.epsilon:.4g}", outcome(question))
    return (*row, question.question or "") if with_text else row


def _releases(report: Report) -> Markup:
    parts: list[object] = []
    if report.corpora:
        rows = [
            (_time(one.time) if one.time else "unknown", f"{one.epsilon:.4g}", "; ".join(one.mechanisms) or "begun")
            for one in report.corpora
        ]
        parts += [
            paragraph("Synthetic corpora that were paid for. Such a file may be published."),
            table(("First payment (UTC)", "Cost (epsilon)", "Mechanisms"), rows),
        ]
    if report.exports:
        rows = [(_time(one.time), f"{one.epsilon:.4g}", _ended(one)) for one in report.exports]
        parts += [
            paragraph("Vectors with noise, for an untrusted database:"),
            table(("Time (UTC)", "Cost (epsilon)", "Outcome"), rows),
        ]
    if parts:
        parts.append(
            paragraph(
                "The cost is of the release by itself, as the grant counts it. Its receipt may state less "
                "(docs/privacy-details.md, The filter).",
                kind="note",
            )
        )
    if report.public_corpus:
        parts.append(
            paragraph(
                f"The custodian has set a public corpus (SHA-256 {report.public_corpus}). Answers may quote its texts: "
                "the custodian declared them public."
            )
        )
    return section("Other releases", *(parts or [paragraph("The vault released no corpus and no vectors.")]))


def _erasures(report: Report) -> Markup:
    remains = paragraph(
        "Answers and corpora that were released before an erasure stay released. The guarantee still protects the "
        "erased individual in them. The charges of an individual stay in the ledger, under a keyed hash."
    )
    if not report.erased:
        return section("Erasures", paragraph("The vault has no erased individuals."), remains)
    rows = [(_time(one.time), f"{one.documents:,}") for one in report.erased]
    return section(
        "Erasures",
        private(
            paragraph(
                f"{_count(len(rows), 'individual')} erased, and later documents are refused. The vault keeps keyed "
                "hashes, but no names."
            ),
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
                "The guarantee does not cover their answers, and may not hold for the individuals in them.",
                kind="problem",
            ),
            table(("Time (UTC)", "Method", "Outcome"), rows),
        ]
    said += [paragraph(one.what, kind="problem") for one in report.findings if one.check == "origin"]
    if report.settings.accept_claims:
        said.append(
            paragraph("This vault accepts methods with a published claim that is no guarantee.", kind="problem"),
        )
    said.append(
        listed(
            (
                "Two names of one person: they count as two individuals with two budgets.",
                "A mention of a person in the document of another individual.",
                "Facts that many individuals share: answers reveal them on purpose.",
                "Access to the vault's folder, its backups or the machine: this is access to the documents.",
                "Documents and questions that are observed on the machine while it processes them.",
                "The duration of an answer, if it is measured precisely (see docs/privacy-details.md, Time).",
                "Two copies of the vault that both answer: they spend the grant twice.",
            )
        )
    )
    return section("Limits of the guarantee", *said)


def _settings(report: Report) -> Markup:
    settings = report.settings
    rows: list[tuple[object, object]] = [
        ("Grant", f"epsilon {settings.epsilon:g}, delta {settings.delta:g}"),
        ("Individual", f"the field '{settings.unit_field}'"),
        ("Payment", "by units" if settings.payment == "unit" else "by all units"),
        ("Language model", f"{settings.model}; SHA-256 {report.digests['model'] or 'not on this machine'}"),
        ("Embedder", f"{settings.embedder}; SHA-256 {report.digests['embedder'] or 'none'}"),
        ("Texts of questions in the ledger", _yes(settings.log_questions)),
        ("Released answers are kept", f"{_yes(settings.history)}, with their questions" * settings.history or "no"),
        (
            "Questions, and who took part",
            f"kept since {_time(report.budget.start.since)} (UTC), until the log is closed",
        ),
        ("Ledger", "in a PostgreSQL database" if settings.ledger else "in the vault"),
        ("Documents", _place(settings.store)),
        ("Claims that are no guarantees", "accepted" if settings.accept_claims else "refused"),
        *report.versions.items(),
    ]
    return section("Settings and versions", table((), rows))


def _place(store: str) -> str:
    if is_postgres(store):
        return "in a PostgreSQL database"
    return "in the vault" if store == DEFAULT_STORE else f"in the store '{store.partition(':')[0]}' of a plug-in"


def _findings(report: Report) -> Markup:
    rows = [
        (element("span", one.level, kind=one.level), one.check, f"{one.what} {one.remedy}".strip())
        for one in report.findings
    ]
    wrong = sum(one.level == "problem" for one in report.findings)
    return section(
        "State of the vault",
        paragraph(f"The findings of `discreet doctor` at the time of this report. Problems: {wrong}."),
        table(("State", "Check", "Finding"), rows),
    )


def _proof() -> Markup:
    return section(
        "Evidence",
        paragraph(
            "`discreet audit` searches for more privacy loss than is claimed, on fictional inputs, with the programs "
            "and the random numbers of this machine. The vault does not record audits: attach a report (discreet audit "
            "--markdown). docs/privacy-details.md explains its meaning, and has the exact guarantee with its proof. "
            "`discreet attack` measures the success of known attacks on copies of the vault."
        ),
        paragraph("The private parts of this report come from the vault without a charge. They must not be released."),
    )


def _signatures(*who: str) -> Markup:
    return section("Signatures", table((), [who], kind="signs"))


def _time(time: str) -> str:
    return time[:16].replace("T", " ")


def _ended(question: QuestionRecord) -> str:
    return "released" if question.stopped else "interrupted"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what} was" if number == 1 else f"{number:,} {what}s were"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
