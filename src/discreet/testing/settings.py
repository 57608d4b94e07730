"""The settings of hypothesis for all suites."""

from hypothesis import HealthCheck, settings

QUICK = settings(
    max_examples=60,
    derandomize=True,  # a suite finds the same defects in every run
    deadline=None,  # the time of an example depends on the load of the machine
    database=None,  # a suite leaves no files in the package that runs it
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
