"""Statistics: exact laws on neighbouring vaults, who pays, what is in a population, intervals that cover, twins."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.algorithms.base import GeneratedAnswer, Query
from discreet.algorithms.text.attributes import attribute_asked, matches
from discreet.errors import UsageError
from discreet.models.completer import NO_MODEL
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.mechanisms.counting import GaussianHistogram, NoisyHistogram
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Private
from discreet.registry import Compare, Count, Difference, ListValues, Share, Trend, Typical
from discreet.statistics.cells import (
    Counted,
    Reckon,
    StatisticPrice,
    choose_counts,
    choose_histogram,
    interval,
)
from discreet.statistics.conditions import FieldTest, parse, says
from discreet.statistics.phrase import Phrase
from discreet.statistics.statistic import Statistic
from discreet.statistics.typical import What
from discreet.statistics.values import values_of
from discreet.store import sql_store
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import TextStatement, UnitRecord, UnitRecords, gather
from tests.exact import paths
from tests.indexing import indexer

SECRET = b"s" * 32
BUDGET = Budget(20.0, 1e-6, 5e-7)
PLENTY = Budget(1e6, 1e-6, 5e-7)


class Stated:
    """Statements by the words of a text: "treatment: warm oil; symptom: rash"."""

    version = 1
    schema = None
    kinds: frozenset[str] = frozenset()

    def load(self) -> "Stated":
        return self

    def of(self, unit: str, text: str) -> list[TextStatement]:
        parts = (part.split(": ") for part in text.rstrip(".").split("; ") if ": " in part)
        return [TextStatement(kind, value) for kind, value in parts]


def corpus_of(folder: Path, documents: list[Document]) -> SealedCorpus:
    store = EmbeddedStore(folder, HashingEmbedder.dimension)
    corpus = SealedCorpus(store, HashingEmbedder(), SECRET, UnitRecords(store, Stated()))
    indexer(corpus).index(documents)
    return corpus


def notes(*texts: str, fields: Callable[[int], dict[str, str | float]] = lambda _: {}) -> list[Document]:
    return [Document(f"d{n}", f"u{n}", text, fields=fields(n)) for n, text in enumerate(texts)]


def answer(
    corpus: SealedCorpus, statistic: Statistic, budget: Budget = PLENTY, noise: Noise | None = None
) -> tuple[GeneratedAnswer, MemoryLedger]:
    ledger = MemoryLedger(budget, simulation=True)
    account = UnitAccount(ledger, "q", noise=noise or InsecureSeededNoise(0))
    found = statistic.run(Query("q"), corpus, NO_MODEL, account)
    account.settle()
    return found, ledger


# -- populations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", ["a list as a value", "a text that is bytes"])
@pytest.mark.parametrize("test", [{"where": ("ward=a",)}, {"population": "fever"}])
def test_record_that_cannot_be_read_is_no_error_and_changes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str, test: dict[str, Any]
) -> None:
    """Else one unit would show by an error, for nothing: the population is chosen before anyone pays."""
    corpus = corpus_of(tmp_path, notes(*["Fever."] * 20, fields=lambda _: {"ward": "a"}))
    broken = record("Fever.", ward="a")
    if odd == "a list as a value":
        object.__setattr__(broken, "fields", ({"ward": ["a"]},))
    else:
        object.__setattr__(broken, "texts", (b"Fever.",))
        object.__setattr__(broken, "fields", ())
    units = [Member(bytes([n]) * 16, record("Fever.", ward="a")) for n in range(20)]
    counted = []
    for among in (units, [*units, Member(b"x" * 16, broken)]):
        monkeypatch.setattr(corpus, "records", lambda among=among: Private(among, ADD_REMOVE_ONE))
        counted.append(answer(corpus, Count(**test))[0].table[0].value)
    assert counted[1] - counted[0] in (0, 1)  # the unit itself, or none: a seeded noise is the same in both


def record(*texts: str, **fields: str | float) -> UnitRecord:
    return UnitRecord(texts, (fields,), (), (fields,) * len(texts)) if fields else UnitRecord(texts)


@pytest.mark.parametrize(
    ("phrase", "text", "holds"),
    [
        ("Winter Hand", "The diagnosis is Winter Hand.", True),
        ("Winter Hand", "Her hands are cold in winter.", True),
        ("Winter Hand", "There is no Winter Hand.", False),
        ("Winter Hand", "Her hand was seen. In winter it hurts.", False),
        ("fever", "He denies fever, and has a rash.", False),
        ("fever", "Fever was denied on Monday. On Friday he had fever.", True),
        ("no fever", "He has no fever.", True),
        ("the cold tea", "She was given cold tea.", True),
    ],
)
def test_phrase_holds_of_a_unit_by_its_own_words(phrase: str, text: str, holds: bool) -> None:
    assert says(phrase).holds(record(text)) is holds
    assert (~says(phrase)).holds(record(text)) is not holds


def test_phrase_is_found_in_any_document_and_in_categories() -> None:
    assert says("rash").holds(record("Nothing.", "A rash."))
    assert says("day ward").holds(record("Nothing.", ward="Day Ward"))
    assert says("the north ward").holds(record("Nothing.", ward="north"))
    assert says("ward north").holds(record("Nothing.", ward="north"))
    assert not says("north clinic").holds(record("Nothing.", ward="north"))
    assert not says("ward").holds(record("Nothing.", ward="Day Ward"))
    assert parse("").holds(record("Nothing."))


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ("ward=3", 3.0, True),
        ("ward = 3", "3", True),
        ("ward!=3", 3.0, False),
        ("age>=60", 60.0, True),
        ("age<60", 60.0, False),
        ("day>=2026-03", "2026-03-01", True),
        ("day<2026-03", "2026-03-01", False),
        ("ward=North", "north", True),
        ("age>=old", 60.0, False),
        ("age>=60", "sixty", True),
    ],
)
def test_fields_are_compared_by_their_type(test: str, value: str | float, holds: bool) -> None:
    found = parse(test)
    assert isinstance(found, FieldTest)
    assert found.passes({found.field: value}) is holds
    assert found.holds(record("x", **{found.field: value})) is holds
    assert not found.passes({})


@pytest.mark.parametrize("text", ["ward", "ward=", "=3", ">3", ""])
def test_text_that_is_no_test_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="FIELD=VALUE"):
        Count(where=(text,))


@pytest.mark.parametrize(
    ("kind", "attribute", "same"),
    [
        ("symptoms", "symptom", True),
        ("complaints", "symptoms", True),
        ("given treatment", "treatments", True),
        ("diagnosis", "diseases", True),
        ("treatment", "symptom", False),
        ("", "symptom", False),
        ("symptom", "the", False),
    ],
)
def test_attributes_are_alike_by_their_words(kind: str, attribute: str, same: bool) -> None:
    assert matches(kind, attribute) is same


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("What is the treatment for Winter Hand?", "treatment"),
        ("How is Winter Hand treated?", "treatment"),
        ("What helps against Winter Hand?", "treatment"),
        ("A patient has itchy eyes. What should the doctor prescribe?", "treatment"),
        ("What is the therapy for the disease Winter Hand?", "treatment"),
        ("Which disease has the symptoms itchy eyes and a rash?", "diagnosis"),
        ("A patient has the symptoms rash and chills: what is the diagnosis?", "diagnosis"),
        ("What do patients with Winter Hand complain about?", "symptom"),
        ("Name a symptom of the disease Winter Hand.", "symptom"),
        ("Who sang the song?", ""),
        ("", ""),
    ],
)
def test_question_asks_for_an_attribute(question: str, attribute: str) -> None:
    assert attribute_asked(question) == attribute


def test_declared_field_comes_before_statements() -> None:
    stated = (TextStatement("age", "47 years"),)
    assert values_of(UnitRecord(("x",), ({"age": 50.0},), stated), "age") == [50.0]
    assert values_of(UnitRecord(("x",), (), stated), "age") == ["47 years"]


# -- what is released ------------------------------------------------------------------------------------------------


SICK = notes(*["The diagnosis is Winter Hand. A rash."] * 30, *["The diagnosis is Winter Hand."] * 10, *["Well."] * 60)


@pytest.mark.parametrize(
    ("statistic", "values"),
    [
        (Count(), [100]),
        (Count(condition="Winter Hand"), [40]),
        (Count(condition='not "Winter Hand"'), [60]),
        (Count(population="Winter Hand", condition="rash"), [30]),
        (Share(population="Winter Hand", condition="rash"), [0.75, 30, 40]),
        (Share(population="Winter Hand", condition='not "rash"'), [0.25, 10, 40]),
        (Share(condition="Winter Hand"), [0.4, 40, 100]),
        (Compare(groups=("Winter Hand", "well"), condition="rash"), [0.75, 0.0, 0.75]),
        (Count(condition="Summer Foot"), [0]),
        (Share(population="Summer Foot", condition="rash"), [0, 0, 0]),
        (Difference(groups=("Winter Hand", "rash")), [40, 30, 10]),
        (Difference(groups=("rash", "Winter Hand")), [30, 40, -10]),
        (Difference(population="Winter Hand", groups=("rash", "cough")), [30, 0, 30]),
    ],
)
def test_statistic_is_right_but_for_the_noise(tmp_path: Path, statistic: Statistic, values: list[float]) -> None:
    found, _ = answer(corpus_of(tmp_path, SICK), statistic)
    assert [figure.value for figure in found.table] == pytest.approx(values, abs=0.01)
    assert all(figure.low <= figure.value <= figure.high for figure in found.table)
    assert found.text


def test_comparison_says_what_the_noise_lets_it_say(tmp_path: Path) -> None:
    corpus, compare = corpus_of(tmp_path, SICK), Compare(groups=("Winter Hand", "well"), condition="rash")
    assert "more with Winter Hand than with well" in answer(corpus, compare)[0].text
    alike = replace(compare, groups=("Winter Hand", "rash"), epsilon=0.3)
    assert "does not let" in answer(corpus, alike)[0].text


def test_unit_in_two_groups_counts_in_both(tmp_path: Path) -> None:
    both = notes(*["Winter Hand. Glass Knee. Rash."] * 5, *["Winter Hand."] * 5)
    found, _ = answer(corpus_of(tmp_path, both), Compare(groups=("Winter Hand", "Glass Knee"), condition="rash"))
    assert [figure.value for figure in found.table] == pytest.approx([0.5, 1.0, -0.5], abs=0.01)


def test_trend_counts_the_earliest_date_of_a_unit(tmp_path: Path) -> None:
    days = ["2026-01-05", "2026-01-31", "2026-03-01", "2025-12-31"]
    documents = notes(*["Rash."] * 4, fields=lambda n: {"seen": days[n]})
    documents.append(Document("again", "u0", "Rash.", fields={"seen": "2026-02-01"}))
    trend = Trend(condition="rash", date_field="seen", since="2026-01", until="2026-04-30")
    found, _ = answer(corpus_of(tmp_path, documents), trend)
    assert [(one.name, round(one.value)) for one in found.table] == [
        ("2026-01", 2),
        ("2026-02", 0),
        ("2026-03", 1),
        ("2026-04", 0),
    ]
    assert [one.name for one in answer(corpus_of(tmp_path, []), replace(trend, by="quarter"))[0].table] == [
        "2026-Q1",
        "2026-Q2",
    ]
    assert Trend(by="year", since="2020", until="2024-05").cells == 5
    assert Trend().cells == 12
    assert all((Trend().until, Trend().since))  # concrete: the answer is kept
    assert Trend(until="2026-02") == Trend(since="2025-03", until="2026-02")
    assert Trend(by="quarter", until="2026-02").since == "2023-04"


@pytest.mark.parametrize("wrong", [{"by": "week"}, {"since": "soon"}, {"since": "2027", "until": "2026"}])
def test_trend_without_periods_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        Trend(**wrong)  # type: ignore[arg-type]


def test_typical_numbers_are_those_of_the_units(tmp_path: Path) -> None:
    documents = notes(*["x"] * 100, fields=lambda n: {"age": float(n)})
    corpus = corpus_of(tmp_path, documents)
    for what, values in (("median", [50, 100]), ("mean", [50, 100]), ("quartiles", [25, 50, 75, 100])):
        found, _ = answer(corpus, Typical(attribute="age", what=what, bins=120))  # type: ignore[arg-type]
        assert [figure.value for figure in found.table] == pytest.approx(values, abs=1.0)
    stated = corpus_of(tmp_path / "stated", notes(*["age: 47 years"] * 30, "age: unknown", "age: 1000000000000"))
    assert answer(stated, Typical(attribute="age"))[0].table[0].value == pytest.approx(47, abs=4)


@pytest.mark.parametrize(("what", "part"), [("quartiles", 0.25), ("median", 0.5)])
def test_interval_of_a_typical_number_covers_it(what: What, part: float) -> None:
    noise, covered, errors = np.random.default_rng(7), 0, []
    statistic = Typical(attribute="age", what=what)
    for _ in range(60):
        ages = noise.uniform(20, 80, 160)
        counts = np.histogram(ages, np.linspace(0, 120, 31))[0] + noise.normal(0, 4.7, 30)
        figure = statistic.conclude(Counted(tuple(counts.round().astype(int).tolist()), (4.7,) * 30))[1][0]
        errors.append(figure.value - float(np.quantile(ages, part)))
        covered += int(
            figure.low - 2 <= np.quantile(ages, part) <= figure.high + 2
        )  # half a bin: units lie evenly in it
    assert covered >= 55
    assert abs(np.mean(errors)) < 5  # a little more than a bin


def test_typical_number_of_no_unit_is_not_known() -> None:
    typical = Typical(attribute="age", what="mean", low=0, high=120)
    said, table = typical.conclude(Counted((-3,) + (0,) * (typical.bins - 1), (5.0,) * typical.bins, True))
    assert said == "Mean not known (any number from 0 to 120). The noise does not tell whether there is any."
    assert (table[0].low, table[0].high) == (0, 120)


def test_range_of_a_number_is_public() -> None:
    with pytest.raises(UsageError, match="must be public"):
        Typical(attribute="income")
    with pytest.raises(UsageError, match="from a smaller to a larger"):
        Typical(attribute="age", low=5.0, high=5.0)
    assert Typical(attribute="income", low=0.0, high=10.0).range == (0.0, 10.0)


def test_list_has_the_values_of_many_units_with_their_shares(tmp_path: Path) -> None:
    documents = notes(*["symptom: rash; symptom: chills"] * 60, *["symptom: rash; symptom: secret"] * 1, *["x"] * 39)
    corpus = corpus_of(tmp_path, documents)
    found, _ = answer(corpus, ListValues(attribute="symptoms", epsilon=5.0), BUDGET)
    assert found.released == ("rash", "chills") or found.released == ("chills", "rash")
    counts = {figure.name: figure.value for figure in found.table if figure.kind == "count"}
    assert counts["of"] == pytest.approx(61, abs=8)
    assert counts["rash"] == pytest.approx(61, abs=16)
    assert answer(corpus, ListValues(attribute="symptoms", epsilon=5.0, most=1), BUDGET)[0].released in [
        ("rash",),
        ("chills",),
    ]
    none, _ = answer(corpus, ListValues(attribute="allergies", epsilon=5.0), BUDGET)
    assert (none.stopped, none.text, none.table) == ("public", "", ())


# -- who pays --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statistic", "payers"),
    [
        (Count(condition="Winter Hand"), 40),
        (Count(condition='not "Winter Hand"'), 60),
        (Share(population="Winter Hand", condition="rash"), 40),
        (Share(condition="rash"), 100),
        (ListValues(population="Winter Hand", attribute="symptom"), 0),  # nothing was read, so nobody has a value
        (Compare(groups=("rash", "cough"), condition="Winter Hand"), 30),
        (Difference(groups=("Winter Hand", "rash")), 40),
        (Difference(population="Winter Hand", groups=("rash", "cough")), 30),
    ],
)
def test_only_units_that_can_change_a_number_pay(tmp_path: Path, statistic: Statistic, payers: int) -> None:
    _, ledger = answer(corpus_of(tmp_path, SICK), statistic, BUDGET)
    assert sum(count for _, count in ledger.unit_balances()) == payers


def test_grant_pays_for_the_usual_number_of_statistics(tmp_path: Path) -> None:
    corpus, ledger = corpus_of(tmp_path, notes(*["Rash."] * 3)), MemoryLedger(BUDGET, simulation=True)
    admitted = []
    for number in range(201):
        account = UnitAccount(ledger, str(number), noise=InsecureSeededNoise(number))
        Count(condition="rash").run(Query("q"), corpus, NO_MODEL, account)
        account.settle()
        admitted.append(account.spent() == Spending.nothing())
    assert sum(count for _, count in ledger.unit_balances()) == 3
    assert not any(admitted[:200])


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
def test_price_of_one_question_is_its_epsilon(epsilon: float) -> None:
    for statistic in (Count(epsilon=epsilon), Share(condition="rash", epsilon=epsilon)):
        plan = statistic.plan(BUDGET, 0)
        assert 0.98 * epsilon <= plan.price(BUDGET) <= epsilon + 1e-6


def test_noise_is_chosen_by_the_price() -> None:
    """Laplace for one question, Gaussian for many."""
    assert isinstance(choose_histogram(StatisticPrice(BUDGET, epsilon=0.1), 2), NoisyHistogram)
    assert choose_histogram(StatisticPrice(BUDGET, epsilon=0.1), 2).deviation == pytest.approx(14.14, abs=0.01)
    many = choose_histogram(StatisticPrice(BUDGET, uses=200), 2)
    assert isinstance(many, GaussianHistogram)
    assert many.deviation < math.sqrt(2) * 200 / 20


def test_list_at_a_price_leaves_failures_for_others() -> None:
    _, values = choose_counts(StatisticPrice(BUDGET, epsilon=1.0), 4)
    assert values.delta <= BUDGET.failures / 39


def test_list_needs_a_part_of_delta() -> None:
    with pytest.raises(UsageError, match="delta above 0"):
        choose_counts(StatisticPrice(Budget(20.0, 1e-6, 0.0), uses=10), 4)


# -- the law on neighbouring vaults ----------------------------------------------------------------------------------

EXACT = Budget(400.0, 1e-6, 5e-7)
CROWD = {f"c{n}": text for n, text in enumerate(["Winter Hand. Rash.", "Winter Hand.", "Rash.", "Well."] * 8)}
"""So many that no count is cut at 0, where the ends of the tails would meet."""
THREE = CROWD | {"u0": "Winter Hand. Rash.", "u1": "Winter Hand.", "u2": "Rash."}


def law(folder: Path, texts: dict[str, str], statistic: Statistic) -> dict[object, float]:
    corpus = corpus_of(folder, [Document(f"d{unit}", unit, text) for unit, text in texts.items()])
    found: dict[object, float] = {}
    for noise in paths():
        answered, _ = answer(corpus, statistic, EXACT, noise)
        key = (answered.text, answered.table, answered.counts, answered.stopped)
        found[key] = found.get(key, 0.0) + noise.probability
    return found


def largest_loss(folder: Path, statistic: Statistic) -> float:
    """The largest log-ratio of an outcome over all units that may be gone."""
    found, vaults = [], [THREE, *({u: text for u, text in THREE.items() if u != gone} for gone in ("u0", "u1", "u2"))]
    with pytest.MonkeyPatch.context() as patch:  # what follows from a text, or from counts, is computed once
        for kind, method in ((Phrase, "_in_text"), (type(statistic), "conclude")):
            patch.setattr(kind, method, cache(getattr(kind, method)))
        whole, *rests = (law(folder / f"{number}", texts, statistic) for number, texts in enumerate(vaults))
    for rest in rests:
        both = whole.keys() & rest.keys()
        assert sum(whole[key] for key in both) > 0.99
        found += [abs(math.log(whole[key] / rest[key])) for key in both]
    return max(found)


@pytest.mark.parametrize(
    "statistic",
    [
        Count(condition="Winter Hand", epsilon=2.0),
        Share(condition="rash", epsilon=2.0),
        Share(population="Winter Hand", condition="rash", epsilon=2.0),
        Difference(groups=("Winter Hand", "rash"), epsilon=2.0),
    ],
)
def test_law_of_a_statistic_keeps_its_epsilon(tmp_path: Path, statistic: Statistic) -> None:
    found = largest_loss(tmp_path, statistic)
    assert 0.9 * 2.0 < found <= 2.0 + 1e-6


def test_statistic_with_half_of_its_noise_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a histogram that charges half of what it costs, and so has half of the noise at a price."""
    monkeypatch.setattr(NoisyHistogram, "cost", lambda self, change: Pure(0.5 / self.scale))
    choose_histogram.cache_clear()
    half = staticmethod(lambda epsilon, values, change, each: NoisyHistogram(values, 0.5 / epsilon))
    monkeypatch.setattr(NoisyHistogram, "calibrated", half)
    assert largest_loss(tmp_path, Share(condition="rash", epsilon=2.0)) > 3.5
    choose_histogram.cache_clear()


