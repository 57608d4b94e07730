"""Conditions: record or person, values by their type, the text form, and what one unit changes."""

import itertools
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from discreet.errors import UsageError
from discreet.privacy.partition import Member
from discreet.query.recall import Releases
from discreet.registry import Count, Trend
from discreet.statistics.conditions import (
    ALL,
    All,
    AnyOf,
    Condition,
    FieldTest,
    Not,
    SameRecord,
    all_of,
    any_of,
    narrowed,
    parse,
    same_record,
    says,
    where,
)
from discreet.store.unit_records import Fields, UnitRecord


def unit(*notes: tuple[str, Fields]) -> UnitRecord:
    """Return the record of a unit with one document for each note."""
    fields = tuple(own for _, own in notes)
    return UnitRecord(tuple(text for text, _ in notes), fields, (), fields, tuple(range(len(notes))))


JANUARY, JUNE = {"date": "2026-01-10"}, {"date": "2026-06-10"}
BOTH = unit(("She has a fever.", JANUARY), ("She has a rash.", JUNE))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('"fever" and "rash"', True),
        ('in one record ("fever" and "rash")', False),
        ('"fever" and date = 2026-01', True),
        ('"fever" and date = 2026-06', False),
        ('"rash" and date = 2026-06', True),
        ("date = 2026-03", False),
        ("date >= 2026-03 and date <= 2026-05", False),
        ("date = 2026-03..2026-06", True),
        ('("fever" and date = 2026-01) and ("rash" and date = 2026-06)', True),
        ('("fever" and date = 2026-06) or ("rash" and date = 2026-01)', False),
        ('"fever" and (date = 2026-01 or date = 2026-02)', True),
        ('"fever" and (date = 2026-05 or date = 2026-06)', False),
        ('date = 2026-06 and not "fever"', True),
        ('not "fever"', False),
        ('not ("fever" and date = 2026-06)', True),
        ('"fever" and not (date = 2026-06)', False),
        ('"cough" or ("fever" and not "chills")', True),
        ("all", True),
    ],
)
def test_record_or_person(condition: str, holds: bool) -> None:
    assert parse(condition).holds(BOTH) is holds


ABBREVIATIONS = "hiv HIV HIVs hives hive HIVES PET pet PETs pets AIDS aids aid mri MRI MRIs copd COPD ms MS".split()


@pytest.mark.parametrize(
    ("phrase", "text", "holds"),
    [
        ("HIV+", "Tested, HIV+ since 2019.", True),
        ("HIV+", "She is HIV- and well.", False),
        ("HIV-", "She is HIV- and well.", True),
        ("HIV-", "She is HIV+.", False),
        ("hepatitis A", "Hepatitis A was found.", True),
        ("hepatitis a", "He had hepatitis A.", True),
        ("hepatitis A", "Hepatitis B was found.", False),
        ("hepatitis A", "Hepatitis, and a fever.", False),
        ("hepatitis A", "She had hepatitis a week ago.", False),
        ("vitamin A deficiency", "A vitamin A deficiency.", True),
        ("vitamin A deficiency", "A vitamin D deficiency.", False),
        ("on dialysis", "He is on chronic dialysis.", True),
        ("on dialysis", "He refused dialysis.", False),
        ("on dialysis", "He is not on dialysis.", False),
        ("fever after surgery", "A fever after the surgery.", True),
        ("fever after surgery", "A fever before the surgery.", False),
        ("heart disease", "Known heart disease.", True),
        ("heart disease", "Her heart is fine.", False),
        ("CD4 < 200", "CD4 < 200 in May.", True),
        ("CD4 < 200", "CD4 300.", False),
        ("120/80", "RR 120/80.", True),
        ("120/80", "RR 120 of 80.", False),
        ("migraine", "mi\u00adgraine", True),
        ("migraine", "mi\u200bgraine", True),
        ("migraine", "She has mi-\ngraine.", True),
        ("follow-up", "A follow-\nup.", True),
        ("na\u00efve", "nai\u0308ve to it", True),
        ("pain in the knee", "Knee pain.", True),
        *(
            (phrase, f"{text} was noted.", phrase in said.split())
            for text, said in {
                "HIV": "hiv HIV HIVs",
                "hives": "hives hive HIVES hiv",  # two words in small letters: no form tells which is an abbreviation
                "PET": "PET pet PETs",
                "PETs": "PET pet PETs pets",
                "pets": "pets pet PETs",
                "AIDS": "AIDS aids",  # the same letters: "hearing aids" finds one, "aids" finds both
                "aids": "AIDS aids aid",
                "MRIs": "mri MRI MRIs",
                "COPD": "copd COPD",
                "MS": "ms MS",
            }.items()
            for phrase in ABBREVIATIONS
        ),
        ("hive", "PATIENT HAS HIVES.", True),
        ("hand", "WINTER HANDS", True),
        ("WINTER HANDS", "A winter hand.", True),
        ("hives", "HIV, COPD", False),
        ("PET scan", "Two PET scans.", True),
        ("PET scan", "The pets scan the room.", False),
        ("US citizen", "A US citizen.", True),
    ],
)
def test_every_word_and_sign_is_looked_for(phrase: str, text: str, holds: bool) -> None:
    assert says(phrase).holds(UnitRecord((text,))) is holds


