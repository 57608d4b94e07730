"""Words of a shell: commands in messages are pasted into one."""

import shlex


def quoted(word: object) -> str:
    """Return a path, a name or a column as one word of a shell."""
    return shlex.quote(str(word))
