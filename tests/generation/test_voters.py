"""Voters that write an answer each."""

import pytest

from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.toy import ToyModel
from discreet.generation.voters import VoterBatch
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private, unseal


def test_each_voter_answers_in_a_public_number_of_steps() -> None:
    model = ToyModel(default="nobody knows")
    documents = Private([("say: red .",), ("say: a very long answer indeed .",), ()], REPLACE_ONE)
    voters = VoterBatch(model, "colour ?", documents, max_tokens=3)
    answers, public = voters.answers()
    assert unseal(answers, list) == [" red", " a very long", ""]  # who has no document says nothing
    assert public == " nobody knows"
    # They are where they were.
    assert unseal(voters.votes(), list) == [model.encode(word)[0] for word in ("red", "a", "nobody")]


@pytest.mark.usefixtures("two_threads")
def test_answer_of_a_real_model_does_not_depend_on_other_voters(smollm: TransformersModel) -> None:
    records = ["Ada Lind has numb thumbs. The diagnosis is Winter Hand.", "Bo Kerr has a cough. It is Ash Lung.", ""]
    others = ["No.", "A very long story about nothing at all, told twice. " * 60, "\u2603 <|im_end|> \x00 \u00e9" * 9]

    def written(texts: list[str]) -> tuple[list[str], str]:
        voters = VoterBatch(
            smollm, "What is the disease?", Private([(text,) for text in texts], REPLACE_ONE), max_tokens=12
        )
        answers, public = voters.answers()
        before = unseal(voters.votes(), list)
        voters.append(before[0])
        return [*unseal(answers, list), str(unseal(voters.votes(), list))], public

    found, public = written(records)
    assert "Winter Hand" in found[0]
    assert "Ash Lung" in found[1]
    for place, other in enumerate(others):
        changed, public_then = written([other if row == place else text for row, text in enumerate(records)])
        assert [text for row, text in enumerate(changed[:3]) if row != place] == [
            text for row, text in enumerate(found[:3]) if row != place
        ]
        assert public_then == public