@pytest.mark.parametrize(("phrase", "language"), [("Augen", "de"), ("AUG", "de"), ("pies", "es"), ("ides", "fr")])
def test_abbreviation_is_none_in_other_languages(phrase: str, language: str) -> None:
    """Their endings are cut off as well: Augen and AUG, pies and PI, ides and ID."""
    other = {"Augen": "AUG", "AUG": "Augen", "pies": "PI", "ides": "ID"}[phrase]
    assert not says(phrase, language).holds(UnitRecord((f"{other} (2026) est",)))
    assert says(phrase, language).holds(UnitRecord((f"{phrase} (2026) est",)))


def test_abbreviation_of_a_category_is_compared_as_it_is_written() -> None:
    assert says("hiv").holds(unit(("Well.", {"diagnosis": "HIV"})))
    assert not says("hives").holds(unit(("Well.", {"diagnosis": "HIV"})))
    assert says("PET scan").holds(unit(("Well.", {"scan": "PET"})))
    assert not says("pets scan").holds(unit(("Well.", {"SCAN": "PET"})))
    assert len({says(one).facts() for one in ("HIV", "hives", "pets", "PET", "pet", "hand", "hands")}) == 7
    assert says("the fever").facts() == says("FEVERS").facts()


def test_category_is_compared_with_all_signs() -> None:
    assert says("HIV+").holds(unit(("Well.", {"status": "HIV+"})))
    assert not says("HIV+").holds(unit(("Well.", {"status": "HIV-"})))


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ("date = 2026", "2026-12-31", True),
        ("date <= 2026", "2026-12-31", True),
        ("date < 2026", "2026-01-01", False),
        ("date > 2026-01", "2026-01-31", False),
        ("date > 2026-01", "2026-02-01", True),
        ("date >= 2026-02", "2026-02-01", True),
        ("date = 31.01.2026", "2026-01-31", True),
        ("date = 01.2026", "2026-01-31", True),
        ("date != 2026-02", "2026-02-28", False),
        ("date = 2026-01..2026-02", "2026-02-28", True),
        ("date = 2024-02", "2024-02-29", True),
        ("age = 60..69", 69.0, True),
        ("age = 60..69", 70.0, False),
        ("age != 60..69", 70.0, True),
        ("sex = W", "w", True),
        ("room = 2026", "2026", True),
    ],
)
def test_values_are_compared_by_their_type(test: str, value: str | float, holds: bool) -> None:
    found = parse(test)
    assert isinstance(found, FieldTest)
    assert found.passes({found.field: value}) is holds


LEAVES = st.one_of(
    st.sampled_from(["fever", "HIV+", "hepatitis A", "numb thumbs"]).map(says),
    st.builds(
        where,
        st.sampled_from(["age", "ward no"]),
        st.sampled_from(["=", ">=", "!="]),
        st.sampled_from(["60", "a, b", "O'Neil", "not x"]),
    ),
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda some: all_of(*some)),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: any_of(*some)),
        inner.map(lambda one: ~one),
        inner.map(same_record),
    ),
    max_leaves=6,
)
ANY_CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)


@settings(max_examples=200, deadline=None)
@given(CONDITIONS)
def test_text_form_and_json_give_the_condition_back(condition: Condition) -> None:
    assert parse(str(condition)) == condition
    assert ANY_CONDITION.validate_json(condition.model_dump_json(by_alias=True)) == condition


@pytest.mark.parametrize(
    "text", ['"fever', '"a" "b"', '("fever"', '"fever" and', "and", '"fever" or or "rash"', "=3", '""']
)
def test_text_that_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text if '"' in text or "=" in text else f'{text} "x"')


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(UsageError, match="at most"):
        parse(" or ".join(['"fever"'] * 70))
    with pytest.raises(UsageError):
        parse("(" * 100 + '"fever"' + ")" * 100)


# --- laws -------------------------------------------------------------------------------------------------------------

NOTES = [("fever", JANUARY), ("rash", JANUARY), ("fever", JUNE), ("rash", JUNE), ("well", {})]
OWN = [some for size in (1, 2) for some in itertools.combinations_with_replacement(NOTES, size)]
UNITS = [unit(*some) for some in OWN]


def deep(depth: int) -> Iterator[Condition]:
    """Yield conditions of a depth."""
    base: list[Condition] = [says("fever"), says("rash"), where("date", "=", "2026-01"), where("date", "=", "2026-06")]
    if depth == 0:
        yield from base
        return
    inner = list(deep(depth - 1))[:: 1 if depth == 1 else 7]
    for one in inner:
        yield from (Not(negates=one), SameRecord(same_record=one))
        for other in base:
            yield from (All(all=(one, other)), AnyOf(any=(one, other)))


DEEP = [*deep(1), *deep(2)]


