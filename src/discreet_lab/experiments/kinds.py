"""How many wordings are understood: the classifier of kinds beside one on the packaged embedder, and whole requests."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.config import VaultConfig
from discreet.questions import kinds
from discreet.questions.kinds import KINDS
from discreet.questions.router import Router
from discreet.retrieval.embedding import open_embedder
from discreet_lab.evaluation.wordings import FIELDS, descend, group_of, judge, kind_of, read_wordings, train_kinds
from discreet_lab.experiments.catalogue import ROOT
from discreet_lab.experiments.common import add_csv_option, write_table

COLUMNS = (
    "wordings of",
    "language",
    "number",
    "kind",
    "kind, by the embedder",
    "request",
    "other request",
    "refused",
    "asked of voters",
)
_WORDINGS = ROOT / "tests" / "questions" / "wordings.jsonl"
_WEIGHTS = Path(kinds.__file__).with_name("kinds.json")
_MOST_FACTS = 150


def measure_kinds(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Wordings of questions: how many have the right kind, and how many the right request.

    The wordings of `train` made the weights and the grammar, those of `tune` the thresholds, and `judge` was written
    by another hand. The classifier on the embedder is trained on the same wordings. A request is judged where the kind
    of a wording is a statistic.

    kind              the part of the wordings whose kind is right
    request           the part of the statistics whose whole request is right
    other request     the part that would be paid as another request
    refused           the part that is refused unpaid
    asked of voters   the part that would be paid as a fact
    """
    parser.add_argument("--wordings", type=Path, default=_WORDINGS)
    parser.add_argument(
        "--facts", type=Path, nargs="*", default=[], help="questions of data sets, as facts for training"
    )
    parser.add_argument("--train", action="store_true", help="train the weights anew, and write them into the package")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    told = read_wordings(given.wordings)
    lines = [line for path in given.facts for line in path.read_text(encoding="utf-8").splitlines()[:_MOST_FACTS]]
    learned = [one for one in told if one["source"] != "judge"]
    learned += [{"text": json.loads(line)["question"], "kind": "fact"} for line in lines]
    if given.train:
        weights = train_kinds(learned)
        _WEIGHTS.write_text(json.dumps(weights, separators=(",", ":"), ensure_ascii=False), encoding="utf-8")
        print(f"{len(weights['weights']):,} features of {len(learned):,} wordings: {_WEIGHTS.name}")
        return
    meant = _classify_by_meaning(learned, told)
    rows = []
    for source, language in (("tune", ""), ("judge", ""), ("judge", "de"), ("judge", "fr"), ("judge", "es")):
        own = [one for one in told if one["source"] == source and one.get("language", "") == language]
        rows.append([source, language or "en", str(len(own)), *_judge(own, meant, by_kind=not language)])
    write_table(COLUMNS, rows, given.csv)


def _classify_by_meaning(learned: Sequence[Mapping[str, Any]], told: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the kind of each wording, by a logistic regression on the vectors of the packaged embedder."""
    embedder = open_embedder("minilm")
    some = [one for one in learned if not one.get("language")]
    vectors = np.asarray(embedder.embed([one["text"] for one in some]), dtype=np.float32)
    wanted = np.eye(len(KINDS), dtype=np.float32)[[KINDS.index(group_of(one["kind"])) for one in some]]
    weights, bias = descend(vectors, wanted, 1 / 20, 300)
    texts = [one["text"] for one in told if one["source"] in ("tune", "judge")]
    found = np.asarray(embedder.embed(texts), dtype=np.float32) @ weights + bias
    return {text: KINDS[place] for text, place in zip(texts, found.argmax(axis=1), strict=True)}


def _judge(wordings: Sequence[Mapping[str, Any]], meant: Mapping[str, str], *, by_kind: bool) -> list[str]:
    settings = VaultConfig(1, 20.0, 1e-6, "patient", "", "hashing", log_questions=False, fields=FIELDS)
    router = Router(settings, "en", None)
    right = sum(kind_of(one["text"]) == group_of(one["kind"]) for one in wordings)
    by_meaning = sum(meant[one["text"]] == group_of(one["kind"]) for one in wordings)
    judged = [one for one in wordings if one.get("request")]
    counts = {"right": 0, "other": 0, "refused": 0, "fact": 0}
    for one in judged:
        counts[judge(router, one)] += 1
    shown = [_part(right, len(wordings)), _part(by_meaning, len(wordings))] if by_kind else ["-", "-"]
    return [*shown, *(_part(counts[name], len(judged)) for name in ("right", "other", "refused", "fact"))]


def _part(some: int, of: int) -> str:
    return f"{some / of:.2f}" if of else "-"
