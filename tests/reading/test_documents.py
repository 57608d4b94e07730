"""Documents of office programs: all their text, and what of them is not read."""

import gzip
import zipfile
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.reading.documents import _number
from discreet.reading.files import read_records
from discreet.reading.records import BadRecord, PartLeftOut, ReadingOptions, Record
from tests.reading import samples

TEXT = "Zoë is ill: “Schnupfen” – £5 (BP < 120 & > 80)."
MORE = "It's the 2nd one, 100%."
MADE = {
    "a.pdf": samples.pdf(TEXT, MORE),
    "a.docx": samples.docx(TEXT, MORE),
    "a.odt": samples.odt(TEXT, MORE),
    "a.pptx": samples.pptx(TEXT, MORE),
    "a.html": samples.html(TEXT, MORE),
    "a.htm": samples.html(TEXT, MORE, encoding="cp1252"),
    "a.eml": samples.eml(TEXT, MORE),
}


def read(folder: Path, name: str, data: bytes, options: ReadingOptions | None = None) -> list[Record | BadRecord]:
    (folder / name).write_bytes(data)
    return list(read_records([folder / name], options))


def text(folder: Path, name: str, data: bytes) -> str:
    (found,) = read(folder, name, data)
    assert isinstance(found, Record)
    return str(found.values["text"])


def reason(folder: Path, name: str, data: bytes) -> str:
    (found,) = read(folder, name, data)
    assert isinstance(found, BadRecord)
    return found.reason


@pytest.mark.parametrize("name", MADE)
def test_no_word_and_no_sign_is_lost(name: str, tmp_path: Path) -> None:
    (found,) = read(tmp_path, name, MADE[name])
    assert isinstance(found, Record)
    assert (found.whole, found.source, found.where) == (True, name, name)
    lines = [line for line in str(found.values["text"]).splitlines() if line]
    assert [line for line in lines if line in (TEXT, MORE)] == [TEXT, MORE]


@pytest.mark.parametrize("name", MADE)
def test_what_is_cut_off_empty_or_of_another_kind_is_named(name: str, tmp_path: Path) -> None:
    assert reason(tmp_path, name, b"") == "empty"
    if not name.endswith(("eml", "html", "htm")):
        for data in (MADE[name][:300], b"secret words", gzip.compress(b"secret words")):
            assert reason(tmp_path, name, data) == "damaged, or of another format than its suffix states"


def test_encrypted_files_are_named(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.pdf", samples.pdf(TEXT, password="x")).startswith("encrypted")
    for name in ("a.docx", "a.pptx", "a.xlsx", "a.odt"):
        assert reason(tmp_path, name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)).startswith("encrypted")
    manifest = {"content.xml": b"\x93\x11", "META-INF/manifest.xml": b"<m><manifest:encryption-data/></m>"}
    assert reason(tmp_path, "a.odt", samples.packed(manifest)).startswith("encrypted")


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    assert "scanned" in reason(tmp_path, "a.pdf", samples.pdf("", ""))
    record, bad = read(tmp_path, "a.pdf", samples.pdf(TEXT, "", MORE, ""))
    assert isinstance(record, Record)
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("2 pages have no text")


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def test_word_text_has_all_parts_without_deletions(tmp_path: Path) -> None:
    def of(words: str) -> str:
        return f"<w:p><w:r><w:t>{words}</w:t></w:r></w:p>"

    body = (
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c&#8804;d</w:t></w:r></w:p>"
        "<w:p><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
        f"<w:sdt><w:sdtContent>{of('control')}</w:sdtContent></w:sdt>"
        f"<w:p><w:r><w:pict><w:txbxContent>{of('box')}</w:txbxContent></w:pict></w:r></w:p>"
    )
    parts = {
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        "word/header1.xml": f"<w:hdr {W}>{of('header')}</w:hdr>",
        "word/header2.xml": f"<w:hdr {W}>{of('header')}</w:hdr>",
        "word/footnotes.xml": f"<w:footnotes {W}><w:footnote>{of('note')}</w:footnote></w:footnotes>",
        "word/comments.xml": f"<w:comments {W}><w:comment>{of('comment')}</w:comment></w:comments>",
    }
    found = text(tmp_path, "a.docx", samples.packed(parts))
    assert found.split() == ["header", "a", "b", "c≤d", "inserted", "control", "box", "note", "comment"]
    assert "a\tb\nc≤d" in found


def test_open_document_keeps_spans_spaces_and_notes(tmp_path: Path) -> None:
    names = "urn:oasis:names:tc:opendocument:xmlns"
    body = (
        '<text:h>Head</text:h><text:p>a<text:tab/>b<text:s text:c="3"/>c<text:span>in<text:span>ner</text:span> out'
        "</text:span> end<text:note><text:note-body><text:p>note</text:p></text:note-body></text:note></text:p>"
    )
    content = (
        f'<office:d xmlns:office="{names}:office:1.0" xmlns:text="{names}:text:1.0"><text:tracked-changes><text:p>gone'
        f"</text:p></text:tracked-changes>{body}</office:d>"
    )
    found = text(tmp_path, "a.odt", samples.packed({"content.xml": content}))
    assert found.split("\n") == ["Head", "a\tb   cinner out end", "", "note"]
    comment = (
        '<text:p>head<office:annotation xmlns:dc="dc"><dc:creator>Dr K</dc:creator><text:p>really?</text:p>'
        "</office:annotation>ache</text:p>"
    )
    found = text(tmp_path, "a.odt", samples.packed({"content.xml": content.replace(body, comment)}))
    assert found.split("\n") == ["headache", "", "Dr K really?"]


def test_office_charts_are_read_and_embedded_objects_counted(tmp_path: Path) -> None:
    chart = (
        '<c:c xmlns:c="c" xmlns:a="a"><a:p><a:t>Falls</a:t></a:p><c:cat><c:pt><c:v>ward 3</c:v></c:pt></c:cat></c:c>'
    )
    diagram = '<d:m xmlns:d="d" xmlns:a="a"><d:pt><a:t>first</a:t></d:pt><d:pt><a:t>then</a:t></d:pt></d:m>'
    tick = '<w:p><w:r><w:t>Smoker</w:t><w:sym w:font="Wingdings" w:char="F0FE"/></w:r></w:p>'
    parts = {
        "word/document2.xml": f"<w:document {W}><w:body>{tick}</w:body></w:document>",
        "word/charts/chart1.xml": chart,
        "word/diagrams/data1.xml": diagram,
        "word/embeddings/Microsoft_Excel_Sheet.xlsx": "behind the chart",
        "word/embeddings/oleObject1.bin": "another program's",
    }
    record, bad = read(tmp_path, "a.docx", samples.packed(parts))
    assert isinstance(record, Record)
    assert str(record.values["text"]).split() == ["Smoker\u2612", "Falls", "ward", "3", "first", "then"]
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("1 embedded object is not read")


def test_html_keeps_what_a_browser_shows(tmp_path: Path) -> None:
    page = (
        "<header>top</header><div>one<br>two</div><div>th<b>re</b>e &lt;4</div><ul><li>five<li>six</ul>"
        '<script>no()</script><style>no {}</style><img alt="seven"><input value="eight">'
        "<pre>  a\n b</pre><footer>end</footer>"
    )
    assert text(tmp_path, "a.html", page.encode()).split() == [
        *"top one two three <4 five six seven eight a b end".split()
    ]


def test_mail_is_read_and_what_is_attached_is_counted(tmp_path: Path) -> None:
    attached = {"secret.txt": b"x", "b.pdf": samples.pdf("y")}
    record, bad = read(tmp_path, "a.eml", samples.eml(TEXT, MORE, attached=attached))
    assert isinstance(record, Record)
    assert isinstance(bad, PartLeftOut)
    assert bad.reason.startswith("2 attachments are not read")
    assert "secret" not in repr(bad)
    assert MORE in str(record.values["text"])
    assert "Subject: Zoë's visit" in str(record.values["text"])
    latin = (
        b"From: a@b.c\nSubject: =?iso-8859-2?Q?=A3uk?=\nContent-Type: text/plain; charset=iso-8859-2\n\n\xa3ukasz < 5"
    )
    assert text(tmp_path, "a.eml", latin).endswith("Subject: Łuk\n\nŁukasz < 5")
    page = b"From: a@b.c\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<p>a =26lt; b<p>c"
    assert text(tmp_path, "a.eml", page).split("\n") == ["From: a@b.c", "", "a < b", "c"]
    assert reason(tmp_path, "a.eml", b"no mail").startswith("damaged")


