"""A worst case for membership: the attacker has a person's note, and asks whether the vault has it, too.

    .venv/bin/python -m benchmarks.attack_votes VAULT [--draws 500] [--epsilon 1 10] [--streams 0]

VAULT was read (`discreet read`). Two copies of it have made-up accomplices, who all state the same made-up treatment,
and one copy has one more: the person. There are so many accomplices that their answer is released half of the time, and
at the default price also twice as many. Both copies are asked for that treatment, with fresh noise each time, at the
price of the vault's default and at each epsilon. The attacker sees the answer and its support: how many gave it, of how
many. Its score is how many gave it, and less than any if it is not released. (Of how many says less: it depends on the
bins that were visited.)

"advantage": true less false positives at the threshold that one half of the draws chooses, counted on the other half.
"most": what (epsilon, delta) allows. "shown": the lower bound of epsilon, at confidence 0.95. BROKEN twins release the
votes of all without noise ("every vote"), or with a tenth of all noise. --streams: so many streams, in which the
same question is asked anew until the person's grant is spent; the score is the sum. Nothing is paid; noise is seeded.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from benchmarks.attack_twins import every_vote
from benchmarks.kept_vectors import KeptVectors
from benchmarks.models import add_model_option, open_vault
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.all_vote import AllVoteRAG, VotingBudget
from discreet.algorithms.common.answer import Answer
from discreet.privacy.accounting import Budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.registry import Consensus, MuRAGAda
from discreet.retrieval.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks.advantage import Advantage
from discreet_lab.attacks.simulation import copied, documents_of, private_folder, read_again
from discreet_lab.audit.broken_noise import BrokenNoise

DISEASE, TREATMENT = "Quorblex Grumphitis", "Zorvane Drops"
QUESTION = f"What is the treatment for {DISEASE}?"
NOTE = (
    "I experience shivering and a blue tongue. Doctor: Given the symptoms (Shivering, Blue tongue), the diagnosis is "
    f"{DISEASE} and the treatment should be {TREATMENT}."
)
"""The note of the person and of each accomplice: equally near to the question, so that all of them are admitted."""
LEAST = -1e9
"""The score if nothing is released."""
HEADINGS = ["release", "accomplices", "epsilon", "released", "area", "most area", "advantage", "most", "shown"]
Copies = tuple[Vault, Vault]
"""A copy without the person, and one with."""


@dataclass(frozen=True)
class Attacked:
    """A release that is attacked.

    Attributes:
        label: its name in the table.
        algorithm: the algorithm.
        part: the part of its noise that is drawn; less than 1 is broken.
    """

    label: str
    algorithm: AllVoteRAG
    part: float = 1.0

    def noise(self, seed: int) -> Noise:
        """Return the noise of one draw."""
        sound = InsecureSeededNoise(seed)
        return sound if self.part == 1 else BrokenNoise(sound, self.part)


@contextmanager
def copies(vault: Vault, others: int, accomplices: int) -> Iterator[Copies]:
    """The two copies, both read."""
    with ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        made = []
        for name, number in (("without", accomplices), ("with", accomplices + 1)):
            planted = [Document(f"q{one}", f"accomplice {one}", NOTE) for one in range(number)]
            copy = stack.enter_context(copied(vault, folder / name, documents_of(vault)[:others], planted))
            read_again(vault, copy, lambda done, size: None)
            made.append(copy)
        yield made[0], made[1]


def stating(copy: Vault) -> int:
    """How many units state the treatment, by what the model read."""
    lookup = copy.components.readings.load()
    owned = [(stored.unit, stored.text) for stored in copy.store.texts()]
    return sum(any(one.value == TREATMENT.casefold() for one in lookup.of(unit, text)) for unit, text in owned)


def score(answer: Answer) -> float:
    """The attacker's score of one answer: larger if the person is in."""
    asked_for = answer.released == (TREATMENT.casefold(),)
    return float(answer.support.count) if asked_for and answer.support else LEAST


def budget_of_question(attacked: Attacked, budget: Budget) -> VotingBudget:
    """What a question costs and how it is released: public."""
    rounds = attacked.algorithm.calibrate(budget, 0)
    assert isinstance(rounds, VotingBudget)
    assert rounds.rule is not None
    assert rounds.inner is not None
    return rounds


