"""The command line, `geotrain-bench`. Heavy modules load inside the commands: `--help` answers at once."""

from __future__ import annotations

import errno
import os
import signal
import sys
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from bench.cli.comparison import compare
from bench.cli.contracts import check_family, check_solver
from bench.cli.folders import best, report, run, verify
from bench.cli.importing import import_
from bench.cli.lists import families, solvers, suites, warmup
from bench.cli.options import BAD_INPUT, DONE, FAILED, INTERRUPTED, say
from bench.cli.planning import plan
from bench.cli.plans import evaluate, solve
from bench.cli.problems import describe, generate
from bench.cli.reproduction import reproduce
from bench.cli.simulations import fidelity, sensitivity, simulate
from instances.errors import InputError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    *(plan, evaluate, simulate, solve, solvers, families, suites, generate, describe),
    *(run, reproduce, compare, best, report, sensitivity, fidelity, verify, warmup),
    *(check_solver, check_family),
)
for command in COMMANDS:
    app.command()(command)
app.command("import")(import_)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        from instances.instance import COST_MODEL_VERSION

        say(f"geotrain-bench {version('geotrain-bench')} (cost model version {COST_MODEL_VERSION})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Exact-versus-heuristic benchmarks for planners of geo-distributed training."""


def main() -> NoReturn:
    """Run the command line; every error a user can cause is one line on standard error."""
    called_with_nothing = len(sys.argv) == 1
    # A name that the terminal's encoding lacks must not cost the answer.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _interrupted)  # whoever ends us this way loses no more than by Ctrl-C
    try:
        code = app(["--help"] if called_with_nothing else None, standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except InputError as error:
        _fail(str(error), BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody to tell.
        _silence()
        code = DONE
    except OSError as error:
        _fail_on_system(error)
    except Exception as error:  # noqa: BLE001 - the last resort: a line instead of a traceback
        _fail_unexpected(error)
    sys.exit(BAD_INPUT if called_with_nothing else code)


def _interrupted(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _silence() -> None:
    """What is left for standard output goes nowhere; Python would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail_on_system(error: OSError) -> NoReturn:
    """A file system that refuses is no bug of ours. Where files cannot be written they are named; where none is named
    there is no room for standard output."""
    if error.filename is not None:
        _fail(f"{error.filename}: {error.strerror}", BAD_INPUT)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        _silence()
        _fail(f"standard output: cannot be written: {error.strerror}", BAD_INPUT)
    _fail_unexpected(error)


def _fail_unexpected(error: Exception) -> NoReturn:
    # The command line's own errors; their class has moved between releases, this method has not.
    explain = getattr(error, "format_message", None)
    if explain is not None:
        _fail(f"{explain()} (--help shows how)", BAD_INPUT)
    from bench.reporting.metrics import ContradictionError

    if os.environ.get("GEOTRAIN_BENCH_DEBUG"):
        raise error
    if isinstance(error, ContradictionError):
        _fail(f"contradiction: {error}", FAILED)
    _fail(f"{type(error).__name__}: {error} (set GEOTRAIN_BENCH_DEBUG=1 for the traceback)", FAILED)


def _fail(message: str, code: int) -> NoReturn:
    print(f"geotrain-bench: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(code)


if __name__ == "__main__":
    main()
