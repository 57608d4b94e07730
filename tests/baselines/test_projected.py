"""kNN-LM and projection-rag: exact on a toy, whole on the packaged model, refused where they must be."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.errors import UnknownName, UsageError
from discreet.models.protocol import Logits, Prompt, States
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.baselines.datastore import kept
from discreet_lab.baselines.knn_lm import KnnLM
from discreet_lab.baselines.projection_rag import PROTECTIONS, ProjectionRAG
from discreet_lab.projection import Untouched

SIZE = 16


class StatefulToy(ToyModel):
    """Its state is where the last word stands in a circle; it thinks every word equally likely."""

    state_size = 2

    def __init__(self, words: str, name: str = "stateful toy") -> None:
        super().__init__(words.split(), size=SIZE)
        self.name = name

    def hidden_states(self, prompts: Sequence[Prompt]) -> States:
        return state_of(np.array([prompt.tokens for prompt in prompts]))

    def predict(self, states: States) -> Logits:
        return np.zeros((len(states), SIZE), dtype=np.float32)

    def start_with_states(self, prompts: Sequence[Prompt], max_tokens: int) -> "StatefulDecoding":
        return StatefulDecoding(prompts)


class StatefulDecoding(ToyDecoding):
    def __init__(self, prompts: Sequence[Prompt]) -> None:
        super().__init__([[] for _ in prompts], SIZE)
        self.last = np.array([prompt.tokens[-1] for prompt in prompts])

    def states(self) -> States:
        return state_of(self.last)

    def logits(self) -> Logits:
        return np.zeros((len(self.last), SIZE), dtype=np.float32)

    def append_each(self, tokens: Sequence[int]) -> None:
        self.last = np.array(tokens)


def state_of(tokens: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> States:
    turn = 2 * math.pi * tokens / SIZE
    return np.stack([np.cos(turn), np.sin(turn)], axis=-1).astype(np.float32)


TOY = StatefulToy("a b c d e f")
A, B, C, D, E, F = TOY.encode("a b c d e f")
PLAIN = Untouched(2)


@pytest.mark.parametrize(
    "wrong",
    [{"weight": 1.1}, {"weight": -0.1}, {"neighbours": 0}, {"entries": 0}, {"gamma": 0.0}, {"gamma": 2.0}, {"k": 0}],
)
def test_bad_parameters(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        KnnLM(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        KnnLM(protection="prayer")


# -- in a vault -----------------------------------------------------------------------------------------------------

NOTES = [
    Document("1", "Ada", "Ada Lind has Winter Hand and takes warm sand."),
    Document("2", "Bo", "Bo Falk has Glass Knee. The treatment for Glass Knee is steam."),
    Document("3", "Cy", "Cy Brandt has Thunder Heart and wears copper bracelets."),
]


@pytest.fixture
def accepting(tmp_path: Path) -> Vault:
    vault = Vault.create(tmp_path / "claims", epsilon=5, delta=1e-5, embedder="hashing", accept_claims=True)
    vault.add_documents(NOTES)
    return vault


@pytest.mark.parametrize("algorithm", [ProjectionRAG(), KnnLM(), KnnLM(protection="none")], ids=lambda a: a.name)
def test_they_never_run_in_a_vault_that_accepts_no_claims(vault: Vault, algorithm: ProjectionRAG | KnnLM) -> None:
    vault.add_documents(NOTES)
    for not_private in (False, True):
        with pytest.raises(UsageError, match="--accept-claims"):
            vault.ask("What helps?", algorithm, not_private=not_private)
    assert vault.ledger.questions() == []
    assert not (vault.path / "claims").exists()


def test_even_where_claims_are_accepted_a_question_says_so(accepting: Vault) -> None:
    with pytest.raises(UsageError, match="gives no guarantee"):
        accepting.ask("What helps?", ProjectionRAG())


@pytest.mark.parametrize("protection", PROTECTIONS)
def test_projection_rag_reads_what_is_near_and_is_marked(accepting: Vault, protection: str) -> None:
    algorithm = ProjectionRAG(protection=protection, max_tokens=12, prefix="")
    answer = accepting.ask("What is the treatment for Glass Knee?", algorithm, not_private=True)
    receipt = answer.receipt
    assert receipt is not None
    assert not receipt.private
    assert receipt.epsilon == math.inf
    assert ("not a differential privacy guarantee" in receipt.caveat) == (protection != "none")
    kind = receipt.charges[0].cost.describe()["kind"]
    assert kind == ("not private" if protection == "none" else "claim")
    assert accepting.budget().spent == 0
    assert not accepting.ledger.questions()[-1].private
    if protection == "none":
        assert "steam" in answer.text


def test_erasure_removes_every_datastore_and_keeps_matrices(accepting: Vault) -> None:
    folder = accepting.path / "claims"
    datastores = [folder / name for name in ("datastore-none", "datastore-none.part", "simulated/datastore-dp-rp-g-64")]
    for datastore in datastores:
        kept(datastore, ["a b c"], TOY, PLAIN)
    (folder / "matrix-2-1.npy").write_bytes(b"")
    accepting.remove_unit("Cy")
    assert not any(datastore.exists() for datastore in datastores)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["matrix-2-1.npy"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_line_prints_the_caveat(accepting: Vault) -> None:
    asked = ("ask", accepting.path, "Which knee?", "--algorithm", "projection-rag", "--max-tokens", 2)
    assert run(*asked).exit_code == 2
    shown = run(*asked, "--not-private").output
    assert "NOT PRIVATE" in shown
    assert "a claim, not a guarantee" in shown
    told = json.loads(run(*asked, "--not-private", "--protection", "dp-rp-g", "--json").stdout)
    assert told["private"] is False
    assert told["receipt"]["epsilon"] is None
    assert "DP-RP-G" in told["receipt"]["caveat"]
    finer = ("--k", 16, "--gamma", 0.5, "--norm", 1, "--sigma", 0.2)
    assert run(*asked, "--not-private", *finer).exit_code == 0
    assert list((accepting.path / "claims").glob("matrix-*-16.npy"))
    assert "has no parameter 'knn_weight'" in run(*asked, "--not-private", "--weight", 0.2).output