def half_released(rounds: VotingBudget) -> int:
    """How many votes are released half of the time."""
    assert rounds.inner is not None
    selection = rounds.inner.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 0)[0]
    needed: int = selection.votes_needed(0.5)  # type: ignore[attr-defined]
    return needed


def drawn(copy: Vault, attacked: Attacked, questions: int, seed: int, told: Callable[[], None]) -> tuple[float, int]:
    """The score of one draw, in which the question is asked so often from one grant; and how often it was answered."""
    ledger = MemoryLedger(copy.ledger.budget, simulation=True)
    total, released = 0.0, 0
    for number in range(questions):
        noise = attacked.noise(1000 * seed + number)
        answer = copy.simulate(QUESTION, attacked.algorithm, noise=noise, ledger=ledger)
        found = score(answer)
        released += found > LEAST
        # In a stream an answer that is not released says little beside the others.
        total += found if questions == 1 or found > LEAST else 0.0
    told()
    return total, released


def row(pair: Copies, attacked: Attacked, accomplices: int, draws: int, questions: int, seed: int) -> list[str]:
    """Attack, and return the row of the table."""
    budget = pair[0].ledger.budget
    plan = budget_of_question(attacked, budget).plan
    claim = (plan.ceiling.epsilon, plan.ceiling.delta) if questions == 1 else (budget.epsilon, budget.delta)
    scores: list[list[float]] = []
    released = 0
    for place, copy in enumerate(pair):
        found = [
            drawn(copy, attacked, questions, seed + 2 * number + place, lambda: print(".", end="", file=sys.stderr))
            for number in range(draws)
        ]
        scores.append([one for one, _ in found])
        released += sum(count for _, count in found)
    seen = Advantage.of(scores[1], scores[0], *claim)
    auc = f"{seen.auc.value:.3f} ({seen.auc.low:.3f}-{seen.auc.high:.3f})"
    label = attacked.label if questions == 1 else f"{attacked.label}, {questions} times from one grant"
    return [
        label,
        str(accomplices),
        f"{claim[0]:.2f}",
        f"{released / (2 * draws * questions):.2f}",
        auc,
        f"{seen.most_auc:.3f}",
        f"{seen.value:.2f}",
        f"{seen.most:.2f}",
        f"{seen.shown:.2f}" + (" (refuted)" if seen.exceeded else ""),
    ]


def main() -> None:
    """Attack and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0, 10.0])
    parser.add_argument("--others", type=int, default=40, help="so many documents of the vault are in the copies")
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--questions", type=int, default=25, help="of a stream: as many as the grant pays for")
    parser.add_argument("--seed", type=int, default=0)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    opened = open_vault(given.vault, given.model)
    vault = Vault.open(given.vault, model=opened.model, embedder=KeptVectors(opened.embedder))
    usual = MuRAGAda(inner=Consensus(readings=True))
    attacked = [Attacked("default price", usual), *(Attacked("sound", usual.scaled_to(e)) for e in given.epsilon)]
    twins = [
        Attacked("BROKEN: every vote", every_vote(readings=True)),
        Attacked("BROKEN: a tenth of noise", usual, 0.1),
    ]
    table = TableWriter(HEADINGS, given.csv)
    cells = [(half_released(budget_of_question(one, vault.ledger.budget)), one) for one in [*attacked, *twins]]
    cells += [(2 * half, one) for half, one in cells if one is attacked[0]]
    for accomplices, group in groupby(sorted(cells, key=itemgetter(0)), key=itemgetter(0)):
        with copies(vault, given.others, accomplices) as pair:
            for _, one in group:
                table.write(row(pair, one, accomplices, given.draws, 1, given.seed))
                if given.streams and one is attacked[0]:
                    table.write(row(pair, one, accomplices, given.streams, given.questions, given.seed))
    with copies(vault, 0, 10) as pair:
        said = " and ".join(f"{stating(copy)} of {10 + place}" for place, copy in enumerate(pair))
    print(
        f"\n{given.draws} draws of each copy; of the made-up notes, {said} state the treatment, by the model's reading;"
    )
    print(f"{vault.settings.model}, {vault.settings.embedder}, seed {given.seed}")


if __name__ == "__main__":
    main()
