"""Data sets of the papers, from their published files to the forms that `discreet add` and `discreet bench` read.

A recipe is one small function for a format. It yields documents ({"id", "unit", "text"}), then questions ({"id",
"question", "answers", "support", "kind"}; chains of them for MQuAKE) and texts outside the corpus ({"id", "text"}).
A source is read as a stream, once or twice; questions alone are held in memory. What is drawn follows from the text of
each record and the seed, so the order of a file and the machine change nothing.
"""

import csv
import hashlib
import heapq
import json
import os
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes, message_from_string
from email.message import Message
from email.utils import parseaddr
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import BadData, UsageError
from discreet.files.records import DAMAGE, labelled, open_text
from discreet.query.known_answers import matches

DOCUMENTS, QUESTIONS, OUTSIDE = "documents.jsonl", "questions.jsonl", "outside.jsonl"
Item = dict[str, Any]
"""A document, a question or a text outside the corpus, as its line in a file."""
_PIECE = 2**20
"""Characters of JSON that are read at a time."""
csv.field_size_limit(2**31 - 1)  # a mail of Enron has more than the usual 131,072 characters


@dataclass(frozen=True)
class Choice:
    """What is taken from a source.

    Attributes:
        seed: the seed of each draw.
        everything: whether all questions are taken, not those that the paper would choose.
    """

    seed: int = 0
    everything: bool = False

    def rank(self, text: str) -> bytes:
        """Return the rank of a record in a draw: the lowest ones are drawn."""
        return hashlib.blake2b(f"{self.seed} {text}".encode("utf-8", "replace"), digest_size=12).digest()

    def draw(self, items: Iterable[Item], number: int, key: str = "question") -> list[Item]:
        """Return so many items, drawn by their text; of equal texts, the first one."""
        digests: set[bytes] = set()

        def ranked() -> Iterator[tuple[bytes, Item]]:
            for one in items:
                rank = self.rank(str(one[key]))
                if rank not in digests:
                    digests.add(rank)
                    yield rank, one

        return [one for _, one in heapq.nsmallest(number, ranked(), key=itemgetter(0))]


@dataclass(frozen=True)
class Recipe:
    """How a data set is read.

    Attributes:
        source: the published files, in words.
        papers: the papers that use it, and what they choose.
        convert: yields the items of a source.
    """

    source: str
    papers: str
    convert: Callable[[Path, Choice], Iterator[Item]]


# --- reading ----------------------------------------------------------------------------------------------------------


def _wrong(path: Path, where: str, seen: object, expected: str) -> BadData:
    shown = repr(seen)
    return BadData(
        f"{path.name}, {where}: {shown[:80]}{'...' * (len(shown) > 80)} was read, and {expected} was expected. Nothing "
        "was written. Fetch the file again, or see docs/results/datasets.md for the files that each name takes."
    )


def _text(path: Path, encoding: str = "utf-8") -> TextIO:
    if not path.is_file():
        raise UsageError(f"There is no file {path}. docs/results/datasets.md lists the files that each name takes.")
    return open_text(path, encoding, "")


def _lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank."""
    with _text(path, encoding) as file:
        yield from ((number, line.rstrip("\r\n")) for number, line in enumerate(file, 1) if line.strip())


def _objects(path: Path, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the value of each object of a JSON array, of the array under `key`, or of JSON lines.

    An array is parsed object by object: those of DPR's files have gigabytes.
    """
    decoder, held, at, count = json.JSONDecoder(), "", 0, 0
    with _text(path) as file:
        held = file.read(_PIECE)
        if key and (match := re.search(rf'"{key}"\s*:\s*\[', held)):
            at = match.end()
        elif held.lstrip("\ufeff \t\r\n").startswith("["):
            at = held.index("[") + 1
        while True:
            at += len(held[at:]) - len(held[at:].lstrip("\ufeff \t\r\n,")) if at < len(held) else 0
            try:
                if held[at : at + 1] == "]":
                    return
                value, end = decoder.raw_decode(held, at)
            except (ValueError, RecursionError):
                # The object goes on in what was not read yet. Twice as much each time: a long one is parsed few times.
                more = file.read(max(_PIECE, len(held) - at))
                if not more:
                    if held[at:].strip():
                        raise _wrong(path, f"object {count + 1}", held[at : at + 80], "a JSON object") from None
                    return
                held, at = held[at:] + more, 0
                continue
            count, at = count + 1, end
            if not isinstance(value, dict):
                raise _wrong(path, f"object {count}", value, "a JSON object")
            yield f"object {count}", value
            if at > _PIECE:
                held, at = held[at:], 0


