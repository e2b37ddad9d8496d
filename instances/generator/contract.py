"""What every instance family keeps to."""

from __future__ import annotations

from collections.abc import Iterator

from instances.contract import Rule, require
from instances.errors import InputError
from instances.files import instance_from_json, instance_to_json
from instances.generator.family import families, generate
from instances.generator.fitting import fits_in_listed_order, fits_somewhere
from instances.instance import Instance

SIZES = (2, 3, 7, 12, 64)


def made(name: str) -> Iterator[Instance]:
    """Instances of several sizes. Broken if there is none."""
    found = 0
    for gpus in SIZES:
        try:
            yield generate(name, gpus, 1, {})
        except InputError as error:  # a family may have a least size, and says so in a line
            require("\n" not in str(error), f"{gpus} GPUs: the refusal has more than one line: {error}")
            continue
        found += 1
    require(found > 0, f"makes no instance of {', '.join(map(str, SIZES))} GPUs")


def says_what_it_is(name: str) -> None:
    """Name and summary."""
    family = families()[name]
    require(name == name.lower(), f"its name, {name!r}, is not in small letters")
    require(bool(family.summary) and "\n" not in family.summary, f"its summary, {family.summary!r}, is not one line")
    for option, spec in family.options.items():
        require(bool(spec.help), f"option {option} has no help")


def has_the_size(name: str) -> None:
    """As many GPUs as asked for, and the file reads back equal."""
    for instance in made(name):
        asked = (instance.provenance or {}).get("gpus")
        require(instance.gpus == asked, f"{instance.name}: has {instance.gpus} GPUs, {asked} were asked for")
        again = instance_from_json(instance_to_json(instance), instance.name)
        require(again == instance, f"{instance.name}: its file reads back as another instance")


def has_plans(name: str) -> None:
    """Some plan fits; from four GPUs on the uniform launch has one, so that savings can be told."""
    for instance in made(name):
        parts = instance.model, instance.training, instance.groups, instance.sites
        require(fits_somewhere(*parts), f"{instance.name}: no plan fits")
        fine = instance.gpus < 4 or fits_in_listed_order(*parts)
        require(fine, f"{instance.name}: the uniform launch has no plan, so there is no baseline")


def repeats_itself(name: str) -> None:
    """The same arguments give the same instance, and provenance says which."""
    for instance in made(name):
        origin = instance.provenance or {}
        options = origin.get("options")
        require(isinstance(options, dict), f"{instance.name}: its provenance has no options")
        texts = {key: str(text) for key, text in options.items()} if isinstance(options, dict) else {}
        again = generate(name, instance.gpus, 1, texts)
        require(again == instance, f"{instance.name}: the same arguments give another instance")
        sources = origin.get("sources")
        require(isinstance(sources, list) and bool(sources), f"{instance.name}: its provenance has no sources")


def has_interchangeable_gpus_in_one_group(name: str) -> None:
    """Equal GPUs of a region over equal links belong to one group: exact methods need that symmetry."""
    for instance in made(name):
        for k, group in enumerate(instance.groups):
            for j in range(k):
                other = instance.groups[j]
                alike = (other.gpu, other.region) == (group.gpu, group.region) and swappable(instance, k, j)
                require(not alike, f"{instance.name}: groups {other.name} and {group.name} are equal")


def swappable(instance: Instance, k: int, j: int) -> bool:
    """Whether a GPU of group k and one of group j see all other GPUs over the same links."""
    network = instance.network
    links = [list(zip(*rows, strict=True)) for rows in zip(network.latency, network.bandwidth, strict=True)]
    others = [x for x in range(len(links)) if x not in (k, j)]
    same_others = all(links[k][x] == links[j][x] and links[x][k] == links[x][j] for x in others)
    insides = [links[g][g] for g in (k, j) if instance.groups[g].count > 1]
    return same_others and links[k][j] == links[j][k] and all(inside == links[k][j] for inside in insides)


def names_its_options(name: str) -> None:
    """Two instances that differ have two names; an unknown option is refused by name."""
    names: dict[str, str] = {}
    for gpus in SIZES:
        for seed in (0, 1):
            try:
                instance = generate(name, gpus, seed, {})
            except InputError:
                continue
            known = names.setdefault(instance.name, instance.content_hash)
            require(known == instance.content_hash, f"{instance.name}: two instances have this name")
    try:
        generate(name, 8, 0, {"colour": "red"})
    except InputError as error:
        require("'colour'" in str(error), f"an unknown option is refused without its name: {error}")
    else:
        require(False, "an unknown option is accepted")


RULES: tuple[Rule[str], ...] = (
    Rule("says what it is", says_what_it_is, "give FAMILY a name, a summary of a line, and help to each option"),
    Rule("has the size asked for", has_the_size, "let the counts of all groups sum to `gpus`"),
    Rule("has plans", has_plans, "size model and batch by the pool: instances/generator/sizing.py"),
    Rule("repeats itself", repeats_itself, "draw from instances.seeds.stream, and give assemble the sources"),
    Rule(
        "equal GPUs form one group",
        has_interchangeable_gpus_in_one_group,
        "one `Placed` for all equal GPUs of a place, or assemble, which joins them",
    ),
    Rule("names what differs", names_its_options, "leave names to the generator; mark options as `named`"),
)