def test_one_unit_changes_a_count_by_one_at_most() -> None:
    """A condition reads one record alone, so that a count of any vault is a sum over its units."""
    for condition in DEEP:
        alone = [condition.holds(one) for one in UNITS]
        part = [condition.holds(condition.part(one)) for one in UNITS]
        assert {0, 1} >= {*alone, *part}
        assert [condition.holds(one) for one in reversed(UNITS)] == alone[::-1]


def test_many_units_are_decided_as_each_one_alone() -> None:
    for condition in DEEP:
        anew, alone = [unit(*own) for own in OWN], [condition.holds(one) for one in UNITS]
        assert condition.among(anew) == alone == condition.among(anew[::-1])[::-1]


def test_text_that_cannot_be_read_says_nothing_and_is_no_error() -> None:
    unreadable = unit(("fever rash", JANUARY))
    object.__setattr__(unreadable, "texts", (b"fever rash",))
    unreadable.__dict__["plain"] = "fever rash"
    for condition in DEEP:
        assert condition.among([*UNITS, unreadable])[:-1] == [condition.holds(one) for one in UNITS]
    assert says("fever").among([unreadable]) == [False]


def test_so_many_phrases_are_kept_with_a_record() -> None:
    one = unit(("fever", {}))
    for number in range(200):
        one.keep(f" {number}", True)
        assert len(one.said) <= 64
    assert not says("199").holds(unit(("fever", {})))
    assert list(one.said)[-1] == " 199"


def test_equal_facts_hold_of_the_same_units() -> None:
    """What a region names is what its condition holds of: else a derived number would be one of other units."""
    seen: dict[object, list[bool]] = {}
    for base, condition in itertools.product([ALL, *deep(0), parse('"fever" and date = 2026-01')], DEEP):
        whole = narrowed(base, condition)
        found = [whole.holds(one) for one in UNITS]
        assert seen.setdefault(whole.facts(), found) == found, str(whole)


def test_number_that_follows_from_others_is_that_of_its_units() -> None:
    """Complements, inclusion and exclusion: each sum of counts that is found for a region is the region's own count."""
    bases: list[Condition] = [ALL, where("date", "=", "2026-06"), says("rash"), parse('"fever" and date = 2026-01')]
    wholes = [narrowed(base, one) for base, one in itertools.product(bases, DEEP)]
    wholes += [*bases, *(~one for one in wholes)]
    numbers = {one.facts(): sum(one.holds(some) for some in UNITS) for one in wholes}
    releases = Releases(())
    counted = list(numbers)
    releases._direct.update((region, {(place, 0): 1}) for place, region in enumerate(counted))
    found = 0
    for region, number in numbers.items():
        for sum_ in (*releases._rests(region), *releases._unions(region), *releases._eithers(region)):
            found += 1
            assert sum(weight * numbers[counted[place]] for (place, _), weight in sum_.items()) == number, str(region)
    assert found > 200


def test_statistics_of_other_units_are_set_apart() -> None:
    for one, other in (
        ('"fever" and "rash" and ward = north', '("fever" and ward = north) and ("rash" and ward = north)'),
        ('in one record ("hepatitis A" and "x ray")', 'in one record ("hepatitis a" and "x ray")'),
        ('"rash" and Ward = north', '"rash" and ward = north'),
        ("ward = north", "in one record (ward = north)"),
        ('"anything said"', ""),
    ):
        counts = [Count(condition='"chills"', population=population) for population in (one, other)]
        assert counts[0].set_apart != counts[1].set_apart
    assert Count(where=("ward=North",)).set_apart == Count(population="ward = north").set_apart
    assert Count(condition='"rash" or "fever"').set_apart == Count(condition='"fever" or "rash"').set_apart


def test_deep_condition_stays_small() -> None:
    text = '"deep"'
    for number in range(11):
        text = f'not ("w{number} thing" and {text})'
    assert len(str(Count(condition=text).set_apart)) < 2000
    for long in ("not " * 3000 + '"fever"', "date <= 9999-12", "date = 2026-03..2026-01", "age = 1..2..3"):
        with suppress(UsageError):
            parse(long)
    assert FieldTest(field="date", value="9999-12").period == ("9999-12-01", "9999-12-31")
    assert FieldTest(field="date", value="2026-03..2026-01").period is None
    assert not FieldTest(field="age", value="69..60").is_number
    assert not FieldTest(field="age", value="1..2..3").is_number
    assert parse('in one record ("fever" and "rash") and "chills"').is_of_records
    assert (~parse("date = 2026")).is_of_records


def test_days_of_a_trend_bound_it() -> None:
    trend = Trend(condition="fever", date_field="date", since="2026-01-15", until="2026-02-10")
    for day, cell in (("2026-01-14", -1), ("2026-01-15", 0), ("2026-02-10", 1), ("2026-02-11", -1)):
        assert trend.cell(unit(("Fever.", {"date": day}))) == cell


def test_count_makes_no_object_for_each_unit() -> None:
    units = [Member(b"one", unit(("Fever.", {}))), Member(b"two", unit(("Fever.", {})))]
    count = Count(condition="fever")
    assert count.places(units) is units
    assert count.cells_of(units) == [0, 0]
