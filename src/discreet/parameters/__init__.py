"""The parameters of an algorithm: the fields of its dataclass, for help texts and for `--param name=value`."""

from discreet.parameters.assignments import join_assignment, read_assignments
from discreet.parameters.fields import Parameter, read_parameters
from discreet.parameters.values import parse_values

__all__ = ["Parameter", "join_assignment", "parse_values", "read_assignments", "read_parameters"]
