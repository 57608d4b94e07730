"""A remembered answer is the answer that would have been given."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.models.loading import load_model
from discreet.models.protocol import Prompt, VotingModel
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import Consensus, DPSparseVoteRAG
from discreet.vault import Vault
from discreet_lab.baselines.without_noise import KSA, VoteRAG
from discreet_lab.evaluation.caching_model import CachingModel


def test_answers_are_the_same_with_and_without_memory(vault: Vault, tmp_path: Path) -> None:
    from discreet.demo.corpus import documents

    vault.add_documents(documents(60))
    plain = load_model()
    remembering = CachingModel(plain)

    def answers(model: VotingModel) -> list[object]:
        return [
            vault.simulate("What helps against numb thumbs?", algorithm, noise=InsecureSeededNoise(seed), model=model)
            for algorithm, seeds in (
                (VoteRAG(voters=5, max_tokens=6), 1),
                (DPSparseVoteRAG(voters=5, epsilon=3.0, private_tokens=3, max_tokens=6), 2),
                (Consensus(voters=5, epsilon=20.0, max_tokens=6), 2),
                (KSA(voters=5, max_tokens=6), 1),
            )
            for seed in range(seeds)
        ]

    def told(found: list[object]) -> list[object]:
        return [(a.text, a.stopped, a.private_tokens, a.receipt.epsilon) for a in found]  # type: ignore[attr-defined]

    assert told(answers(remembering)) == told(answers(plain))


class CountingModel(ToyModel):
    """Counts the rows that it is asked to begin."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[int] = []

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        self.begun.append(len(prompts))
        return super().start(shared, prompts, max_tokens)


def prompts_of(model: ToyModel, *words: str) -> list[Prompt]:
    return [Prompt(tuple(model.encode(f"say: {word} twice")), 0) for word in words]


def test_file_keeps_what_was_said_and_a_run_resumes(tmp_path: Path) -> None:
    file, begun = tmp_path / "tokens", []

    def say(*words: str) -> list[str]:
        toy = CountingModel()
        toy.encode("say: one two twice")  # its words get numbers as they come
        decoding = CachingModel(toy, kept=file).start((), prompts_of(toy, *words), 3)
        toy.begun.clear()  # the public rows of the probe
        said = []
        for _ in range(2):
            said.append(toy.decode(decoding.best().tolist()))
            decoding.append_each(decoding.best().tolist())
        begun.append(list(toy.begun))
        return said

    first = say("one", "two")
    whole = file.read_bytes()
    assert say("one", "two") == first
    assert begun[-1] == []
    assert file.read_bytes() == whole
    file.write_bytes(whole[:-7])  # a crash cut a record off: that token alone is computed again
    assert say("one", "two") == first
    assert begun[-1] == [1]
    assert sorted(file.read_bytes()) == sorted(whole)
    assert file.stat().st_mode & 0o777 == 0o600
    for other in (b"discreet tokens\n" + bytes(16) + whole[32:], b"something else"):
        file.write_bytes(other)
        with pytest.raises(UsageError, match="keeps no tokens of 'toy'"):
            say("one")
        assert file.read_bytes() == other
