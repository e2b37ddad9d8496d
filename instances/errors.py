"""The one exception for what a user can get wrong."""


class InputError(ValueError):
    """Bad input or a bad call: one line that names the file or argument, the field and the reason."""


def shortened(text: str) -> str:
    """The text in quotes; its beginning, if it is too long for a message."""
    return repr(text) if len(text) <= 60 else f"{text[:40]!r}... ({len(text)} characters)"
