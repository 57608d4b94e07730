"""A broken algorithm in one file: it pays for the exponential mechanism, and releases the best choice without noise."""

from collections import Counter
from dataclasses import dataclass

from discreet import GeneratedAnswer
from discreet.algorithms.ensemble import VoterEnsemble
from discreet.algorithms.text.normalize import choice
from discreet.privacy.mechanisms.selection import ExponentialMechanism, vote_scale


class WithoutNoise(ExponentialMechanism):
    """A mechanism with the price of the exponential mechanism, and without its noise."""

    def draw(self, shares, noise):
        """Return the most frequent vote."""
        return Counter(max(vote, 0) for vote in shares).most_common(1)[0][0]


@dataclass(frozen=True, kw_only=True)
class Broken(VoterEnsemble):
    """A vote among public choices.

    Attributes:
        choices: the public answers to choose among.
    """

    name = "broken"
    choices: tuple[str, ...] = ("yes", "no")

    def vote(self, said):
        """Return the place of the choice that an answer names; -1 if it names none."""
        place = choice(said, self.choices)
        return -1 if place is None else place

    def mechanisms(self, epsilon, delta, change, vocabulary):
        """Return the one mechanism of an answer."""
        return [WithoutNoise(len(self.choices), vote_scale(change, epsilon))]

    def respond(self, question, documents, model, privacy, rounds, known=""):
        """Ask each voter, and release one choice."""
        answers, _ = self.start_voters(question, documents, model, known).answers()
        votes = answers.read(self.vote, otherwise=-1)
        mechanism = self.mechanisms(rounds.epsilon, rounds.delta, votes.change, 0)[0]
        return GeneratedAnswer(self.choices[privacy.release(mechanism, votes)], "end", 1, 1)
