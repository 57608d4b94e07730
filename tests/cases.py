"""Tables of cases as data: `test_name.json` beside `test_name.py`, a case a line."""

import json
from pathlib import Path
from typing import Any


def read_cases(file: str) -> Any:
    """Return the tables beside a file of tests, by their names."""
    return json.loads(Path(file).with_suffix(".json").read_text(encoding="utf-8"))