def _strings(path: Path, where: str, record: Mapping[str, Any], *names: str) -> list[str]:
    """Return the values of fields that must be texts."""
    for name in names:
        if not isinstance(record.get(name), str):
            raise _wrong(path, where, record, f"a field {name!r} with a text")
    return [record[name] for name in names]


def _question(key: str, text: str, answers: Iterable[str], kind: str, support: int | None = None) -> Item:
    kept = list(dict.fromkeys(answer.strip() for answer in answers if answer and answer.strip()))
    return {"id": key, "question": text.strip(), "answers": kept, "support": support, "kind": kind}


def _table(path: Path, names: tuple[str, ...], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV or TSV file below its heading, which has these names first."""
    with _text(path) as file:
        rows = csv.reader(file, delimiter=delimiter)
        head = next(rows, [])
        if tuple(head[: len(names)]) != names:
            raise _wrong(path, "line 1", head, f"the columns {', '.join(names)}")
        for row in rows:
            if len(row) < len(names):
                raise _wrong(path, f"line {rows.line_num}", row, f"the columns {', '.join(names)}")
            yield rows.line_num, row


# --- questions of general knowledge, and Wikipedia --------------------------------------------------------------------

_BINS = (20, 30, 40, 50)
"""DPVoteRAG samples 25 questions of each class: 20 to 29, 30 to 39, 40 to 49 and 50 to 59 relevant passages."""


def _chosen(questions: Iterable[Item], choice: Choice) -> Iterator[Item]:
    """Yield 25 questions of each class by passages; without counts of passages, 100 with answers (DP-KSA)."""
    with_answers = [one for one in questions if one["answers"]]
    if choice.everything:
        yield from with_answers
    elif any(one["support"] is not None for one in with_answers):
        for low in _BINS:
            yield from choice.draw([one for one in with_answers if low <= (one["support"] or 0) < low + 10], 25)
    else:
        yield from choice.draw(with_answers, 100)


def _knowledge(path: Path, name: str) -> Iterator[Item]:
    """Yield the questions of DPR's files, with positive or with retrieved passages, or of the originals."""
    for where, record in _objects(path, "Data"):
        key = f"{name}-{where.partition(' ')[2]}"
        if "Question" in record:  # TriviaQA
            answer = record.get("Answer") or {}
            said = [answer.get("Value", ""), *answer.get("Aliases", ())]
            text = _strings(path, where, record, "Question")[0]
            yield _question(str(record.get("QuestionId", key)), text, said, "general-knowledge")
            continue
        text = _strings(path, where, record, "question")[0]
        given = record.get("answers", record.get("answer", []))
        if not isinstance(given, list):
            raise _wrong(path, where, record, "a list of answers")
        support = None
        if "positive_ctxs" in record:
            support = len(record["positive_ctxs"])
        elif "ctxs" in record:
            support = sum(bool(one.get("has_answer", one.get("hasanswer"))) for one in record["ctxs"])
        yield _question(key, text, given, "general-knowledge", support)


def _passages(path: Path, _: Choice) -> Iterator[Item]:
    for _line, (key, text, title, *_rest) in _table(path, ("id", "text", "title"), "\t"):
        yield {"id": f"wiki-{key}", "unit": f"passage-{key}", "text": f"{title}\n{text}"}


def _mquake(path: Path, choice: Choice) -> Iterator[Item]:
    """Yield 100 chains of four questions: MuRAG has 100 sequences and 400 questions."""
    chains = []
    for where, record in _objects(path):
        hops, key = record.get("single_hops"), f"mquake-{record.get('case_id', where)}"
        if not isinstance(hops, list):
            raise _wrong(path, where, record, "a list of 'single_hops'")
        chosen = []
        for number, hop in enumerate(hops):
            question, answer = _strings(path, where, hop, "question", "answer")
            one = _question(f"{key}-{number}", question, [answer, *hop.get("answer_alias", ())], "chain")
            chosen.append({"id": one["id"], "question": one["question"], "answers": one["answers"], "hops": 1})
        if choice.everything or len(chosen) == 4:
            chains.append({"id": key, "support": None, "questions": chosen})
    yield from chains if choice.everything else choice.draw(chains, 100, "id")


def _searchqa(path: Path, choice: Choice) -> Iterator[Item]:
    """Yield questions with 20 or more snippets that have the answer, and their first 50 snippets, each a unit.

    Files of 40 snippets or fewer are left out, as in SearchQA itself. DP-SynRAG's figures fit 102 questions; how they
    were chosen is not in the text at hand.
    """

    def fitting() -> Iterator[Item]:
        for key, question, answer, snippets in _jeopardy(path):
            support = sum(matches(snippet, [answer]) for snippet in snippets[:50])
            if choice.everything or (len(snippets) > 40 and support >= _BINS[0]):
                yield _question(key, question, [answer], "general-knowledge", support)

    chosen = list(fitting()) if choice.everything else choice.draw(fitting(), 102)
    kept = {one["id"] for one in chosen}
    for key, _, _, snippets in _jeopardy(path):
        for number, snippet in enumerate(snippets[:50] if key in kept else ()):
            yield {"id": f"{key}-{number}", "unit": f"{key}-{number}", "text": snippet}
    yield from chosen


def _jeopardy(path: Path) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield key, question, answer and snippets of the JSON file of each question."""
    for name, content in _files(path, ".json"):
        try:
            record = json.loads(content)
        except (ValueError, RecursionError):
            raise _wrong(path, name, content[:80], "a JSON object") from None
        question, answer = _strings(path, name, record, "question", "answer")
        snippets = [one.get("snippet") or "" for one in record.get("search_results", ())]
        yield f"searchqa-{Path(name).stem}", question, answer, [one.strip() for one in snippets if one.strip()]


def _files(path: Path, suffix: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of a folder, in the order of their names."""
    if not path.is_dir():
        raise UsageError(f"There is no folder {path}. docs/results/datasets.md lists the files that each name takes.")
    for folder, below, names in os.walk(path):
        below.sort()
        for file in (Path(folder) / name for name in sorted(names) if name.endswith(suffix)):
            yield file.relative_to(path).as_posix(), file.read_bytes()


# --- people -----------------------------------------------------------------------------------------------------------


def _chatdoctor(path: Path, choice: Choice) -> Iterator[Item]:
    """Yield all dialogues but those of 100 drawn questions, which are asked, and are in no document."""

    def dialogues() -> Iterator[Item]:
        for number, (where, record) in enumerate(_objects(path)):
            said = "answer_icliniq" if "answer_icliniq" in record else "output"
            patient, doctor = _strings(path, where, record, "input", said)
            if patient.strip() and doctor.strip():
                yield {"id": f"chatdoctor-{number:06}", "question": patient.strip(), "answer": doctor.strip()}

    chosen = choice.draw(dialogues(), 100)
    held_out = {one["question"] for one in chosen}
    for one in dialogues():
        text = f"Patient's description: {one['question']} ### Doctor's answer: {one['answer']}"
        if one["question"] not in held_out:
            yield {"id": one["id"], "unit": one["id"], "text": text}
    for one in chosen:
        yield _question(one["id"], one["question"], [one["answer"]], "reference")
    for one in chosen:
        yield {"id": one["id"], "query": one["question"], "reference": one["answer"]}


def _enron(path: Path, _: Choice) -> Iterator[Item]:
    """Yield each mail once for its sender, who is the unit; of a mail without a sender, the owner of the mailbox."""
    digests: set[bytes] = set()
    for name, mail in _mails(path):
        sender = parseaddr(str(mail.get("From", "")))[1].lower()
        owner = name.removeprefix("maildir/").partition("/")[0]
        text = f"Subject: {mail.get('Subject', '')}\n{_body(mail)}".strip()
        key = hashlib.blake2b(f"{sender}\0{text}".encode("utf-8", "replace"), digest_size=12).digest()
        if key not in digests:  # a mail lies in the mailboxes of all who have it
            digests.add(key)
            yield {"id": name, "unit": sender or owner, "text": text}


def _mails(path: Path) -> Iterator[tuple[str, Message]]:
    if path.is_file():
        for _, (name, content, *_rest) in _table(path, ("file", "message"), ","):
            yield name, message_from_string(content)
    else:
        for name, data in _files(path):
            yield name, message_from_bytes(data)


def _body(mail: Message) -> str:
    parts = [one for one in mail.walk() if one.get_content_type() == "text/plain"]
    lines = []
    for one in parts:
        data = one.get_payload(decode=True)
        named = labelled(str(one.get_content_charset() or "")) or "cp1252"
        lines.append(data.decode(named, "replace") if isinstance(data, bytes) else "")
    return "\n".join(lines).replace("\r\n", "\n")


_FILMS = {
    "ratings.csv": ("movies.csv", ",", "utf-8"),
    "ratings.dat": ("movies.dat", "::", "latin-1"),
    "u.data": ("u.item", "\t", "latin-1"),
}
_LOVED, _NAMED, _TOP = 4.0, 30, 60
"""The lowest rating of a loved film, the most films of a document, and the films of which pairs are asked."""


def _movielens(path: Path, choice: Choice) -> Iterator[Item]:
    """Yield the films that each viewer loves, the best known ones, and 500 questions on viewers who love two films.

    The text at hand does not say how DP-SynRAG made its documents and questions; its costs fit 500. An answer is loved
    by 40 percent of those who love both films, and 1.8 times as often as by all. Twenty viewers or more love both.
    """
    ratings = next((name for name in _FILMS if (path / name).is_file()), None)
    if ratings is None:
        raise UsageError(f"{path} is no folder of MovieLens: it has none of {', '.join(_FILMS)}.")
    films, delimiter, encoding = _FILMS[ratings]
    loved: dict[str, array[int]] = defaultdict(lambda: array("l"))
    for number, line in _lines(path / ratings):
        cells = line.split(delimiter)
        if number == 1 and cells[0] == "userId":
            continue
        try:
            if float(cells[2]) >= _LOVED:
                loved[cells[0]].append(int(cells[1]))
        except (IndexError, ValueError):
            raise _wrong(path / ratings, f"line {number}", line, "viewer, film, rating and time") from None
    popularity = Counter(film for own in loved.values() for film in own)
    titles = _titles(path / films, encoding, set(popularity))
    lists = {who: sorted(own, key=lambda film: (-popularity[film], film))[:_NAMED] for who, own in loved.items()}
    for who, own in lists.items():
        text = "Films this viewer loves: " + "; ".join(titles.get(film, f"film {film}") for film in own) + "."
        yield {"id": f"movielens-{who}", "unit": f"user-{who}", "text": text}
    film_questions = _film_questions([set(own) for own in lists.values()], titles)
    yield from film_questions if choice.everything else choice.draw(film_questions, 500)


def _film_questions(lists: list[set[int]], titles: Mapping[int, str]) -> Iterator[Item]:
    named = Counter(film for own in lists for film in own)
    top = {film for film, _ in sorted(named.items(), key=lambda one: (-one[1], one[0]))[:_TOP]}
    together: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for own in lists:
        for pair in combinations(sorted(own & top), 2):
            together[pair].update(own)
    number = 0
    for (one, other), counts in sorted(together.items()):
        both = counts[one]
        ratios = {
            film: times / both / (named[film] / len(lists)) for film, times in counts.items() if times >= 0.4 * both
        }
        best = sorted((film for film in ratios if film not in (one, other)), key=lambda film: (-ratios[film], film))
        answers = [titles[film] for film in best if ratios[film] >= 1.8 and film in titles][:3]
        if both >= _BINS[0] and answers and {one, other} <= set(titles):
            text = f"A viewer loves {titles[one]} and {titles[other]}. Which other film do such viewers love?"
            yield _question(f"movielens-q-{number:04}", text, answers, "co-liked", both)
            number += 1


def _titles(path: Path, encoding: str, wanted: set[int]) -> dict[int, str]:
    """Return the titles without year and other names, "Matrix, The" as "The Matrix"."""
    rows: Iterable[list[str]]
    if path.suffix == ".csv":
        rows = (row for _, row in _table(path, ("movieId", "title"), ","))
    else:
        rows = (line.split("::" if path.suffix == ".dat" else "|") for _, line in _lines(path, encoding))
    titles = {}
    for row in rows:
        if len(row) < 2 or not row[0].isdecimal():
            raise _wrong(path, "a line", row, "the number and the title of a film")
        if int(row[0]) in wanted:
            title = re.sub(r"\s*\([^)]*\)", "", row[1]).strip()
            titles[int(row[0])] = re.sub(r"^(.*), (The|A|An|La|Le|Les|Il|El|Das|Der|Die)$", r"\2 \1", title)
    return titles


def _medical_synth(path: Path, choice: Choice) -> Iterator[Item]:
    """Yield each patient's request and doctor's response, and the question of 1,000 patients: DP-SynRAG's costs fit it.

    A question has the symptoms of the patient's disease, so patients with one disease ask the same. Of `everything`,
    each disease is asked for once.
    """
    tables = {}
    for name in ("patients", "patient_requests", "doctor_responses", "patient_diseases", "symptoms"):
        with _text(path / f"{name}.json") as file:
            try:
                tables[name] = json.load(file)
            except (ValueError, RecursionError):
                raise _wrong(path / f"{name}.json", "the file", "no JSON", "JSON") from None
    sick = tables["patient_diseases"]
    try:
        support = Counter(sick[patient] for patient in tables["patients"])
        for number, patient in enumerate(tables["patients"]):
            said = [tables[name][patient].strip() for name in ("patient_requests", "doctor_responses")]
            yield {"id": f"medical-{number:05}", "unit": patient, "text": " Doctor: ".join(said)}
        patients = [{"id": name, "disease": sick[name]} for name in tables["patients"]]
        diseases = [{"id": disease, "disease": disease} for disease in sorted(support)]
        for number, one in enumerate(diseases if choice.everything else choice.draw(patients, 1000, "id")):
            symptoms, disease = ", ".join(tables["symptoms"][one["disease"]]), one["disease"]
            text = f"I am experiencing the following symptoms: {symptoms}. What is my disease?"
            yield _question(f"medical-q-{number:03}", text, [disease], "symptoms-to-disease", support[disease])
    except (KeyError, TypeError, AttributeError) as error:
        raise _wrong(path, "the folder", str(error), "each patient and disease in every file") from None


def _questions(name: str) -> Callable[[Path, Choice], Iterator[Item]]:
    return lambda path, choice: _chosen(_knowledge(path, name), choice)


_DPR = "or DPR's biencoder-{0}-dev.json, whose positive passages are counted"
_KNOWN = "DPVoteRAG, MuRAG: 25 questions of each of 20-29, 30-39, 40-49, 50-59 passages; DP-KSA: 100 with answers"
RECIPES = {
    "nq-open": Recipe(f"NQ-open.dev.jsonl, {_DPR.format('nq')}", _KNOWN, _questions("nq")),
    "triviaqa": Recipe(f"unfiltered-web-dev.json, {_DPR.format('trivia')}", _KNOWN, _questions("trivia")),
    "wiki": Recipe("psgs_w100.tsv", "DPVoteRAG, DP-KSA, MuRAG: each passage is a unit", _passages),
    "chatdoctor": Recipe(
        "HealthCareMagic-100k.json, chatdoctor5k.json, iCliniq.json",
        "DPVoteRAG, MuRAG: 100 questions with references, the other dialogues are the corpus",
        _chatdoctor,
    ),
    "enron": Recipe("the folder maildir, or emails.csv", "random projection: each sender is a unit", _enron),
    "mquake": Recipe("MQuAKE-CF-3k.json", "MuRAG: 100 chains of four questions, over the corpus wiki", _mquake),
    "movielens": Recipe(
        "a folder with ratings.csv, ratings.dat or u.data", "DP-SynRAG: lists of viewers, 500 questions", _movielens
    ),
    "searchqa": Recipe("a folder with a JSON file for each question", "DP-SynRAG: 102 questions", _searchqa),
    "medical-synth": Recipe(
        "the folder cache of sarus-tech/dp-rag", "DP-SynRAG, DP-RAG: 1,000 patients ask", _medical_synth
    ),
}
"""The data sets by name."""


def file_of(item: Item) -> str:
    """Return the name of the file that an item belongs to."""
    if "question" in item or "questions" in item:
        return QUESTIONS
    return DOCUMENTS if "unit" in item else OUTSIDE


def read_dataset(name: str, source: Path, choice: Choice) -> Iterator[Item]:
    """Yield the items of a data set.

    Raises:
        UsageError: if the source is missing.
        BadData: if a record has another form than the published files; the error names its place.
    """
    try:
        yield from RECIPES[name].convert(source.expanduser(), choice)
    except (*DAMAGE, csv.Error) as error:
        raise BadData(
            f"{source} is damaged ({type(error).__name__}). Nothing was written. Fetch the file again."
        ) from error
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.") from error
    except (TypeError, ValueError, AttributeError, KeyError) as error:  # a field of another type, deep in a record
        raise BadData(
            f"{source} has a record of another form ({error}). '{name}' takes {RECIPES[name].source}. Nothing was "
            "written. Fetch the file again."
        ) from error
