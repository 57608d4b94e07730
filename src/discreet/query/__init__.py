"""One question on its way to an answer."""