def test_unit_with_many_documents_counts_once(tmp_path: Path) -> None:
    documents = [Document(f"of one {n}", "one", "Rash.") for n in range(50)] + notes("Rash.")
    found, ledger = answer(corpus_of(tmp_path, documents), Count(condition="rash"))
    assert round(found.table[0].value) == 2
    assert sum(count for _, count in ledger.unit_balances()) == 2


# -- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("truth", [(300, 100), (40, 60)])
def test_intervals_cover(gaussian: bool, truth: tuple[int, int]) -> None:
    """Of a count and of a share, over 800 draws: 0.95 of them, give or take."""
    source, deviation = np.random.default_rng(1), 5.0
    covered = {"count": 0, "share": 0}
    for _ in range(800):
        drawn = source.normal(size=2) if gaussian else source.laplace(scale=math.sqrt(0.5), size=2)
        counts = [round(true + deviation * z) for true, z in zip(truth, drawn, strict=True)]
        for name, of, true in (
            ("count", lambda cells: cells[:, 0], float(truth[0])),
            ("share", lambda cells: cells[:, 0] / np.maximum(cells.sum(axis=1), 1), truth[0] / sum(truth)),
        ):
            low, high = interval(counts, [deviation] * 2, gaussian, of)
            covered[name] += low <= true <= high
    assert 0.925 <= covered["count"] / 800 <= 0.975
    assert 0.925 <= covered["share"] / 800 <= 0.975


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0])
def test_interval_of_a_count_covers_with_whole_noise(epsilon: float) -> None:
    """Exactly, for the discrete Laplace noise of a count at a price: 0.95 or more, by a whole number at most."""
    low, high = interval([1000], [math.sqrt(2) / epsilon], False, lambda cells: cells[:, 0])
    ratio = math.exp(-epsilon)
    most = min(math.floor(1000 - low + 1e-9), math.floor(high - 1000 + 1e-9))
    beyond = 2 * ratio ** (most + 1) / (1 + ratio)  # the chance of noise further from 0 than `most`
    assert 1 - beyond >= 0.95
    assert beyond / ratio >= 0.025  # one whole number less, and a tail is as large as is left out


