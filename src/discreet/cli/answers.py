"""An answer and its receipt, for a person."""

from discreet.algorithms.common.answer import Answer
from discreet.cli.output import counted, err, out
from discreet.query.words import nothing_released, unit_word


def print_answer(answer: Answer, *, show_public: bool = False, verbose: bool = False) -> None:
    """Print an answer and what it cost, for a person.

    Args:
        answer: the answer.
        show_public: whether to print what the model says without documents, if nothing was released.
        verbose: whether to print the words of the ledger, too: why it stopped, mechanisms, payments.
    """
    _print_text(answer)
    if answer.same_without_documents:
        out.print("  Note: the model says the same without documents; they may have had no part in it.")
    if show_public and answer.public_text.strip():
        out.print("  without documents the model says (perhaps invented):")
        out.print(f"  {answer.public_text.strip()}", markup=False)
    if answer.shares:
        votes = ", ".join(f"{name} {count}" for name, count in answer.shares.items())
        out.print(f"  votes, with noise: {votes}", markup=False)
    elif answer.released and answer.released != (answer.text,):
        out.print(f"  released: {', '.join(answer.released)}", markup=False)
    print_receipt(answer, verbose=verbose)
    if answer.remaining is not None:
        out.print(f"  left of the grant: epsilon {answer.remaining:.4g}")
    if not answer.kept:
        err.print("[yellow]Note:[/] it could not be written to the history, so asking again pays again. Make room.")


def _print_text(answer: Answer) -> None:
    if answer.stopped == "public":
        out.print(nothing_released(answer.receipt.unit if answer.receipt else ""), markup=False)
    elif answer.useless:
        out.print(f"No useful answer: {answer.useless}. Asking again pays again; try other words.", markup=False)
        out.print(f"  what was released: {answer.text.strip()}", markup=False)
    else:
        out.print(answer.text.strip() or "(no answer)", markup=False, style="bold")


def print_receipt(answer: Answer, *, verbose: bool = False) -> None:
    """Print what an answer cost; if `verbose`, in the words of the ledger, too."""
    receipt = answer.receipt
    if receipt is None or not receipt.private:
        out.print("  [bold red]NOT PRIVATE[/]: this answer has no guarantee and may repeat any document.")
        if receipt is not None and receipt.caveat:
            out.print(f"  a claim, not a guarantee: {receipt.caveat}", markup=False)
        return
    if receipt.payment == "nobody":
        why = (
            "this was released before (--anew asks again, and pays)"
            if receipt.reused
            else "it was answered from texts that are public"
        )
        out.print(f"  receipt: nothing was paid; {why}")
        return
    if receipt.reused:
        out.print(f"  with the help of {counted(receipt.reused, 'earlier answer')}")
    if receipt.public_corpus:
        out.print(f"  with the help of the public corpus {receipt.public_corpus[:12]}")
    for assumption in receipt.assumed:
        out.print(f"  assumed, not checked: {assumption}", markup=False)
    if answer.cost is not None:
        _print_cost(answer)
    if verbose or answer.cost is None:
        _print_ledger(answer)


def _print_cost(answer: Answer) -> None:
    assert answer.cost is not None
    assert answer.receipt is not None
    unit, cost = unit_word(answer.receipt.unit), answer.cost
    out.print(
        f"  This may have cost any one {unit} at most epsilon {cost.epsilon:.4g} of {cost.granted:g}.", markup=False
    )
    if cost.uses is not None:
        out.print(f"  One {unit} can take part in at least {counted(cost.uses, 'such question')}.", markup=False)


def _print_ledger(answer: Answer) -> None:
    receipt = answer.receipt
    assert receipt is not None
    reason = _REASONS.get(answer.stopped, "for a reason that is not known")
    out.print(f"  stopped: {answer.stopped} ({reason})", markup=False)
    out.print(
        f"  receipt: epsilon {receipt.epsilon:.4g}, delta {receipt.delta:g}; {receipt.relation} of one "
        f"'{receipt.unit}'; {counted(receipt.each, 'payment')} {_for_what(answer)}; made by {receipt.payment}",
        markup=False,
    )
    for charge in receipt.describe()["charges"]:
        out.print(f"    {charge['times']} x {charge['mechanism']}; {charge['change']}", markup=False)


def _for_what(answer: Answer) -> str:
    if answer.released:
        return "for the whole answer"
    if answer.stopped == "public":
        return "for asking the voters"
    return f"for {answer.private_tokens} private of {answer.tokens} tokens"


_REASONS = {
    "end": "the model ended it",
    "length": "the longest answer was reached",
    "budget": "the question's budget was used up",
    "undecided": "too few voters agreed, or could pay",
    "public": "too few voters agreed, or could pay",
}
