"""`discreet ask`: answer questions, and charge for the answers."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.algorithms.base import Answer
from discreet.cli.answers import AnswerForm, TableFiles, ask_each
from discreet.cli.app import Json, VaultPath, app, complete_from
from discreet.cli.follow_ups import complete, turn
from discreet.cli.kinds import Chooser, print_plan
from discreet.cli.output import err, explained
from discreet.cli.parameters import Params, accept_parameters, parse_for_any
from discreet.cli.plugin_file import Plugin, choose_name
from discreet.errors import UsageError
from discreet.parameters import read_assignments
from discreet.questions.request import FACT, parse_request
from discreet.registry import ALGORITHMS
from discreet.vault import Vault


@app.command()
@accept_parameters(ALGORITHMS.values())
@explained
def ask(
    vault: VaultPath,
    question: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION...", help="One or more questions; - reads one a line from standard input."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="The algorithm. List: discreet algorithms.", autocompletion=complete_from(ALGORITHMS)),
    ] = None,
    plugin: Plugin = None,
    param: Params = None,
    epsilon: Annotated[float | None, typer.Option(help="Maximum cost of a question.")] = None,
    choice: Annotated[list[str] | None, typer.Option(help="A public answer to choose. Repeatable.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Maximum length of an answer.")] = None,
    not_private: Annotated[bool, typer.Option("--not-private", help="Allow algorithms without a guarantee.")] = False,
    corpus: Annotated[Path | None, typer.Option(help="Answer from a synthetic corpus, free.")] = None,
    propose: Annotated[
        Path | None, typer.Option(metavar="CORPUS", help="A public corpus whose answers need fewer votes.")
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(metavar="REQUEST", help='What is asked, in its text form: \'count: "fever" or "rash"\'.'),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Ask again, and pay again.")] = False,
    reuse: Annotated[bool, typer.Option("--reuse/--no-reuse", hidden=True)] = True,
    public: Annotated[bool, typer.Option("--public/--no-public", hidden=True)] = True,
    after: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="The question to which this one refers.")
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="fact, count, share, list, ...")] = None,
    table: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write the numbers as CSV.", hidden=True)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the numbers: .svg, .png or .pdf.", hidden=True)
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Public texts with their truth: intervals cover errors.", hidden=True),
    ] = None,
    show_plan: Annotated[bool, typer.Option("--plan", help="Print kind and price, and stop.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Ask also unsupported kinds of questions.")] = False,
    quantum: Annotated[
        float,
        typer.Option("--latency-step", metavar="SECONDS", help="Answer at multiples of this time.", show_default=False),
    ] = 0.0,
    show_public: Annotated[
        bool, typer.Option("--show-public", help="Show the model's answer if none is released.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show mechanisms and payments.")] = False,
    as_json: Json = False,
) -> int:
    """Ask a question, and charge for the answer.

    Further options: --csv, --plot, --labelled, --no-reuse, --no-public.
    Parameters, such as --where and --uses: discreet algorithms show NAME.
    """
    algorithm = choose_name(algorithm, plugin)
    given = {"epsilon": epsilon, "choices": tuple(choice) if choice else None, "max_tokens": max_tokens}
    opened, shown = Vault.open(vault), AnswerForm(as_json, show_public, verbose, named=after is not None)
    question = _completed(opened, [*(question or ()), *(str(parse_request(text)) for text in request or ())], after)
    if corpus is not None:
        flags = {
            "not_private": not_private,
            "anew": anew,
            "no_reuse": not reuse,
            "no_public": not public,
            "latency_step": quantum,
            "propose": propose,
            "labelled": labelled,
        }
        free = parse_for_any(["non-rag"], [text for text in param or () if _is_free(text)], {"max_tokens": max_tokens})
        others = {name: True for name in read_assignments(param or ()) if not _is_free(name)}
        _check_free({"algorithm": algorithm, **given, **others} | {name: True for name, on in flags.items() if on})
        read = partial(
            opened.ask_corpus, corpus=corpus, max_tokens=free.get("max_tokens") or 32, prefix=free.get("prefix", "")
        )
        return ask_each(opened, question, read, shown=shown)
    kind = kind or (FACT if propose or not_private or anyway else "")
    chooser = Chooser(opened, algorithm or "", param or (), given, kind)
    check = None if anyway or not_private else chooser.check
    if show_plan:
        for one in question:
            if check is not None:
                check(one)
            print_plan(opened, chooser.decide(one), as_json=as_json)
        return 0

    if opened.components.unfinished.batches and not as_json:
        err.print("An addition to this vault did not end, or still runs: answers may leave documents out.")
    files = TableFiles(table, plot)
    files.check(len(question), vault)

    def paid(asked: str) -> Answer:
        if not as_json:
            chooser.say_how_understood(asked)
        answer = opened.ask(
            asked,
            chooser.choose(asked),
            not_private=not_private,
            reuse=reuse,
            anew=anew,
            public=public,
            quantum=quantum,
            propose=propose,
            labelled=labelled,
        )
        files.write(answer)
        return answer

    return ask_each(opened, question, paid, check, shown=shown)


def _completed(vault: Vault, questions: list[str], after: str | None) -> list[str]:
    """Return the questions; the only one as one that stands alone, if the question before it is given."""
    if not questions:
        raise UsageError("Ask a question: discreet ask VAULT 'How many patients have fever?' Or give a --request.")
    if after is None:
        return questions
    if len(questions) > 1 or questions == ["-"]:
        raise UsageError("--after goes with one question, that is given as an argument. Ask the others by themselves.")
    return [complete(vault, questions[0], [turn("user", after)])]


def _is_free(text: str) -> bool:
    """Return whether an answer from a synthetic corpus has this parameter."""
    return text.partition("=")[0].strip().replace("-", "_") in ("max_tokens", "prefix")


def _check_free(options: dict[str, Any]) -> None:
    """Check that an answer from a synthetic corpus has all given options.

    Raises:
        UsageError: if an option needs voters.
    """
    given = [name for name, value in options.items() if value is not None and name not in ("max_tokens", "prefix")]
    if given:
        names = ", ".join(f"--{name.replace('choices', 'choice').replace('_', '-')}" for name in given)
        raise UsageError(
            f"--corpus cannot be combined with {names}: an answer from a synthetic corpus asks no voters. It has only "
            "--max-tokens and --prefix. Omit the other options, or ask without --corpus."
        )
