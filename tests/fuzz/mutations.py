"""Strange inputs made of sound ones: JSON, tables, packed files and databases, bent in one place or in several."""

import csv
import gzip
import io
import json
import math
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

Mutation = Callable[[bytes, Random], bytes]

HALF = "\ud800"
"""Half a character: no UTF-8, though JSON can spell it."""
TEXTS = (
    *(
        "",
        " ",
        "\n",
        "a",
        "Ada",
        "é",
        "\u2028",
        "\x85",
        "\0",
        "\ufeff",
        HALF,
        "\udcff",
        "[/b]",
        "[red]",
        "\\",
        '"',
        "%s",
    ),
    *("٣", "1", "-1", "1e999", "nan", "null", "{}", "a/b", "$" * 40, "word " * 60, "x" * 5000, "\u0301" * 50),
)
NUMBERS = (0, 1, -1, 2, 7.0, 0.5, -0.0, 1e-320, 1e308, math.nan, math.inf, -math.inf, 2**31, 2**63, 2**64, -(2**70))
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *NUMBERS,
    10**400,
    None,
    True,
    False,
    [],
    {},
    [[]],
    ["a", 1],
    {"text": "a"},
    {"": None},
)
JUNK = (
    b"",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b",",
    b"{",
    b"}",
    b"[" * 4000,
    b"9" * 5000,
    b"\x1f\x8b",
)


def of_json(data: bytes, random: Random) -> bytes:
    """One JSON value, with another value somewhere in it."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return of_bytes(data, random)
    return json.dumps(_bent(content, random)).encode()


def of_lines(data: bytes, random: Random) -> bytes:
    """JSON lines, of which one is bent, taken away or comes twice."""
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    kind = random.randrange(8)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[random.randrange(len(lines))])
    elif kind == 2:
        lines[place] = of_bytes(lines[place], random)
    else:
        lines[place] = of_json(lines[place], random)
    return b"\n".join(lines)


def of_bytes(data: bytes, random: Random) -> bytes:
    """Bytes, of which some are others."""
    start = random.randrange(len(data) + 1)
    kind = random.randrange(5)
    if kind == 0:
        return data[:start]
    if kind == 1:
        return data[:start] + random.choice(JUNK) + data[start:]
    if kind == 2:
        return data[:start] + bytes([random.randrange(256)]) + data[start + 1 :]
    end = min(len(data), start + random.randrange(1, 40))
    if kind == 3:
        return data[:start] + data[end:]
    return data[:start] + bytes(end - start) + data[end:]


def of_csv(data: bytes, random: Random) -> bytes:
    """A table as text, with a strange cell."""
    if random.random() < 0.4:
        return of_bytes(data, random)
    rows = [line.split(",") for line in data.decode("utf-8", "surrogateescape").split("\n")]
    row = random.choice(rows)
    row[random.randrange(len(row))] = str(random.choice(VALUES[:-1]) if random.random() < 0.9 else "x" * 200_000)
    made = io.StringIO()
    csv.writer(made, quoting=random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))).writerows(rows)
    return made.getvalue().encode("utf-8", "surrogatepass")


def of_packed(data: bytes, random: Random) -> bytes:
    """Packed JSON lines: bent before they are packed, or after."""
    try:
        lines = gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return of_bytes(data, random)
    if random.random() < 0.3:
        return of_bytes(data, random)
    return gzip.compress(of_lines(lines, random), 1)


def of_zip(data: bytes, random: Random) -> bytes:
    """A packed office file: bent itself, or with one of its parts bent, gone or there twice."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # of a bent file, zipfile raises whatever it likes
        return of_bytes(data, random)
    if not parts or random.random() < 0.2:
        return of_bytes(data, random)
    place = random.randrange(len(parts))
    name, content = parts[place]
    kind = random.randrange(8)
    if kind == 0:
        del parts[place]
    elif kind == 1:
        parts.append((random.choice(parts)[0], content))
    else:
        parts[place] = (name, of_markup(content, random))
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content in parts:
            archive.writestr(name, content)
    return made.getvalue()


def of_markup(data: bytes, random: Random) -> bytes:
    """XML or HTML: with another value in the place of a text or an attribute, an element gone or there many times."""
    pieces = re.split(rb"(<[^>]*>)", data)
    place = random.randrange(len(pieces))
    kind = random.randrange(6)
    value = str(random.choice(VALUES)).encode("utf-8", "surrogatepass")
    if kind == 0:
        pieces[place] = value
    elif kind == 1:
        pieces[place] = re.sub(rb"\"[^\"]*\"", lambda _: b'"' + value + b'"', pieces[place], count=1)
    elif kind == 2:
        pieces[place] *= random.choice((2, 50, 400))
    elif kind == 3:
        del pieces[place]
    elif kind == 4:
        other = random.randrange(len(pieces))
        pieces[place], pieces[other] = pieces[other], pieces[place]
    else:
        return of_bytes(data, random)
    return b"".join(pieces)


