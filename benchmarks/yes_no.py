"""Yes/no questions with known answers, as choices: what is released, and how often yes or no is right.

    python -m benchmarks.yes_no [DATA/medical_synth_small] [--diseases 6]

Asks questions of the made-up hospital of `discreet demo`, or of the data set if its folder is given: true and false
claims about treatments and symptoms, claims in which a treatment and a symptom change places, and what no note
mentions. Simulated with seeded noise, default model, embedder and algorithm. What a note does not list is "not said":
"no" is right for it as well, where the note lists others of its kind.

right     the answer
not said  the notes decide it, and "not said" was released
wrong     yes or no was released, and is not the answer
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.models import add_model_option, model_name

from discreet.algorithms.common.private_rag import PrivateRAG
from discreet.demo.corpus import DISEASES, documents
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.question_kinds import NOT_SAID, with_choices
from discreet.registry import Consensus, MuRAGAda
from discreet.vault import Vault

SAID = (
    ("Are copper bracelets used to treat Thunder Heart?", "yes"),
    ("Is Thunder Heart treated with cold tea?", "no"),
    ("Is cold tea used to treat Thunder Heart?", "no"),
    ("Does Thunder Heart cause a humming noise?", "absent"),
    ("Is the capital of France Paris?", NOT_SAID),
)
"""Those of the first table, before votes were grounded."""
TREATS = (
    "Is {value} used to treat {subject}?",
    "Is {subject} treated with {value}?",
    "Do doctors prescribe {value} for {subject}?",
    "Is {value} the treatment for {subject}?",
    "Does {value} help against {subject}?",
    "Are patients with {subject} given {value}?",
)
CAUSES = (
    "Does {subject} cause {value}?",
    "Is {value} a symptom of {subject}?",
    "Do patients with {subject} have {value}?",
)
ABSENT = (
    "Is {subject} contagious?",
    "Is {subject} hereditary?",
    "Was {subject} first described in 1923?",
    "Should patients with {subject} avoid sunlight?",
)
INVENTED = ("warm milk", "Zibber Drops", "a purple nose", "Tarnic Powder", "a whistling ear", "cold tea")


@dataclass(frozen=True)
class Known:
    """What the notes say about a disease."""

    name: str
    symptoms: tuple[str, ...]
    treatment: str


def demo() -> list[Known]:
    """The diseases of the made-up hospital."""
    return [Known(one.name, one.symptoms, one.treatment) for one in DISEASES]


def data(folder: Path) -> list[Known]:
    """The diseases of the data set, from its questions."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        found.setdefault(one["meta"]["disease"], {})[one["kind"]] = one["answers"]
    return [
        Known(name, tuple(map(_lower, kinds["disease-to-symptoms"])), kinds["disease-to-treatment"][0])
        for name, kinds in found.items()
    ]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def questions(diseases: list[Known], most: int) -> Iterator[tuple[str, str]]:
    """Questions with what is right: yes, no, not said, or "absent", for which both of the latter are right."""
    for number, known in enumerate(diseases[:most]):
        treats, causes = TREATS[number % len(TREATS)], CAUSES[number % len(CAUSES)]
        other, invented = diseases[(number + 5) % len(diseases)], INVENTED[number % len(INVENTED)]
        symptom = known.symptoms[number % len(known.symptoms)]
        yield _filled(treats, known.name, known.treatment), "yes"
        if number % 2:
            yield _filled(treats, known.name, other.treatment), "no"
            yield _filled(causes, known.name, symptom), "yes"
            yield _filled(treats, known.name, symptom), "no"
            yield _filled(causes, known.name, invented), "absent"
        else:
            yield _filled(treats, known.name, invented), "no"
            yield _filled(causes, known.name, other.symptoms[0]), "absent"
            yield _filled(causes, known.name, known.treatment), "absent"
            yield _filled(ABSENT[number // 2 % len(ABSENT)], known.name, ""), NOT_SAID


def _filled(form: str, subject: str, value: str) -> str:
    return form.format(subject=subject, value=value)


def verdict(released: str, wanted: str) -> str:
    """What an answer is worth."""
    if released == wanted or (wanted == "absent" and released in ("no", NOT_SAID)):
        return "right"
    return NOT_SAID if released == NOT_SAID else "wrong"


def measure(vault: Vault, asked: Iterable[tuple[str, str]], grounded: bool, every: bool) -> None:
    """Ask each question, and print those that are not right, and how many of each verdict."""
    counts: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for number, (question, wanted) in enumerate(asked):
        algorithm = with_choices(MuRAGAda(), question)
        assert isinstance(algorithm, PrivateRAG)
        assert isinstance(algorithm.inner, Consensus)
        if not grounded:
            algorithm = replace(algorithm, inner=replace(algorithm.inner, grounded=False))
        released = vault.simulate(question, algorithm, noise=InsecureSeededNoise(number)).text
        found = verdict(released, wanted)
        counts[found] += 1
        if released != NOT_SAID:
            decided[found] += 1
        if every or found != "right":
            print(f"| {question} | {wanted} | {released} | {found} |", flush=True)
    print(", ".join(f"{name} {count}" for name, count in counts.most_common()), end="; ")
    print(f"of {decided.total()} answers yes or no, {decided['right']} are right\n", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--ungrounded", action="store_true", help="let the model itself choose among yes, no, not said")
    parser.add_argument("--all", action="store_true", help="print also what is right")
    parser.add_argument("--diseases", type=int, default=6, help="how many diseases to ask about")
    add_model_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "v", epsilon=20, delta=1e-6, model=model_name(given.model))
        if given.data:
            vault.add(given.data / "documents.jsonl")
            asked = list(questions(data(given.data), given.diseases))
        else:
            vault.add_documents(documents())
            asked = [*SAID, *questions(demo(), given.diseases)]
        measure(vault, asked, not given.ungrounded, given.all)


if __name__ == "__main__":
    main()
