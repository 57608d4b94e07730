"""Files of strange content: read, or refused by a proper error."""

import gzip
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, UsageError
from discreet.export.vectors import ExportedVectors
from discreet.query.known_answers import read_questions
from discreet.reading.records import BadRecord
from discreet_lab.attacks.canaries import read_canaries
from discreet_lab.attacks.extraction import read_prompts
from discreet_lab.attacks.membership import read_suspects
from tests.fuzz.files import CANARIES, FILES, NOTES, PROMPTS, QUESTIONS, SUSPECTS
from tests.fuzz.mutations import of_lines, records
from tests.fuzz.reading import READING
from tests.fuzz.targets import Target, outcome
from tests.fuzz.vaults import RUN
from tests.reading.documents import read_documents

MANY = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def bent(target: Target) -> st.SearchStrategy[bytes]:
    """Strange inputs: any bytes, or sound ones bent several times."""

    def several(sound: bytes, times: int, seed: int) -> bytes:
        random = Random(seed)
        for _ in range(times):
            sound = target.mutate(sound, random)
        return sound

    of_sound = st.builds(several, st.sampled_from(target.seeds), st.integers(0, 4), st.integers(0, 2**32))
    return st.one_of(st.binary(max_size=200), *[of_sound] * 4)


@pytest.mark.parametrize("target", [*FILES, *READING], ids=lambda target: target.name)
def test_any_file_is_read_or_refused(target: Target, tmp_path: Path) -> None:
    @MANY
    @given(bent(target))
    @example(b"")
    @example(b"[" * 100_000)
    @example(b"\xff\xfe{}")
    def any_file(data: bytes) -> None:
        outcome(target, tmp_path, data)

    any_file()


@pytest.mark.parametrize("target", [*FILES, *READING], ids=lambda target: target.name)
def test_what_is_sound_is_read(target: Target, tmp_path: Path) -> None:
    for data in target.seeds:
        if target.name not in ("public corpus, kept", "records, a.eml"):  # what is attached is not read
            assert outcome(target, tmp_path, data) == "done"


HALF = {"text": "half \ud800", "question": "half \ud800", "prompt": "half \ud800", "query": "half \ud800"}


@pytest.mark.parametrize("read", [read_questions, read_canaries, read_suspects, read_prompts])
@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b'{"text": "half \\ud800", "prompt": "\\ud800", "target": "x"}', b"5"]
)
def test_depth_and_halves_of_characters_are_bad_data(read: object, line: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line)
    with pytest.raises(BadData):
        read(tmp_path / "a.jsonl")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("read", "sound"),
    [(read_questions, QUESTIONS), (read_canaries, CANARIES), (read_suspects, SUSPECTS), (read_prompts, PROMPTS)],
)
def test_byte_order_mark_within_a_text_is_no_damage(read: object, sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + sound.replace(b'"id"', '"\u2028": "\x85", "id"'.encode()))
    assert len(read(tmp_path / "a.jsonl")) == len(sound.splitlines())  # type: ignore[operator]


@pytest.mark.parametrize("support", ["three", -1, 2.5, [3]])
def test_support_that_is_no_number_of_units_is_named(support: object, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(QUESTIONS + records({"question": "Why?", "answers": ["x"], "support": support}))
    with pytest.raises(BadData, match="line 2"):
        read_questions(path)


@pytest.mark.parametrize("change", [{"secret": "----", "text": "----"}, {"unit": " "}, {"text": ["K-701"]}])
def test_canaries_without_a_secret_or_a_name_are_bad_data(change: dict[str, object], tmp_path: Path) -> None:
    canary = {"unit": "Cy", "secret": "K-701", "text": "K-701", "questions": ["Who?"], "member": True} | change
    (tmp_path / "c.jsonl").write_bytes(CANARIES + records(canary))
    with pytest.raises(BadData, match="canaries"):
        read_canaries(tmp_path / "c.jsonl")


def test_canaries_need_a_secret(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(CANARIES.replace(b'"secret"', b'"secrets"'))
    with pytest.raises(BadData, match="canaries"):
        read_canaries(tmp_path / "c.jsonl")


def test_prompt_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(records({"target": "email", "prompt": {"text": "My address is"}}))
    with pytest.raises(BadData, match="prompts"):
        read_prompts(tmp_path / "p.jsonl")


def test_one_row_that_parquet_cannot_tell_costs_no_other(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    text = pyarrow.array([b"One.", b"\xff\xfe", b"Three."]).view(pyarrow.string())
    moment = pyarrow.array([0, 0, 2**62], pyarrow.int64()).cast(pyarrow.timestamp("us"))
    parquet.write_table(pyarrow.table({"text": text, "id": moment}), tmp_path / "a.parquet")
    found = list(read_documents(tmp_path / "a.parquet"))
    assert [record.where for record in found if isinstance(record, BadRecord)] == ["a.parquet row 2", "a.parquet row 3"]


@pytest.mark.parametrize("name", ["a", "a.jsonl", "a.csv"])
def test_name_that_no_file_can_have_is_wrong_use(name: str) -> None:
    with pytest.raises(UsageError, match="too long"):
        read_documents(Path(name.rjust(300, "x")))
    with pytest.raises(UsageError, match="too long"):
        read_questions(Path(name.rjust(300, "x")))


@pytest.mark.parametrize("file", FILES[-1].seeds)
@pytest.mark.parametrize("size", [0, 4, 200])
def test_vectors_that_were_cut_off_are_bad_data(file: bytes, size: int, tmp_path: Path) -> None:
    (tmp_path / "v.npz").write_bytes(file[:size])
    with pytest.raises(BadData, match="no file of vectors"):
        ExportedVectors.read(tmp_path / "v.npz")


def test_file_with_a_column_whose_name_is_no_utf8_is_named(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": ["a"], "name": ["b"]}), tmp_path / "a.parquet", store_schema=False)
    sound = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(sound.replace(b"name", b"n\xff\xfee"))
    (bad,) = read_documents(tmp_path / "a.parquet")
    assert isinstance(bad, BadRecord)
    assert "Parquet" in bad.reason


def test_mutations_are_the_same_again() -> None:
    assert of_lines(NOTES, Random(3)) == of_lines(NOTES, Random(3))
    assert gzip.decompress(FILES[1].mutate(FILES[1].seeds[0], Random(5)))
    assert RUN