def test_interval_of_a_count_is_never_below_0() -> None:
    figure = Counted((-3,), (5.0,)).figure("count", "count", Reckon([0]))
    assert (figure.low, figure.value) == (0, 0)
    assert figure.high > 0


@pytest.mark.parametrize("truth", [(0, 0), (2, 1), (6, 6), (30, 10)])
def test_interval_of_a_share_covers_in_small_groups(truth: tuple[int, int]) -> None:
    """Over all draws: whether the noise made the group seem large, or empty."""
    source, covered = np.random.default_rng(2), 0
    for _ in range(400):
        counts = tuple(round(true + 5 * z) for true, z in zip(truth, source.normal(size=2), strict=True))
        figure = Counted(counts, (5.0, 5.0)).figure("share", "share", Reckon([0], [0, 1]))
        covered += not sum(truth) or figure.low <= truth[0] / sum(truth) <= figure.high
    assert covered / 400 >= 0.93


def test_fields_of_one_unit_change_no_record_of_another(tmp_path: Path) -> None:
    """`in one record` reads which documents a unit has: by their own rows, and not by what other units declare."""
    own = [Document(f"{part}{n}", f"u{n}", text) for n in range(30) for part, text in (("a", "Fever."), ("b", "Oil."))]
    other = Document("c", "else", "Fever and oil.", fields={"ward": "north"})
    alone, beside = corpus_of(tmp_path / "alone", own), corpus_of(tmp_path / "beside", [*own, other])
    later = corpus_of(tmp_path / "later", own)
    before = records_of(later)
    indexer(later).index([other])
    assert records_of(alone) == before
    for corpus in (beside, later):
        found = records_of(corpus)
        del found["else"]
        assert found == before
    assert before["u0"][3] == (0, 1)
    both = Count(condition='in one record ("fever" and "oil")')
    assert [answer(corpus, both)[0].table[0].value for corpus in (alone, beside)] == [0, 1]


