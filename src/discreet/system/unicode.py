"""A check that a text is valid Unicode."""


def is_unicode(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8, so whether it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
