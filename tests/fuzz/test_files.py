"""Files of strange content: read, or refused by a proper error."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, UsageError
from discreet.export import ExportedVectors
from discreet.files.records import BadRecord
from discreet.query.known_answers import read_questions
from discreet_lab.attacks.extraction import read_prompts
from discreet_lab.attacks.membership import read_suspects
from discreet_lab.attacks.simulation import read_canaries
from tests.files.documents import read_documents
from tests.fuzz.files import FILES
from tests.fuzz.reading import READING
from tests.fuzz.targets import Target, outcome

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


@pytest.mark.parametrize("read", [read_questions, read_canaries, read_suspects, read_prompts])
@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b'{"text": "half \\ud800", "prompt": "\\ud800", "target": "x"}', b"5"]
)
def test_depth_and_halves_of_characters_are_bad_data(read: object, line: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line)
    with pytest.raises(BadData):
        read(tmp_path / "a.jsonl")  # type: ignore[operator]


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
