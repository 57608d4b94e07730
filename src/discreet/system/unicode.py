"""Whether a text is one that files, models and terminals take."""


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: whether it is free of halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