def records_of(corpus: SealedCorpus) -> dict[str, tuple[object, ...]]:
    found = corpus._records.now().records
    return {unit: (one.texts, one.fields, one.fields_of, one.document_of) for unit, one in found.items()}


# -- deep conditions -------------------------------------------------------------------------------------------------

NORTH: dict[str, str | float] = {"ward": "north"}
SOUTH: dict[str, str | float] = {"ward": "south"}
PEOPLE: dict[str, list[tuple[str, dict[str, str | float]]]] = {
    "plain": [("Fever.", {}), ("Oil.", {})],
    "both": [("Fever and oil.", NORTH)],
    "moved": [("Fever.", NORTH), ("Oil.", SOUTH)],
    "well": [("No fever.", {})],
    "many": [("Fever.", NORTH), ("Fever and oil.", SOUTH), ("Oil.", {})],
}
CONDITIONS = (
    '"fever" and "oil"',
    'in one record ("fever" and "oil")',
    'not in one record ("fever" and "oil")',
    '"fever" and ward = north',
    'ward = north and not "oil"',
    '("fever" and ward = north) and ("oil" and ward = south)',
    'not (ward = north or "oil") or ("fever" and not (ward = south and not "oil"))',
    'in one record ("fever" and not ("oil" or ward = south)) or not ward = north',
)
STATISTICS = [
    *(Count(condition=one) for one in CONDITIONS),
    *(Share(condition=one, population='"fever"') for one in CONDITIONS),
    *(Difference(groups=pair) for pair in pairwise(CONDITIONS)),
    *(Compare(groups=pair, condition='"oil" and ward = south') for pair in pairwise(CONDITIONS)),
]


