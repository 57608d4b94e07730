"""How many wordings are understood: the classifier of kinds, and whole requests."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.config import VaultConfig
from discreet.questions import kinds
from discreet.questions.model_parser import NONE, text_form_in
from discreet.questions.request import parse_request
from discreet.questions.router import Router
from discreet_lab.evaluation.wordings import FIELDS, group_of, is_right, judge, kind_of, read_wordings, train_kinds
from discreet_lab.experiments.catalogue import ROOT
from discreet_lab.experiments.common import add_csv_option, name_part, write_table

MODELS = ("model", "replies", "sound requests", "right", "other requests")
COLUMNS = "wordings of, language, number, kind, request, other request, refused, asked of voters".split(", ")
_WORDINGS = ROOT / "tests" / "questions" / "wordings.jsonl"
_REPLIES = _WORDINGS.with_name("model_replies")
_WEIGHTS = Path(kinds.__file__).with_name("kinds.json")
_MOST_FACTS = 150


def measure_kinds(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Wordings of questions: how many have the right kind, and how many the right request.

    The wordings of `train` made the weights and the grammar, those of `tune` the thresholds, and `judge` was written
    by another hand. A request is judged where the kind of a wording is a statistic.

    kind              the part of the wordings whose kind is right
    request           the part of the statistics whose whole request is right
    other request     the part that would be paid as another request
    refused           the part that is refused unpaid
    asked of voters   the part that would be paid as a fact

    The second table has recorded replies of models to the prompt of the model parser, about some wordings of `judge`.
    """
    parser.add_argument(
        "--facts", type=Path, nargs="*", default=[], help="questions of data sets, as facts for training"
    )
    parser.add_argument("--train", action="store_true", help="train the weights anew, and write them into the package")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    told = read_wordings(_WORDINGS)
    lines = [line for path in given.facts for line in path.read_text(encoding="utf-8").splitlines()[:_MOST_FACTS]]
    if given.train:
        learned = [one for one in told if one["source"] != "judge"]
        learned += [{"text": json.loads(line)["question"], "kind": "fact"} for line in lines]
        weights = train_kinds(learned)
        _WEIGHTS.write_text(json.dumps(weights, separators=(",", ":"), ensure_ascii=False), encoding="utf-8")
        print(f"{len(weights['weights']):,} features of {len(learned):,} wordings: {_WEIGHTS.name}")
        return
    rows = []
    for source, language in (("tune", ""), ("judge", ""), ("judge", "de"), ("judge", "fr"), ("judge", "es")):
        own = [one for one in told if one["source"] == source and one.get("language", "") == language]
        rows.append([source, language or "en", str(len(own)), *_judge(own, by_kind=not language)])
    write_table(COLUMNS, rows, given.csv)
    print()
    write_table(MODELS, list(_judge_replies(told)), name_part(given.csv, "models"))


def _judge_replies(wordings: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield what the parser makes of the replies of each model that was recorded."""
    wanted = {one["text"]: one["request"] for one in wordings if one.get("request")}
    for path in sorted(_REPLIES.glob("*.jsonl")):
        made = [(wanted[one["text"]], text_form_in(one["reply"])) for one in read_wordings(path)]
        sound = [is_right(parse_request(form), requests) for requests, form in made if form != NONE]
        right = sum(sound)
        yield [path.stem, *map(str, (len(made), len(sound), right, len(sound) - right))]


def _judge(wordings: Sequence[Mapping[str, Any]], *, by_kind: bool) -> list[str]:
    settings = VaultConfig(1, 20.0, 1e-6, "patient", "", "hashing", log_questions=False, fields=FIELDS)
    router = Router(settings, "en", None)
    right = sum(kind_of(one["text"]) == group_of(one["kind"]) for one in wordings)
    judged = [one for one in wordings if one.get("request")]
    counts = {"right": 0, "other": 0, "refused": 0, "fact": 0}
    for one in judged:
        counts[judge(router, one)] += 1
    return [
        _part(right, len(wordings)) if by_kind else "-",
        *(_part(counts[name], len(judged)) for name in ("right", "other", "refused", "fact")),
    ]


def _part(some: int, of: int) -> str:
    return f"{some / of:.2f}" if of else "-"
