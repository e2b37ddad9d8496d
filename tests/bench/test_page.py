"""The page of a report, in a browser: it sorts, filters, folds and follows links, and needs nothing from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from bench.reporting.report import write_report
from solvers.core.interface import Outcome, Status
from tests.bench.folders import FAST, SLOW, folder_with, task
from tests.editing import hand_instance

BROWSER, TIDY, LATEX = (shutil.which(name) for name in ("chromium", "tidy", "pdflatex"))
GOOD, POOR = Outcome(Status.FEASIBLE, FAST), Outcome(Status.FEASIBLE, SLOW)
OTHER = hand_instance(name="a <odd> & 100_% name")
RUNS: list[tuple[Any, Outcome | None]] = [
    (task("megatron"), POOR),
    (task("memetic", 0), GOOD),
    (task("memetic", 1), POOR),
    (task("brute"), Outcome(Status.OPTIMAL, FAST, bound=3.9)),
    (task("megatron", instance=OTHER), GOOD),
    (task("memetic", instance=OTHER), Outcome(Status.UNKNOWN)),
    (task("memetic", 1, instance=OTHER), None),
    (task("brute", objective="front"), Outcome(Status.OPTIMAL, front=(FAST, SLOW))),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write_report(folder_with(folder, RUNS))
    return folder / "report.html"


def in_browser(page: Path, script: str) -> Any:
    """What the script, run after the page's own, leaves in `answer`."""
    if BROWSER is None:
        pytest.skip("chromium is not installed: the page was not tried in a browser")
    ending = f"<script>addEventListener('load', async () => {{ const answer = {{}}; {script}"
    ending += "; document.title = 'ANSWER' + JSON.stringify(answer) + 'END'; });</script></body>"
    driven = page.with_name("driven.html")
    driven.write_text(page.read_text().replace("</body>", ending))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run([BROWSER, *options, driven.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    found = re.search("<title>ANSWER(.*?)END</title>", done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(unescape(found[1]))


ROWS = "[...document.querySelectorAll('#every tbody:not([hidden]) tr:not(.group)')].filter(r => !r.hidden)"
COLUMN = "[...document.querySelectorAll('#every th')].findIndex(h => h.innerText.trim() === 'optimality gap')"
GAPS = f"{ROWS}.map(r => r.cells[{COLUMN}].innerText)"


def test_tables_sort_both_ways_and_what_is_missing_comes_last(page: Path) -> None:
    answer = in_browser(
        page,
        f"""
        const head = [...document.querySelectorAll('#every thead .sort')].find(b => b.innerText === 'optimality gap');
        head.click(); answer.up = {GAPS}; answer.said = head.parentNode.getAttribute('aria-sort');
        head.click(); answer.down = {GAPS}; answer.then = head.parentNode.getAttribute('aria-sort');
        """,
    )
    assert (answer["said"], answer["then"]) == ("ascending", "descending")
    numbers = {way: [float(text.split()[0]) for text in answer[way] if text != "n/a"] for way in ("up", "down")}
    assert numbers["up"] == sorted(numbers["up"])
    assert numbers["down"] == sorted(numbers["down"], reverse=True)
    assert len(numbers["up"]) >= 3
    for way in ("up", "down"):
        assert answer[way][len(numbers[way]) :] == ["n/a"] * (len(answer[way]) - len(numbers[way]))


def test_rows_are_filtered_and_folded(page: Path) -> None:
    answer = in_browser(
        page,
        f"""
        const filter = document.getElementById('filter');
        answer.all = {ROWS}.length;
        filter.value = 'MEMETIC odd'; filter.dispatchEvent(new Event('input'));
        answer.some = {ROWS}.map(r => r.innerText);
        filter.value = ''; filter.dispatchEvent(new Event('input'));
        document.querySelector('#every .toggle').click(); answer.folded = {ROWS}.length;
        document.querySelector('#every .toggle').click(); answer.unfolded = {ROWS}.length;
        document.getElementById('fold').click(); answer.none = {ROWS}.length;
        """,
    )
    assert answer["all"] == answer["unfolded"] == 6
    assert len(answer["some"]) == 1
    assert answer["some"][0].startswith("memetic")
    assert (answer["folded"], answer["none"]) == (3, 0)


def test_a_number_leads_to_its_runs_and_these_to_their_plans(page: Path) -> None:
    answer = in_browser(
        page,
        f"""
        const row = {ROWS}.find(r => r.innerText.startsWith('memetic'));
        const link = row.cells[4].querySelector('a'); link.click();
        await new Promise(done => setTimeout(done, 100));
        const section = document.getElementById(link.hash.slice(1));
        answer.open = section.closest('details').open;
        answer.seeds = [...section.querySelectorAll('tbody tr')].map(r => r.cells[0].innerText);
        answer.plan = section.querySelector('pre').textContent;
        document.querySelector('.enlarge').click();
        answer.enlarged = document.getElementById('large').open;
        """,
    )
    assert answer["open"]
    assert answer["seeds"] == ["0", "1"]
    assert set(json.loads(answer["plan"])) == {"micro_batch", "layers", "pipelines"}
    assert answer["enlarged"]


def test_it_asks_for_nothing_from_elsewhere(page: Path) -> None:
    text = page.read_text()
    assert re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', text) == []
    assert "url(" not in text
    assert "a &lt;odd&gt; &amp; 100_% name" in text
    assert "<odd>" not in text


def test_it_says_what_each_run_proves(page: Path) -> None:
    assert "no plan is below 3.90000 s" in page.read_text()


def test_it_is_valid(page: Path) -> None:
    if TIDY is None:
        pytest.skip("tidy is not installed: the page was not validated")
    done = subprocess.run([TIDY, "-q", "-e", str(page)], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_the_tables_compile_in_a_paper(page: Path) -> None:
    if LATEX is None:
        pytest.skip("pdflatex is not installed: the LaTeX tables were not compiled")
    names = ("quality", "savings", "summary")
    inputs = "\n".join(rf"\resizebox{{\textwidth}}{{!}}{{\input{{{name}}}}}" for name in names)
    packages = r"\usepackage{booktabs,longtable,graphicx}"
    paper = rf"\documentclass{{article}}{packages}\begin{{document}}{inputs}\end{{document}}"
    (page.parent / "paper.tex").write_text(paper)
    done = subprocess.run(
        [LATEX, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=page.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert r"100\_\% name" in (page.parent / "summary.tex").read_text()
