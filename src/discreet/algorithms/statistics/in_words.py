"""The kind and the parts of a statistic as a line of text, so that an asker sees how a question was understood."""

from dataclasses import fields

from discreet.algorithms.statistics.statistic import Statistic


def in_words(statistic: Statistic) -> str:
    """Return the kind and the parts of a statistic, by the names of its parameters: "count; condition 'fever'."."""
    usual = {one.name: one.default for one in fields(statistic)}
    parts = {name: value for name, value in statistic.parts.items() if value != usual[name]}
    said = ", ".join(f"{name} {_worded(value)}" for name, value in parts.items())
    return f"{statistic.name}; {said or 'all of them'}."


def _worded(value: object) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(_worded, value))
    if isinstance(value, str):
        return f"'{value}'"
    return "yes" if value is True else f"{value:g}" if isinstance(value, float) else str(value)
