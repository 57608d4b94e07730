"""Every mechanism is audited, keeps what it claims, and has a broken twin that is flagged."""

import importlib
import inspect
import pkgutil
from collections import Counter

import pytest

import discreet.privacy.mechanisms
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure, ZeroConcentrated
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet_lab.audit.case import Case, claim_of, run
from discreet_lab.audit.mechanisms import CHANGES, MECHANISMS, MechanismCase, Stream, mechanism_cases
from discreet_lab.audit.mutants import twins_of_mechanisms

CASES = mechanism_cases(1.0)


def test_the_real_ones_keep_their_claims_and_lose_much_of_them() -> None:
    found = run(CASES, InsecureSeededNoise(0), draws=4000)
    assert [finding for finding in found if finding.violated] == []
    loudest = {name: max(one.tight for one in found if one.name == name) for name in MECHANISMS}
    assert sum(share > 0.4 for share in loudest.values()) >= 8, loudest
    assert loudest["noisy-count"] > 0.8


def test_every_broken_twin_is_flagged() -> None:
    found = run(twins_of_mechanisms(1.0), InsecureSeededNoise(1), draws=10_000)
    assert [finding.inputs for finding in found if not finding.violated] == []
    assert {finding.name for finding in found} == set(MECHANISMS)


def test_every_mechanism_there_is_has_cases() -> None:
    """What draws is in the audit, under both relations."""
    modules = pkgutil.iter_modules(discreet.privacy.mechanisms.__path__)
    made = {
        kind
        for module in modules
        for _, kind in inspect.getmembers(
            importlib.import_module(f"discreet.privacy.mechanisms.{module.name}"), inspect.isclass
        )
        if kind.__module__.startswith("discreet.privacy.mechanisms")
        and (hasattr(kind, "draw") or hasattr(kind, "start"))
    }
    kinds = Counter(
        type(case.mechanism.sparse if isinstance(case.mechanism, Stream) else case.mechanism) for case in CASES
    )
    assert made == set(kinds)
    assert all({case.change for case in CASES if case.name == name} == set(CHANGES) for name in MECHANISMS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}: {case.inputs}")
def test_claims_are_computed_and_are_what_was_asked(case: MechanismCase) -> None:
    assert case.claim == claim_of(case.mechanism.cost(case.change))
    assert case.claim[0] == pytest.approx(1.0, rel=1e-2)


def test_a_claim_is_looked_at_at_a_delta_at_which_it_holds() -> None:
    assert claim_of(Pure(2.0)) == (2.0, 0.0)
    assert claim_of(Pure(2.0, 0.01)) == pytest.approx((2.0, 0.01))
    epsilon, delta = claim_of(ZeroConcentrated(0.125, 0.01))
    assert delta == pytest.approx(0.011)
    assert epsilon == pytest.approx(Spending.of(ZeroConcentrated(0.125)).epsilon(0.001), rel=1e-6)


def test_the_operating_systems_noise_is_audited_too() -> None:
    cases: list[Case] = [*mechanism_cases(1.0, ["noisy-count"])]
    told: list[int] = []
    # This mechanism loses all that it claims: at 0.95, one of a thousand runs would bound it above its claim.
    found = run(cases, SystemNoise(), draws=2000, confidence=1 - 1e-6, on_progress=told.append)
    assert [finding.violated for finding in found] == [False, False]
    assert sum(told) == 2 * 2 * 2000
    assert found[0].bound.trials == 1000
