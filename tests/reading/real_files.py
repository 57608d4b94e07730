"""Files as people really send them, with what must come of them: `test_real_files` adds each.

Each case stands for its kind: other delimiters, formats, encodings.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.reading import samples

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
W14 = 'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
OF = "urn:oasis:names:tc:opendocument:xmlns"
FILES = "--unit-from '{unit}.*'"


@dataclass(frozen=True)
class Case:
    """Files, and what must come of them.

    Attributes:
        name: what is odd about them.
        files: their content, by path.
        units: the texts of each unit.
        listed: parts of reasons that must be shown.
        code: the exit code.
        options: options of `add`.
        says: what else must be shown.
        fields: declared fields of the vault.
    """

    name: str
    files: Mapping[str, bytes | str]
    units: Mapping[str, Sequence[str]] = field(default_factory=dict)
    listed: Sequence[str] = ()
    code: int = 0
    options: str = ""
    says: Sequence[str] = ()
    fields: Mapping[str, str] = field(default_factory=dict)


def docx(body: str) -> bytes:
    return samples.packed({"word/document.xml": f"<w:document {W} {W14}><w:body>{body}</w:body></w:document>"})


def odt(body: str) -> bytes:
    names = f'xmlns:office="{OF}:office:1.0" xmlns:text="{OF}:text:1.0" xmlns:form="{OF}:form:1.0"'
    return samples.packed({"content.xml": f"<office:d {names}>{body}</office:d>"})


def mail(head: str, body: str, encoding: str = "utf-8") -> bytes:
    return f"From: Ada <ada@x.org>\nSubject: Visit\n{head}\n\n{body}".encode(encoding)


def sheet(*rows: Sequence[Any]) -> bytes:
    return samples.xlsx(*rows)


def parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), made)
    return made.getvalue()


def rows(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def table(header: str, *lines: str, delimiter: str = ",") -> str:
    return rows(header, *lines).replace(",", delimiter)


THREE = ("Cold,P1,", "Rash,P2,", "Pain,P3,")
GOOD = {"p1": ["Cold"], "p2": ["Rash"], "p3": ["Pain"]}
SHIFTED = [
    Case(
        "a comma in a text, and an empty last column",
        {"n.csv": rows("text,patient,more", *THREE, "Cough, fever,P4,")},
        GOOD,
        ["line 5"],
        4,
    ),
    Case(
        "the same with semicolons",
        {"n.csv": table("text,patient,more", *THREE, "Cough, fever,P4,", delimiter=";")},
        GOOD,
        ["line 5"],
        4,
    ),
    Case(
        "the same with tabs",
        {"n.tsv": table("text,patient,more", *THREE, "Cough, fever,P4,", delimiter="\t")},
        GOOD,
        ["line 5"],
        4,
    ),
    Case(
        "a comma in a text, and a last column that is missing",
        {"n.csv": rows("text,patient,more", *THREE, "Cough, fever,P4")},
        GOOD,
        ["line 5"],
        4,
    ),
    Case(
        "a comma in a text, among names",
        {"n.csv": rows("text,patient,more", "Cold,Ada Lind,", "Rash,Bo,", "Pain,Dr. Cy O'Neil,", "Cough, fever,Di,")},
        {"ada lind": ["Cold"], "bo": ["Rash"], "dr. cy o'neil": ["Pain"]},
        ["line 5"],
        4,
    ),
    Case(
        "a number of another form in the first row",
        {"n.csv": rows("text,patient,more", "BP 120, 80 mg,P4,", *THREE)},
        GOOD,
        ["line 2"],
        4,
    ),
    Case(
        "two stray quotes",
        {
            "n.csv": rows(
                "id,patient,text", "1,P1,Cold", '2,P2,"Rash', "3,P3,Pain", "4,P4,Cough", '5,P5,Ache"', "6,P6,Burn"
            )
        },
        {"p1": ["Cold"], "p6": ["Burn"]},
        ["lines 3 to 6"],
        4,
    ),
    Case(
        "two stray quotes, with semicolons and names",
        {"n.csv": rows("id;patient;text", "1;Ada;Cold", '2;Bo;"Rash', '3;Cy;Pain"', "4;Di;Burn")},
        {"ada": ["Cold"], "di": ["Burn"]},
        ["lines 3 to 4"],
        4,
    ),
    Case(
        "two stray quotes in the first column",
        {"n.csv": rows("text,patient", '"Cold,P1', "Rash,P2", 'Pain",P3', "Burn,P4")},
        {"p4": ["Burn"]},
        ["lines 2 to 4"],
        4,
    ),
    *(
        Case(
            f"units of several forms are read, beside {what}",
            {"n.csv": rows(header, *lines)},
            {"p1": ["Cold"], "p2": ["Rash"], "p3": ["Pain"], "p2b": ["Burn"]},
        )
        for what, header, lines in (
            ("rooms", "text,patient,room", ("Cold,P1,W1", "Rash,P2,W2", "Pain,P3,W3", "Burn,P2b,W3")),
            ("rooms first", "patient,text,room", ("P1,Cold,W1", "P2,Rash,W2", "P3,Pain,W3", "P2b,Burn,W3")),
            (
                "rooms that some lack",
                "text,patient,ward,room",
                ("Cold,P1,N,W1", "Rash,P2,N,W2", "Pain,P3,S,", "Burn,P2b,S,W3"),
            ),
        )
    ),
    *(
        Case(
            f"numbers and others are read, beside ages, {header}",
            {"n.csv": rows(header, *(mold.format(who, n) for n, who in enumerate(("1", "2", "3", "A4", "A5"), 40)))},
            {who: [f"Text {n}"] for n, who in enumerate(("1", "2", "3", "a4", "a5"), 40)},
        )
        for header, mold in (("text,patient,age", "Text {1},{0},{1}"), ("patient,text,age", "{0},Text {1},{1}"))
    ),
    *(
        Case(
            f"a comma in a text, before {what}",
            {"n.csv": rows("text,patient,more", *lines, "Cough, fever,P4")},
            GOOD,
            ["line 5: the unit has another form"],
            4,
        )
        for what, lines in (
            ("numbers", ("Cold,P1,40", "Rash,P2,41", "Pain,P3,42")),
            ("notes", ("Cold,P1,is well", "Rash,P2,came again", "Pain,P3,(none)")),
        )
    ),
    Case(
        "cells of several lines are read",
        {
            "n.csv": rows(
                "id,patient,text,seen",
                '1,P1,"Cold, fever, worse:',
                "pain, rash, cough, ache",
                'all well",x',
                '2,P2,"a, b, c',
                'd, e, f",y',
            )
        },
        {"p1": ["Cold, fever, worse: pain, rash, cough, ache all well"], "p2": ["a, b, c d, e, f"]},
    ),
    *(
        Case(
            f"cells of several lines are read, {what}",
            {"n.csv": table(header, *lines, delimiter=mark)},
            {"p1": ["First line second line"], "p2": ["One two three"]},
        )
        for what, mark, header, lines in (
            (
                "before the individual",
                ",",
                "text,patient",
                ('"First line\nsecond line",P1', '"One\r\ntwo\r\n\r\nthree",P2'),
            ),
            (
                "between semicolons",
                ";",
                "text,patient,age",
                ('"First line\nsecond line",P1,40', '"One\ntwo\nthree",P2,41'),
            ),
            (
                "before empty cells",
                "\t",
                "text,patient,more",
                ('"First line\nsecond line",P1,', '"One\ntwo\nthree",P2,'),
            ),
            (
                "beside another one",
                ",",
                "text,patient,more,age",
                ('"First line\nsecond line",P1,"a\nb",40', '"One\ntwo\nthree",P2,"a\nb, c",41'),
            ),
            (
                "after another one",
                ",",
                "more,patient,text,age",
                ('"a, b\nc",P1,"First line\nsecond line",40', '"a\nb",P2,"One\ntwo\nthree",41'),
            ),
            (
                "in the middle",
                ",",
                "age,text,patient",
                ('40,"First line\nsecond line",P1', '41,"One\ntwo\nthree",P2'),
            ),
        )
    ),
    Case(
        "cells of several lines with commas are read, before the individual",
        {"n.csv": rows("text,patient", '"Cold, since May\nworse",Ada', '"Dear Sir,\nBo, and Cy,\nbest",Bo Berg')},
        {"ada": ["Cold, since May worse"], "bo berg": ["Dear Sir, Bo, and Cy, best"]},
    ),
    *(
        Case(
            f"two stray quotes {what}",
            {"n.csv": table(header, *lines, delimiter=mark)},
            {"p9": ["Burn"]},
            ["lines 2 to 3"],
            4,
        )
        for what, mark, header, lines in (
            ("before the individual", ",", "text,patient", ('"hello,P1', 'world",P2', "Burn,P9")),
            ("between semicolons", ";", "text,patient,age", ('"hello,P1,40', 'world",P2,41', "Burn,P9,42")),
            ("in the middle", ",", "age,text,patient", ('40,"hello,P1', '41,world",P2', "42,Burn,P9")),
            ("behind the individual", ",", "patient,text,age", ('P1,"hello,40', 'P2,world",41', "P9,Burn,42")),
        )
    ),
    Case("a trailing separator in every row is read", {"n.csv": rows("text,patient", *THREE)}, GOOD),
    Case(
        "trailing commas of a spreadsheet are read",
        {"n.csv": rows("text,patient,,", "Cold,P1,,", "Rash,P2,,", ",,,")},
        {"p1": ["Cold"], "p2": ["Rash"]},
    ),
    Case(
        "a rare name in a row of the usual shape is read",
        {"n.csv": rows("text,patient", "Cold,P1", "Rash,P2", "Pain,P3", "Burn,VIP")},
        {**GOOD, "vip": ["Burn"]},
    ),
    *(
        Case(
            f"a cut text without its last field, by {mark!r}",
            {"n.csv": table("text,patient,age", *lines, odd, delimiter=mark)},
            {"1": ["Cold"], "2": ["Rash"], "3": ["Pain"]},
            ["line 5", "the unit has another form than others"],
            4,
        )
        for mark in ",;"
        for lines in (("Cold,1,40", "Rash,2,50", "Pain,3,60"),)
        for odd in ("Cough, fever,4", "Cough,fever,4")
    ),
    *(
        Case(
            f"a rare name beside a field of the form of names {where}",
            {"n.csv": rows(header, *lines)},
            {"p1": ["Cold"], "p2": ["Rash"], "p3": ["Pain"], "bo berg": ["Burn"]},
            options="--unit-may-be 'Bo Berg'",
        )
        for where, header, lines in (
            ("in an empty column", "text,patient,remark", (*THREE, "Burn,Bo Berg,P2")),
            ("in two", "text,patient,remark,ward", ("Cold,P1,,", "Rash,P2,,", "Pain,P3,,", "Burn,Bo Berg,,P2")),
        )
    ),
]

NOTHING = ("NaN", "NULL", "None", "N/A", r"\N", "unknown", "-", "nil", "#N/A", "<NA>", "--", "?", "n.a.", "Unbekannt")
NOT_NAMED = "names no individual"
NAMELESS = [
    Case(
        "words for nothing, in a table",
        {"n.csv": rows("text,patient", "Cold,P1", *(f"Rash {n},{word}" for n, word in enumerate(NOTHING)))},
        {"p1": ["Cold"]},
        [f"{len(NOTHING)} records: names no individual"],
        4,
    ),
    Case(
        "in JSON lines",
        {
            "n.jsonl": "".join(
                json.dumps({"patient": one, "text": f"Rash {n}"}) + "\n"
                for n, one in enumerate(["P1", "NaN", None, "null", float("nan"), " None "])
            )
        },
        {"p1": ["Rash 0"]},
        ["5 records: names no individual"],
        4,
    ),
    Case(
        "in a workbook",
        {"n.xlsx": sheet(["patient", "text"], ["P1", "Cold"], ["N/A", "Rash"], ["-", "Pain"], ["unknown", "Burn"])},
        {"p1": ["Cold"]},
        ["3 records: names no individual"],
        4,
    ),
    Case(
        "in Parquet",
        {
            "n.parquet": parquet(
                [{"patient": "P1", "text": "Cold"}, {"patient": "nan", "text": "Rash"}, {"patient": None, "text": "x"}]
            )
        },
        {"p1": ["Cold"]},
        ["2 records: names no individual"],
        4,
    ),
    Case(
        "in front matter",
        {
            "a.md": "---\npatient: P1\n---\nCold",
            "b.md": "---\npatient: ~\n---\nRash",
            "c.txt": "---\npatient: null\n---\nPain",
        },
        {"p1": ["Cold"]},
        ["2 records: names no individual"],
        4,
    ),
    Case(
        "in the path",
        {"P1.txt": "Cold", "unknown.txt": "Rash", "NaN.txt": "Pain"},
        {"p1": ["Cold"]},
        ["2 records: names no individual"],
        4,
        FILES,
    ),
    Case(
        "in a file beside",
        {
            "a.pdf": samples.pdf("Cold"),
            "a.json": '{"patient": "NULL"}',
            "b.txt": "Rash",
            "b.txt.json": '{"patient": "P1"}',
        },
        {"p1": ["Rash"]},
        [NOT_NAMED],
        4,
    ),
    Case(
        "who is called so",
        {"n.csv": rows("text,patient", "Cold,None", "Rash,Ada", "Pain,N/A")},
        {"none": ["Cold"], "ada": ["Rash"]},
        [NOT_NAMED],
        4,
        "--unit-may-be NONE",
    ),
    Case(
        "truth is no name",
        {"n.jsonl": '{"patient": true, "text": "Cold"}\n{"patient": "P1", "text": "Rash"}\n'},
        {"p1": ["Rash"]},
        ["neither a text nor a number"],
        4,
    ),
]

BIG = 2**53 + 2
ROUNDED = "rounded"
ROUNDS = [
    Case(
        "a spreadsheet's rounded numbers, in a table",
        {"n.csv": rows("text;patient", "Cold;1.23457E+15", "Rash;1,23457E+15", "Pain;9e+20", "Burn;123456789012345")},
        {"123456789012345": ["Burn"]},
        [f"3 records: the field 'patient' is a number that was {ROUNDED}"],
        4,
    ),
    Case(
        "in a workbook",
        {"n.xlsx": sheet(["patient", "text"], [1234567890123456, "Cold"], [1.5e20, "Rash"], [7, "Pain"])},
        {"7": ["Pain"]},
        [f"2 records: the field 'patient' is a number that was {ROUNDED}"],
        4,
    ),
    Case(
        "in JSON lines",
        {
            "n.jsonl": (
                '{"patient": 1e17, "text": "Cold"}\n{"patient": 9007199254740993.0, "text": "Rash"}\n'
                '{"patient": 9007199254740993, "text": "Pain"}\n'
            )
        },
        {"9007199254740993": ["Pain"]},
        [f"2 records: the field 'patient' is a number that was {ROUNDED}"],
        4,
    ),
    Case(
        "in Parquet",
        {"n.parquet": parquet([{"patient": float(BIG), "text": "Cold"}, {"patient": 5.0, "text": "Rash"}])},
        {"5": ["Rash"]},
        [ROUNDED],
        4,
    ),
    Case(
        "ids with an e among digits are read",
        {
            "n.csv": rows("id,patient,text", "1e10,3e123456,Cold", "2E11,7E12,Rash"),
            "n.jsonl": '{"id": "3e12", "patient": "3e123456", "text": "Pain"}\n',
        },
        {"3e123456": ["Cold", "Pain"], "7e12": ["Rash"]},
    ),
    Case(
        "who is called so",
        {"n.csv": rows("id,patient,text", "1,1E+15,Cold", "2,2E+15,Rash", "3E+15,P3,Pain", "4E+15,P4,Ache")},
        {"1e+15": ["Cold"], "p4": ["Ache"]},
        [f"the field 'patient' is a number that was {ROUNDED}", f"the field 'id' is a number that was {ROUNDED}"],
        4,
        "--unit-may-be 1e+15 --unit-may-be 4e+15",
    ),
]
TWO_NAMES = [
    ("00123", "123"),
    ("0123", "00123"),
    ("'0071", "0071"),
    ("Braun, Zoë (001635)", "001635"),
    ("kırmızı", "kirmizi"),
    ("O’Neil", "O'Neil"),
    ("Anne‐Marie", "Anne-Marie"),
    ("Ada_Lind", "Ada Lind"),
    ("Lind, Ada", "Ada Lind"),
    ("P-007", "P-7"),
]

POLISH = "Łukasz ma gorączkę, jaźń żółć"
CHARSETS = [
    *(
        Case(
            f"a table in {encoding}",
            {
                f"n.{kind}": "".join(
                    f"{a}{mark}{b}\n" for a, b in (("patient", "text"), (who, text), ("P2", text))
                ).encode(encoding)
            },
            {who.casefold(): [text], "p2": [text]},
            says=["encoding"],
        )
        for encoding, who, text, kind, mark in (
            ("shift_jis", "山田太郎", "患者は咳と発熱がある。", "csv", ","),
            ("gbk", "张伟", "病人咳嗽发烧。", "csv", ";"),
            ("koi8_r", "Иван Петров", "Пациент жалуется на кашель.", "tsv", "\t"),
            ("cp1251", "Иван Петров", "Пациент жалуется на кашель.", "csv", "|"),
            ("cp1250", "Łukasz", POLISH, "csv", ";"),
            ("cp1252", "Zoë Müller", "Größe – “gut”", "csv", ","),
            ("latin-1", "Zoë", "Größe", "csv", ";"),
            ("euc_kr", "김철수", "환자는 기침과 열이 있다.", "csv", ","),
            ("cp1253", "Γιώργος", "Ο ασθενής έχει πυρετό.", "csv", ","),
            ("utf-16", "Zoë", "Größe", "csv", "\t"),
        )
    ),
    Case(
        "a text in Shift-JIS",
        {"P1.txt": "患者は咳と発熱がある。".encode("shift_jis")},
        {"p1": ["患者は咳と発熱がある。"]},
        options=FILES,
        says=["cp932"],
    ),
    Case(
        "a text in cp1251",
        {"P1.md": "Пациент жалуется на кашель.".encode("cp1251")},
        {"p1": ["Пациент жалуется на кашель."]},
        options=FILES,
        says=["1251"],
    ),
    Case(
        "a page in KOI8 that does not say so",
        {"P1.html": "<p>Пациент жалуется на кашель.".encode("koi8_r")},
        {"p1": ["Пациент жалуется на кашель."]},
        options=FILES,
        says=["koi8"],
    ),
    Case(
        "a page that says gb2312 and has more",
        {"P1.html": '<meta charset="gb2312"><p>朱镕基咳嗽'.encode("gbk")},
        {"p1": ["朱镕基咳嗽"]},
        options=FILES,
    ),
    Case(
        "a page that says x-sjis",
        {"P1.html": '<meta charset="x-sjis"><p>①咳と発熱'.encode("cp932")},
        {"p1": ["①咳と発熱"]},
        options=FILES,
    ),
    Case(
        "a page that says Latin-1",
        {"P1.html": '<meta charset="iso-8859-1"><p>“5 €”'.encode("cp1252")},
        {"p1": ["“5 €”"]},
        options=FILES,
    ),
    Case(
        "a mail in Shift-JIS that says nothing",
        {"P1.eml": mail("Content-Type: text/plain", "患者は咳と発熱がある。", "shift_jis")},
        {"p1": ["From: Ada <ada@x.org> Subject: Visit 患者は咳と発熱がある。"]},
        options=FILES,
    ),
    Case(
        "a mail in cp1250 that says us-ascii",
        {"P1.eml": mail("Content-Type: text/plain; charset=us-ascii", POLISH, "cp1250")},
        {"p1": [f"From: Ada <ada@x.org> Subject: Visit {POLISH}"]},
        options=FILES,
    ),
    Case(
        "a mail that says ks_c_5601-1987",
        {"P1.eml": mail("Content-Type: text/plain; charset=ks_c_5601-1987", "똠방각하", "cp949")},
        {"p1": ["From: Ada <ada@x.org> Subject: Visit 똠방각하"]},
        options=FILES,
    ),
    Case(
        "letters that may be two alphabets'",
        {"n.csv": "patient,text\nP1,Иван\n".encode("cp1251")},
        {},
        ["--encoding"],
        4,
    ),
    Case(
        "the same, named",
        {"n.csv": "patient,text\nP1,Иван\n".encode("cp1251")},
        {"p1": ["Иван"]},
        options="--encoding cp1251",
    ),
    Case("Polish that may be cp1250 or Latin-2", {"P1.txt": "gorączka".encode("cp1250")}, {}, ["--encoding"], 4, FILES),
]

HEAD = "From: Ada <ada@x.org> Subject: Visit"
PARTS = "--B\nContent-Type: text/plain\n\nCold\n--B\nContent-Type: application/pdf; name=a.pdf\n\nx\n--B--\n"
MBOX = "".join(
    f"From x Mon Mar  2 10:00:00 2026\nFrom: {who} <{at}>\nSubject: S{n}\nMessage-ID: <{n}@x>\nDate: "
    f"Mon, 02 Mar 2026 10:00:00 +0000\n\nText {n}\n\n"
    for n, (who, at) in enumerate([("Ada", "ada@x.org"), ("A. Lind", "ada@x.org"), ("Bo", "bo@x.org")])
)
QUOTED = "Thanks, better.\n\nOn Mon, 2 Mar 2026 at 10:00, Bo <bo@x.org> wrote:\n> How is it?\n> Bo\n"
OUTLOOK = "Danke, besser.\n\n-----Ursprüngliche Nachricht-----\nVon: Bo\nGesendet: Montag\n\nWie geht es?\n"
MAILS = [
    Case(
        "the only part has a name",
        {"P1.eml": mail("Content-Type: text/plain; name=body.txt", "Cold")},
        {"p1": [f"{HEAD} Cold"]},
        options=FILES,
    ),
    Case(
        "an inline part has a name",
        {
            "P1.eml": mail(
                "Content-Type: multipart/mixed; boundary=B",
                PARTS.replace("text/plain", "text/plain; name=a.txt\nContent-Disposition: inline; filename=a.txt"),
            )
        },
        {"p1": [f"{HEAD} Cold"]},
        ["1 attachment"],
        options=FILES,
    ),
    Case(
        "a page inline",
        {
            "P1.eml": mail(
                "Content-Type: text/html; name=a.html\nContent-Disposition: inline; filename=a.html", "<p>Cold"
            )
        },
        {"p1": [f"{HEAD} Cold"]},
        options=FILES,
    ),
    Case(
        "a wrong boundary",
        {"P1.eml": mail("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=X", PARTS)},
        {"p1": [f"{HEAD} Cold"]},
        ["1 attachment"],
        options=FILES,
    ),
    Case(
        "no boundary",
        {
            "P1.eml": mail(
                "MIME-Version: 1.0\nContent-Type: multipart/alternative",
                "--B\nContent-Type: text/html\n\n<p>Cold\n--B--\n",
            )
        },
        {"p1": [f"{HEAD} Cold"]},
        options=FILES,
    ),
    Case(
        "parts that are none",
        {"P1.eml": mail("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=X", "Cold")},
        {"p1": [f"{HEAD} Cold"]},
        options=FILES,
    ),
    Case(
        "only an attachment",
        {"P1.eml": mail("Content-Type: application/pdf; name=a.pdf", "x")},
        {"p1": [HEAD]},
        ["1 attachment", "no text of its own"],
        options=FILES,
    ),
    Case(
        "a box of mails",
        {"n.mbox": MBOX},
        {
            "ada@x.org": [
                "From: Ada <ada@x.org> Date: Mon, 02 Mar 2026 10:00:00 +0000 Subject: S0 Text 0",
                'From: "A. Lind" <ada@x.org> Date: Mon, 02 Mar 2026 10:00:00 +0000 Subject: S1 Text 1',
            ],
            "bo@x.org": ["From: Bo <bo@x.org> Date: Mon, 02 Mar 2026 10:00:00 +0000 Subject: S2 Text 2"],
        },
        options="--unit-field from",
    ),
    Case(
        "mails by their senders",
        {"1.eml": mail("", "Cold"), "2.eml": mail("", "Rash").replace(b"ada@", b"bo@")},
        {"ada@x.org": [f"{HEAD} Cold"], "bo@x.org": ["From: Ada <bo@x.org> Subject: Visit Rash"]},
        options="--unit-field from",
    ),
    Case(
        "what the sender wrote",
        {
            "P1.eml": mail("", QUOTED),
            "P2.eml": mail("", OUTLOOK),
            "P3.eml": mail("Content-Type: text/html", "<p>Better.</p><blockquote>How is it?</blockquote>"),
        },
        {"p1": [f"{HEAD} Thanks, better."], "p2": [f"{HEAD} Danke, besser."], "p3": [f"{HEAD} Better."]},
        options=f"{FILES} --without-quotes",
    ),
    Case(
        "with what others wrote",
        {"P1.eml": mail("", QUOTED)},
        {"p1": [f"{HEAD} {' '.join(QUOTED.split())}"]},
        options=FILES,
    ),
]

BOX = '<w:r><w:fldChar><w:ffData><w:checkBox><w:default w:val="0"/>{}</w:checkBox></w:ffData></w:fldChar></w:r>'
FORMS = [
    Case(
        "boxes of Word's old forms",
        {
            "P1.docx": docx(
                f"<w:p>{BOX.format('')}<w:r><w:t>Smoker</w:t></w:r></w:p><w:p>{BOX.format('<w:checked/>')}<w:r>"
                f"<w:t>Diabetic</w:t></w:r></w:p>"
            )
        },
        {"p1": ["☐Smoker ☒Diabetic"]},
        options=FILES,
    ),
    Case(
        "lists of Word's old forms",
        {
            "P1.docx": docx(
                '<w:p><w:r><w:t>Pain: </w:t></w:r><w:r><w:fldChar><w:ffData><w:ddList><w:result w:val="1"/>'
                '<w:listEntry w:val="mild"/><w:listEntry w:val="severe"/></w:ddList></w:ffData></w:fldChar>'
                "</w:r></w:p>"
            )
        },
        {"p1": ["Pain: severe"]},
        options=FILES,
    ),
    Case(
        "boxes of Word without a sign, and a placeholder",
        {
            "P1.docx": docx(
                '<w:p><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="0"/></w14:checkbox></w:sdtPr>'
                "<w:sdtContent><w:r><w:t>☐</w:t></w:r></w:sdtContent></w:sdt><w:r><w:t> Smoker </w:t></w:r>"
                "<w:sdt><w:sdtPr><w:dropDownList/><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Choose an "
                "item.</w:t></w:r></w:sdtContent></w:sdt></w:p>"
            )
        },
        {"p1": ["☐ Smoker"]},
        options=FILES,
    ),
    Case(
        "a page's form",
        {
            "P1.html": (
                "<input type=checkbox value=yes> Smoker <input type=radio checked> Diabetic <select><option>"
                "mild<option selected>severe</select><textarea>Cold</textarea>"
            )
        },
        {"p1": ["☐ Smoker ☒ Diabetic severe Cold"]},
        options=FILES,
    ),
    Case(
        "an OpenDocument form",
        {
            "P1.odt": odt(
                '<form:form><form:checkbox form:label="Smoker"/><form:checkbox form:label="Diabetic" '
                'form:current-state="checked"/><form:listbox><form:option form:label="mild"/><form:option '
                'form:label="severe" form:current-selected="true"/></form:listbox></form:form><text:p>'
                "Cold</text:p>"
            )
        },
        {"p1": ["☐ Smoker ☒ Diabetic severe Cold"]},
        options=FILES,
    ),
    Case(
        "what a page deleted", {"P1.html": "<p>Dose <del>50</del><ins>5</ins> mg"}, {"p1": ["Dose 5 mg"]}, options=FILES
    ),
]

EMBEDDED = samples.pdf("Cold").replace(
    b"trailer", b"9 0 obj << /Type /EmbeddedFile /Length 1 >> stream\nx\nendstream endobj\ntrailer"
)
MHTML = (
    "From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=B\n\n--B\n"
    "Content-Type: text/html\n\n<p>Cold\n--B--\n"
)
HIDDEN = [
    Case(
        "a PDF with a file in it",
        {"P1.pdf": EMBEDDED},
        {"p1": ["Cold"]},
        ["1 embedded file is not read"],
        options=FILES,
    ),
    *(
        Case(f"{what} as {name}", {name: data, "P2.txt": "Rash"}, {"p2": ["Rash"]}, [f"{name}: it is {what}"], 4, FILES)
        for what, name, data in (
            ("a PDF", "P1.txt", samples.pdf("Cold")),
            ("a PDF", "P1.html", samples.pdf("Cold")),
            ("a PDF", "P1.eml", samples.pdf("Cold")),
            ("RTF", "P1.md", samples.rtf("Cold")),
            ("RTF", "P1.txt", samples.rtf("Cold")),
            ("a web archive (MHTML)", "P1.html", MHTML),
            ("a ZIP file, such as DOCX or XLSX", "P1.txt", samples.docx("Cold")),
        )
    ),
    Case(
        "a PDF among tables",
        {"n.csv": samples.pdf("Cold"), "m.csv": rows("text,patient", "Cold,P1")},
        {"p1": ["Cold"]},
        ["n.csv: it is a PDF"],
        4,
    ),
]

MATTER = [
    Case(
        "front matter of YAML",
        {
            "a.md": "---\npatient: >-\n  P1\ntags: [a, b]\n---\nCold",
            "b.md": "---\nbase: &b P2\npatient: *b\n---\nRash",
            "c.md": "---\npatient: !!str 007\n---\nPain",
            "d.md": "---\npatient: 'O''Neil' # a name\nmore:\n  patient: x\n---\nBurn",
            "e.md": '---\r\n"patient": "P\\u0033"\r\n...\r\nAche',
        },
        {"p1": ["Cold"], "p2": ["Rash"], "007": ["Pain"], "o'neil": ["Burn"], "p3": ["Ache"]},
    ),
    Case(
        "front matter that is damaged",
        {"a.md": "---\npatient: [P1\n---\nCold", "b.md": "---\npatient: P2\n---\nRash"},
        {"p2": ["Rash"]},
        ["front matter"],
        4,
    ),
    Case(
        "front matter with a list for a name",
        {"a.md": "---\npatient: [P1, P2]\n---\nCold", "b.md": "---\npatient: P2\n---\nRash"},
        {"p2": ["Rash"]},
        ["a.md"],
        4,
    ),
]

IDS = [
    Case(
        "an id that a patient's records share",
        {"n.csv": rows("id,patient,text", "7,P1,Cold", "7,P1,Rash", "8,P2,Pain", "8,P2,Burn")},
        {"p1": ["Cold"], "p2": ["Pain"]},
        ["2 records: the same id", "--id-field ''"],
        4,
    ),
    Case(
        "without it",
        {"n.csv": rows("id,patient,text", "7,P1,Cold", "7,P1,Rash", "8,P2,Pain")},
        {"p1": ["Cold", "Rash"], "p2": ["Pain"]},
        options="--id-field ''",
    ),
    Case(
        "the id is the unit",
        {"n.csv": rows("id,text", "7,Cold", "7,Rash", "8,Pain")},
        {"7": ["Cold"], "8": ["Pain"]},
        ["line 3: the same id", "--id-field ''"],
        4,
        options="--unit-field id",
    ),
    Case(
        "the id is the unit alone",
        {"n.csv": rows("id,text", "7,Cold", "7,Rash", "8,Pain")},
        {"7": ["Cold", "Rash"], "8": ["Pain"]},
        options="--unit-field id --id-field ''",
    ),
]

DATES = [
    Case(
        "dates of one meaning",
        {
            "n.csv": rows(
                "patient;text;seen",
                *(
                    f"P{n};Text {n};{day}"
                    for n, day in enumerate(
                        [
                            "31.01.2026",
                            "1.2.2026",
                            "31/01/2026",
                            "01/31/2026",
                            "2026/01/31",
                            "20260131",
                            "31-01-2026",
                            "31. Januar 2026",
                            "31.01.2026 14:05",
                            "NULL",
                        ]
                    )
                ),
            )
        },
        {f"p{n}": [f"Text {n}"] for n in range(10)},
        fields={"seen": "date"},
    ),
    Case(
        "dates of two meanings",
        {"n.csv": rows("patient,text,seen", "P1,Cold,03/01/2026", "P2,Rash,31.01.26")},
        {},
        ["2 records: the field 'seen' is not a date", "--date-format"],
        4,
        fields={"seen": "date"},
    ),
    Case(
        "a form of dates",
        {"n.csv": rows("patient,text,seen", "P1,Cold,03/01/2026", "P2,Rash,31/01/26")},
        {"p1": ["Cold"]},
        ["1"],
        4,
        "--date-format %d/%m/%Y",
        fields={"seen": "date"},
    ),
    Case(
        "a bad date costs the field alone",
        {"n.csv": rows("patient,text,seen,age", "P1,Cold,soon,7", "P2,Rash,2026-01-31,old")},
        {"p1": ["Cold"], "p2": ["Rash"]},
        ["'seen'", "'age'"],
        0,
        "--drop-bad-fields",
        fields={"seen": "date", "age": "number"},
    ),
]

HEADERS = [
    Case(
        "columns with points",
        {"n.csv": rows("Pat.-Nr.;Name;Vorname", "1;Lind;Ada")},
        {},
        ["Its columns: Pat.-Nr., Name, Vorname"],
        4,
    ),
    Case(
        "a header in the third row of a sheet",
        {"n.xlsx": sheet(["Clinic"], ["of 2026"], ["patient", "text"], ["P1", "Cold"])},
        {"p1": ["Cold"]},
        options="--header-row 3",
    ),
    Case(
        "which row it is, is said",
        {"n.xlsx": sheet(["Clinic"], ["of 2026"], ["patient", "text"], ["P1", "Cold"])},
        {},
        ["--header-row 3"],
        4,
    ),
    Case(
        "a header below others in a table",
        {"n.csv": rows("Clinic", "", "patient,text", "P1,Cold")},
        {"p1": ["Cold"]},
        options="--header-row 3",
    ),
    Case(
        "which line it is, is said", {"n.csv": rows("Clinic", "", "patient,text", "P1,Cold")}, {}, ["--header-row 3"], 4
    ),
    *(
        Case(
            f"a first line that is {what}",
            {"n.csv": rows(*lines, "patient;text", "P1;Cold, bad", "P2;Rash;Pain")},
            {"p1": ["Cold, bad"]},
            [f"n.csv line {len(lines) + 3}: the record has more fields"],
            4,
        )
        for what, lines in (
            ("empty", [""]),
            ("blank, twice", [" ", "\t"]),
            ("of empty cells", [";;"]),
            ("an empty one after the delimiter's", ["sep=;", ""]),
        )
    ),
    Case(
        "an empty first row of a sheet",
        {"n.xlsx": sheet([], ["patient", "text"], ["P1", "Cold"])},
        {"p1": ["Cold"]},
    ),
]

BUNDLE = {
    "resourceType": "Bundle",
    "entry": [
        {
            "resource": {
                "resourceType": "Observation",
                "subject": {"reference": "Patient/1"},
                "note": [{"text": "Cold"}, {"text": "Worse"}],
            }
        },
        {
            "resource": {
                "resourceType": "Observation",
                "subject": {"reference": "Patient/2"},
                "note": [{"text": "Rash"}],
            }
        },
        {"resource": {"resourceType": "Patient", "id": "1"}},
    ],
}
CHATS = [
    {"user": {"id": 7}, "title": "Cough", "messages": [{"text": "Cold"}, {"text": "Worse"}]},
    {"user": {"id": 8}, "title": "Skin", "messages": [{"text": "Rash"}]},
]
KEYED = {"Ada Lind": {"text": "Cold"}, "Bo Berg": {"text": "Rash"}}
TEAMS = [{"from": {"user": {"id": "u1"}}, "body": {"contentType": "html", "content": "<p>Cold &amp; ill</p>"}}]
NESTED = [
    Case(
        "a FHIR bundle",
        {"n.json": json.dumps(BUNDLE)},
        {"patient/1": ["Cold Worse"], "patient/2": ["Rash"]},
        ["no text"],
        options="--text-field resource.note.text --unit-field resource.subject.reference",
    ),
    Case(
        "chats with titles",
        {"n.json": json.dumps(CHATS)},
        {"7": ["Cough Cold Worse"], "8": ["Skin Rash"]},
        options="--text-field title --text-field messages.text --unit-field user.id",
    ),
    Case(
        "the same, an object a line",
        {"n.jsonl": "".join(json.dumps(one) + "\n" for one in CHATS)},
        {"7": ["Cough Cold Worse"], "8": ["Skin Rash"]},
        options="--text-field title --text-field messages.text --unit-field user.id",
    ),
    Case(
        "the key is the individual",
        {"n.json": json.dumps(KEYED)},
        {"ada lind": ["Cold"], "bo berg": ["Rash"]},
        options="--unit-field _key",
    ),
    Case(
        "keys with lists",
        {"n.json": json.dumps({"P1": [{"text": "Cold"}, {"text": "Rash"}], "P2": [{"text": "Pain"}]})},
        {"p1": ["Cold", "Rash"], "p2": ["Pain"]},
        options="--unit-field _key",
    ),
    Case("the key is not asked for", {"n.json": json.dumps(KEYED)}, {}, ["--unit-field _key"], 4),
    Case(
        "a message that is a page",
        {"n.json": json.dumps(TEAMS)},
        {"u1": ["Cold & ill"]},
        options="--text-field body.content --unit-field from.user.id",
    ),
    Case(
        "two individuals in one record",
        {"n.json": json.dumps([{"text": "Cold", "who": [{"id": 1}, {"id": 2}]}, {"text": "Rash", "who": [{"id": 1}]}])},
        {"1": ["Rash"]},
        ["several individuals"],
        4,
        "--unit-field who.id",
    ),
    Case(
        "a field with a point in its name",
        {"n.jsonl": '{"a.b": "P1", "text": "Cold"}\n'},
        {"p1": ["Cold"]},
        options="--unit-field a.b",
    ),
    Case(
        "a column of structures",
        {"n.parquet": parquet([{"subject": {"reference": "P1"}, "text": "Cold"}])},
        {"p1": ["Cold"]},
        options="--unit-field subject.reference",
    ),
]

EMPTY = [
    Case(
        "empty notes are no error",
        {"n.csv": rows("patient,text", "P1,Cold", "P2,", "P3, ")},
        {"p1": ["Cold"]},
        ["2 records: no text"],
    ),
    Case(
        "in JSON lines",
        {
            "n.jsonl": (
                '{"patient": "P1", "text": "Cold"}\n{"patient": "P2", "text": ""}\n{"patient": "P3", "text": '
                'null}\n{"patient": "P4"}\n'
            )
        },
        {"p1": ["Cold"]},
        ["2 records: no text", "line 4: no field 'text'"],
        4,
    ),
    Case(
        "in a workbook",
        {"n.xlsx": sheet(["patient", "text"], ["P1", "Cold"], ["P2", None], ["P3", " "])},
        {"p1": ["Cold"]},
        ["2 records: no text"],
    ),
    Case("an empty file is none", {"P1.txt": "Cold", "P2.txt": " \n"}, {"p1": ["Cold"]}, ["P2.txt: no text"], 0, FILES),
    Case(
        "one note a patient is no mistake",
        {"n.csv": rows("patient,text", *(f"P{n},Text {n}" for n in range(30)))},
        {f"p{n}": [f"Text {n}"] for n in range(30)},
        says=["!mistake"],
    ),
    Case(
        "but the number of the row is one",
        {"n.csv": rows("patient,text", *(f"{n},Text {n}" for n in range(30)))},
        {f"{n}": [f"Text {n}"] for n in range(30)},
        says=["Likely a mistake"],
    ),
]

CASES = [
    *SHIFTED,
    *NAMELESS,
    *ROUNDS,
    *CHARSETS,
    *MAILS,
    *FORMS,
    *HIDDEN,
    *MATTER,
    *IDS,
    *DATES,
    *HEADERS,
    *NESTED,
    *EMPTY,
]
