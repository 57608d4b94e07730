"""DP-KSA and KSA: keywords, split of the budget, answers with a toy model, exact laws, and the packaged model."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from discreet.algorithms.base import Algorithm, GeneratedAnswer, Query
from discreet.algorithms.dp_ksa import choice_share
from discreet.algorithms.ensemble import calibrate_to_epsilon
from discreet.algorithms.text.normalize import STOP_WORDS, keywords
from discreet.errors import UsageError
from discreet.models.loading import load_model
from discreet.models.prompts import layout
from discreet.models.protocol import Prompt, VotingModel
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Together
from discreet.privacy.filter import MemoryLedger, NotPrivateFilter, PrivacyFilter
from discreet.privacy.mechanisms.selection import GapChoice, StableSet, pass_probability
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.partition import REPLACE_ONE
from discreet.registry import DPKSA, MuRAGAda, make_algorithm
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from discreet_lab.baselines.without_noise import KSA
from tests.accounts import account_over
from tests.exact import paths
from tests.indexing import indexer, read_once

DELTA = 1e-5
VOCABULARY = 1000


# -- keywords --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("The treatment is Zibber Drops.", "treatment zibber drops"),
        ("zibber DROPS, the treatment!", "treatment zibber drops"),
        ("drops drops drops", "drops"),
        ("Ada's thumb, and o'neil's; dogs' 'tails'", "ada thumb o'neil dogs tails"),
        ("Ada\u2019s thumb", "ada thumb"),
        ("It was 3.5 mg, 10,000 units at 12:30 on 4/5.", "3.5 mg 10,000 units 12:30 4/5"),
        ("blue-lips.Then 7,then 8", "blue lips 7 8"),
        ("ﬁbre Ａｄａ Straße STRASSE x²", "fibre ada strasse x2"),
        ("cafe\u0301 caf\u00e9", "café"),
        ("zib\u00adber zib\u200bber", "zibber"),
        ("Лихорадка, हिन्दी", "лихорадка हिन्दी"),
        ("one half is ½", "half 1/2"),
        ("to be or not to be", ""),
        ("  .,:/' -- \x00\n\u2603", ""),
        ("", ""),
    ],
)
def test_keywords_of_an_answer(answer: str, words: str) -> None:
    assert keywords(answer) == set(words.split())


def test_keywords_are_in_their_own_form_already() -> None:
    """Reading released words again, as words of an answer, changes nothing."""
    found = keywords("Ada's ﬁbre-optic Straße cost 10,000.50 at 12:30; o'neil said: 'ÇA VA?' \u0130stanbul \ufb03")
    assert keywords(" ".join(sorted(found))) == found
    assert not found & STOP_WORDS
    assert all(word == word.casefold() for word in STOP_WORDS)


# -- the split of a round --------------------------------------------------------------------------------------------


def chance(gap: int, choice: GapChoice, test: StableSet) -> float:
    """That the one number of words with this gap is chosen, when all others have gap 0, and passes."""
    others = choice.most - choice.least
    chosen = 1 / (1 + others * math.exp(-gap / choice.scale))
    return chosen * pass_probability(gap, test.sigma, test.delta)


def gap_needed(algorithm: DPKSA) -> int:
    """The smallest gap that is chosen and passes with probability 1/2, for a question with delta 1e-4 of its own."""
    rounds = calibrate_to_epsilon(algorithm, 1e-4, VOCABULARY)
    choice, test = algorithm.mechanisms(rounds.epsilon, rounds.delta, REPLACE_ONE, VOCABULARY)
    return next(gap for gap in range(1000) if chance(gap, choice, test) >= 0.5)


@pytest.mark.parametrize(
    ("epsilon", "ours", "specified"), [(1, 43, 69), (2, 24, 37), (3, 17, 26), (5, 12, 17), (8, 9, 12)]
)
def test_the_split_asks_for_a_smaller_gap_than_one_tenth_does(
    epsilon: float, ours: int, specified: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta 1e-4, as in privacy-spec, part 4; the figures of docs/algorithms.md."""
    algorithm = DPKSA(epsilon=epsilon, delta=1e-4)
    needed = {}
    for share in (choice_share(20, 5e-5), 0.1):
        calibrate_to_epsilon.cache_clear()
        monkeypatch.setattr("discreet.algorithms.dp_ksa.choice_share", lambda _choices, _delta, share=share: share)
        needed[share] = gap_needed(algorithm)
    calibrate_to_epsilon.cache_clear()
    assert needed == {0.39: ours, 0.1: specified}


