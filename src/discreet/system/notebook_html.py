"""HTML of answers, receipts, budgets and plans for notebooks, from their plain data (`describe`).

A notebook is often sent on. So the HTML has no value that the text form on the command line does not show. All texts
are escaped, and the parts can be read without styles.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from discreet.system.markup import Markup, bar, element, paragraph, strong, table
from discreet.system.words import can_still_take_part, nothing_released, part_of_grant, percent, unit_word, who_said_so

Plain = Mapping[str, Any]


def answer_html(answer: Plain, useless: str) -> str:
    """Return an answer with its numbers and its cost.

    Args:
        answer: the answer as plain data, without the model's public answer.
        useless: the reason why the released answer has no content; empty otherwise.
    """
    receipt = answer["receipt"]
    return element("div", *_text(answer, useless), *_numbers(answer), *_cost(answer, receipt), *_left(answer))


def receipt_html(receipt: Plain) -> str:
    """Return a receipt: its meaning, its payments, and its assumptions."""
    if not receipt["private"]:
        return element("div", *_not_private(receipt))
    if receipt["payment"] == "nobody":
        return element("div", paragraph(_free(receipt)))
    paid = (
        f"epsilon {receipt['epsilon']:.4g}, delta {receipt['delta']:g}; {receipt['relation']} of one "
        f"'{receipt['unit']}'; paid by {receipt['payment']}; at most {_counted(receipt['each'], 'payment')} of each."
    )
    charges = [(one["times"], one["mechanism"], one["change"]) for one in receipt["charges"]]
    return element(
        "div",
        paragraph(strong("Receipt: "), paid),
        table(("times", "mechanism", "change"), charges),
        *_notes(receipt),
        paragraph(f"Added up by {receipt['accountant']}; noise from {receipt['noise']}."),
    )


def budget_html(report: Plain, accountant: str) -> str:
    """Return a budget report with a bar of what is left. The table of levels is private.

    Args:
        report: the report as plain data.
        accountant: the way in which the grant adds up costs (`Budget.accountant`).
    """
    unit, granted = unit_word(report["unit"]), report["granted"]
    spent = report["spent"] if report["odometer"] is None else report["odometer"]
    left = max(0.0, min(report["left"], granted - spent))
    parts = [
        paragraph(strong("Grant: "), f"epsilon {granted:g}, delta {report['delta']:g}, for each {unit}."),
        paragraph(bar(left, granted), f" at least epsilon {left:.4g} of {granted:g} is left to each {unit}."),
        paragraph(
            f"All questions so far cost each {unit} at most epsilon {spent:.4g}, {percent(report['part'])} of what the "
            f"grant pays for. Answered: {report['answered']}."
        ),
    ]
    if report["still"]:
        parts.append(paragraph(can_still_take_part(report["still"], unit, accountant)))
    if report["levels"]:
        most = max(1, *(level["units"] for level in report["levels"]))
        rows = [
            (f"{one['low']:.2f} - {one['high']:.2f}", one["units"], bar(one["units"], most))
            for one in reversed(report["levels"])
        ]
        parts.append(paragraph("Units by remaining epsilon (private; for the custodian):"))
        parts.append(table(("epsilon left", "units", ""), rows))
    if report["more"] is not None:
        parts.append(paragraph(f"The rest pays for about {report['more']:,} more questions of the default kind."))
    if not all(question["private"] for question in report["questions"]):
        parts.append(paragraph("Note: the vault gave answers without a guarantee; the budget does not cover them."))
    return element("div", *parts)


def plan_html(plan: Plain) -> str:
    """Return the plan of a grant: the questions that it pays for, and an attacker's largest belief."""
    grant = (
        f"epsilon {plan['epsilon']:g}, delta {plan['delta']:g}, for each of about {plan['people']:,} people. "
        f"Suggested delta: at most {plan['suggested']:g}."
    )
    odds = [(_up(one["prior"]), _up(one["one_answer"]), _up(one["all_answers"])) for one in plan["odds"]]
    parts = [
        paragraph(strong("Grant: "), grant),
        table(("algorithm", "question", "epsilon", "a person", "in all", "half", "most"), _rows(plan)),
        paragraph(
            "'a person': the number of such questions that one person can pay for. 'half', 'most': the number of "
            "voters that must agree for a release with probability 0.5, and with 0.9. 'in all': an estimate, if each "
            f"question uses about {plan['used']:,} people. With *, every person pays for every question."
        ),
        paragraph("An attacker's largest belief that one person is in the vault:"),
        table(("believed before", "after one answer, at most", "after all, at most"), odds),
    ]
    if plan["wanted"]:
        parts.append(paragraph(f"For {plan['questions']:,} questions in all:"))
        parts.append(table(("algorithm", "question", "a person", "epsilon", "half", "or a grant"), _wanted(plan)))
    return element("div", *parts)


