"""The word for a unit in sentences."""

from discreet.system.words import nothing_released, unit_word

__all__ = ["nothing_released", "unit_word"]