def test_mail_is_read_in_its_longest_form(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["From"] = "a@b.c"
    mail.set_content("\n")
    mail.add_alternative("<p>All of it</p>", subtype="html")
    assert text(tmp_path, "a.eml", mail.as_bytes()).endswith("All of it")
    parts = (
        "--I\nContent-Type: text/html\n\n<p>seen</p>\n--I\nContent-Type: application/pdf; name=x.pdf\n\nx\n--I\n"
        "Content-Type: text/html\n\n<p>and its end</p>\n--I--"
    )
    nested = (
        "From: a@b.c\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=O\n\n--O\n\nseen\n--O\n"
        f"Content-Type: multipart/mixed; boundary=I\n\n{parts}\n--O\nContent-Type: text/calendar\n\n{'BEGIN ' * 99}"
        "\n--O--\n"
    )
    record, bad = read(tmp_path, "b.eml", nested.encode())
    assert isinstance(record, Record)
    assert str(record.values["text"]) == "From: a@b.c\n\nseen\n\nand its end"
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("1 attachment is not read")


def test_logo_in_a_mail_is_no_attachment(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["From"] = "a@b.c"
    mail.set_content("Hello")
    mail.add_alternative("<p>Hello</p><img src='cid:1'>", subtype="html")
    *_, page = mail.iter_parts()
    assert isinstance(page, EmailMessage)
    page.add_related(b"x", "image", "png", cid="<1>", filename="logo.png", disposition="inline")
    assert text(tmp_path, "a.eml", mail.as_bytes()) == "From: a@b.c\n\nHello"
    mail.add_attachment(b"x", maintype="image", subtype="png", filename="scan.png", cid="<2>")
    assert [type(found) for found in read(tmp_path, "b.eml", mail.as_bytes())] == [Record, PartLeftOut]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("", "cp1252"),
        ("", "utf-8"),
        ("; charset=us-ascii", "utf-8"),
        ("; charset=iso-8859-1", "cp1252"),
        ("; charset=unknown-8bit", "utf-8"),
        ("; charset=utf-8", "cp1252"),
    ],
)
def test_mail_that_declares_its_characters_wrongly_loses_none(declared: str, encoding: str, tmp_path: Path) -> None:
    mail = f"From: Zoë <a@b.c>\nContent-Type: text/plain{declared}\n\nGröße “5 €”".encode(encoding)
    assert text(tmp_path, "a.eml", mail) == "From: Zoë <a@b.c>\n\nGröße “5 €”"


def annotated(*notes: str, catalog: str = "") -> bytes:
    """A PDF of one page with annotations, each of them an object from 20 on."""
    objects = "".join(f"{20 + n} 0 obj << /Type /Annot {note} >> endobj\n" for n, note in enumerate(notes))
    kids = " ".join(f"{20 + n} 0 R" for n in range(len(notes)))
    page = samples.pdf("Page").replace(b"/Resources", f"/Annots [{kids}] /Resources".encode())
    fields = f"/AcroForm << /Fields [{kids}] >> {catalog}".encode()
    page = page.replace(b"/Type /Catalog", b"/Type /Catalog " + fields)
    return page[: page.index(b"xref\n")] + objects.encode() + b"trailer << /Root 1 0 R >>"  # PDFium finds the objects


def test_pdf_notes_and_filled_fields_are_read(tmp_path: Path) -> None:
    at = "/Rect [9 9 99 99]"
    assert text(tmp_path, "a.pdf", annotated(f"/Subtype /Text {at} /Contents (a note)")) == "Page\n\na note"
    field = f"/Subtype /Widget {at} /T (Name)"
    states = "/AP << /N << /Yes 9 0 R /Off 9 0 R >> >>"
    filled = annotated(
        f"{field} /FT /Tx /V (Ada \\(7\\))",
        f"/Subtype /Widget {at} /T (Empty) /FT /Tx",
        f"/Subtype /Widget {at} /T (Smoker) /FT /Btn /V /Yes /AS /Yes {states}",
        f"/Subtype /Widget {at} /T (b) /TU (Diabetic) /FT /Btn /AS /Off {states}",
        f"/Subtype /Widget {at} /T (Ward) /FT /Ch /Ff 131072 /Opt [(3) (4)] /V (4)",
    )
    assert text(tmp_path, "b.pdf", filled).split("\n\n") == [
        "Page",
        "Name: Ada (7)",
        "☒ Smoker Yes",
        "☐ Diabetic Yes",
        "Ward: 4",
    ]
    assert text(tmp_path, "c.pdf", annotated(f"/Subtype /Widget {at} /T (a) /FT /Sig")) == "Page"


