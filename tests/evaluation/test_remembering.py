"""A remembered answer is the answer that would have been given."""

from pathlib import Path

from discreet.algorithms import KSA, Consensus, DPSparseVoteRAG, VoteRAG
from discreet.evaluation.remembering import RememberingModel
from discreet.generation.loading import load_model
from discreet.generation.model import LanguageModel, Prompt
from discreet.generation.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.vault import Vault


def test_answers_are_the_same_with_and_without_memory(vault: Vault, tmp_path: Path) -> None:
    from discreet.demo.corpus import documents

    vault.add_documents(documents(60))
    plain = load_model()
    remembering = RememberingModel(plain)

    def answers(model: LanguageModel) -> list[object]:
        return [
            vault.simulate("What helps against numb thumbs?", algorithm, noise=InsecureSeededNoise(seed), model=model)
            for seed in range(3)
            for algorithm in (
                VoteRAG(voters=5, max_tokens=6),
                DPSparseVoteRAG(voters=5, epsilon=3.0, private_tokens=3, max_tokens=6),
                Consensus(voters=5, epsilon=20.0, max_tokens=6),
                KSA(voters=5, max_tokens=6),
            )
        ]

    def told(found: list[object]) -> list[object]:
        return [(a.text, a.stopped, a.private_tokens, a.receipt.epsilon) for a in found]  # type: ignore[attr-defined]

    assert told(answers(remembering)) == told(answers(plain))


def test_the_batches_used_last_are_remembered_as_far_as_they_fit() -> None:
    model = RememberingModel(ToyModel(), rows=5)
    two, three, other = ([Prompt((number,), 0)] * rows for number, rows in ((2, 2), (3, 3), (4, 2)))
    for prompts in (two, three, two, other, [Prompt((5,), 0)] * 9):
        model.start((), prompts, 4)
        kept = [len(known[1]) for known in model._known]
        assert sum(kept) <= 5 or len(kept) == 1
        assert kept[-1] == len(prompts)
    for prompts in (two, three, two, other):
        model.start((), prompts, 4)
    assert [known[1][0].tokens for known in model._known] == [(2,), (4,)]
