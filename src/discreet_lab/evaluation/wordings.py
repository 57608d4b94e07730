"""Wordings of questions with their kinds and requests: whether one is understood, and the weights of the classifier.

Two requests are the same if they count the same: the order of conditions and the endings of words do not matter, and a
count's population and condition are one set.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.errors import DiscreetError, UsageError
from discreet.questions.kinds import KINDS, SCALE, features, guess_kind, words_of
from discreet.questions.request import Request, parse_request
from discreet.questions.router import Router
from discreet.registry import Consensus
from discreet.statistics.conditions import All, AnyOf, Condition, FieldTest, Not, Says

FIELDS = {
    "sex": "category(w=women/female, m=men/male)",
    "age": "number",
    "visit": "date",
    "ward": "category(north,south,icu)",
    "department": "category(sales,legal,support=customer service)",
    "satisfaction": "number",
    "price": "number",
}
"""The declared fields that the wordings are about."""
_GROUPS = {"difference": "versus", "compare": "versus", "yes-no": "fact", "choice": "fact"}
_ARTICLES = frozenset("a an the any some their his her my our to of in on".split())
_ENDINGS = ("ing", "ies", "es", "ed", "s", "e", "y")


def read_wordings(path: Path) -> list[dict[str, Any]]:
    """Return wordings: a JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def group_of(kind: str) -> str:
    """Return the kind of a wording as the classifier has it: a comparison and a difference are one."""
    return _GROUPS.get(kind, kind)


def kind_of(text: str) -> str:
    """Return the kind that a question is taken for."""
    return guess_kind(text).kind


def judge(router: Router, wording: Mapping[str, Any]) -> Literal["right", "other", "refused", "fact"]:
    """Return what becomes of a wording: the right request, another one, a refusal, or a question for voters."""
    try:
        understood = router.understand(wording["text"])
        if understood is None:
            router.decide(wording["text"], lambda question, choices: Consensus())
            return "fact"
    except DiscreetError:
        return "refused"
    return "right" if is_right(understood, wording["request"]) else "other"


def is_right(found: Request, requests: Sequence[str]) -> bool:
    """Return whether a request counts the same as one of these, in their text form."""
    wanted = _form(found)
    for one in requests:
        try:
            if _form(parse_request(re.sub(r"\"@\w\w", '"', one))) == wanted:
                return True
        except UsageError:
            continue
    return False


def _form(request: Request) -> tuple[Any, ...]:
    of, among = _facts(request.of), _facts(request.among)
    if request.kind == "count":
        return ("count", of | among)
    if request.kind == "trend":
        since = request.since + ("-01" if len(request.since) == 4 else "")
        until = request.until + ("-12" if len(request.until) == 4 else "")
        return ("trend", of | among, request.by, since, until)
    if request.kind == "compare":
        return ("compare", of, frozenset(map(_facts, request.groups)), among)
    if request.kind == "difference":
        return ("difference", tuple(map(_facts, request.groups)), among)
    if request.kind == "typical":
        return ("typical", request.attribute.casefold(), request.what, among)
    if request.kind == "list":
        return ("list", _words(request.attribute), 0 if request.most == 10 else request.most, among)
    return (request.kind, of, among)


def _facts(condition: Condition | None) -> frozenset[Any]:
    if condition is None:
        return frozenset()
    if isinstance(condition, All):
        return frozenset().union(*map(_facts, condition.all))
    if isinstance(condition, AnyOf):
        return frozenset([("any", frozenset(map(_facts, condition.any)))])
    if isinstance(condition, Not):
        if isinstance(condition.negates, AnyOf):
            return frozenset().union(*(_facts(Not(negates=one)) for one in condition.negates.any))
        if isinstance(condition.negates, Not):
            return _facts(condition.negates.negates)
        return frozenset([("not", _facts(condition.negates))])
    if isinstance(condition, Says):
        return frozenset([("says", _words(condition.says))])
    if isinstance(condition, FieldTest):
        return frozenset([("test", condition.field, condition.relation, condition.value.casefold())])
    return frozenset([str(condition)])


def _words(phrase: str) -> str:
    return " ".join(
        _stem(one.casefold()) for one in re.findall(r"[\w+&'-]+", phrase) if one.casefold() not in _ARTICLES
    )


def _stem(word: str) -> str:
    ending = next((one for one in _ENDINGS if len(word) - len(one) >= 3 and word.endswith(one)), "")
    return word.removesuffix(ending)


# --- the classifier ---------------------------------------------------------------------------------------------------

_LEAST_WORD, _LEAST_FEATURE, _LEAST_WEIGHT = 3, 2, 6


def train_kinds(told: Iterable[Mapping[str, Any]], *, strength: float = 20.0, steps: int = 300) -> dict[str, Any]:
    """Return the weights of the classifier of kinds (`discreet.questions.kinds`): a logistic regression.

    Args:
        told: wordings with their kinds.
        strength: the inverse of the weight of the squares of the weights, as in scikit-learn.
        steps: the steps of the descent.
    """
    some = [one for one in told if not one.get("language")]
    seen = Counter(word for one in some for word in words_of(one["text"]))
    words = frozenset(word for word, times in seen.items() if times >= _LEAST_WORD)
    rows = [frozenset(features(one["text"], words)) for one in some]
    met = Counter(name for row in rows for name in row)
    names = sorted(name for name, times in met.items() if times >= _LEAST_FEATURE)
    places = {name: place for place, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)), dtype=np.float32)
    for row, own in enumerate(rows):
        columns = [places[name] for name in own if name in places]
        matrix[row, columns] = 1 / math.sqrt(max(1, len(columns)))
    wanted = np.array([KINDS.index(group_of(one["kind"])) for one in some])
    weights, bias = _descend(matrix, np.eye(len(KINDS), dtype=np.float32)[wanted], 1 / strength, steps)
    whole = np.rint(weights * SCALE).astype(int)
    kept = {
        name: whole[place].tolist() for name, place in places.items() if np.abs(whole[place]).max() >= _LEAST_WEIGHT
    }
    return {
        "kinds": list(KINDS),
        "words": sorted(words),
        "bias": np.rint(bias * SCALE).astype(int).tolist(),
        "weights": kept,
    }


def _descend(matrix: Any, wanted: Any, decay: float, steps: int) -> tuple[Any, Any]:
    """Return the weights and the biases of least loss, by steps of Adam of falling length."""
    both = np.hstack([matrix, np.ones((len(matrix), 1), dtype=np.float32)])
    weights = np.zeros((both.shape[1], wanted.shape[1]), dtype=np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        scores = both @ weights
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope = both.T @ (powers / powers.sum(axis=1, keepdims=True) - wanted)
        slope[:-1] += decay * weights[:-1]
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        length = 0.3 * (1 - step / (steps + 1))
        weights -= length * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights[:-1], weights[-1]
