"""`discreet dataset`: toys in the published forms, through the command, into `add`, `bench` and `attack`."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.system.files import read_lines
from discreet.vault import Vault
from discreet_lab.attacks.membership import read_suspects
from discreet_lab.bench.open_data import kind_of, read_stream
from discreet_lab.bench.table import Data
from discreet_lab.datasets import RECIPES

SIZES = (5, 20, 29, 30, 45, 59, 60)
"""Positive passages of the questions of the toy of DPR's file."""


def dump(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def nq(folder: Path) -> Path:
    lines = [{"question": f"who wrote book {n}", "answer": [f"Author {n}", f"A. {n}"]} for n in range(3)]
    path = folder / "NQ-open.dev.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def dpr(folder: Path) -> Path:
    passage = {"title": "A title", "text": "words " * 100, "passage_id": "7"}
    return dump(
        folder / "biencoder-nq-dev.json",
        [
            {"dataset": "nq_dev", "question": f"what has {size}", "answers": ["x"], "positive_ctxs": [passage] * size}
            for size in SIZES
        ],
    )


def trivia(folder: Path) -> Path:
    answer = {"Value": "Sunset Boulevard", "Aliases": ["Sunset Blvd", "Sunset Boulevard"], "Type": "WikipediaEntity"}
    record = {"Question": "Which street?", "QuestionId": "tc_2", "Answer": answer, "EntityPages": [{"Title": "Street"}]}
    return dump(folder / "unfiltered-web-dev.json", {"Domain": "unfiltered-web", "Data": [record], "Version": 1.0})


def wiki(folder: Path) -> Path:
    path = folder / "psgs_w100.tsv.gz"
    with gzip.open(path, "wt", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(["id", "text", "title"])
        rows.writerows([[n, f'A passage with "marks" and\ttabs, {n}', "Aaron"] for n in range(1, 6)])
    return path


def chatdoctor(folder: Path) -> Path:
    said = {"instruction": "If you are a doctor, please answer.", "output": "Take rest and drink water every day."}
    turns = [said | {"input": f"I have had pain number {n} in my back for several days."} for n in range(130)]
    return dump(
        folder / "HealthCareMagic-100k.json", [*turns, turns[0] | {"output": "Another answer, of another day."}]
    )


MAIL = "Message-ID: <1@thyme>\nFrom: {0}\nTo: bo@enron.example\nSubject: {1}\nContent-Type: text/plain\n\nCall {0}.\n"


def enron(folder: Path) -> Path:
    for name, sender in (("allen-p/_sent_mail/1.", "Al@enron.example"), ("bo-x/inbox/9.", "al@enron.example")):
        path = folder / "maildir" / name
        path.parent.mkdir(parents=True)
        path.write_text(MAIL.format(sender, "Gas").replace("Call Al", "Call al"))
    (folder / "maildir/bo-x/inbox/10.").write_bytes(b"Subject: r\xe9sum\xe9\n\nNo sender.\n")
    return folder / "maildir"


def enron_csv(folder: Path) -> Path:
    path = folder / "emails.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "message"])
        rows.writerows([[f"allen-p/inbox/{n}.", MAIL.format(f"al{n}@enron.example", "Gas")] for n in range(3)])
    return path


def mquake(folder: Path) -> Path:
    hop = {"question": "Who is the employer of Triple H?", "cloze": "is", "answer": "WWE", "answer_alias": ["W.W.E."]}
    cases = [
        {"case_id": n, "questions": ["?"] * 3, "answer": "x", "single_hops": [hop] * (2 + n % 3)} for n in range(9)
    ]
    return dump(folder / "MQuAKE-CF-3k.json", cases)


LOVES = [(user, film) for user in range(1, 61) for film in ((1, 2, 3) if user <= 30 else (4, 5, 6))]
TITLES = {1: "Matrix, The (1999)", 2: "Heat (1995)", 3: "Léon (1994)", 4: "Big", 5: "Up", 6: "Her"}


def movielens(folder: Path) -> Path:
    films = folder / "ml-latest"
    films.mkdir(exist_ok=True)
    rows = "".join(f"{user},{film},4.5,1\n{user},9,1.0,1\n" for user, film in LOVES)
    (films / "ratings.csv").write_text(f"userId,movieId,rating,timestamp\n{rows}")
    titles = "".join(f'{film},"{title}",Drama\n' for film, title in TITLES.items())
    (films / "movies.csv").write_text(f"movieId,title,genres\n{titles}", encoding="utf-8")
    return films


def movielens_1m(folder: Path) -> Path:
    films = folder / "ml-1m"
    films.mkdir(exist_ok=True)
    (films / "ratings.dat").write_text("".join(f"{user}::{film}::5::1\n" for user, film in LOVES))
    titles = "".join(f"{film}::{title}::Drama\n" for film, title in TITLES.items())
    (films / "movies.dat").write_bytes(titles.encode("latin-1"))
    return films


def movielens_100k(folder: Path) -> Path:
    films = folder / "ml-100k"
    films.mkdir(exist_ok=True)
    (films / "u.data").write_text("".join(f"{user}\t{film}\t4\t1\n" for user, film in LOVES))
    (films / "u.item").write_bytes("".join(f"{film}|{title}|1\n" for film, title in TITLES.items()).encode("latin-1"))
    return films


def searchqa(folder: Path) -> Path:
    for n, snippets in enumerate((45, 30)):  # the second one has too few, and is left out
        results = [
            {"title": "t", "url": "u", "snippet": f"It is Copernicus, {m}" if m < 25 else f"{m}"}
            for m in range(snippets)
        ]
        record = {"question": "His theory", "answer": "Copernicus", "category": "HISTORY", "search_results": results}
        dump(folder / f"{n:06}.json", record)
    return folder


def medical_synth(folder: Path) -> Path:
    cache = folder / "cache"
    dump(cache / "patients.json", ["Ada", "Bo"])
    dump(cache / "patient_requests.json", {name: f" I am {name}, and I itch." for name in ("Ada", "Bo")})
    dump(cache / "doctor_responses.json", {name: f" {name} has Wigglepox." for name in ("Ada", "Bo")})
    dump(cache / "patient_diseases.json", {"Ada": "Wigglepox", "Bo": "Wigglepox"})
    dump(cache / "symptoms.json", {"Wigglepox": ["Itching", "Gas"]})
    return cache


TOYS: dict[str, tuple[str, Callable[[Path], Path], int, int, Data]] = {
    "nq-open": ("nq-open", nq, 0, 3, Data.KNOWLEDGE),
    "dpr": ("nq-open", dpr, 0, 5, Data.KNOWLEDGE),
    "triviaqa": ("triviaqa", trivia, 0, 1, Data.KNOWLEDGE),
    "wiki": ("wiki", wiki, 5, 0, Data.NONE),
    "chatdoctor": ("chatdoctor", chatdoctor, 30, 100, Data.DIALOGUES),
    "enron": ("enron", enron, 2, 0, Data.NONE),
    "enron-csv": ("enron", enron_csv, 3, 0, Data.NONE),
    "mquake": ("mquake", mquake, 0, 3, Data.CHAINS),
    "movielens": ("movielens", movielens, 60, 6, Data.FILMS),
    "movielens-1m": ("movielens", movielens_1m, 60, 6, Data.FILMS),
    "movielens-100k": ("movielens", movielens_100k, 60, 6, Data.FILMS),
    "searchqa": ("searchqa", searchqa, 45, 1, Data.KNOWLEDGE),
    "medical-synth": ("medical-synth", medical_synth, 2, 2, Data.PATIENTS),
}
"""The data set of each toy, its source, its documents, its questions, and their kind."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["dataset", *map(str, arguments)])


def converted(toy: str, folder: Path, *more: object) -> dict[str, Any]:
    name, make, *_ = TOYS[toy]
    (folder / "source").mkdir(exist_ok=True)
    done = run(name, make(folder / "source"), folder / "out", *more, "--json")
    assert done.exit_code == 0, done.output
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def items(folder: Path, file: str) -> list[dict[str, Any]]:
    return [value for _, value in read_lines(folder / "out" / file)]


@pytest.mark.parametrize("toy", TOYS)
def test_toy_becomes_documents_and_questions(toy: str, tmp_path: Path) -> None:
    _, _, documents, questions, kind = TOYS[toy]
    shown = converted(toy, tmp_path)
    assert (shown["documents"], shown["questions"]) == (documents, questions)
    if documents:
        vault = Vault.create(tmp_path / "vault", epsilon=1, delta=1e-6, unit_field="unit", embedder="hashing")
        added = CliRunner().invoke(
            app, ["add", str(vault.path), str(tmp_path / "out/documents.jsonl"), "--preview", "--json"]
        )
        assert added.exit_code == 0, added.output
        preview = json.loads(added.stdout)["preview"]
        assert (preview["records"], preview["refused"], preview["doubts"]) == (documents, [], [])
    if questions:
        asked = read_stream(tmp_path / "out/questions.jsonl", None)
        assert kind_of(asked) == kind
        assert len(asked) == (12 if toy == "mquake" else questions)
        assert all(one.answers for one in asked)


def test_every_data_set_has_a_toy() -> None:
    assert {name for name, *_ in TOYS.values()} == set(RECIPES)
    listed = run()
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in RECIPES)


def test_questions_are_chosen_by_their_passages(tmp_path: Path) -> None:
    converted("dpr", tmp_path)
    assert sorted(one["support"] for one in items(tmp_path, "questions.jsonl")) == [20, 29, 30, 45, 59]
    converted("dpr", tmp_path, "--all", "--force")
    assert [one["support"] for one in items(tmp_path, "questions.jsonl")] == list(SIZES)


def test_questions_of_dialogues_are_in_no_document(tmp_path: Path) -> None:
    assert converted("chatdoctor", tmp_path)["outside"] == 100
    asked = {one["question"] for one in items(tmp_path, "questions.jsonl")}
    texts = [one["text"] for one in items(tmp_path, "documents.jsonl")]
    assert not [text for text in texts if any(question in text for question in asked)]
    assert len(read_suspects(tmp_path / "out/outside.jsonl")) == 100
    before = (tmp_path / "out/questions.jsonl").read_bytes()
    converted("chatdoctor", tmp_path, "--force")
    assert (tmp_path / "out/questions.jsonl").read_bytes() == before
    converted("chatdoctor", tmp_path, "--force", "--seed", 1)
    assert (tmp_path / "out/questions.jsonl").read_bytes() != before


def test_limit_and_compression_give_the_same_bytes_each_time(tmp_path: Path) -> None:
    shown = converted("wiki", tmp_path, "--limit", 2, "--gzip")
    assert (shown["documents"], shown["files"]) == (2, ["documents.jsonl.gz"])
    packed = tmp_path / "out/documents.jsonl.gz"
    before = packed.read_bytes()
    assert json.loads(gzip.decompress(before).splitlines()[0]) == {
        "id": "wiki-1",
        "unit": "passage-1",
        "text": 'Aaron\nA passage with "marks" and\ttabs, 1',
    }
    converted("wiki", tmp_path, "--limit", 2, "--gzip", "--force")
    assert packed.read_bytes() == before
    converted("wiki", tmp_path, "--force")
    assert not packed.exists()  # it would be added twice


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nq-open", '{"question": "who", "answer": ["a"]}\n{"question": 3}\n', "object 2"),
        ("nq-open", '{"question": "who", "answer": ["a"]}\n{"question', "object 2"),
        ("nq-open", "", "no record that fits"),
        ("wiki", "id,text,title\n", "the columns id, text, title"),
        ("wiki", "id\ttext\ttitle\n1\tonly\n", "line 2"),
        ("wiki", "id\ttext\ttitle\n1\tb\udcffd\tt\n", "not UTF-8"),
        ("mquake", '[{"case_id": 1}]', "single_hops"),
        ("chatdoctor", '[{"input": "a"}]', "'output'"),
        ("chatdoctor", "[1]", "a JSON object"),
    ],
)
def test_wrong_source_writes_nothing_and_is_named(name: str, content: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text(content, encoding="utf-8", errors="surrogateescape")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/questions.jsonl").write_text("earlier")
    done = run(name, source, tmp_path / "out", "--force")
    assert done.exit_code == 4, done.output
    assert said in " ".join(done.output.split())
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["questions.jsonl"]


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    for arguments, said in (
        (("trivia", "a", "b"), "triviaqa"),
        (("wiki",), "psgs_w100.tsv"),
        (("wiki", tmp_path / "absent.tsv", tmp_path / "out"), "There is no file"),
        (("enron", tmp_path / "absent", tmp_path / "out"), "There is no folder"),
        (("movielens", tmp_path, tmp_path / "out"), "ratings.csv"),
        (("wiki", wiki(tmp_path), tmp_path / "no" / "out"), "cannot be written"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2, done.output
        assert said in " ".join(done.output.split())
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(wiki(tmp_path).read_bytes()[:-12])
    damaged = run("wiki", cut, tmp_path / "out")
    assert (damaged.exit_code, "damaged" in damaged.output) == (4, True)
