"""The word for a unit in sentences."""

import re


def unit_word(field: str) -> str:
    """Return the word for one individual, from the name of the field that names it: "patient" for "patient_id"."""
    word = re.sub(r"[\W_]+", " ", re.sub(r"(?i)[\W_]+(id|ids|no|nr|number|key|name)$", "", field)).strip()
    return word or "unit"


def nothing_released(field: str) -> str:
    """Return the sentence for a question without a released answer."""
    return f"No answer: too few of the {unit_word(field)}s' notes agree (or could pay)."