def test_files_in_a_pdf_are_counted(tmp_path: Path) -> None:
    attached = annotated("/Subtype /FileAttachment /Rect [9 9 99 99] /FS << /Type /Filespec /F (x.txt) >>")
    record, bad = read(tmp_path, "a.pdf", attached)
    assert isinstance(record, Record)
    assert isinstance(bad, PartLeftOut)
    assert bad.reason.startswith("1 embedded file is not read")


def test_workbook_names_units_as_it_shows_them(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["unit", "text"], ["007", "as a text"], [7, "as a number"], [7.5, "a_x000D_\nb_x0009_c _x00zz_"]):
        book.active.append(row)
    for cell in ("A3", "A4"):
        book.active[cell].number_format = "000"
    book.save(tmp_path / "made.xlsx")
    found = read(tmp_path, "a.xlsx", (tmp_path / "made.xlsx").read_bytes())
    assert [record.values for record in found if isinstance(record, Record)] == [
        {"unit": "007", "text": "as a text"},
        {"unit": "007", "text": "as a number"},
        {"unit": 7.5, "text": "a\nb\tc _x00zz_"},
    ]


@pytest.mark.parametrize(
    ("number", "shown", "read_as"),
    [
        (7, "000", "007"),
        (123456789, r"000\-00\-0000", "123-45-6789"),
        (7, '"P-"0000', "P-0007"),
        (12345, '"P-"0000', "P-12345"),
        (12345, "00-00", "123-45"),
        (12.0, "00-00", "00-12"),
        (7, "0", 7),
        (7, "0.00", 7),
        (-7, "000", -7),
        (7, "General", 7),
        (7, "#,##0", 7),
    ],
)
def test_numbers_that_are_names(number: float, shown: str, read_as: object) -> None:
    assert _number(number, shown) == read_as


def test_workbook_keeps_the_kinds_of_its_values(tmp_path: Path) -> None:
    day = datetime(2026, 1, 2)
    data = samples.xlsx(["text", "unit", "day", "n"], [TEXT, 7, day, 1.5], [], ["x", None, None, None])
    found = read(tmp_path, "a.xlsx", data)
    assert [record.where for record in found] == ["a.xlsx sheet 'Notes' row 2", "a.xlsx sheet 'Notes' row 4"]
    first, second = found
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert first.values == {"text": TEXT, "unit": 7, "day": day, "n": 1.5}
    assert second.values == {"text": "x"}


def test_each_sheet_with_a_text_is_read_and_others_are_named(tmp_path: Path) -> None:
    sheets = {"One": [["text"], ["a"]], "Legend": [["k"], ["v"]], "Two": [["unit", "text"], ["u", "b"]], "Empty": []}
    found = read(tmp_path, "a.xlsx", samples.xlsx(sheets=sheets))
    assert [record.values["text"] for record in found if isinstance(record, Record)] == ["a", "b"]
    assert [record.where for record in found if isinstance(record, BadRecord)] == ["a.xlsx sheet 'Legend'"]
    with pytest.raises(BadData, match="no column 'text'"):
        read(tmp_path, "b.xlsx", samples.xlsx(["patient_id", "note"], [1, "secret"]))
    with pytest.raises(BadData, match="two columns 'unit'"):
        read(tmp_path, "c.xlsx", samples.xlsx(["unit", "text", "unit"], [1, "secret", 2]))
    assert reason(tmp_path, "d.xlsx", samples.xlsx([])) == "empty"


def test_rows_that_cannot_be_understood_are_named(tmp_path: Path) -> None:
    rows = [["text", "unit"], ["a", "#N/A"], ["b", "Ada", "more"], ["c", "Bela"]]
    first, second, third = read(tmp_path, "a.xlsx", samples.xlsx(*rows))
    assert isinstance(first, BadRecord)
    assert "#N/A" in first.reason
    assert isinstance(second, BadRecord)
    assert isinstance(third, Record)


def test_part_that_claims_to_be_small_is_no_way_in(tmp_path: Path) -> None:
    """A ZIP file that says that its document of 50 MB has 5 bytes: it is cut off there, and damaged."""
    whole = samples.packed({"word/document.xml": b"<a>" + b"x" * 50_000_000 + b"</a>"})
    size = (50_000_007).to_bytes(4, "little")
    assert reason(tmp_path, "a.docx", whole.replace(size, (5).to_bytes(4, "little"))).startswith("damaged")
    assert zipfile.is_zipfile(tmp_path / "a.docx")
