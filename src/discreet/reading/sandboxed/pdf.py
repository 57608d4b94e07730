"""The text of PDF files, by kreuzberg. There is no OCR, and form fields are only detected."""

import re
import zlib
from collections.abc import Iterator
from typing import Any

from discreet.reading.sandboxed.extracted import Extracted, Unreadable, Wanted

SMALL = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>"
)
"""A page without text. Reading it loads all parts of the library."""
_FIELD = re.compile(rb"/FT\s*/(Tx|Ch|Btn)\b")
"""A field for a text, a choice or a mark."""
_EMBEDDED = (re.compile(rb"/Type\s*/EmbeddedFile\b"), re.compile(rb"/EF\s*<<"))
"""A file in a PDF: its stream, or what refers to it. Either may be missing."""
_PACKED = re.compile(rb"/ObjStm\b[^\0]{0,500}?\bstream\r?\n")
_LARGEST = 2**24
"""The largest decompressed object stream, in bytes. A usual one has some hundred."""


def read_pdf(data: bytes, _: Wanted) -> Iterator[Extracted]:
    """Yield the text of a PDF."""
    import kreuzberg

    try:
        found = kreuzberg.extract_bytes_sync(data, "application/pdf", config=_config(kreuzberg))
    except kreuzberg.KreuzbergError as error:
        raise Unreadable("encrypted" if "password" in str(error).lower() else "damaged") from None
    blank = sum(not page["content"].strip() for page in found.pages or ())
    notes = [str(note.content).strip() for note in found.annotations or () if note.annotation_type != "link"]
    text = "\n\n".join([found.content.replace("\r\n", "\n"), *(note for note in notes if note not in ("", "None"))])
    pieces = [data, *_packed_objects(data)]
    embedded = max(sum(len(kind.findall(piece)) for piece in pieces) for kind in _EMBEDDED)
    forms = int(any(_FIELD.search(piece) for piece in pieces))
    yield Extracted(text, pages=blank, attachments=embedded, forms=forms)


def _packed_objects(data: bytes) -> Iterator[bytes]:
    for found in _PACKED.finditer(data):
        unpacking = zlib.decompressobj()
        try:
            yield unpacking.decompress(memoryview(data)[found.end() : found.end() + _LARGEST], _LARGEST)
        except zlib.error:
            continue


def _config(kreuzberg: Any) -> Any:
    # No cache, no OCR, no download, and no filter that drops headers, footers or watermarks.
    everything = kreuzberg.ContentFilterConfig(
        include_headers=True, include_footers=True, strip_repeating_text=False, include_watermarks=True
    )
    return kreuzberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        enable_quality_processing=False,
        output_format="plain",
        pages=kreuzberg.PageConfig(extract_pages=True),
        pdf_options=kreuzberg.PdfConfig(extract_images=False, extract_annotations=True),
        content_filter=everything,
        concurrency=kreuzberg.ConcurrencyConfig(max_threads=1),
    )