def _text(answer: Plain, useless: str) -> Iterator[Markup]:
    if answer["stopped"] == "public":
        yield paragraph(nothing_released(answer["receipt"]["unit"] if answer["receipt"] else ""))
        yield paragraph("Nothing was released.")
    elif useless:
        yield paragraph(f"No useful answer: {useless}. Asking again charges again; try other words.")
        yield paragraph(f"released text: {' '.join(answer['released']).strip()}")
    else:
        yield paragraph(strong((answer["answer"] or "").strip() or "(no answer)"))
    if answer["same_without_documents"]:
        yield paragraph("Note: the model gives the same answer without documents; they may have had no influence.")


def _numbers(answer: Plain) -> Iterator[Markup]:
    if answer["shares"]:
        yield table(("answer", "votes, with noise"), answer["shares"].items())
    elif support := answer["support"]:
        yield paragraph(f"released: {', '.join(answer['released'])} ({who_said_so(support)})")
    elif answer["table"]:
        numbers = ("value", "low", "high")
        rows = [(one["name"], *(_figure(one[key], one["kind"]) for key in numbers)) for one in answer["table"]]
        yield table(("", "value, with noise", "from", "to"), rows)
        if answer.get("understood"):
            yield paragraph(f"Understood as: {answer['understood']}")
    elif answer["released"] and answer["released"] != [answer["answer"]] and answer["answer"]:
        yield paragraph(f"released: {', '.join(answer['released'])}")


def _cost(answer: Plain, receipt: Plain | None) -> Iterator[Markup]:
    if receipt is None or not receipt["private"]:
        yield from _not_private(receipt)
    else:
        yield from _notes(receipt)
        cost, unit = answer["cost"], unit_word(receipt["unit"])
        if receipt["payment"] == "nobody":
            yield paragraph(_free(receipt))
        elif cost is None:
            yield paragraph(f"The receipt: epsilon {receipt['epsilon']:.4g}, delta {receipt['delta']:g}.")
        else:
            yield paragraph(part_of_grant(cost["epsilon"], cost["granted"], cost["uses"], unit))


def _left(answer: Plain) -> Iterator[Markup]:
    if answer["remaining"] is not None:
        granted = answer["cost"]["granted"] if answer["cost"] else None
        shown = [bar(answer["remaining"], granted), " "] if granted else []
        yield paragraph(*shown, f"left of the grant: epsilon {answer['remaining']:.4g}")
    if not answer["kept"]:
        yield paragraph("Note: the answer could not be written to the history, so asking again charges again.")


def _not_private(receipt: Plain | None) -> Iterator[Markup]:
    yield paragraph(strong("NOT PRIVATE"), ": this answer has no guarantee and may repeat any document.")
    if receipt is not None and receipt["caveat"]:
        yield paragraph(f"A claim, not a guarantee: {receipt['caveat']}")


def _free(receipt: Plain) -> str:
    why = "this answer was released before" if receipt["reused"] else "the answer comes from public texts"
    return f"Nothing was charged: {why}."


def _notes(receipt: Plain) -> Iterator[Markup]:
    if receipt["reused"] and receipt["payment"] != "nobody":
        yield paragraph(f"uses {_counted(receipt['reused'], 'earlier answer')}")
    if receipt["public_corpus"]:
        yield paragraph(f"uses the public corpus {receipt['public_corpus'][:12]}")
    for assumption in receipt.get("assumed", ()):
        yield paragraph(f"assumed, not checked: {assumption}")


def _figure(value: float | None, kind: str) -> str:
    if value is None or math.isinf(value):
        return "not known"
    return f"{value:,.0f}" if kind == "count" else f"{value:,.4g}"


def _rows(plan: Plain) -> Iterator[tuple[object, ...]]:
    for row in plan["rows"]:
        cost = f"{row['epsilon']:.3g}" if row["times"] else "-"
        agree = (_votes(row["likely"]), _votes(row["surely"]))
        yield _starred(row), row["what"], cost, row["times"], f"{row['vault']:,}", *agree


def _wanted(plan: Plain) -> Iterator[tuple[object, ...]]:
    for row, one in zip(plan["rows"], plan["wanted"], strict=True):
        cost = "-" if one["epsilon"] is None else f"{one['epsilon']:.3g}"
        yield _starred(row), one["what"], one["uses"], cost, _votes(one["likely"]), f"{one['grant']:.3g}"


def _starred(row: Plain) -> str:
    return f"{row['name']}{' *' * row['everybody']}"


def _votes(votes: int | None) -> str:
    return "never" if votes is None else str(votes)


def _up(share: float) -> str:
    """Return a share in percent, rounded up: the text must not be below the bound."""
    for digits in range(4):
        up = math.ceil(share * 100 * 10**digits) / 10**digits
        if up < 100:
            return f"{up:.{digits}f} %"
    return "100 %"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
