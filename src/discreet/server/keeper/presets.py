"""The models of a vault that an analyst can name: private algorithms that can pay there, and what is free."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, Guarantee, Plan
from discreet.baselines.non_rag import NonRAG
from discreet.config import VaultConfig, read_config
from discreet.errors import UsageError
from discreet.planning.prices import usual_algorithm, vault_budget
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget
from discreet.query.admission import check_payment
from discreet.registry import ALGORITHMS, make_algorithm
from discreet.server.config import PresetConfig, ServeConfig
from discreet.server.wire import Question

FREE, PUBLIC = "free", "public"
"""The models that cost nothing: the language model alone; the vault's public corpus."""
ALL = "all"
USUAL = ("consensus", "dp-ksa", FREE, PUBLIC)
"""What is served beside a vault's default. The slowest of them sets a quantum: others are opted in."""


class NoSuchModel(UsageError):  # noqa: N818 - reads better without the suffix
    """A model or a vault that is not served."""


@dataclass(frozen=True)
class Preset:
    """A model that can be asked.

    Attributes:
        name: as in `Question.model`; "" for the vault's default.
        algorithm: how it answers.
        options: its parameters, fixed by the custodian.
    """

    name: str
    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, question: Question) -> Algorithm:
        """Return the algorithm with what the question asks for, within what the custodian fixed.

        Raises:
            UsageError: if it asks for more, or for what the algorithm does not have.
        """
        options = dict(self.options)
        if question.choices:
            options["choices"] = self._choices(question.choices)
        if question.epsilon is not None and self.algorithm != NonRAG.name:
            options["epsilon"] = self._epsilon(question.epsilon)
            options.pop("uses", None)
        algorithm = make_algorithm(self.algorithm, options)
        longest = find_longest(algorithm)
        if question.max_tokens is not None and longest is not None and question.max_tokens < longest:
            algorithm = make_algorithm(self.algorithm, options | {"max_tokens": question.max_tokens})
        return algorithm

    def _choices(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        fixed = self.options.get("choices")
        if fixed and sorted(fixed) != sorted(wanted):
            raise UsageError(f"The model '{self.name}' has choices of its own. Ask another model, or leave them out.")
        return tuple(fixed or wanted)

    def _epsilon(self, wanted: float) -> float:
        fixed = self.options.get("epsilon")
        if fixed is not None and wanted > fixed:
            raise UsageError(
                f"The model '{self.name}' costs at most {fixed:g}, and {wanted:g} was asked. Ask for less."
            )
        return wanted


class Presets:
    """The models of one vault.

    Args:
        settings: the vault's.
        path: its folder.
        budget: its grant.
        configured: what the custodian added.
        only: the built-in models that are served; `USUAL` if empty, and all that can pay if "all" is among them.
        public: whether the vault has a public corpus.
    """

    def __init__(
        self,
        settings: VaultConfig,
        path: Path,
        budget: Budget,
        *,
        configured: tuple[PresetConfig, ...] = (),
        only: tuple[str, ...] = (),
        public: bool = False,
    ) -> None:
        self._settings, self._path, self._budget = settings, path, budget
        usual = usual_algorithm(settings.payment).name
        built_in = [Preset(name, name) for name in sorted(ALGORITHMS) if name != NonRAG.name]
        built_in = [one for one in built_in if self._can_pay(one)]
        free = [Preset(FREE, NonRAG.name), *([Preset(PUBLIC, PUBLIC)] if public else [])]
        wanted = only or USUAL
        presets = [Preset("", usual), *(one for one in [*built_in, *free] if ALL in wanted or one.name in wanted)]
        self._presets = {one.name: one for one in presets}
        for one in configured:
            self._add(Preset(one.name, one.algorithm, one.options))

    def _add(self, preset: Preset) -> None:
        if preset.name in (FREE, PUBLIC) or preset.name in ALGORITHMS:
            raise UsageError(
                f"A preset has the name {preset.name!r} of a built-in model. Choose another in serve.toml."
            )
        self.check(preset.build(_dummy()))  # what cannot be asked is noticed when the server starts
        self._presets[preset.name] = preset

    def __iter__(self) -> Any:
        return iter(self._presets.values())

    def find(self, name: str) -> Preset:
        """Return the model of this name.

        Raises:
            NoSuchModel: if it is not served here.
        """
        if name not in self._presets:
            raise NoSuchModel("This model is not served. See: GET /v1/models")
        return self._presets[name]

    def check(self, algorithm: Algorithm) -> None:
        """Refuse an algorithm without a guarantee, and one that cannot run in this vault.

        Raises:
            UsageError: if it is one.
        """
        if algorithm.spec.guarantee is not Guarantee.DP:
            raise UsageError(f"'{algorithm.name}' gives no guarantee, so it is not served. Name a private algorithm.")
        check_payment(algorithm, self._settings, self._path)

    def plan(self, preset: Preset) -> Plan | None:
        """Return the most that a question of this model costs any one unit; None if it is free."""
        if preset.algorithm in (PUBLIC, NonRAG.name):
            return None
        return preset.build(_dummy()).plan(self._budget, ANY_VOCABULARY)

    def _can_pay(self, preset: Preset) -> bool:
        try:
            algorithm = preset.build(_dummy())
            self.check(algorithm)
            plan = algorithm.plan(self._budget, ANY_VOCABULARY)
        except (UsageError, TypeError, ValueError):  # another package's algorithm may have no defaults
            return False
        fits = plan is not None and plan.ceiling.delta <= self._budget.delta and self._budget.admits(plan.max_cost)
        return fits and algorithm.spec.payment is not Payment.NOTHING


def find_longest(algorithm: Algorithm) -> int | None:
    """Return how many tokens an answer has at most; None if the algorithm does not say."""
    for part in (algorithm, getattr(algorithm, "inner", None)):
        own_limit = getattr(part, "max_tokens", None)
        if isinstance(own_limit, int):
            return own_limit
    return None


def _dummy() -> Question:
    return Question("0" * 32, "dummy", "", "What is it?")


def check_served(config: ServeConfig) -> None:
    """Refuse vaults that are not there, and presets that cannot be asked.

    Raises:
        DiscreetError: if there is one; it says which.
    """
    names = {vault.name for vault in config.vaults}
    for preset in config.presets:
        strange = set(preset.vaults) - names
        if strange:
            raise UsageError(
                f"The preset '{preset.name}' is for '{min(strange)}', which is not served. Mend serve.toml."
            )
    for vault in config.vaults:
        settings = read_config(Path(vault.path))
        own = tuple(preset for preset in config.presets if not preset.vaults or vault.name in preset.vaults)
        grant = vault_budget(settings.epsilon, settings.delta)
        Presets(settings, Path(vault.path), grant, configured=own, only=config.models)
    for file in (config.tls_cert, config.tls_key):
        if file and not Path(file).is_file():
            raise UsageError(f"There is no file {file}. Name the certificate and its key: --tls-cert, --tls-key")
