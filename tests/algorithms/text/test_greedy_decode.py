"""Many prompts at once say what each of them says alone."""

from discreet.algorithms.text.writing import write_all
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.toy import ToyModel
from discreet.registry import RAG
from discreet.retrieval.documents import Passage

ASKED = [
    ("What is the treatment for Glass Knee?", "Ada has Glass Knee, to be treated with warm sand."),
    ("Which disease causes cold hands?", "Bo reports cold hands, which is Winter Hand, and a cough."),
    ("What helps against Thunder Heart?", ""),
]


def test_it_answers_as_one_by_one(smollm: TransformersModel) -> None:
    algorithm = RAG(max_tokens=12)
    asked = [(question, [Passage("u", text)]) for question, text in ASKED]
    together = algorithm.read_all(asked, smollm)
    alone = [algorithm.read(question, passages, smollm) for question, passages in asked]
    assert together[:2] == alone[:2]
    assert "warm sand" in together[0].text
    assert [draft.stopped for draft in together] == [draft.stopped for draft in alone]


def test_nothing_and_one_prompt() -> None:
    model = ToyModel()
    assert write_all(model, [], 4) == []
    same = RAG(max_tokens=2).laid_out("a", [], model)
    assert len(write_all(model, [same], 2)) == 1
    first, second = write_all(model, [same, same], 2)
    assert first == second
