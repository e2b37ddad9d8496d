"""A comparison for machines: JUnit XML and the annotations of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as Xml

from bench.comparison.compare import Comparison, in_words


def junit(done: Comparison) -> str:
    """A test case for each run and each finding over runs; regressions are failures."""
    failures: dict[str, list[str]] = {pair.base.title: [] for pair in done.pairs}
    for change in done.changes:
        if change.gates:
            failures[change.title].append(change.what)
    for finding in done.findings:
        failures[f"{finding.solver}, {finding.measure}"] = [in_words(finding)] if finding.worse else []
    suite = Xml.Element(
        "testsuite",
        name=f"{done.base} -> {done.new}",
        tests=str(len(failures)),
        failures=str(sum(map(bool, failures.values()))),
    )
    for title, reasons in failures.items():
        case = Xml.SubElement(suite, "testcase", name=title, classname="geotrain-bench.compare")
        if reasons:
            Xml.SubElement(case, "failure", message="; ".join(reasons))
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def github(done: Comparison) -> Iterator[str]:
    """Workflow commands: an error for each regression, and the sentence as a notice."""
    yield from (f"::error title=geotrain-bench regression::{_escaped(line)}" for line in done.regressions)
    yield f"::notice title=geotrain-bench compare::{_escaped(done.sentence)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
