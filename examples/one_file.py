"""An algorithm in one file: each voter names a public choice, and the exponential mechanism releases one of them."""

from dataclasses import dataclass

from discreet import GeneratedAnswer
from discreet.algorithms.ensemble import VoterEnsemble
from discreet.algorithms.text.normalize import choice
from discreet.privacy.mechanisms.selection import ExponentialMechanism, vote_scale


@dataclass(frozen=True, kw_only=True)
class MyRAG(VoterEnsemble):
    """A vote among public choices.

    Attributes:
        choices: the public answers to choose among.
    """

    name = "my-rag"
    choices: tuple[str, ...] = ("yes", "no")

    def vote(self, said):
        """Return the place of the choice that an answer names; -1 if it names none."""
        place = choice(said, self.choices)
        return -1 if place is None else place

    def mechanisms(self, epsilon, delta, change, vocabulary):
        """Return the one mechanism of an answer."""
        return [ExponentialMechanism(len(self.choices), vote_scale(change, epsilon))]

    def respond(self, question, documents, model, privacy, rounds, known=""):
        """Ask each voter, and release one choice."""
        answers, _ = self.start_voters(question, documents, model, known).answers()
        votes = answers.read(self.vote, otherwise=-1)
        mechanism = self.mechanisms(rounds.epsilon, rounds.delta, votes.change, 0)[0]
        return GeneratedAnswer(self.choices[privacy.release(mechanism, votes)], "end", 1, 1)
