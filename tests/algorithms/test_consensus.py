"""Consensus: one payment for a whole answer."""

from pathlib import Path

import numpy as np
import pytest

from discreet.algorithms.base import GeneratedAnswer, Query
from discreet.algorithms.text.writing import phrase
from discreet.errors import UnknownName, UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.selection import ObservedSelection
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.private import Change, Relation
from discreet.registry import Consensus, MuRAGAda, make_algorithm
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from tests.accounts import account_over
from tests.indexing import indexer

DELTA = 1e-5
REPLACED = Change(1, Relation.REPLACE)


@pytest.fixture
def corpus(tmp_path: Path) -> SealedCorpus:
    return SealedCorpus(EmbeddedStore(tmp_path, HashingEmbedder.dimension), HashingEmbedder(), b"secret")


def say(corpus: SealedCorpus, *phrases: str, each: int = 40) -> None:
    indexer(corpus).index(
        Document(f"{phrase} {n}", f"{phrase} {n}", f"fever say: {phrase} .") for phrase in phrases for n in range(each)
    )


def answer(
    algorithm: Consensus, corpus: SealedCorpus, model: ToyModel, seed: int = 0
) -> tuple[GeneratedAnswer, PrivacyFilter]:
    ceiling = algorithm.plan(Budget(1.0, DELTA), model.vocabulary_size).ceiling
    privacy = PrivacyFilter(MemoryLedger(ceiling), ceiling, "q", noise=InsecureSeededNoise(seed))
    return algorithm.run(Query("fever"), corpus, model, account_over(privacy)), privacy


# Privacy-spec, part 5: the probability that the top answer with share p of m votes is released, the rest all different.
TABLE = {
    (40, 0.6): (0.000, 0.090, 1.000, 1.000),
    (40, 0.8): (0.002, 0.843, 1.000, 1.000),
    (80, 0.4): (0.002, 0.843, 1.000, 1.000),
    (80, 0.8): (0.874, 1.000, 1.000, 1.000),
    (200, 0.4): (0.997, 1.000, 1.000, 1.000),
}


@pytest.mark.parametrize(("votes", "row"), TABLE.items())
def test_the_table_of_the_specification(votes: tuple[int, float], row: tuple[float, ...]) -> None:
    voters, share = votes
    top = round(share * voters)
    for epsilon, expected in zip((0.5, 1.0, 2.0, 4.0), row, strict=True):
        selection = ObservedSelection.calibrated(epsilon, 1e-6, REPLACED)
        weights = np.array([top, selection.bottom, *[1] * (voters - top)]) / selection.scale
        released = np.exp(weights[0] - np.logaddexp.reduce(weights))
        assert released == pytest.approx(expected, abs=5e-4)


def test_ten_choices_as_in_the_specification() -> None:
    for epsilon, expected in ((0.25, 0.506), (0.5, 0.904), (1.0, 0.999)):
        selection = Consensus(epsilon=epsilon, choices=tuple("abcdefghij"))._stages(epsilon, 0.0, REPLACED)[0]
        # Half of 40 voters for one choice; the others spread over the other nine.
        counts = np.array([20, *[20 / 9] * 9]) / selection.scale
        assert np.exp(counts[0] - np.logaddexp.reduce(counts)) == pytest.approx(expected, abs=0.02)


def test_what_the_voters_agree_on_is_released_in_one_payment(corpus: SealedCorpus) -> None:
    say(corpus, "The disease is Winter Hand")
    draft, privacy = answer(Consensus(voters=40, sentence=False), corpus, ToyModel())
    assert (draft.text, draft.stopped, draft.released) == ("winter hand", "end", ("winter hand",))
    receipt = privacy.receipt()
    assert len(receipt.charges) == 1
    assert receipt.epsilon <= 2.0


def test_sentence_holds_only_the_released_answer(corpus: SealedCorpus) -> None:
    say(corpus, "Winter Hand of Ada Lind", each=20)
    say(corpus, "It is Winter Hand", each=40)
    draft, _ = answer(Consensus(epsilon=4), corpus, ToyModel(default="say nothing"))
    assert draft.text == "Winter hand"  # the toy model writes no sentence with it


