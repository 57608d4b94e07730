"""Small sound files of the kinds that office programs write, made of a few lines of text."""

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from email.message import EmailMessage
from html import escape

_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_ID = bytes(range(16))


def pdf(*pages: str, password: str = "") -> bytes:
    """A PDF of pages; a page of "" has a drawing and no text. With a password, it is encrypted (RC4, 40 bits)."""
    owner = _rc4(hashlib.md5(_padded(password)).digest()[:5], _padded(password))
    permissions = (-4).to_bytes(4, "little", signed=True)
    key = hashlib.md5(_padded(password) + owner + permissions + _ID).digest()[:5] if password else b""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for n, page in enumerate(pages):
        number = 5 + 2 * n
        drawn = _drawn(page)
        if key:
            drawn = _rc4(hashlib.md5(key + number.to_bytes(3, "little") + bytes(2)).digest()[:10], drawn)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn))
    trailer = f"/Root 1 0 R /ID [<{_ID.hex()}> <{_ID.hex()}>]"
    if key:
        user = _rc4(key, _PAD)
        objects.append(
            f"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{owner.hex()}> /U <{user.hex()}> >>".encode()
        )
        trailer += f" /Encrypt {len(objects)} 0 R"
    return _pdf_file(objects, trailer)


def _pdf_file(objects: Sequence[bytes], trailer: str) -> bytes:
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    return made + f"{table}trailer\n<< /Size {size} {trailer} >>\nstartxref\n{len(made)}\n%%EOF\n".encode()


def _drawn(page: str) -> bytes:
    if not page:
        return b"100 100 200 200 re f"
    lines = "".join(
        "(" + line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") + ") Tj T* "
        for line in page.split("\n")
    )
    return f"BT /F1 11 Tf 14 TL 50 780 Td {lines}ET".encode("cp1252")


def _padded(password: str) -> bytes:
    return (password.encode() + _PAD)[:32]


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j, made = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        made.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(made)


def scanned(*lines: str) -> bytes:
    """A PDF of one page that is a picture of some lines."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    letters = ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", 30)
    page = Image.new("L", (1240, 1754), 255)
    for number, line in enumerate(lines):
        ImageDraw.Draw(page).text((120, 150 + 70 * number), line, font=letters, fill=0)
    made = io.BytesIO()
    page.save(made, "PDF", resolution=150)
    return made.getvalue()


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """A ZIP file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


_OFFICE = "http://schemas.openxmlformats.org"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'


def _office(main: str, kind: str, files: Mapping[str, bytes | str]) -> bytes:
    types = (
        f'{_XML}<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/>'
        "</Types>"
    )
    relations = (
        f'{_XML}<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="{main}"/></Relationships>'
    )
    return packed({"[Content_Types].xml": types, "_rels/.rels": relations, **files})


def docx(*paragraphs: str, table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word file of paragraphs, and of a table below them."""

    def of(text: str) -> str:
        return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'

    rows = "".join("<w:tr>" + "".join(f"<w:tc>{of(cell)}</w:tc>" for cell in row) + "</w:tr>" for row in table)
    body = "".join(map(of, paragraphs)) + (f"<w:tbl>{rows}</w:tbl>" if rows else "")
    document = f'{_XML}<w:document xmlns:w="{_OFFICE}/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>'
    return _office("word/document.xml", "wordprocessingml.document", {"word/document.xml": document})


def pptx(*slides: str) -> bytes:
    """A presentation of slides, each with one text."""
    drawing, shows = f"{_OFFICE}/drawingml/2006/main", f"{_OFFICE}/presentationml/2006/main"
    links = f"{_OFFICE}/officeDocument/2006/relationships"
    files = {
        f"ppt/slides/slide{n}.xml": f'{_XML}<p:sld xmlns:a="{drawing}" xmlns:p="{shows}"><p:cSld><p:spTree>'
        '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="T"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{escape(slide)}</a:t></a:r></a:p></p:txBody></p:sp>"
        "</p:spTree></p:cSld></p:sld>"
        for n, slide in enumerate(slides, 1)
    }
    ids = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    files["ppt/presentation.xml"] = (
        f'{_XML}<p:presentation xmlns:p="{shows}" xmlns:r="{links}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>'
    )
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{links}/slide" Target="slides/slide{n}.xml"/>'
        for n in range(1, len(slides) + 1)
    )
    files["ppt/_rels/presentation.xml.rels"] = (
        f'{_XML}<Relationships xmlns="{_OFFICE}/package/2006/relationships">{relations}</Relationships>'
    )
    return _office("ppt/presentation.xml", "presentationml.presentation", files)


def odt(*paragraphs: str) -> bytes:
    """An OpenDocument text."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    body = "".join(f"<text:p>{escape(paragraph)}</text:p>" for paragraph in paragraphs)
    kind = "application/vnd.oasis.opendocument.text"
    return packed(
        {
            "mimetype": kind,
            "content.xml": f'{_XML}<office:document-content xmlns:office="{names}:office:1.0" '
            f'xmlns:text="{names}:text:1.0" office:version="1.2"><office:body><office:text>{body}</office:text>'
            "</office:body></office:document-content>",
            "META-INF/manifest.xml": f'{_XML}<manifest:manifest xmlns:manifest="{names}:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>',
        }
    )


def rtf(*paragraphs: str) -> bytes:
    """A rich text."""
    body = "".join(
        "".join(letter if letter.isascii() else f"\\u{ord(letter)}?" for letter in text) + "\\par\n"
        for text in paragraphs
    )
    return ("{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0 Arial;}}\n" + body + "}").encode()


def html(*paragraphs: str, encoding: str = "utf-8") -> bytes:
    """A page of the web."""
    body = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    head = f'<meta charset="{encoding}"><title>Letter</title><style>p {{ color: red }}</style><script>alert(1)</script>'
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode(encoding)


def eml(*paragraphs: str, attached: Mapping[str, bytes] | None = None) -> bytes:
    """A mail, with files attached."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Zoë <zoe@example.org>", "ada@example.org", "Zoë's visit"
    mail["Date"] = "Mon, 02 Mar 2026 10:00:00 +0000"
    mail.set_content("\n\n".join(paragraphs))
    for name, content in (attached or {}).items():
        mail.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


def xlsx(
    *rows: Sequence[str | float | datetime | None], sheets: Mapping[str, Sequence[Sequence[object]]] = {}
) -> bytes:
    """A workbook of one sheet, or of several by name."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, content in (sheets or {"Notes": rows}).items():
        sheet = book.create_sheet(name)
        for row in content:
            sheet.append(list(row))
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()
