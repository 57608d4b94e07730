"""The audit of an algorithm of another author: its parameters for the audited vaults, its claim and its cases.

Its claim is the ceiling of its plan, for one unit that comes or goes. A unit that becomes another counts as two steps,
since it is not known which change the algorithm charges.
"""

from collections.abc import Mapping
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.errors import UsageError
from discreet.parameters import read_parameters
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget
from discreet.registry import ALGORITHMS, make_algorithm
from discreet_lab.audit.algorithms import PAIRS, VOCABULARY, AlgorithmCase, AuditSetting
from discreet_lab.audit.case import DELTA

NOTHING_CLAIMED = Budget(1e-9, 0.0, accountant="pure")
"""The grant of an algorithm whose plan costs nothing: its answers must not depend on documents at all."""


def plugin_cases(epsilon: float, name: str, options: Mapping[str, Any] | None = None) -> list[AlgorithmCase]:
    """Return the cases of one registered algorithm, for a total of `epsilon`: one for each pair of vaults.

    Args:
        epsilon: the grant.
        name: its name in the registry.
        options: parameters in place of those of the audit: its epsilon, the choices x, y and z, and three voters.

    Raises:
        UsageError: if it has no guarantee, or if the grant does not pay for its plan.
    """
    if not ALGORITHMS[name].spec.private:
        raise UsageError(f"'{name}' has no guarantee, so there is no claim to audit. Expected Guarantee.DP.")
    usual = {"epsilon": epsilon, "choices": ("x", "y", "z"), "voters": 3, "max_tokens": 2}
    own = {one.name for one in read_parameters(ALGORITHMS[name])}
    given = {key: value for key, value in usual.items() if key in own} | dict(options or {})
    setting = _set(make_algorithm(name, given), Budget(epsilon, DELTA))
    return [AlgorithmCase(name, setting, pair) for pair in PAIRS]


def _set(algorithm: Algorithm, granted: Budget) -> AuditSetting:
    """Return the setting of an algorithm: its ledger grants what the plan of one question allows."""
    plan = algorithm.plan(granted, VOCABULARY)
    if plan is None:
        return AuditSetting(algorithm, NOTHING_CLAIMED, replacing=False)
    budget = granted if algorithm.spec.payment is Payment.EACH_UNIT else plan.ceiling
    return AuditSetting(algorithm, budget, replacing=False)
