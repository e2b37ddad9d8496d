"""The command line, `geotrain-bench`. Heavy modules load inside the commands: `--help` answers at once."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

import typer

from bench.cli.folders import best, report, run, verify
from bench.cli.lists import families, solvers, suites, warmup
from bench.cli.options import BAD_INPUT, DONE, FAILED, INTERRUPTED
from bench.cli.plans import evaluate, solve
from bench.cli.problems import describe, generate
from instances.errors import InputError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Exact-versus-heuristic benchmarks for planners of geo-distributed training.",
)
for command in (evaluate, solve, solvers, families, suites, generate, describe, run, best, report, verify, warmup):
    app.command()(command)


def main() -> NoReturn:
    """Run the command line; every error a user can cause is one line on standard error."""
    called_with_nothing = len(sys.argv) == 1
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = DONE
    except Exception as error:  # noqa: BLE001 - the last resort: a line instead of a traceback
        _fail_unexpected(error)
    sys.exit(BAD_INPUT if called_with_nothing else code)


def _interrupted(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


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
