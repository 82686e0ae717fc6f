#include "audit/html_style.h"

namespace jali::audit {

// Neither holds < > or &, which would be escaped. Heat is a colour between the page's and orange, good news one between
// the page's and blue, and always beside a number.
const char* const kPageStyle = R"(
:root { color-scheme: light dark; --page: #fff; --box: #f6f7f9; --ink: #1a1a1a; --faint: #5d6470; --line: #d3d7de; --hot: #f08a24; --cool: #5b9bd5; --plain: #a9b0bb; }
@media (prefers-color-scheme: dark) { :root { --page: #15171b; --box: #1d2026; --ink: #e4e6ea; --faint: #9aa3ae; --line: #363b44; --hot: #9e4c08; --cool: #2f6699; --plain: #5d6673; } }
body { background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; margin: 0 auto; max-width: 120rem; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .8rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1.1rem 0 .3rem; }
p, li { max-width: 62rem; overflow-wrap: anywhere; } p { margin: .4rem 0; } .faint { color: var(--faint); } a { color: inherit; }
ul.facts { list-style: none; margin: .5rem 0; padding: 0; } ul.facts li { max-width: none; }
.wide { border: 1px solid var(--line); display: inline-block; margin: .4rem 0; max-height: 85vh; max-width: 100%; overflow: auto; vertical-align: top; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; vertical-align: top; white-space: nowrap; }
tbody tr:last-child td { border-bottom: 0; } .text { text-align: left; } td.long { min-width: 28rem; white-space: normal; }
th { background: var(--box); position: sticky; top: 0; vertical-align: bottom; white-space: normal; } th.sortable { cursor: pointer; }
th:first-child, td:first-child { border-right: 1px solid var(--line); }
th { z-index: 1; } table:not(.lines) :is(th, td):first-child { left: 0; position: sticky; } table:not(.lines) td:first-child { background: var(--page); } table:not(.lines) th:first-child { z-index: 2; } th.drawn { text-align: left; }
th.sortable:hover, th.sortable:focus-visible { text-decoration: underline; }
th[aria-sort=ascending]::after { content: " \25b4"; } th[aria-sort=descending]::after { content: " \25be"; }
.heat { background: color-mix(in srgb, var(--hot) var(--heat), transparent); } .cool { background: color-mix(in srgb, var(--cool) var(--heat), transparent); }
table.lines { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; } table.lines td { border-bottom: 0; padding-bottom: 0; padding-top: 0; } table.lines td.code { text-align: left; white-space: pre; }
table.lines tr.quiet { color: var(--faint); }
details { border: 1px solid var(--line); margin: .4rem 0; padding: .3rem .8rem; } details[open] { padding-bottom: .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; } summary b { margin-right: .6em; } .mono { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px; }
.bar { background: var(--plain); display: inline-block; height: .75em; margin-right: .5em; min-width: 1px; vertical-align: baseline; } .bar.more { background: var(--hot); } .bar.less { background: var(--cool); }
.bad { font-weight: 600; } .bad::before { color: var(--hot); content: "\25b2 "; } .good::before { color: var(--cool); content: "\25bc "; }
.side { display: flex; flex-wrap: wrap; gap: 0 2rem; }
.heat, .cool, .bar, th { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
@page { margin: 10mm; size: landscape; }
@media print { body { font-size: 9pt; max-width: none; padding: 0; } .wide { display: block; max-height: none; overflow: visible; } th, table:not(.lines) :is(th, td):first-child { position: static; } th, td { padding: .1rem .15rem; white-space: normal; } table { font-size: 7pt; } tr { break-inside: avoid; } table.lines td { white-space: nowrap; } table.lines td.code { overflow-wrap: anywhere; white-space: pre-wrap; } details::details-content { content-visibility: visible; block-size: auto; } }
)";

const char* const kPageScript = R"(
document.querySelectorAll("table:not(.lines) th").forEach(function (heading) {
  var isText = heading.classList.contains("text");
  function value(row) {
    var cell = row.cells[heading.cellIndex];
    var shown = cell.dataset.n === undefined ? cell.textContent : cell.dataset.n;
    return isText ? shown : Number(shown);
  }
  function sort() {
    var body = heading.closest("table").tBodies[0], before = heading.getAttribute("aria-sort");
    var up = before === null ? isText : before === "descending";
    heading.parentNode.querySelectorAll("th").forEach(function (other) { other.removeAttribute("aria-sort"); });
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    Array.from(body.rows).map(function (row) { return { row: row, value: value(row) }; }).sort(function (a, b) {
      var way = isText ? a.value.localeCompare(b.value, undefined, { numeric: true }) : a.value - b.value;
      return up ? way : -way;
    }).forEach(function (item) { body.appendChild(item.row); });
  }
  heading.classList.add("sortable");
  heading.tabIndex = 0;
  heading.addEventListener("click", sort);
  heading.addEventListener("keydown", function (event) { if (event.key === "Enter") sort(); });
});
)";

}  // namespace jali::audit
