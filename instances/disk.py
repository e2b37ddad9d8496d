"""Text and JSON on disk: files are written whole or not at all, and every refusal is one line that names the file."""

from __future__ import annotations

import json
import os
import tempfile
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from instances.errors import InputError
from instances.instance import repeated


def read_text(path: str | Path) -> str:
    """A whole text file. InputError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None


def read_json(path: str | Path) -> Any:
    """Decoded JSON of a file; see `parse_json`."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, source: str) -> Any:
    """Decoded JSON without the liberties of Python's reader: no NaN or infinity, no repeated keys."""
    try:
        data = json.loads(text, object_pairs_hook=_no_repeats)
    except RecursionError:
        raise InputError(f"{source}: is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{source}: is not valid JSON: {error}") from None
    refuse_no_numbers(data, source)
    return data


def write_text(path: str | Path, text: str) -> None:
    """Write a whole UTF-8 file or none of it; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file or none of it: a reader, a crash or a full disk never leaves half of one.

    InputError names the file and why it cannot be written.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a device or a pipe is written to, never replaced
            return
        path = path.resolve()  # a link stays a link
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:20]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            # A temporary file is private to its owner; the finished one follows the user's umask.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None


def remove(path: str | Path) -> None:
    """Remove a file, if it is there. InputError if that cannot be done."""
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be removed: {error.strerror or error}") from None


def refuse_no_numbers(data: Any, source: str) -> None:
    """InputError names the first NaN or infinity, which Python's JSON takes and JSON does not."""
    left: list[tuple[str, Any]] = [("", data)]
    while left:
        field, value = left.pop()
        if isinstance(value, float) and not isfinite(value):
            raise InputError(f"{source}: {field}: is {'not a number' if isnan(value) else 'infinite'}")
        if isinstance(value, dict):
            left += [(f"{field}.{key}" if field else str(key), entry) for key, entry in reversed(value.items())]
        elif isinstance(value, list):
            left += reversed([(f"{field}[{i}]", entry) for i, entry in enumerate(value) if not _plain(entry)])


def _plain(value: Any) -> bool:
    """Nothing to look into: matrices of a large pool have millions of these."""
    return isfinite(value) if isinstance(value, float) else not isinstance(value, dict | list)


def check_writable(path: str | Path) -> None:
    """InputError if a file could not be written there; asked before long work, so that its answer is not lost."""
    path = Path(path)
    try:
        reason = _unwritable(path)
    except OSError as error:  # a name that is too long, say
        reason = error.strerror or str(error)
    if reason:
        raise InputError(f"{path}: cannot be written: {reason}")


def _unwritable(path: Path) -> str | None:
    folder = path.resolve().parent
    while not folder.exists():
        folder = folder.parent
    if path.is_dir():
        return "it is a folder"
    if not folder.is_dir():
        return f"{folder} is not a folder"
    return None if os.access(path if path.exists() else folder, os.W_OK) else "permission denied"


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if twice := repeated(key for key, _ in pairs):
        raise ValueError(f"the key {twice[0]!r} is repeated")
    return dict(pairs)
