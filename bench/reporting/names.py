"""Short names of instances and solvers, for figures and narrow tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from instances.catalogue.models import model_names

GENERATED = re.compile(r"(?:dtfm-)?(?P<what>.+)-(?P<gpus>\d+)gpus-(?P<seed>seed\d+)")
NUMBERED = re.compile(r"(?<=.)(-\d+)+$")
LONGEST = 34
"""Characters."""


def network_of(name: str) -> str:
    """Where the GPUs of an instance are: its name without model, size and seed, such as `worldwide-mixed`."""
    match = GENERATED.fullmatch(name)
    return _network_and_model(match["what"])[0] if match else NUMBERED.sub("", name)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """By name, network and number of GPUs, such as `worldwide-mixed 64`; model or seed too where they tell it apart.

    Names that the generator does not give stay as they are, but for their middle if they are long.
    """
    forms = ("{network} {gpus}", "{network} {gpus} {model}", "{network} {gpus} {seed}", "{what} {gpus} {seed}")
    return _clearest(names, map(_form, forms))


def short_labels(solvers: Iterable[str]) -> dict[str, str]:
    """By a solver's label, as many of its options as tell it apart: `memetic[anneal=0,…]`."""
    return _clearest(solvers, [_first_option])


def cut(name: str, longest: int = LONGEST) -> str:
    """A name that is not too long; its middle goes, as beginnings and ends tell names apart."""
    return name if len(name) <= longest else f"{name[: longest // 2]}…{name[len(name) - (longest - 1) // 2 :]}"


def _clearest(names: Iterable[str], forms: Iterable[Callable[[str], str]]) -> dict[str, str]:
    """By name the first of its forms that is no other name's, cut; names that are alike even so are numbered."""
    left = list(dict.fromkeys(names))
    found = dict.fromkeys(left, "")
    every: list[Callable[[str], str]] = [*forms, str]
    for form in every:
        texts = {name: cut(form(name)) for name in left}
        counts = Counter([*texts.values(), *found.values()])
        found |= {name: text for name, text in texts.items() if counts[text] == 1}
        left = [name for name in left if not found[name]]
    return found | {name: f"{cut(name)} ({number})" for number, name in enumerate(left, 1)}


def _form(template: str) -> Callable[[str], str]:
    """A form of the names that the generator gives; others stay as they are."""

    def fill(name: str) -> str:
        match = GENERATED.fullmatch(name)
        if match is None:
            return name
        network, model = _network_and_model(match["what"])
        return template.format(network=network, model=model, **match.groupdict()).rstrip()

    return fill


def _network_and_model(what: str) -> tuple[str, str]:
    """What stands before the name of a model, and from there on."""
    places = [place for place in (what.find(f"-{model}") for model in model_names()) if place > 0]
    return (what[: min(places)], what[min(places) + 1 :]) if places else (what, "")


def _first_option(label: str) -> str:
    solver, _, options = label.partition("[")
    first, comma, _ = options.partition(",")
    return f"{solver}[{first},…]" if comma else label