def of_encoding(data: bytes, random: Random) -> bytes:
    """A text in another encoding, and then perhaps bent."""
    text = data.decode("utf-8", "surrogateescape")
    made = text.encode(random.choice(("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "cp1250")), "replace")
    return made if random.random() < 0.5 else of_bytes(made, random)


def of_parquet(data: bytes, random: Random) -> bytes:
    """A Parquet file, bent; or another one, with columns of strange kinds."""
    if random.random() < 0.5:
        return of_bytes(data, random)
    import pyarrow
    import pyarrow.parquet

    names = [random.choice(("text", "unit", "id", "", "a.b", "text.a")) for _ in range(random.randrange(1, 4))]
    columns = [_column(pyarrow, random) for _ in names]
    made = io.BytesIO()
    try:
        pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, names), made)
    except (pyarrow.ArrowException, ValueError):
        return of_bytes(data, random)
    return made.getvalue()


def _column(pyarrow: Any, random: Random) -> Any:
    """Two values of some kind, among them bytes that claim to be a text, and moments that no calendar has."""
    huge = pyarrow.array([random.choice((0, 1, 2**62, -(2**62))), random.choice((None, 7))], pyarrow.int64())
    text = pyarrow.array([random.choice(TEXTS[:10]), "A text."])
    not_utf8 = pyarrow.array([b"\xff\xfe", b"a"]).view(pyarrow.string())
    kinds = (
        *(huge, text, text, text, not_utf8, pyarrow.array([b"a", b""]), pyarrow.array([0.5, math.nan])),
        *(pyarrow.array([["a"], None]), pyarrow.array([{"a": "b"}, None]), pyarrow.nulls(2), text.dictionary_encode()),
        *(huge.cast(pyarrow.timestamp(unit)) for unit in ("s", "ns")),
        huge.cast(pyarrow.timestamp("us", random.choice(("UTC", "No/Where")))),
        *(huge.cast(pyarrow.duration("us")), pyarrow.array([2**31 - 1, -5], pyarrow.int32()).cast(pyarrow.date32())),
        pyarrow.array([True, None]),
    )
    return random.choice(kinds)


def of_vectors(data: bytes, random: Random) -> bytes:
    """A file of arrays, bent; or another one, of strange shapes and kinds."""
    if random.random() < 0.4:
        return of_bytes(data, random)
    arrays: tuple[Any, ...] = (
        *(np.ones((4, 3), np.float32), np.ones((3, 5), np.float32), np.ones(4), np.zeros((0, 3)), np.array(1)),
        *(np.array("a"), np.array([b"a"]), np.ones((2, 2), complex), np.full((4, 3), np.nan), np.zeros((3, 2, 1))),
    )
    about = json.dumps(random.choice(({"format": 1}, {"format": 2}, {}, [], None, "format", {"format": {}})))
    made = io.BytesIO()
    write = random.choice((np.savez, np.savez_compressed))
    named = {"vectors": random.choice(arrays), "matrix": random.choice(arrays), "about": np.array(about)}
    named.pop(random.choice(("vectors", "matrix", "about", "", "", "")), None)
    write(made, **named)
    return made.getvalue()


def _bent(content: Any, random: Random) -> Any:
    """A JSON value in which one value is another one, is gone, or lies deeper."""
    if isinstance(content, dict) and content and random.random() < 0.9:
        name = random.choice(list(content))
        kind = random.randrange(6)
        if kind == 0:
            return {key: value for key, value in content.items() if key != name}
        if kind == 1:
            return content | {random.choice(TEXTS): random.choice(VALUES)}
        return content | {name: _bent(content[name], random)}
    if isinstance(content, list) and content and random.random() < 0.7:
        place = random.randrange(len(content))
        return [*content[:place], _bent(content[place], random), *content[place + 1 :]]
    if random.random() < 0.1:
        return _deep(random.choice((3, 100, 400)))
    return random.choice(VALUES)


def _deep(levels: int) -> Any:
    content: Any = "deep"
    for _ in range(levels):
        content = [content]
    return content


def records(*lines: dict[str, Any]) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class Choices:
    """What a sequence of bytes decides, one question after the other; 0 when there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def below(self, count: int) -> int:
        """A whole number below `count`, at most 65,536."""
        taken = self._data[self._at : self._at + 2]
        self._at += 2
        return int.from_bytes(taken) * count >> 16 if len(taken) == 2 else 0

    def one(self, of: Sequence[Any]) -> Any:
        """One of several."""
        return of[self.below(len(of))]

    def chance(self, percent: int) -> bool:
        """Whether something happens; not if nothing is left to decide it."""
        return self.below(100) >= 100 - percent
