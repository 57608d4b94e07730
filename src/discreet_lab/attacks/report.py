"""The findings of attacks as plain data, as tables, and as one HTML file with plots, without any document's text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingPart
from discreet.system.plain import KEY, Sparse, Unbounded, frame, show_as, to_plain
from discreet_lab.attacks.membership import FALSE_POSITIVES, MEASURES, Membership
from discreet_lab.attacks.questions import Result
from discreet_lab.attacks.rates import Auc, Rate, most_true_positives
from discreet_lab.attacks.simulation import CanariesOut
from discreet_lab.attacks.verdict import ceiling, exceeded, most_shown

if TYPE_CHECKING:
    from jinja2 import Template

NOTICE = (
    "For the custodian only: no unit paid for these figures. They were measured on a simulation, without the budget of "
    "the vault."
)
SECRETS = ("target", "canaries out", "in part", "control", "control, in part", "strings out", "invented")
TRUE = ("target", *(f"at {rate:.1%}" for rate in FALSE_POSITIVES), *(f"most at {rate:.1%}" for rate in FALSE_POSITIVES))


@dataclass(frozen=True)
class Findings:
    """The findings on all targets.

    Attributes:
        results: one for each target.
        documents, units: the number of documents and units in the attacked copy; in the first of two.
        members, others: the number of tried people who were in, and who were not.
        left_out: whether they are the vault's own people, each in one copy and out of the other. If not, members may
            differ from the others in more than their membership.
        strings: the number of e-mail addresses, links and phone numbers in the documents.
        seconds: the duration in seconds.
        settings: the settings of the attack by name, for the report.
    """

    results: list[Result]
    documents: int
    units: int
    members: int
    others: int
    left_out: bool
    strings: int
    seconds: float
    settings: dict[str, str | float]

    @property
    def compared(self) -> list[Result]:
        """The results that are held to their claims: none of people from a file, who may differ in more."""
        return self.results if self.left_out else []

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each target, and the keys of `discreet attack --json` as columns.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame(to_plain(target_shown(result)) for result in self.results)


def headings(findings: Findings) -> tuple[str, ...]:
    """Return the names of the columns of `membership_rows`."""
    names = [f"{kind}: {name}" for kind in ("one", "many") for name in (*findings.results[0].one, "most")]
    return ("target", *names, "private answers")


def shown(findings: Findings) -> "AttackShown":
    """Return the findings as they leave: the object of `discreet attack --json`."""
    return show_as(
        AttackShown,
        findings,
        notice=NOTICE,
        exceeded=exceeded(findings.compared),
        most_epsilon_shown_by_rates=most_shown(findings.compared),
        targets=[target_shown(result) for result in findings.results],
    )


def target_shown(result: Result) -> "TargetShown":
    """Return the findings on a target as they leave."""
    target, (about, canaries, prompts) = result.target, result.asked
    return show_as(
        TargetShown,
        result,
        target=target.name,
        epsilon=target.epsilon,
        delta=target.delta,
        questions_about_each=about,
        questions_about_canaries=canaries,
        extraction_prompts=prompts,
        private_answers=result.private,
        membership=BothMemberships(_measured(result, result.one, 1), _measured(result, result.many, about)),
        extracted=show_as(ExtractedShown, result.extracted, **result.extracted.targeted),
    )


def _measured(result: Result, found: Mapping[str, Membership], questions: int) -> "MembershipShown":
    areas = (_area_shown(found[name]) for name in MEASURES)
    return MembershipShown(ceiling(result, questions), result.target.price(questions), *areas)


def _area_shown(found: Membership) -> "AreaShown":
    rates = (found.found[one] for one in FALSE_POSITIVES)
    return AreaShown(found.auc.value, found.auc.low, found.auc.high, found.points, *rates)


@dataclass(frozen=True)
class AreaShown(Sparse):
    """How well one measure tells members from others.

    Attributes:
        auc: the area under the curve; 0.5 is guessing.
        low, high: the ends of its interval.
        curve: the curve: pairs of the rates of false and true positives.
        at_1_percent: members that are found where 1 % of the others are taken for members.
        at_1_in_1000: members that are found where 0.1 % of the others are taken for members.
    """

    auc: float
    low: float
    high: float
    curve: Sequence[tuple[float, float]]
    at_1_percent: Rate = field(metadata={KEY: f"true_positives_at_{FALSE_POSITIVES[0]:g}"})
    at_1_in_1000: Rate = field(metadata={KEY: f"true_positives_at_{FALSE_POSITIVES[1]:g}"})


@dataclass(frozen=True)
class MembershipShown(Sparse):
    """How well members were told from others by their answers.

    Attributes:
        most_auc: the largest area that the price of the questions allows; None without a guarantee.
        price: epsilon and delta of the questions about one person; None without a guarantee.
        ngrams: answers and documents compared by runs of 1 to 4 words: BLEU without its penalty for short answers.
        bleu: answers and documents compared by BLEU.
        rouge_l: answers and documents compared by ROUGE-L.
        embedding: answers and documents compared by the vault's embedder.
    """

    most_auc: float | None
    price: tuple[Unbounded, float] | None
    ngrams: AreaShown = field(metadata={KEY: "n-grams"})
    bleu: AreaShown
    rouge_l: AreaShown = field(metadata={KEY: "rouge-l"})
    embedding: AreaShown


@dataclass(frozen=True)
class BothMemberships:
    """How well members were told from others.

    Attributes:
        one: with one question about each person.
        many: with many questions about each person.
    """

    one: MembershipShown
    many: MembershipShown


@dataclass(frozen=True, kw_only=True)
class ExtractedShown:
    """How many different strings of the documents came out.

    Attributes:
        email: e-mail addresses, by prompts that ask for them.
        url: links, by prompts that ask for them.
        phone: phone numbers, by prompts that ask for them.
        untargeted: strings of any kind, by prompts that ask for none of them.
        all: strings of any kind, by all prompts.
        invented: strings of such a form that are in no document.
    """

    email: int
    url: int
    phone: int
    untargeted: int
    all: int
    invented: int


@dataclass(frozen=True, kw_only=True)
class TargetShown:
    """The findings on a target.

    Attributes:
        target: the algorithm, corpus or way of redaction that was attacked.
        epsilon: the epsilon of one question, or of the whole corpus; None without a guarantee.
        delta: the delta that belongs to it; None without a guarantee.
        questions_about_each: how many questions were asked about each person.
        questions_about_canaries: how many questions were asked about canaries.
        extraction_prompts: how many prompts were asked to extract strings.
        questions: the number of all questions.
        private_answers: for how many questions something was released; None without voters.
        membership: how well members were told from others.
        canaries: how many planted secrets came out.
        extracted: how many different strings of the documents came out.
    """

    target: str
    epsilon: Unbounded | None
    delta: float | None
    questions_about_each: int
    questions_about_canaries: int
    extraction_prompts: int
    questions: int
    private_answers: int | None
    membership: BothMemberships
    canaries: CanariesOut
    extracted: ExtractedShown


@dataclass(frozen=True, kw_only=True)
class AttackShown:
    """The findings of an attack.

    Attributes:
        notice: a sentence: that no unit paid for the figures, and that they are for the custodian alone.
        documents: the number of documents of the copy.
        units: the number of units of the copy.
        members: how many people who were tried are in the copy.
        others: how many people who were tried are not in the copy.
        left_out: whether the others are people of the vault who were left out of the copy; false if they come from a
            file.
        strings: the number of e-mail addresses, links and phone numbers in the documents.
        seconds: how long the attack took, in seconds.
        settings: the settings of the attack, by name.
        exceeded: the targets that reveal more about members than their epsilon allows; each would be a bug.
        most_epsilon_shown_by_rates: the largest epsilon that so few people can show; None if nothing was compared.
        targets: the findings, one for each target.
    """

    notice: str
    documents: int
    units: int
    members: int
    others: int
    left_out: bool
    strings: int
    seconds: float
    settings: dict[str, Any]
    exceeded: list[str]
    most_epsilon_shown_by_rates: float | None
    targets: list[TargetShown]


def membership_rows(findings: Findings) -> list[tuple[str, ...]]:
    """Return areas under the curve, in the order of `headings`.

    "most" is the area that the epsilon of the questions allows.
    """
    rows = []
    for result in findings.results:
        one, many = (
            [*(_area(measured.auc) for measured in measures.values()), _below_one(ceiling(result, questions))]
            for measures, questions in ((result.one, 1), (result.many, result.asked[0]))
        )
        private = "-" if result.private is None else f"{result.private} of {result.questions}"
        private += ", fewer than half" * result.seldom
        rows.append((result.target.label, *one, *many, private))
    return rows


def true_positive_rows(findings: Findings) -> list[tuple[str, ...]]:
    """Return true positives at few false positives, by BLEU or by right answers, with one question, as `TRUE` names."""
    rows = []
    for result in findings.results:
        found, price = result.one.get("bleu", next(iter(result.one.values()))).found, result.target.price(1)
        # With fewer others than 1 / rate, the measurement is not at that rate, and cannot be compared.
        most = [
            "-" if price is None or findings.others < 1 / rate else f"{most_true_positives(rate, *price):.2f}"
            for rate in FALSE_POSITIVES
        ]
        rows.append((result.target.label, *(_share(found[rate]) for rate in FALSE_POSITIVES), *most))
    return rows


def secret_rows(findings: Findings) -> list[tuple[str, ...]]:
    """Return canaries and extracted strings, in the order of `SECRETS`."""
    rows = []
    for result in findings.results:
        c, e = result.canaries, result.extracted
        counts = [f"{rate.count} of {rate.of}" for rate in (c.whole, c.part, c.control, c.control_part)]
        rows.append((result.target.label, *counts, f"{e.all} of {findings.strings}", str(e.invented)))
    return rows


def _area(auc: Auc) -> str:
    return f"{auc.value:.2f} ({auc.low:.2f}-{auc.high:.2f})"


def _share(rate: Rate) -> str:
    return f"{rate.value:.2f} ({rate.low:.2f}-{rate.high:.2f})"


def _below_one(value: float | None) -> str:
    """Return a number rounded down, so that a bound below one is not shown as one."""
    if value is None:
        return "-"
    digits = 2 if value < 0.99 else 5
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"


def summary(findings: Findings) -> str:
    """Return a sentence that describes the attacked copies."""
    size = f"{findings.documents} documents of {findings.units} units"
    if findings.left_out:
        what = f"Two copies of the vault were attacked, the first with {size}"
        who = f"{findings.members} people were tried, each in one copy and out of the other"
    else:
        what = f"A copy of {size} was attacked"
        who = f"{findings.members} members and {findings.others} others from a file were tried"
    return f"{what}; {who}. {findings.seconds:.0f} s."


def warnings(findings: Findings) -> list[str]:
    """Return the warnings that a reader of the figures needs."""
    lines = []
    if not findings.left_out:
        lines.append(
            "The others come from a file: they may differ from members in more than being outside. The algorithm "
            "non-rag reads no document, so a difference that it shows is no leak."
        )
    lines += [
        f"{label} reveals more about members than its epsilon allows. That is a bug of discreet: please report it."
        for label in exceeded(findings.compared)
    ]
    return lines


def page(findings: Findings, name: str) -> str:
    """Return the report as one HTML file, which loads no other file.

    Args:
        findings: the findings.
        name: the name of the vault.

    Raises:
        MissingPart: if jinja2 is not installed.
    """
    return open_template().render(
        name=name,
        findings=findings,
        results=[(result, ceiling(result, 1)) for result in findings.results],
        notice=NOTICE,
        summary=summary(findings),
        warnings=warnings(findings),
        membership=(headings(findings), membership_rows(findings)),
        true_positives=(TRUE, true_positive_rows(findings)),
        secrets=(SECRETS, secret_rows(findings)),
        most_epsilon=most_shown(findings.compared),
    )


def open_template() -> "Template":
    """Return the template of the page.

    Raises:
        MissingPart: if jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingPart("A report needs jinja2", "eval") from error
    loader = PackageLoader("discreet_lab.attacks", "")
    options = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    return Environment(loader=loader, **options).get_template("report.html")  # type: ignore[arg-type]