def test_choice_share_is_nearly_optimal_for_each_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    for epsilon in (1.0, 8.0):
        needed = []
        for share in (None, *(n / 20 for n in range(1, 20))):
            calibrate_to_epsilon.cache_clear()
            if share is not None:
                monkeypatch.setattr("discreet.algorithms.dp_ksa.choice_share", lambda _c, _d, share=share: share)
            needed.append(gap_needed(DPKSA(epsilon=epsilon, delta=1e-4)))
            monkeypatch.undo()
        assert needed[0] <= min(needed) + 1
    calibrate_to_epsilon.cache_clear()


def test_more_epsilon_never_costs_less() -> None:
    algorithm, before = DPKSA(), None
    for step in range(200):
        mechanisms = algorithm.mechanisms(0.01 * 1.04**step, 1e-6, REPLACE_ONE, VOCABULARY)
        curve = Together(tuple(mechanism.cost(REPLACE_ONE) for mechanism in mechanisms)).curve
        assert before is None or (curve >= before).all()
        before = curve


@pytest.mark.parametrize("delta", [None, 1e-4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 50.0])
def test_the_whole_budget_of_a_question_is_used(epsilon: float, delta: float | None) -> None:
    algorithm = DPKSA(epsilon=epsilon, delta=delta)
    plan = algorithm.plan(Budget(100.0, DELTA), VOCABULARY)
    assert plan.rounds == 1
    assert plan.ceiling.admits(plan.max_cost)
    assert plan.ceiling.spent(plan.max_cost) == pytest.approx(epsilon, rel=1e-3)
    assert plan.ceiling.failures == pytest.approx(0.5 * 1e-4 if delta else 0.01 * DELTA)
    assert plan.max_cost.delta <= plan.ceiling.failures


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path: Path) -> SealedCorpus:
    return SealedCorpus(EmbeddedStore(tmp_path, HashingEmbedder.dimension), HashingEmbedder())


def say(corpus: SealedCorpus, *phrases: str, each: int = 30) -> None:
    indexer(corpus).index(
        Document(f"{phrase} {n}", f"{phrase} {n}", f"fever say: {phrase} .") for phrase in phrases for n in range(each)
    )


class Heard(ToyModel):
    """Answers the public prompt with the words of its record, or with `said`; remembers what it read last."""

    def __init__(self, said: str = "") -> None:
        super().__init__(default="who knows")
        self.said, self.read = said, ""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        self.read = self.decode([*shared, *prompts[0].tokens])
        return super().start(shared, prompts, max_tokens)

    def _wish(self, prompt: Prompt) -> list[int]:
        record = [self._words[token] for token in prompt.tokens[prompt.padding :]]
        record = record[: record.index("Question:")] if "Question:" in record else record
        if record[:1] == ["Keywords:"]:
            return self.encode(self.said or "heard " + " ".join(record[1:]))
        return super()._wish(prompt) if "say:" in record or not record else self.encode("heard " + " ".join(record))


class Endless(Heard):
    """Never ends: says `on` for ever, after the words of its record."""

    def start(self, shared: object, prompts: object, max_tokens: int) -> ToyDecoding:
        decoding = super().start(shared, prompts, max_tokens)  # type: ignore[arg-type]
        decoding._wishes = [wish + self.encode("on") * max_tokens for wish in decoding._wishes]
        return decoding


def answer(
    algorithm: Algorithm,
    corpus: SealedCorpus,
    model: VotingModel,
    noise: Noise | None = None,
    question: str = "fever",
    public: str = "",
) -> tuple[GeneratedAnswer, PrivacyFilter]:
    plan = algorithm.plan(Budget(1.0, DELTA), model.vocabulary_size)
    ceiling = plan.ceiling if plan else Budget(1.0, DELTA)
    kind = PrivacyFilter if algorithm.spec.private else NotPrivateFilter
    privacy = kind(MemoryLedger(ceiling), ceiling, "q", noise=noise or InsecureSeededNoise(0))
    return algorithm.run(Query(question, public), corpus, model, account_over(privacy)), privacy


def paid(privacy: PrivacyFilter) -> list[str]:
    return [charge.mechanism.split(",")[0] for charge in privacy.receipt().charges]


def test_common_words_are_released_and_used_in_the_answer(
    corpus: SealedCorpus,
) -> None:
    say(corpus, "it is the Winter Hand", each=30)
    draft, privacy = answer(DPKSA(voters=30, epsilon=8), corpus, Heard())
    assert draft.released == ("hand", "winter")
    assert draft.text.split() == ["heard", "hand,", "winter"]
    assert (draft.stopped, draft.tokens, draft.private_tokens) == ("end", 3, 0)
    assert paid(privacy) == ["number of words", "set of the 2 most frequent"]
    assert 0 < privacy.receipt().epsilon <= 8
    assert privacy.receipt().delta == DELTA


