"""Voters that write an answer each."""

from discreet.models.toy import ToyModel
from discreet.models.voters import VoterBatch
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
