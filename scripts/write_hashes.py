"""Write the hashes of all shipped suites' instances (`make hashes`), after a family was changed on purpose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.runs.known_hashes import FILE
from bench.runs.suite import instances_of, shipped
from instances.disk import write_text
from instances.errors import InputError
from instances.instance import Instance

FOLDER = Path(__file__).parent.parent / "instances" / "suites"


def hashes_text(instances: Iterable[Instance]) -> str:
    """The file: a line for each instance, by name. InputError if one name stands for two contents."""
    found: dict[str, str] = {}
    for instance in instances:
        if found.setdefault(instance.name, instance.content_hash) != instance.content_hash:
            raise InputError(f"two different instances are called {instance.name}")
    return "".join(f"{name},{content}\n" for name, content in [("instance", "content_hash"), *sorted(found.items())])


def _all_instances() -> Iterator[Instance]:
    for name, suite in shipped().items():
        for entry in suite.instances:
            yield from instances_of(entry, FOLDER, name)


if __name__ == "__main__":
    write_text(FOLDER / FILE, hashes_text(_all_instances()))
