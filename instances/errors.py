"""The one exception for what a user can get wrong."""


class InputError(ValueError):
    """Bad input or a bad call: one line that names the file or argument, the field and the reason."""
