"""Statistics that follow from released ones: what follows, from what, with which interval, and what does not."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.query.answer_cache import Released
from discreet.query.recall import Releases, derive
from discreet.registry import Compare, Count, Difference, Share, Trend
from discreet.statistics.statistic import CellStatistic, Statistic
from discreet.store.documents import Document
from discreet.vault import Vault

HAND, THUMBS = "Winter Hand", "numb thumbs"


def released(statistic: CellStatistic, sizes: tuple[int, ...], noise: float = 5.0, **more: Any) -> Released:
    """What the history keeps of a statistic with these noisy counts."""
    parts = {name: list(value) if isinstance(value, tuple) else value for name, value in statistic.parts.items()}
    given: dict[str, Any] = {
        "time": "2026-03-01T10:00:00+00:00",
        "counts": {"counts": list(sizes), "deviations": [noise] * len(sizes), "gaussian": True},
        "parts": parts,
    } | more
    return Released("q", "a", "end", statistic.name, 0, choices=statistic.set_apart, **given)


SHARE = released(Share(population=HAND, condition=THUMBS), (120, 80))
ALL, HELD = released(Count(), (1000,)), released(Count(condition=HAND), (200,))
COMPARED = released(Compare(groups=(HAND, "Glass Knee"), condition=THUMBS), (120, 80, 30, 70, 10, 20))


@pytest.mark.parametrize(
    ("releases", "asked", "values"),
    [
        ([SHARE], Count(population=HAND, condition=THUMBS), [120]),
        ([SHARE], Count(population=HAND, condition=f'not "{THUMBS}"'), [80]),
        ([SHARE], Count(population=HAND, condition="no numb thumb"), [80]),
        ([SHARE], Count(condition=HAND), [200]),
        ([SHARE], Count(population=HAND), [200]),
        ([SHARE], Share(population=HAND, condition='not "the Numb thumbs"'), [0.4, 80, 200]),
        ([ALL, HELD], Count(condition=f'not "{HAND}"'), [800]),
        ([ALL, HELD], Share(condition=HAND), [0.2, 200, 1000]),
        ([ALL, HELD], Share(condition=f'not "{HAND}"'), [0.8, 800, 1000]),
        ([HELD, released(Count(condition=f'not "{HAND}"'), (790,))], Count(), [990]),
        (
            [HELD, released(Count(condition="Glass Knee"), (150,))],
            Difference(groups=(HAND, "Glass Knee")),
            [200, 150, 50],
        ),
        ([COMPARED], Difference(groups=(HAND, "Glass Knee")), [230, 130, 100]),
        ([COMPARED], Share(population=HAND, condition=THUMBS), [130 / 230, 130, 230]),
        (
            [COMPARED],
            Compare(groups=("Glass Knee", HAND), condition=THUMBS),
            [40 / 130, 130 / 230, 40 / 130 - 130 / 230],
        ),
        (
            [SHARE, released(Share(population="Glass Knee", condition=THUMBS), (10, 90))],
            Compare(groups=(HAND, "Glass Knee"), condition=THUMBS),
            [0.6, 0.1, 0.5],
        ),
        ([released(Difference(groups=(HAND, "Glass Knee")), (90, 40, 10))], Count(condition="Glass Knee"), [50]),
        ([released(Count(where=("ward=3",)), (70,)), released(Count(), (90,))], Count(where=("ward = 3",)), [70]),
    ],
)
def test_number_follows_from_releases(releases: list[Released], asked: Statistic, values: list[float]) -> None:
    found = derive(releases, "q", asked)
    assert found is not None
    assert [one.value for one in found.table] == pytest.approx(values)
    assert all(one.low <= one.value <= one.high for one in found.table)
    assert found.answer
    assert set(found.moments) == {"2026-03-01T10:00:00+00:00"}


@pytest.mark.parametrize(
    ("releases", "asked"),
    [
        ([], Count()),
        ([SHARE], Count(condition=THUMBS)),
        ([SHARE], Count(population="Glass Knee", condition=THUMBS)),
        ([SHARE], Count(population=HAND, condition=THUMBS, where=("ward=3",))),
        ([HELD], Count(condition=f'not "{HAND}"')),
        ([HELD], Trend(condition=HAND, since="2026-01", until="2026-03")),
        ([released(Trend(condition=HAND, since="2026-01", until="2026-03"), (1, 2, 3))], Count(condition=HAND)),
        ([released(Share(population=HAND, condition=THUMBS), (120, 80, 3))], Count(condition=HAND)),
        ([released(Count(condition=HAND), (200,), parts={"conditoin": HAND})], Count(population=HAND)),
        ([released(Count(condition=HAND), (200,), parts=None)], Count(population=HAND)),
        ([released(Count(condition=HAND), (200,), counts=None)], Count(population=HAND)),
    ],
)
def test_number_does_not_follow(releases: list[Released], asked: Statistic) -> None:
    assert derive(releases, "q", asked) is None


def test_releases_added_later_count_as_those_from_the_start() -> None:
    asked, before = Count(condition=f'not "{HAND}"'), Releases([ALL])
    assert Releases([HELD], before).answer("q", asked) == derive([ALL, HELD], "q", asked)
    assert before.answer("q", asked) is None


def test_latest_release_counts_and_both_days_are_named() -> None:
    old, new = (released(Count(condition=HAND), (size,), time=f"2026-0{size // 100}-01") for size in (200, 300))
    found = derive([old, ALL, new], "q", Count(condition=f'not "{HAND}"'))
    assert found is not None
    assert found.table[0].value == 700
    assert found.moments == ("2026-03-01T10:00:00+00:00", "2026-03-01")


def test_answer_of_several_releases_names_the_minutes() -> None:
    """Between them, documents may have changed, so that the number may be one of neither moment."""
    later = released(Count(condition=HAND), (200,), time="2026-03-01T11:40:59+00:00")
    found = derive([ALL, later], "q", Share(condition=HAND))
    assert found is not None
    assert "It combines 2 releases, of 2026-03-01 10:00 and 2026-03-01 11:40 (UTC): if documents" in found.answer
    alone = derive([SHARE], "q", Count(condition=HAND))
    assert alone is not None
    assert "combines" not in alone.answer


def test_moments_that_are_not_known_are_not_named() -> None:
    old = released(Count(condition=HAND), (200,), time="")
    found = derive([released(Count(), (900,), time=""), old], "q", Share(condition=HAND))
    assert found is not None
    assert "It combines 2 releases: if" in found.answer


def test_noise_that_two_numbers_share_is_taken_once() -> None:
    """The population of a share without those of whom it holds has the noise of one count."""
    found = derive([SHARE], "q", Count(population=HAND, condition=f'not "{THUMBS}"'))
    assert found is not None
    assert found.table[0].high - found.table[0].low == pytest.approx(2 * 1.96 * 5, abs=1)
    apart = derive([ALL, HELD], "q", Count(condition=f'not "{HAND}"'))
    assert apart is not None
    assert apart.table[0].high - apart.table[0].low == pytest.approx(2 * 1.96 * 5 * 2**0.5, abs=1)


def pairs(laws: tuple[bool, bool]) -> Iterator[tuple[Released, Released]]:
    """Two released counts of 1000 and 200, again and again, with the noise of their laws."""
    source = np.random.default_rng(3)
    for _ in count():
        drawn = [source.normal() if law else source.laplace(scale=0.5**0.5) for law in laws]
        sizes = [round(true + 6 * z) for true, z in zip((1000, 200), drawn, strict=True)]
        both = [Count(), Count(condition=HAND)]
        yield tuple(  # type: ignore[misc]
            released(one, (size,), counts={"counts": [size], "deviations": [6.0], "gaussian": law})
            for one, size, law in zip(both, sizes, laws, strict=True)
        )


@pytest.mark.parametrize("laws", [(True, True), (False, False), (True, False)])
@pytest.mark.parametrize(
    ("asked", "true"),
    [(Count(condition=f'not "{HAND}"'), 800), (Share(condition=HAND), 0.2)],
    ids=("count", "share"),
)
def test_interval_of_a_derived_number_covers(laws: tuple[bool, bool], asked: Statistic, true: float) -> None:
    covered, draws = 0, pairs(laws)
    for _ in range(400):
        found = derive(next(draws), "q", asked)
        assert found is not None
        covered += found.table[0].low <= true <= found.table[0].high
    assert 0.92 <= covered / 400 <= 0.985


def test_complement_is_answered_free_and_added_documents_change_nothing(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient")
    texts = ["Winter Hand. Numb thumbs."] * 60 + ["Winter Hand."] * 40
    vault.add_documents(Document(f"d{n}", f"p{n}", text) for n, text in enumerate(texts))
    paid = vault.ask("What share of patients with Winter Hand have numb thumbs?")
    spent = list(vault.ledger.unit_balances())
    question = "How many patients with Winter Hand do NOT have numb thumbs?"
    assert vault.price(question, vault.algorithm_for(question)) == 0
    first = vault.ask(question)
    vault.add_documents([Document("more", "other", "Winter Hand.")])
    second = vault.ask(question)
    assert first.table == second.table
    assert first.table[0].value == pytest.approx(max(0, paid.table[2].value - paid.table[1].value), abs=1e-9)
    assert first.released_at == second.released_at != ()
    assert first.follows
    assert not vault.ask("What share of patients with Winter Hand have numb thumbs?").follows
    assert first.receipt is not None
    assert first.receipt.payment == "nobody"
    assert list(vault.ledger.unit_balances()) == spent
    assert vault.ask(question, anew=True).receipt.epsilon > 0  # type: ignore[union-attr]
