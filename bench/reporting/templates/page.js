"use strict";
const all = (where, what) => [...where.querySelectorAll(what)];

// The first number of a cell, or its text; what is not available comes last, whichever way the column is sorted.
function keyOf(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = parseFloat(text.replace(/^[=>+ ]+/, "").replaceAll(",", ""));
  if (text === "n/a") return null;
  return Number.isNaN(number) ? text : text.startsWith("infinite") ? Infinity : number;
}

function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b));
}

// Rows are sorted inside their group, and groups by the row that comes first.
function sort(table, column, sign) {
  const bodies = all(table, "tbody").map((body) => {
    const rows = all(body, "tr:not(.group)");
    rows.sort((a, b) => compare(keyOf(a, column), keyOf(b, column), sign));
    body.append(...rows);
    return { body, key: rows.length ? keyOf(rows[0], column) : null };
  });
  bodies.sort((a, b) => compare(a.key, b.key, sign));
  table.append(...bodies.map((entry) => entry.body));
}

for (const button of all(document, ".sort")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of all(head.parentNode, "th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    sort(head.closest("table"), head.cellIndex, down ? -1 : 1);
  });
}

const every = document.getElementById("every");
const filter = document.getElementById("filter");

function show() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const body of all(every, "tbody")) {
    const open = body.querySelector(".toggle").getAttribute("aria-expanded") === "true";
    const title = body.querySelector("tr.group").textContent.toLowerCase();
    let matches = 0;
    for (const row of all(body, "tr:not(.group)")) {
      const text = title + " " + row.textContent.toLowerCase();
      const match = words.every((word) => text.includes(word));
      matches += match;
      row.hidden = !match || !open;
    }
    body.hidden = matches === 0;
    found += matches;
  }
  document.getElementById("found").textContent = words.length ? `${found} rows` : "";
}

filter.addEventListener("input", show);
for (const toggle of all(every, ".toggle")) {
  toggle.addEventListener("click", () => {
    toggle.setAttribute("aria-expanded", String(toggle.getAttribute("aria-expanded") !== "true"));
    show();
  });
}
document.getElementById("fold").addEventListener("click", (event) => {
  const unfold = event.target.textContent === "Unfold all";
  for (const toggle of all(every, ".toggle")) toggle.setAttribute("aria-expanded", String(unfold));
  event.target.textContent = unfold ? "Fold all" : "Unfold all";
  show();
});

const large = document.getElementById("large");
for (const button of all(document, ".enlarge")) {
  button.addEventListener("click", () => {
    const picture = button.querySelector("img");
    Object.assign(large.querySelector("img"), { src: picture.src, alt: picture.alt });
    large.showModal();
  });
}
large.addEventListener("click", () => large.close());

// A link into a closed section opens it.
function follow() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", follow);
follow();
