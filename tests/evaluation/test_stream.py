"""A stream that uses released answers again pays for each question once."""

from pathlib import Path

from discreet.demo.corpus import documents
from discreet.query.known_answers import KnownQuestion
from discreet.registry import Consensus, MuRAG
from discreet.vault import Vault
from discreet_lab.evaluation.stream import Setting, run_stream


def test_a_question_that_comes_back_is_free(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "vault", epsilon=20, delta=1e-5, unit_field="patient", embedder="hashing")
    vault.add_documents(documents(60))
    asked = [KnownQuestion(str(n), "What helps against numb thumbs?", ("steam",)) for n in range(2)]
    algorithm = MuRAG(inner=Consensus(voters=5, max_tokens=16), uses=1, similarity=0.05)
    once, again = run_stream(
        vault, asked, [Setting(algorithm, 200.0, 1e-5), Setting(algorithm, 200.0, 1e-5, reuse=True)]
    )
    assert (once.free, again.free) == (0, 1)
    assert again.texts[0] == again.texts[1]
    assert len(again.precision) == 1
    assert again.setting.label == "murag, M=1, reuse"
