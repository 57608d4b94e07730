"""Parquet files."""

from collections.abc import Iterator
from typing import Any

from discreet.errors import MissingPart
from discreet.reading.columns import check_columns
from discreet.reading.options import ReadingOptions
from discreet.reading.records import BadRecord, FoundFile, Record

_BATCH = 1000


def read_parquet(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Yield the records of a Parquet file.

    Raises:
        BadData: if the file lacks a needed column.
        MissingPart: if pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPart("Parquet files need pyarrow", "parquet") from error
    path, source = file
    try:
        table = pyarrow.parquet.ParquetFile(path)
        names = table.schema_arrow.names
    except (pyarrow.ArrowException, OSError, ValueError):  # a name that is not UTF-8 is a ValueError
        yield BadRecord(source, "not a Parquet file, or damaged")
        return
    check_columns(source, names, options, are_names=True)
    wanted = [name for name in dict.fromkeys(names) if options.wants(name)]
    number = 0
    batches = table.iter_batches(batch_size=_BATCH, columns=wanted)
    while True:
        try:
            batch = next(batches, None)
        except (pyarrow.ArrowException, OSError, ValueError):
            yield BadRecord(source, f"damaged after row {number}. Replace the file, and run the command again")
            return
        if batch is None:
            return
        for row in range(batch.num_rows):
            number += 1
            yield _row(batch.slice(row, 1), f"{source} row {number}", source)


def _row(row: Any, where: str, source: str) -> Record | BadRecord:
    # Each row is converted alone: an invalid text or date must affect only its own record.
    try:
        (values,) = row.to_pylist()
    except (ValueError, OverflowError, KeyError):
        return BadRecord(where, "the row has a value that cannot be read")
    return Record(values, where, source)