@pytest.mark.parametrize("phrases", [[f"word{n}" for n in range(40)], [""] * 1, ["..."]])
def test_public_answer_is_paid_if_voters_do_not_agree(corpus: SealedCorpus, phrases: list[str]) -> None:
    say(corpus, *phrases, each=40 // len(phrases))
    draft, privacy = answer(Consensus(), corpus, ToyModel(default="nobody knows"))
    assert (draft.text, draft.public_text.strip()) == ("", "nobody knows")
    assert (draft.stopped, draft.released) == ("public", ())
    assert len(privacy.receipt().charges) == 1


def test_answer_equal_to_the_public_one_is_marked(corpus: SealedCorpus) -> None:
    """Voters whose documents say nothing to the point all say what the model would say anyway."""
    say(corpus, "The treatment is Zebro", each=40)
    for default, same in (("It is zebro.", True), ("nobody knows", False)):
        draft, privacy = answer(Consensus(), corpus, ToyModel(default=default))
        assert (draft.released, draft.same_without_documents) == (("zebro",), same)
        assert len(privacy.receipt().charges) == 1


def test_voters_without_a_document_do_not_pass_for_agreement(corpus: SealedCorpus, tmp_path: Path) -> None:
    """All of them would write the public answer."""
    say(corpus, "winter hand", each=10)
    model = ToyModel(default="nobody knows")
    draft, _ = answer(Consensus(epsilon=10, delta=DELTA / 2, sentence=False), corpus, model)
    assert (draft.text, draft.stopped) == ("winter hand", "end")  # ten votes, and thirty abstentions
    empty = SealedCorpus(EmbeddedStore(tmp_path / "none", HashingEmbedder.dimension), HashingEmbedder())
    draft, _ = answer(Consensus(epsilon=10), empty, model)
    assert (draft.text, draft.public_text.strip()) == ("", "nobody knows")
    assert (draft.stopped, draft.released) == ("public", ())


def test_a_voter_that_never_stops_is_cut_and_heard(corpus: SealedCorpus) -> None:
    say(corpus, "winter " * 50)
    draft, _ = answer(Consensus(max_tokens=3, sentence=False), corpus, ToyModel())
    assert draft.text == "winter winter winter"


def test_the_fallback_is_paid_only_if_it_runs(corpus: SealedCorpus) -> None:
    algorithm = Consensus(epsilon=30, fallback=("sparse",), private_tokens=2, sentence=False)
    # All say the same two words first, and then each something of its own: no answer, but two tokens.
    say(corpus, *[f"winter hand word{n}" for n in range(40)], each=1)
    draft, privacy = answer(algorithm, corpus, ToyModel())
    assert (draft.text.split(), draft.stopped) == (["winter", "hand"], "budget")
    ran = [charge.mechanism.split()[0] for charge in privacy.receipt().charges]
    assert ran == ["selection", "sparse", "exponential", "sparse", "exponential"]
    assert privacy.receipt().epsilon <= 30
    say(corpus, "summer", each=400)
    draft, privacy = answer(algorithm, corpus, ToyModel())
    assert (draft.text, len(privacy.receipt().charges)) == ("summer", 1)


def test_keywords_are_tried_on_the_same_answers(corpus: SealedCorpus) -> None:
    algorithm = Consensus(epsilon=60, fallback=("keywords", "sparse"), sentence=False)
    say(corpus, *[f"winter hand word{n}" for n in range(40)], each=1)
    draft, privacy = answer(algorithm, corpus, ToyModel())
    assert draft.released == ("hand", "winter")
    ran = [charge.mechanism.split()[0] for charge in privacy.receipt().charges]
    assert (ran[0], len(ran)) == ("selection", 3)  # and no token was voted on
    assert privacy.receipt().epsilon <= 60


def test_choices_are_released_whatever_the_voters_say(corpus: SealedCorpus) -> None:
    say(corpus, "It is Ash Lung")
    for flip in (False, True):
        algorithm = Consensus(epsilon=1, choices=("Ash", "Ash Lung", "Winter Hand"), vote_shares=True, flip=flip)
        draft, privacy = answer(algorithm, corpus, ToyModel())
        assert (draft.text, draft.released) == ("Ash Lung", ("Ash Lung",))
        assert draft.shares is not None
        assert abs(draft.shares["Ash Lung"] - 40) < 40
        receipt = privacy.receipt()
        assert len(receipt.charges) == 2
        assert receipt.epsilon <= 1
    draft, privacy = answer(Consensus(epsilon=1, choices=("yes", "no")), corpus, ToyModel())
    assert draft.text in ("yes", "no")
    assert len(privacy.receipt().charges) == 1


def test_ten_thousand_choices(corpus: SealedCorpus) -> None:
    say(corpus, "code 77")
    draft, _ = answer(Consensus(epsilon=4, choices=tuple(f"code {n}" for n in range(10_000))), corpus, ToyModel())
    assert draft.text == "code 77"
    with pytest.raises(UsageError, match="more than"):
        Consensus(choices=tuple(f"code {n}" for n in range(10_001)))


def test_a_budget_too_small_for_any_answer_says_what_it_takes() -> None:
    with pytest.raises(UsageError, match=r"epsilon 0\.\d+, or \d+ voters") as refused:
        Consensus(epsilon=0.2).plan(Budget(10.0, DELTA), 1000)
    words = str(refused.value).split()
    enough = float(words[-4].rstrip(","))
    Consensus(epsilon=enough).plan(Budget(10.0, DELTA), 1000)
    Consensus(epsilon=0.2, voters=int(words[-2])).plan(Budget(10.0, DELTA), 1000)


@pytest.mark.parametrize(("epsilon", "all_vote"), [(0.7, False), (0.3, True)])
def test_what_it_takes_includes_the_entry(epsilon: float, all_vote: bool) -> None:
    budget = Budget(10.0, DELTA, 0.5 * DELTA)
    with pytest.raises(UsageError, match="It takes epsilon") as refused:
        MuRAGAda(epsilon=epsilon, all_vote=all_vote).plan(budget, 1000)
    assert f"epsilon {epsilon} (" in str(refused.value)
    assert "of it for the vote) and a failure" in str(refused.value)
    enough = float(str(refused.value).split()[-4].rstrip(","))
    MuRAGAda(epsilon=enough, all_vote=all_vote).plan(budget, 1000)


def test_lists_will_do_for_choices(corpus: SealedCorpus) -> None:
    say(corpus, "no")
    made = Consensus(epsilon=4, choices=["yes", "no"])  # type: ignore[arg-type]
    assert answer(made, corpus, ToyModel())[0].text == "no"


def test_answer_without_room_for_a_sentence_is_kept() -> None:
    model = ToyModel()
    model.context_length = 10
    assert phrase(model, "why " * 20, "winter hand", "", 4) == "Winter hand"


@pytest.mark.parametrize(
    "options",
    [
        {"choices": ("a",)},
        {"choices": "yes"},
        {"choices": ("a", "A")},
        {"vote_shares": True},
        {"flip": True},
        {"grounded": True, "choices": ("a", "b"), "unsaid": "b"},
        {"grounded": True, "choices": ("yes", "no")},
        {"fallback": ("sparse", "sparse")},
        {"fallback": ("sparse",), "choices": ("a", "b")},
        {"fallback_share": 1.0},
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        make_algorithm("consensus", options)


def test_an_unknown_fallback_is_named() -> None:
    with pytest.raises(UnknownName, match="sparse"):
        make_algorithm("consensus", {"fallback": ("magic",)})


def test_units_pay_for_consensus_by_themselves(corpus: SealedCorpus) -> None:
    say(corpus, "The disease is Winter Hand", each=80)
    algorithm = MuRAGAda(inner=Consensus(sentence=False), uses=3, epsilon_threshold=0.5, lowest=-1.0)
    privacy = UnitAccount(
        MemoryLedger(Budget(10.0, DELTA, 0.5 * DELTA), simulation=True), "q", noise=InsecureSeededNoise(0)
    )
    draft = algorithm.run(Query("fever"), corpus, ToyModel(), privacy)
    assert draft.released == ("winter hand",)
    assert 2 < privacy.receipt().epsilon < 5
    # Counted in its bin and for the rows, and heard once, however many bins were visited.
    assert privacy.receipt().each == 3
