"""Files of custodians: the exports of the first hour, and how fast files of all kinds are read and added."""

import argparse
import json
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from random import Random

from tests.files import samples

from discreet.files.loaders import find_files, read_records
from discreet.files.records import ReadingOptions, Record
from discreet.files.units import UnitRules
from discreet.vault import Vault
from discreet_lab.experiments.clinic import make_clinic
from discreet_lab.experiments.common import TableWriter, add_csv_option, name_part

STAFF = ("Ada Lind", "Bo Berg", "Zoë Braun", "Chen Wei", "Dana Okoye", "Emil O'Neil", "Filip Řezník", "Gül Aydın")
WORDS = "she asks for fewer shifts because of a long way to work and says that the team is kind and helpful".split()
KINDS = ("txt", "md", "html", "eml", "docx", "pdf", "csv", "xlsx")


def say(draw: Random, words: int) -> str:
    """Return a text of so many words."""
    return " ".join(draw.choices(WORDS, k=words)).capitalize() + "."


def write_exports(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Write the exports of four custodians: a clinic's table, a FHIR bundle, a folder of HR and a mail box."""
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=31)
    options = parser.parse_args(arguments)
    folder, draw, clinic = options.folder, Random(options.seed), make_clinic(options.seed)
    folder.mkdir(parents=True, exist_ok=True)
    clinic.write_csv(folder / "clinic.csv")
    resources = [
        {
            "resourceType": "DiagnosticReport",
            "id": f"r{number}",
            "subject": {"reference": f"Patient/{note.patient.number}"},
            "effectiveDateTime": note.day.isoformat(),
            "conclusion": note.text,
        }
        for number, note in enumerate(clinic.notes)
    ]
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]}
    (folder / "bundle.json").write_text(json.dumps(bundle, ensure_ascii=False), encoding="utf-8")
    for name in STAFF:
        own = folder / "hr" / name
        own.mkdir(parents=True, exist_ok=True)
        (own / "review 2025.docx").write_bytes(samples.docx(say(draw, 80), table=[["goal", "met"]]))
        (own / "contract.pdf").write_bytes(samples.pdf(say(draw, 8)))
        (own / "notes.txt").write_bytes(say(draw, 40).encode("cp1252"))
        (own / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    (folder / "hr" / "Bo Berg" / "scan.pdf").write_bytes(samples.pdf(""))
    mails = bytearray()
    for number in range(60):
        name = draw.choice(STAFF).split()[0].encode("ascii", "replace").decode().replace("?", "e").lower()
        mail = samples.eml(say(draw, 60), attached={"form.txt": b"x"} if number % 20 == 0 else None)
        rest = mail.split(b"\n", 1)[1] if mail.startswith(b"From: ") else mail
        mails += f"From x\nFrom: {name}@customer.example\nMessage-ID: <{number}@x>\n".encode() + rest + b"\n\n"
    (folder / "complaints.mbox").write_bytes(mails)


def write_mixed(folder: Path, count: int, seed: int) -> None:
    """Write files of eight kinds, as many of each: letters of 200 words, and tables of 20 records of 40 words."""
    draw = Random(seed)
    for number in range(count):
        kind, person = KINDS[number % len(KINDS)], f"p{draw.randrange(count)}"
        path = folder / f"{person}_{number}.{kind}"
        letter = [say(draw, 20) for _ in range(10)]
        rows = [[f"p{draw.randrange(count)}", say(draw, 40)] for _ in range(20 * (kind in ("csv", "xlsx")))]
        if kind == "csv":
            path.write_text("unit,text\n" + "".join(f'{who},"{text}"\n' for who, text in rows))
        elif kind == "xlsx":
            path.write_bytes(samples.xlsx(["unit", "text"], *rows))
        elif kind in ("txt", "md"):
            path.write_text("\n\n".join(letter))
        else:
            parts = ["\n".join(letter)] * 2 if kind == "pdf" else letter
            path.write_bytes(getattr(samples, kind)(*parts))


def peak(who: int) -> str:
    """Return the largest memory of this process, or of its children, that was resident, in MiB."""
    return f"{resource.getrusage(who).ru_maxrss / 1024:.0f} MiB"


def time_files(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Read files of eight kinds, and add them to a vault. Print files a minute, processor time and memory."""
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    add_csv_option(parser)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "files")
        files.mkdir()
        write_mixed(files, options.files, options.seed)
        table = TableWriter(("kind", "files", "records", "seconds", "CPU seconds", "files a minute"), options.csv)
        by_kind = defaultdict(list)
        for file in find_files([files]).files:
            by_kind[file.path.suffix[1:]].append(file)
        for kind in KINDS:
            begun, worked = time.perf_counter(), _processor()
            records = sum(isinstance(one, Record) for one in read_records(by_kind[kind]))
            table.write(_timed(kind, len(by_kind[kind]), records, begun, worked))
        print(f"\nPeak: {peak(resource.RUSAGE_SELF)}; of the processes beside: {peak(resource.RUSAGE_CHILDREN)}.\n")
        vault = Vault.create(Path(folder, "v"), epsilon=20, delta=1e-6, embedder="hashing")
        begun, worked = time.perf_counter(), _processor()
        added = vault.add(files, units=UnitRules(pattern="{unit}_*"))
        table = TableWriter(
            ("added", "files", "documents", "seconds", "CPU seconds", "files a minute"), name_part(options.csv, "added")
        )
        table.write(_timed("all", options.files, added.added, begun, worked))
        print(f"\nUnits: {vault.store.count_units():,}. Refused: {len(added.bad)}. Peak: {peak(resource.RUSAGE_SELF)}.")


def _processor() -> float:
    """Return the processor time of this process and of its children that ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _timed(what: str, files: int, records: int, begun: float, worked: float) -> list[str]:
    took = time.perf_counter() - begun
    minute = f"{60 * files / took:,.0f}"
    return [what, f"{files:,}", f"{records:,}", f"{took:.1f}", f"{_processor() - worked:.1f}", minute]


def time_scans(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Read pictures of pages of 20 lines by OCR. Print the seconds a page, and the part of words that is right."""
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    draw = Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        written = {f"{page}.pdf": [say(draw, 9) for _ in range(20)] for page in range(options.pages)}
        for name, lines in written.items():
            Path(folder, name).write_bytes(samples.scanned(*lines))
        begun, worked = time.perf_counter(), _processor()
        records = [*read_records([Path(folder)], ReadingOptions(ocr=True))]
        took, used = time.perf_counter() - begun, _processor() - worked
    right = 0
    for one in records:
        if isinstance(one, Record):
            both = " ".join(written[one.source]).split(), str(one.values["text"]).split()
            right += sum(block.size for block in SequenceMatcher(None, *both, autojunk=False).get_matching_blocks())
    words = sum(len(line.split()) for lines in written.values() for line in lines)
    each = f"{took / options.pages:.1f} s and {used / options.pages:.1f} CPU seconds a page"
    print(f"{options.pages} pages: {each}, with the start of the process.")
    print(f"Words that are right, in their order: {right:,} of {words:,}.")