def test_voters_with_other_wordings_agree_on_keywords(corpus: SealedCorpus) -> None:
    say(corpus, "the disease is Winter Hand", "Winter Hand", "likely winter hand !", each=14)
    draft, _ = answer(DPKSA(voters=42, epsilon=10), corpus, Heard())
    assert draft.released == ("hand", "winter")


@pytest.mark.parametrize(
    "phrases",
    [[f"word{n} other{n}" for n in range(30)], [". ."], ["the of and"]],
    ids=["all different", "empty", "stop"],
)
def test_both_mechanisms_are_paid_if_voters_do_not_agree(corpus: SealedCorpus, phrases: list[str]) -> None:
    say(corpus, *phrases, each=30 // len(phrases))
    for seed in range(5):
        draft, privacy = answer(
            DPKSA(voters=30, epsilon=8, prefix="well"), corpus, Heard(), noise=InsecureSeededNoise(seed)
        )
        assert (draft.text, draft.public_text, draft.stopped, draft.tokens) == ("", "well who knows", "public", 2)
        assert draft.released == ()
        assert paid(privacy)[0] == "number of words"
        assert paid(privacy)[1].startswith("set of the")


def test_a_single_voice_is_not_heard(corpus: SealedCorpus) -> None:
    say(corpus, "nothing here", each=29)
    say(corpus, "Ada Lind", each=1)
    for seed in range(20):
        draft, _ = answer(DPKSA(voters=30, epsilon=10), corpus, Heard(), noise=InsecureSeededNoise(seed))
        assert not {"ada", "lind"} & set(draft.released)


def test_voters_without_documents_pay_and_have_no_keywords(corpus: SealedCorpus) -> None:
    draft, privacy = answer(DPKSA(voters=30, epsilon=8), corpus, Heard())
    assert (draft.public_text.split(), draft.stopped, draft.released) == (["who", "knows"], "public", ())
    assert len(paid(privacy)) == 2


def test_voters_that_never_end_are_cut(corpus: SealedCorpus) -> None:
    say(corpus, "Winter Hand", each=30)
    draft, _ = answer(DPKSA(voters=30, epsilon=8, max_tokens=5), corpus, Endless())
    assert draft.released == ("hand", "winter")
    assert (draft.stopped, draft.tokens) == ("length", 5)


def test_words_of_question_and_prefix_count_only_on_request(corpus: SealedCorpus) -> None:
    say(corpus, "Winter Hand", each=30)
    ask = {"corpus": corpus, "model": Heard(), "question": "fever : winter or summer ?"}
    assert answer(DPKSA(voters=30, epsilon=8), **ask)[0].released == ("hand",)  # type: ignore[arg-type]
    assert answer(DPKSA(voters=30, epsilon=8, prefix="my hand"), **ask)[0].released == ()  # type: ignore[arg-type]
    both = DPKSA(voters=30, epsilon=8, question_words=True)
    assert answer(both, **ask)[0].released == ("hand", "winter")  # type: ignore[arg-type]
    assert answer(KSA(voters=30), **ask)[0].released == ("hand",)  # type: ignore[arg-type]


def test_a_fixed_number_of_words_is_a_range(corpus: SealedCorpus) -> None:
    say(corpus, "a1 a2 a3 a4 a5", each=30)
    draft, _ = answer(DPKSA(voters=30, epsilon=20, fewest_keywords=4, most_keywords=6), corpus, Heard())
    assert draft.released == ("a1", "a2", "a3", "a4", "a5")


def test_ksa_releases_without_noise_and_promises_nothing(corpus: SealedCorpus) -> None:
    say(corpus, "Winter Hand", each=3)
    draft, privacy = answer(KSA(voters=3), corpus, Heard())
    assert draft.released == ("hand", "winter")
    assert not privacy.receipt().private
    assert privacy.receipt().describe()["epsilon"] is None


def test_ksa_with_nothing_to_say_says_what_the_public_model_does(corpus: SealedCorpus) -> None:
    say(corpus, ".", each=3)
    draft, _ = answer(KSA(voters=3), corpus, Heard())
    assert (draft.text.split(), draft.released) == (["who", "knows"], ())


def test_unpayable_release_gives_the_free_public_answer(corpus: SealedCorpus) -> None:
    say(corpus, "Winter Hand", each=30)
    algorithm, model = DPKSA(voters=30, epsilon=8), Heard()
    ceiling = algorithm.plan(Budget(1.0, DELTA), model.vocabulary_size).ceiling
    ledger = MemoryLedger(Budget(1.0, DELTA, ceiling.failures))
    privacy = PrivacyFilter(ledger, ceiling, "q", noise=InsecureSeededNoise(0))
    draft = algorithm.run(Query("fever"), corpus, model, account_over(privacy))
    assert (draft.public_text.split(), draft.stopped, draft.released) == (["who", "knows"], "public", ())
    assert paid(privacy) == []


def test_what_was_released_before_stands_beside_the_keywords(corpus: SealedCorpus) -> None:
    say(corpus, "Winter Hand", each=30)
    draft, _ = answer(DPKSA(voters=30, epsilon=8), corpus, Heard(), public="known before")
    assert draft.text.split() == ["heard", "hand,", "winter", "known", "before"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("it is the Winter Hand .", "it is the Winter Hand ."),
        ("it is a Hand .", "it is a Hand . (hand, winter)"),
        ("it is Summer Foot .", "hand, winter"),
    ],
    ids=["none is lacking", "one is lacking", "all are lacking"],
)
@pytest.mark.parametrize("algorithm", [DPKSA(voters=30, epsilon=8), KSA(voters=30)], ids=["dp-ksa", "ksa"])
def test_released_words_that_the_sentence_lacks_are_shown(
    corpus: SealedCorpus, algorithm: Algorithm, said: str, shown: str
) -> None:
    say(corpus, "Winter Hand", each=30)
    model = Heard(said)
    draft, _ = answer(algorithm, corpus, model)
    assert " ".join(draft.text.split()) == shown
    assert draft.released == ("hand", "winter")
    assert (draft.stopped, draft.tokens) == ("end", len(model.encode(shown)))


