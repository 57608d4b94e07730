"""The rows of workbooks, by openpyxl."""

import io
import re
import warnings
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from discreet.reading.sandboxed.extracted import Unreadable, Wanted
from discreet.reading.sandboxed.office import is_old

_BATCH = 200
_PLACE = re.compile(r'0|\\.|"[^"]*"|[-() ]')
_PLACES = re.compile(f"(?:{_PLACE.pattern})+")
"""A number format of digits and separators, such as 00000 or 000-00-0000, for numbers that are names."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_EXACT = 1e15
_LARGEST = 2**30
"""The largest decompressed XML, in bytes. It is read piece by piece."""


def read_xlsx(data: bytes, _: Wanted) -> Iterator[dict[str, object]]:
    """Read a workbook.

    Yields:
        `{"sheet": name}`, and then `{"rows": [[number, cells], ...]}`. A cell is a text, a number, a boolean or None,
        `{"date": ...}` in ISO 8601, or `{"error": 1}` for a spreadsheet error. A formula gives its saved value. A
        number that is shown with leading zeros is a text.
    """
    import openpyxl

    if is_old(data):
        raise Unreadable("encrypted_or_old")
    warnings.simplefilter("ignore")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    if sum(info.file_size for info in book._archive.infolist()) > _LARGEST:
        raise Unreadable("too_large")
    for sheet in book.worksheets:
        yield {"sheet": sheet.title}
        sheet.reset_dimensions()  # the dimensions that a file states may be wrong
        rows: list[list[object]] = []
        for number, row in enumerate(sheet.iter_rows(), 1):
            cells = [_cell(cell) for cell in row]
            while cells and cells[-1] is None:
                cells.pop()
            if cells:
                rows.append([number, cells])
            if len(rows) == _BATCH:
                yield {"rows": rows}
                rows = []
        if rows:
            yield {"rows": rows}


def _cell(cell: Any) -> object:
    value = cell.value
    if value is not None and cell.data_type == "e":
        return {"error": 1}
    if isinstance(value, str):
        return _ESCAPED.sub(_character, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value, str(cell.number_format))
    if value is None or isinstance(value, bool):
        return value
    return {"date": value.isoformat()} if isinstance(value, datetime) else str(value)


def _number(value: float, shown: str) -> object:
    """Return a number, or the shown text if it has leading zeros: the number 7 that is shown as 007 is "007".

    A spreadsheet keeps 15 digits. A larger number is returned as it would be shown, such as 1.5e+20: it was rounded.
    """
    if abs(value) >= _EXACT:
        return f"{value:.15g}"
    places = _PLACE.findall(shown) if _PLACES.fullmatch(shown) else []
    if places.count("0") < 2 or value < 0 or not float(value).is_integer():
        return value
    digits = str(int(value)).zfill(places.count("0"))
    first = len(digits) - places.count("0") + 1  # the first 0 of the format takes all excess digits
    pieces = iter([digits[:first], *digits[first:]])
    return "".join(next(pieces) if place == "0" else place.strip('\\"') for place in places)


def _character(escaped: re.Match[str]) -> str:
    """Return the character of an escape, which stands for a character that XML cannot have. Drop "_x000D_"."""
    code = int(escaped[1], 16)
    return "" if code == 0x0D else escaped[0] if 0xD800 <= code < 0xE000 else chr(code)
