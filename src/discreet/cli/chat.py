"""`discreet chat`: a prompt that keeps the model loaded, and shows the cost of a question before it is paid."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import typer

from discreet.algorithms.base import Answer
from discreet.cli.answers import answered, print_answer
from discreet.cli.app import VaultPath, app, complete_from
from discreet.cli.ask import Chooser, complete, turn
from discreet.cli.output import err, explained, out, print_error
from discreet.cli.parameters import Params, accept_parameters
from discreet.errors import CannotAnswer, DiscreetError, Interrupted
from discreet.questions.follow_ups import Message
from discreet.registry import ALGORITHMS
from discreet.system.words import unit_word
from discreet.vault import Vault

_HELP = """Type a question. Its price is shown, and nothing is paid before you type y.
A follow-up, such as "And with Glass Knee?", is made one question with the one before it.
  :budget            the grant, and what these questions have cost
  :anyway QUESTION   ask a question of a kind that cannot be answered yet
  :help              this text
  :quit              end; the end of the input ends the conversation, too"""


@app.command()
@accept_parameters(ALGORITHMS.values())
@explained
def chat(
    vault: VaultPath,
    algorithm: Annotated[
        str | None, typer.Option(help="See: discreet algorithms.", autocompletion=complete_from(ALGORITHMS))
    ] = None,
    param: Params = None,
    epsilon: Annotated[float | None, typer.Option(help="Maximum cost of each question.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Pay each price without confirmation.")] = False,
) -> None:
    """Ask one question after the other; each price is shown before it is paid.

    The model is loaded once. Without a terminal, questions and replies are read line by line from standard input.
    The input is stored only in the vault: see `init --history` and `--log-questions`.
    Parameters of an algorithm: discreet algorithms show NAME.
    """
    opened = Vault.open(vault)
    chooser = Chooser(opened, algorithm or "", param or (), {"epsilon": epsilon})
    chooser.usual()  # a wrong parameter is said before the first question
    talk = Conversation(opened, chooser, agreed=yes)
    try:
        err.print("Ask a question, or :help.")
        while (line := _typed("? ")) is not None:
            if not talk.hear(line):
                break
    except KeyboardInterrupt:
        if talk.paying:
            raise
        raise Interrupted(0.0) from None


@dataclass
class Conversation:
    """Questions to a vault, and what they have cost.

    Attributes:
        vault: the vault.
        chooser: chooses the algorithm of each question.
        agreed: whether prices are paid without confirmation.
        spent: the most that the questions so far have cost any one unit: epsilon, public.
        paying: whether a question is being answered, so that a payment is possible.
        turns: the questions that stand alone, and what was released: public.
        typed: reads a line, after a prompt; None at the end of the input.
    """

    vault: Vault
    chooser: Chooser
    agreed: bool = False
    spent: float = field(default=0.0, init=False)
    paying: bool = field(default=False, init=False)
    turns: list[Message] = field(default_factory=list, init=False)
    typed: Callable[[str], str | None] = field(default_factory=lambda: _typed)

    def hear(self, line: str) -> bool:
        """Carry out the command or the question of a line; return whether the conversation continues.

        Raises:
            Interrupted: if Ctrl-C is pressed during an answer; the error names what was paid.
        """
        command, _, rest = line.strip().partition(" ")
        if command in (":quit", ":q", ":exit"):
            return False
        if command == ":help":
            out.print(_HELP, markup=False)
        elif command == ":budget":
            self.show_budget()
        elif command == ":anyway" and rest.strip():
            self.ask(rest.strip(), anyway=True)
        elif command.startswith(":"):
            err.print(f"There is no command {command}. Type :help for the commands.", markup=False)
        elif command:
            self.ask(line.strip())
        return True

    def ask(self, question: str, *, anyway: bool = False) -> None:
        """Show the price of a question, and ask it after confirmation; print errors of the question."""
        try:
            if not anyway:
                question = complete(self.vault, question, self.turns)
                self.chooser.check(question)
                self.chooser.say_how_understood(question)
            algorithm = self.chooser.usual(question) if anyway else self.chooser.choose(question)
            self.turns.append(turn("user", question))
            if self.agrees(self.vault.price(question, algorithm)):
                self.paying = True
                answer = answered(self.vault, question, partial(self.vault.ask, algorithm=algorithm))
                self.paying = False
                self.show(answer)
        except Interrupted:
            raise
        except CannotAnswer as refusal:  # before anything was asked
            err.print(f"{refusal.advice} To ask it nevertheless: :anyway QUESTION", markup=False)
        except DiscreetError as error:
            self.paying = False
            print_error(error, as_json=False)

    def agrees(self, price: float) -> bool:
        """Show a price; return whether it is to be paid. A price above 0 needs confirmation."""
        if not price:
            err.print("This is free.")
            return True
        unit = unit_word(self.vault.settings.unit_field)
        who = f"each {unit} that takes part" if self.vault.settings.payment == "unit" else f"each {unit}"
        err.print(f"This costs at most epsilon {price:.4g}, for {who}.", markup=False)
        return self.agreed or (self.typed("Ask? [y/N] ") or "").strip().casefold() in ("y", "yes")

    def show(self, answer: Answer) -> None:
        """Print an answer, and what all answers have cost."""
        if answer.receipt is not None and answer.receipt.payment != "nobody":
            self.spent += answer.receipt.epsilon
        if answer.stopped != "public" and answer.text.strip():
            self.turns.append(turn("assistant", answer.text))
        print_answer(answer)
        self.show_spent()

    def show_budget(self) -> None:
        """Print the public part of the budget."""
        grant = self.vault.settings
        unit = unit_word(grant.unit_field)
        out.print(f"Grant: epsilon {grant.epsilon:g}, delta {grant.delta:g}, for each {unit}.", markup=False)
        self.show_spent()

    def show_spent(self) -> None:
        """Print the most that the questions of this conversation have cost any one unit."""
        granted, unit = self.vault.settings.epsilon, unit_word(self.vault.settings.unit_field)
        cost = f"at most epsilon {min(self.spent, granted):.4g} of {granted:g}"
        out.print(f"These questions have cost any one {unit} {cost}.", markup=False)


def _typed(prompt: str) -> str | None:
    """Return a typed line, after a prompt on a terminal; None at the end. The line is written to no file."""
    if sys.stdin.isatty():
        import readline  # noqa: F401 - lines can be edited, and called back until the end of the program

        try:
            return input(prompt)
        except EOFError:
            return None
    line = sys.stdin.readline()
    return line if line else None