def test_final_prompt_is_the_same_for_equal_released_words(tmp_path: Path) -> None:
    """It is a function of the public question and of the released words."""
    read = []
    for number, phrases in enumerate([["Winter Hand", "Winter Hand of Ada Lind"], ["the hand of winter ?"]]):
        corpus = SealedCorpus(EmbeddedStore(tmp_path / f"{number}", HashingEmbedder.dimension), HashingEmbedder())
        say(corpus, *phrases[:1], each=29)
        say(corpus, *phrases[1:], each=1)
        model = Heard()
        draft, _ = answer(DPKSA(voters=30, epsilon=8), corpus, model)
        assert draft.released == ("hand", "winter")
        read.append(model.read)
    assert read[0] == read[1]
    assert "Record: Keywords: hand, winter Question: fever" in " ".join(read[0].split())
    assert not {"ada", "lind"} & keywords(read[0])


def test_prompt_with_keywords_fits_where_the_voters_do() -> None:
    """Else an answer that is paid could be refused."""
    model, ask = load_model(), {"question": "What is it?", "max_tokens": 8}
    with_keywords, with_record = (layout(model, keywords=told, **ask) for told in (True, False))  # type: ignore[arg-type]
    assert len(with_keywords.shared + with_keywords.tail) < len(with_record.shared + with_record.tail)


def test_units_can_pay_for_keywords(tmp_path: Path) -> None:
    corpus = SealedCorpus(EmbeddedStore(tmp_path, HashingEmbedder.dimension), HashingEmbedder(), b"s" * 32)
    say(corpus, "Winter Hand", each=40)
    algorithm = make_algorithm(
        "murag-ada", {"inner": "dp-ksa", "voters": 30, "most_keywords": 5, "bins": 4, "lowest": 0}
    )
    assert isinstance(algorithm, MuRAGAda)
    assert algorithm.inner == DPKSA(voters=30, most_keywords=5)
    ledger = MemoryLedger(Budget(12.0, DELTA, DELTA / 2))
    privacy = UnitAccount(ledger, "q", noise=InsecureSeededNoise(1))
    draft = algorithm.run(Query("fever"), corpus, Heard(), privacy)
    privacy.settle()
    assert draft.released == ("hand", "winter")
    assert [count for _, count in ledger.unit_balances()] == [40]


