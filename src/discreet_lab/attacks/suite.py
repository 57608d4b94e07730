"""All attacks on one vault: make copies, ask each target the same questions, and count the results.

The attacker may choose any questions, and sees the answers. `trial` chooses the people, and the copies that have them.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from discreet import __version__
from discreet.algorithms.base import with_epsilon
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.store.documents import Document
from discreet.store.public import PublicTexts
from discreet.synthesis.runner import METHODS, Told
from discreet.vault import Vault
from discreet_lab.attacks.attack import Attack, choose_canaries, choose_people, to_plant
from discreet_lab.attacks.questions import Questions
from discreet_lab.attacks.report import Findings
from discreet_lab.attacks.simulation import Stored, copied, documents_of, private_folder, read_again, rewritten
from discreet_lab.attacks.targets import (
    CORPUS,
    DEFAULT,
    REDACTED,
    Redactor,
    Target,
    TargetAnswers,
    algorithms_called,
    ask_all,
    default_of,
    finder,
    made_corpus,
    reading,
    target_of,
)
from discreet_lab.evaluation.experiment import as_asked
from discreet_lab.evaluation.metrics import check_installed
from discreet_lab.steps import count_step

AGAIN = "the other copy: "
"""The prefix of the steps of the second copy."""


@dataclass(frozen=True)
class _Copy:
    """The content of a copy of the vault.

    Attributes:
        kept, planted: the vault's documents in the copy, and canaries.
        noise: the noise of corpora. It differs between copies, since one corpus speaks for all units of its copy.
    """

    kept: list[Stored] = field(repr=False)
    planted: list[Document] = field(repr=False)
    noise: Noise

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The unit and the text of each document."""
        return _texts(self.kept, self.planted)


def run_attack(vault: Vault, attack: Attack, on_progress: Told = lambda *_: None) -> Findings:
    """Attack copies of the vault; return the findings. No unit pays, and the vault's folder is only read.

    Raises:
        BadData: if there are too few documents, or a file does not fit the vault.
        MissingPart: if redaction is a target, and is not installed.
        UsageError: if a target's parameters are out of range.
    """
    begin = time.perf_counter()
    check_installed()  # first, like the redactor: a missing package must show before long work
    redactor = Redactor() if REDACTED in attack.targets else None
    documents = documents_of(vault)
    canaries = choose_canaries(attack, documents)
    planted = to_plant(canaries, documents)
    trial = choose_people(vault, attack, documents, canaries)
    noise = InsecureSeededNoise(attack.seed)
    copies = [
        _Copy([each for each in documents if each.unit not in out], planted, noise.beside()) for out in trial.without
    ]
    first = copies[0].texts
    secret = {canary.document.unit for canary in canaries}  # perhaps in the vault already; counted separately
    questions = Questions.of(
        attack, trial, canaries, _texts([each for each in copies[0].kept if each.unit not in secret], [])
    )
    redacted = _redacted(redactor, _texts(documents, planted), on_progress) if redactor else None
    answers = [_asked(vault, attack, copies[0], [*questions.about, *questions.rest], redacted, on_progress)]
    answers += [_asked(vault, attack, copy, questions.about, redacted, _again(on_progress)) for copy in copies[1:]]
    results = [
        questions.judged(vault, _named([target for target, _ in same]), [said for _, said in same], canaries)
        for same in zip(*answers, strict=True)
    ]
    return Findings(
        results,
        documents=len(first),
        units=len({unit for unit, _ in first}),
        members=sum(map(sum, trial.inside)),
        others=sum(not is_in for row in trial.inside for is_in in row),
        left_out=len(copies) > 1,
        strings=sum(map(len, questions.known.values())),
        seconds=time.perf_counter() - begin,
        settings=_settings(vault, attack),
    )


def _asked(
    vault: Vault,
    attack: Attack,
    copy: _Copy,
    texts: Sequence[str],
    redacted: Mapping[str, str] | None,
    on_progress: Told,
) -> list[tuple[Target, TargetAnswers]]:
    """Return the targets in a temporary copy of the vault, each with its answers."""
    with ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        vault_copy = stack.enter_context(copied(vault, folder / "copy", copy.kept, copy.planted))
        targets = list(_targets(vault, vault_copy, attack, copy.noise, folder, on_progress))
        decides = attack.as_asked and vault.components.readings.complete
        if decides or any(target.algorithm and target.algorithm.spec.needs_readings for target in targets):
            read_again(vault, vault_copy, lambda done, size: on_progress("reading", done, size))
        if redacted is not None:
            hidden = [(unit, redacted[text]) for unit, text in copy.texts]
            redacted_finder = finder(stack.enter_context(rewritten(vault, folder / "redacted", hidden)))
            targets = [
                replace(target, find=redacted_finder) if target.name == REDACTED else target for target in targets
            ]
        count = count_step("asking", len(texts) * len(targets), on_progress)
        choose = as_asked(vault_copy) if decides else None
        said = ask_all(vault_copy, targets, texts, attack.options, attack.seed, count, choose)
        return list(zip(targets, said, strict=True))


def _named(copies: Sequence[Target]) -> Target:
    """Return a target with the note of any of its copies."""
    noted = [target.note for target in copies if target.note]
    some = f"in one copy {noted[0]}" if 0 < len(noted) < len(copies) else "".join(noted[:1])
    return replace(copies[0], note=some)


def _again(on_progress: Told) -> Told:
    return lambda step, done, total: on_progress(AGAIN + step, done, total)


def _settings(vault: Vault, attack: Attack) -> dict[str, str | float]:
    options = {name: value for name, value in attack.options.items() if value is not None}
    return {
        "date": date.today().isoformat(),
        "discreet": __version__,
        "model": vault.model.name,
        "embedder": vault.settings.embedder,
        "delta": vault.settings.delta,
        "seed": attack.seed,
        **options,
    }


def _texts(kept: Sequence[Stored], planted: Sequence[Document]) -> list[tuple[str, str]]:
    """Return the unit and the text of each document."""
    own = [(document.unit, "\n".join(document.texts)) for document in kept]
    return [*own, *((document.unit, document.text) for document in planted)]


def _redacted(redactor: Redactor, documents: Sequence[tuple[str, str]], on_progress: Told) -> dict[str, str]:
    """Return each text with its redacted form. Redaction is slow, so it runs once for all copies."""
    texts = list(dict.fromkeys(text for _, text in documents))
    count = count_step("redacting", len(texts), on_progress)
    return dict(zip(texts, redactor.redact(texts, count), strict=True))


def _targets(
    vault: Vault, copy: Vault, attack: Attack, noise: Noise, folder: Path, on_progress: Told
) -> Iterator[Target]:
    for name in attack.targets:
        if name == CORPUS:
            assert attack.corpus is not None
            yield Target(name, find=reading(PublicTexts.read(attack.corpus, vault.embedder)), once=True)
        elif name in METHODS:
            yield from (
                made_corpus(copy, name, epsilon, folder, noise.beside(), on_progress) for epsilon in attack.epsilons
            )
        elif name == DEFAULT:
            yield default_of(vault)
        elif name == REDACTED:
            yield Target(name)  # `find` follows when the redacted copy exists
        else:
            options = dict(attack.options)
            yield from algorithms_called(name, attack.epsilons, options, vault, as_asked=attack.as_asked)
    for name, twin in attack.twins.items():
        yield from (target_of(name, with_epsilon(twin, epsilon), epsilon, vault) for epsilon in attack.epsilons)
