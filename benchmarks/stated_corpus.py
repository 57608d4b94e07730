"""A corpus of facts that notes of medical_synth state, read by a rule in place of the model: minutes instead of hours.

    .venv/bin/python -m benchmarks.stated_corpus DOCUMENTS CORPUS.jsonl [--epsilon 2] [--delta 1e-5] [--seed 0]
        [--questions QUESTIONS]

The counts and their noise are those of dp-facts at this price. Another thing than the reading differs: the keyword of a
note is its diagnosis as a whole. So the corpus shows what proposals are worth if the facts were read well. Noise is
seeded. With `--questions`, also for how many of them an answer stands in the corpus.
"""

import argparse
import json
import re
from pathlib import Path

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import matches, read_questions
from discreet.reading.opening import open_bytes
from discreet.synthesis.dp_facts import DPFacts, texts
from discreet.synthesis.fact_extraction import facts_of

_STATED = re.compile(
    r"Given the symptoms \((.*?)\) of .*?, the diagnosis is (.*?) and the treatment should be (.*?)\.$"
)


def facts_in(text: str) -> list[tuple[str, str]]:
    """The facts of a note, by the sentence of its doctor; the diagnosis first."""
    found = _STATED.search(text)
    if found is None:
        return []
    symptoms, diagnosis, treatment = found.groups()
    return facts_of(f"The diagnosis is {diagnosis}. The treatment is {treatment}. The symptoms are {symptoms}.")


def make(notes: list[str], epsilon: float, delta: float, seed: int) -> list[str]:
    """The texts of a corpus, as dp-facts would release them."""
    method = DPFacts(epsilon=epsilon, delta=delta)
    plan = method.plan(Budget(1.5 * epsilon, delta, 0.5 * delta), Spending.nothing(), 0, 0)
    noise = InsecureSeededNoise(seed)
    stated = [facts for facts in map(facts_in, notes) if facts]
    order = sorted(plan.counts.draw([{facts[0][1]} for facts in stated], noise))
    brought = [
        {json.dumps([facts[0][1], *fact], ensure_ascii=False) for fact in facts[: method.facts]}
        for facts in stated
        if facts[0][1] in order
    ]
    return [made.text for made in texts(order, plan.stated.draw(brought, noise))]


def main() -> None:
    """Write the corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=Path)
    given = parser.parse_args()
    with open_bytes(given.documents) as lines:
        notes = [json.loads(line)["text"] for line in lines]
    made = make(notes, given.epsilon, given.delta, given.seed)
    given.corpus.write_text("".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in made))
    print(f"{len(made)} texts")
    if given.questions is not None:
        asked = read_questions(given.questions)
        there = sum(any(matches(text, question.answers) for text in made) for question in asked)
        print(f"an answer stands in some text for {there} of {len(asked)} questions")


if __name__ == "__main__":
    main()