@pytest.mark.parametrize(
    "make",
    [
        lambda: DPKSA(most_keywords=0),
        lambda: DPKSA(fewest_keywords=0),
        lambda: DPKSA(fewest_keywords=3, most_keywords=3),
        lambda: KSA(most_keywords=1),
        lambda: KSA(voters=0),
        lambda: DPKSA(delta=0.9).plan(Budget(1.0, DELTA), VOCABULARY),
        lambda: DPKSA().mechanisms(1.0, 0.0, REPLACE_ONE, VOCABULARY),
        lambda: make_algorithm("dp-ksa", {"private_tokens": 3}),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


# -- exact laws ------------------------------------------------------------------------------------------------------


def law(folder: Path, units: dict[str, str], algorithm: DPKSA) -> dict[object, float]:
    """The probability of every transcript."""
    corpus = SealedCorpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder())
    indexer(corpus).index(Document(unit, unit, f"fever say: {words} .") for unit, words in units.items())
    corpus, found = read_once(corpus), dict[object, float]()
    for noise in paths():
        draft, privacy = answer(algorithm, corpus, Heard(), noise=noise)
        transcript = (draft.text, draft.stopped, draft.released, *paid(privacy))
        found[transcript] = found.get(transcript, 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-9)
    return found


def lost(here: dict[object, float], there: dict[object, float], epsilon: float) -> float:
    """The hockey-stick divergence, in the worse direction."""
    both = ((here, there), (there, here))
    return max(sum(max(0.0, p[t] - math.exp(epsilon) * q.get(t, 0.0)) for t in p) for p, q in both)


VAULTS = {
    "one of those who agree": ({f"u{n}": "a b" for n in range(8)}, "u1"),
    "the one that decides": ({**{f"u{n}": "a" for n in range(5)}, "u5": "b", "u6": "b", "u7": "b"}, "u1"),
    "another moves in": ({**{f"u{n}": "a b" for n in range(6)}, "u6": "c", "u7": "c", "u8": "c"}, "u2"),
    "another moves in and says something else": ({**{f"u{n}": "a b" for n in range(8)}, "u8": "c d e"}, "u1"),
    "the only one who says c": ({**{f"u{n}": "a" for n in range(7)}, "u7": "c"}, "u7"),
}
EXACT = DPKSA(voters=8, epsilon=6.0, delta=0.04, most_keywords=3, max_tokens=4)


def worst_losses(tmp_path: Path, *epsilons: float) -> list[float]:
    """The largest loss of all vaults, for each epsilon."""
    losses = []
    for number, (units, gone) in enumerate(VAULTS.values()):
        whole = law(tmp_path / f"{number}a", units, EXACT)
        rest = law(tmp_path / f"{number}b", {unit: said for unit, said in units.items() if unit != gone}, EXACT)
        losses.append([lost(whole, rest, epsilon) for epsilon in epsilons])
    return [max(column) for column in zip(*losses, strict=True)]


def test_the_law_of_a_whole_answer_on_neighbouring_vaults(tmp_path: Path) -> None:
    assert EXACT.delta is not None
    found, less = worst_losses(tmp_path, EXACT.epsilon, EXACT.epsilon / 6)
    assert found <= EXACT.delta
    assert less > EXACT.delta  # the vaults do tell the difference


def test_a_test_that_is_not_lowered_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin."""
    monkeypatch.setattr("discreet.privacy.mechanisms.selection.shift", lambda sigma, delta: 0)
    assert worst_losses(tmp_path, EXACT.epsilon)[0] > 0.04


# -- the packaged model ----------------------------------------------------------------------------------------------


def test_with_the_packaged_model(corpus: SealedCorpus) -> None:
    indexer(corpus).index(
        Document(
            f"{number}",
            f"{name}",
            f"{name} has {complaint}. The diagnosis is Winter Hand, to be treated with Zibber Drops.",
        )
        for number, (name, complaint) in enumerate(
            [("Ada Lind", "numb thumbs"), ("Bo Kerr", "cold fingers"), ("Cy Dahl", "pale hands and a cough")]
        )
    )
    algorithm = DPKSA(voters=3, epsilon=400, delta=0.01, most_keywords=5, max_tokens=16)
    draft, privacy = answer(algorithm, corpus, load_model(), question="What is the treatment for Winter Hand?")
    assert draft.released == ("drops", "zibber")
    assert "zibber drops" in draft.text.lower()
    told = KSA().answer_with(("flumplenookerization",), "What is the treatment for Snurflotron?", load_model())
    assert told.text == "The treatment for Snurflotron is Flumplenookerization."  # in no example of the prompt
    assert paid(privacy) == ["number of words", "set of the 2 most frequent"]
    plain, _ = answer(
        KSA(voters=3, max_tokens=16), corpus, load_model(), question="What is the treatment for Winter Hand?"
    )
    assert plain.released == ("drops", "zibber")
