"""Values of caps as a custodian writes them, on the command line and at the desk: rates, dates of expiry, patterns."""

import re
from datetime import UTC, datetime, timedelta

from discreet.errors import UsageError

_SECONDS = {"s": 1, "sec": 1, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400}
_RATE = re.compile(r"(\d{1,9})/(\d{0,6})(" + "|".join(_SECONDS) + ")")
_PERIOD = re.compile(r"(\d{1,6})(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 168}


def parse_rate(text: str | None) -> tuple[int, float] | None:
    """Return the count and the seconds of a rate such as `6/min` or `100/day`.

    Raises:
        UsageError: if it is none.
    """
    if text is None:
        return None
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--rate is '{text}'. Give a count and a unit of time: 6/min, 100/day, 3/10s.")
    return int(found[1]), float(int(found[2] or 1) * _SECONDS[found[3]])


def parse_expiry(text: str | None, now: datetime | None = None) -> datetime | None:
    """Return the date of expiry: of a period such as `90d` from now on, or a day such as `2027-01-31`, in UTC.

    Raises:
        UsageError: if it is neither, or lies in the past.
    """
    if text is None:
        return None
    now = now or datetime.now(UTC)
    if (period := _PERIOD.fullmatch(text.strip())) is not None:
        date = now + timedelta(hours=int(period[1]) * _HOURS[period[2]])
    else:
        try:
            date = datetime.fromisoformat(text.strip())
        except ValueError:
            raise UsageError(f"--expires is '{text}'. Give a period or a day: 90d, 12h, 2027-01-31.") from None
        date = date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
    if date <= now:
        raise UsageError(f"--expires is '{text}', which has passed. To end a key now: discreet key revoke VAULT KEY")
    return date


def parse_models(text: str | None) -> list[str] | None:
    """Return the patterns of models in a list with commas.

    Raises:
        UsageError: if there is none in it.
    """
    if text is None:
        return None
    models = [one.strip() for one in text.split(",") if one.strip()]
    if not models:
        raise UsageError("--models names none. Give patterns: --models hospital,hospital:triage")
    return models


def can_match(pattern: str, vault: str) -> bool:
    """Return whether a pattern can match a model of a vault: "VAULT" or "VAULT:NAME", with any name.

    Names of presets are the server's, so only what stands before the first wildcard is compared.
    """
    start = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    if start == pattern:
        return pattern == vault or pattern.startswith(f"{vault}:")
    return f"{vault}:".startswith(start) or start.startswith(f"{vault}:")
