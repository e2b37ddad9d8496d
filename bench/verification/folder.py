"""What the command `verify` does: all offline checks, then, if asked, every proof once more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from bench.runs.store import Store
from bench.verification.best_values import best_known_findings
from bench.verification.checks import record_name, verify_store
from bench.verification.resolve import is_proof, resolve


def verify_folder(folder: Path, resolve_s: float | None) -> dict[str, Any]:
    """Findings and counts; `resolve_s` is the limit for each proof that is solved again, None for none."""
    store = Store(folder)
    records = store.records()
    findings = verify_store(store)
    if not findings:  # then every record's instance is there
        names = dict.fromkeys(record["instance"] for record in records)
        findings += best_known_findings(store.instance(name) for name in names)[1]
    proofs = [record for record in records if is_proof(record)]
    repeated = 0
    if resolve_s is not None and not findings:
        console = Console(file=sys.stderr)
        for record in track(proofs, "solving again", console=console, disable=not sys.stderr.isatty()):
            done, found = resolve(record, store.instance(record["instance"]), resolve_s)
            repeated += done
            findings += [f"{record_name(record)}: {finding}" for finding in found]
    return {
        "folder": str(folder),
        "records": len(records),
        "proofs": len(proofs),
        "resolved": repeated if resolve_s is not None else None,
        "findings": findings,
    }
