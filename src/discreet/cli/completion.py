"""What a shell completes beside commands and options: names that are known without a vault."""

from collections.abc import Callable, Iterable


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that completes one of `names` (`autocompletion` of Typer)."""
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete
