"""Write the hashes of all shipped suites' instances (`make hashes`), after a family was changed on purpose."""

from __future__ import annotations

from pathlib import Path

from bench.hashes import FILE
from bench.suite import instances_of, shipped
from instances.errors import InputError
from instances.files import write_text

FOLDER = Path(__file__).parent.parent / "instances" / "suites"


def hashes_text() -> str:
    """The file: a line for each instance, by name. InputError if one name stands for two contents."""
    found: dict[str, str] = {}
    for name, suite in shipped().items():
        for entry in suite.instances:
            for instance in instances_of(entry, FOLDER, name):
                if found.setdefault(instance.name, instance.content_hash) != instance.content_hash:
                    raise InputError(f"{name}: two different instances are called {instance.name}")
    return "".join(f"{name},{content}\n" for name, content in [("instance", "content_hash"), *sorted(found.items())])


if __name__ == "__main__":
    write_text(FOLDER / FILE, hashes_text())
