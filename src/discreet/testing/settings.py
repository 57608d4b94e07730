"""The settings of hypothesis for all suites. The number of examples is that of the profile of the run."""

from hypothesis import HealthCheck, settings

QUICK = settings(
    derandomize=True,  # a suite finds the same defects in every run
    deadline=None,  # the time of an example depends on the load of the machine
    database=None,  # a suite leaves no files in the package that runs it
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
