"""Compiles every solver ahead of its first use, for images and continuous integration."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

from solvers.core.cache import mark_warm
from solvers.core.registry import make_solver, solver_types


def warm_up_all(jobs: int) -> Iterator[tuple[str, float]]:
    """Warm up all solvers, `jobs` at a time, each in a process of its own; name and seconds of each as it is done.

    Solvers that call others come last: what those need is compiled by then.
    """
    context = multiprocessing.get_context("spawn")
    types = solver_types()
    for calling in (False, True):
        with ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool:
            wave = {pool.submit(_seconds_of, name): name for name in types if bool(types[name].calls) is calling}
            for done in as_completed(wave):
                mark_warm(wave[done])
                yield wave[done], done.result()


def _seconds_of(name: str) -> float:
    started = time.perf_counter()
    make_solver(name).warm_up()
    return time.perf_counter() - started