def cells_of(folder: Path, units: Iterable[str]) -> list[tuple[int, ...]]:
    """Return the counts of each statistic over a vault of these units, whose noise is below a half."""
    documents = [
        Document(f"{unit}{n}", unit, text, fields=own) for unit in units for n, (text, own) in enumerate(PEOPLE[unit])
    ]
    corpus = corpus_of(folder, documents)
    counted = (answer(corpus, statistic)[0].counts for statistic in STATISTICS)
    return [one.counts for one in counted if one is not None]


def check_each_unit_adds_its_own_cell(folder: Path) -> None:
    """For all vaults of these units: the counts are the sums of what each unit has alone, one cell at most."""
    alone = {unit: cells_of(folder / unit, [unit]) for unit in PEOPLE}
    for cells in alone.values():
        assert len(cells) == len(STATISTICS)
        assert all(sum(one) <= 1 and min(one) >= 0 for one in cells)
    for size in range(2, len(PEOPLE) + 1):
        for units in combinations(PEOPLE, size):
            sums = [
                tuple(map(sum, zip(*one, strict=True))) for one in zip(*(alone[unit] for unit in units), strict=True)
            ]
            assert cells_of(folder / "-".join(units), units) == sums, units


def test_each_unit_adds_its_own_cell_of_a_deep_condition(tmp_path: Path) -> None:
    check_each_unit_adds_its_own_cell(tmp_path)


def test_record_that_depends_on_fields_of_others_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: where no unit declares a field, the documents of all units are one."""

    def broken(texts: Any, fields: Any, mark: object = None) -> Any:
        return gather(texts if fields else [(unit, text, None) for unit, text, _ in texts], fields, mark)

    monkeypatch.setattr(sql_store, "gather", broken)
    with pytest.raises(AssertionError):
        check_each_unit_adds_its_own_cell(tmp_path)
