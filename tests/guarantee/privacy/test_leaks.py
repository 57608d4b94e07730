"""An error on private values leads nowhere: not by its text, its chain, or the frames of its traceback."""

from collections.abc import Callable, Iterator, Sequence
from types import FrameType

import pytest

from discreet.errors import PrivateValueError
from discreet.privacy.private import Change, Private, Relation

SECRET = "Ada Lind has Winter Hand"
CHANGE = Change(1, Relation.REPLACE)


def explode(share: str) -> str:
    raise ValueError(f"cannot parse {share}")


def chained(share: str) -> str:
    try:
        return explode(share)
    except ValueError as error:
        raise KeyError(share) from error


class Lazy(Sequence[str]):
    """A sequence that fails only when it is read."""

    def __init__(self, shares: Sequence[str]) -> None:
        self.shares = shares

    def __len__(self) -> int:
        return len(self.shares)

    def __getitem__(self, index: object) -> str:
        raise RuntimeError(self.shares[0])


STEPS: list[Callable[[Private[str]], object]] = [
    lambda p: p.map(explode),
    lambda p: p.map(chained),
    lambda p: p.map(lambda share: share[1000]),
    lambda p: p.map_batch(lambda shares: shares[:1]),
    lambda p: p.map_batch(lambda shares: [*shares, *shares]),
    lambda p: p.map_batch(lambda shares: 5),  # type: ignore[arg-type, return-value]
    lambda p: p.map_batch(Lazy),
    lambda p: p.map_batch(lambda shares: (explode(share) for share in shares)),  # type: ignore[arg-type, return-value]
    lambda p: len(p),
    lambda p: p == 1,
    lambda p: p.map(str.upper)[0],
]


def frames(error: BaseException) -> Iterator[FrameType]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame
        step = step.tb_next


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_no_error_leads_to_a_share(number: int) -> None:
    step = STEPS[number]
    private = Private([SECRET, "nothing"], CHANGE)
    with pytest.raises(PrivateValueError) as caught:
        step(private)
    error = caught.value
    assert "Ada" not in repr(error).replace("ADA", "Ada")
    assert error.__cause__ is None
    assert error.__context__ is None
    for frame in frames(error):
        for name, value in frame.f_locals.items():
            shown = repr(value)
            assert "Ada Lind" not in shown, f"{name} in {frame.f_code.co_name}"
            assert "ADA LIND" not in shown


def test_the_checker_notices_a_frame_that_holds_a_share() -> None:
    with pytest.raises(ValueError, match="parse") as caught:
        explode(SECRET)
    assert any(SECRET in repr(frame.f_locals) for frame in frames(caught.value))
