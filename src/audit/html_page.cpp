#include "audit/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "audit/visible_text.h"

namespace jali::audit {
namespace {

// Neither holds < > or &, which would be escaped. Heat is a colour between the page's and orange, dark where the page
// is, and always beside a number.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fff; --ink: #1a1a1a; --faint: #667; --line: #ccd; --hot: #f08a24; --cool: #4a7fb5; }
@media (prefers-color-scheme: dark) { :root { --page: #15171b; --ink: #e4e6ea; --faint: #9aa; --line: #363b44; --hot: #b3560a; --cool: #3d6a96; } }
body { background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 110rem; padding: 1.5rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
p, li { max-width: 60rem; } .faint { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--page); } th.sortable { cursor: pointer; text-decoration: underline dotted; }
td.text, th { text-align: left; }
.heat { background: color-mix(in srgb, var(--hot) var(--heat), transparent); print-color-adjust: exact; -webkit-print-color-adjust: exact; }
pre { border: 1px solid var(--line); margin: .4rem 0; overflow-x: auto; padding: .4rem 0; font-size: 13px; }
pre span { display: block; padding: 0 .6rem; }
details { border: 1px solid var(--line); margin: .4rem 0; padding: .3rem .8rem; } summary { cursor: pointer; overflow-wrap: anywhere; }
.bar { display: inline-block; height: .7em; background: var(--cool); vertical-align: middle; margin-right: .4em; min-width: 1px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bar.after { background: var(--hot); }
.bad { font-weight: 600; } .bad::before { content: "\25b2 "; color: var(--hot); }
@media print { details { break-inside: avoid; } th { position: static; } }
)";

// Sorts the rows of a table by the values that its cells carry; again, the other way round.
constexpr const char* kScript = R"(
document.querySelectorAll("th").forEach(function (heading) {
  heading.className = "sortable";
  heading.addEventListener("click", function () {
    var body = heading.closest("table").tBodies[0], at = heading.cellIndex;
    var way = heading.dataset.way === "up" ? -1 : 1;
    heading.dataset.way = way === 1 ? "up" : "down";
    Array.from(body.rows).sort(function (a, b) {
      var x = a.cells[at], y = b.cells[at];
      if (x.dataset.n !== undefined) return way * (Number(x.dataset.n) - Number(y.dataset.n));
      return way * x.textContent.localeCompare(y.textContent);
    }).forEach(function (row) { body.appendChild(row); });
  });
});
)";

}  // namespace

pugi::xml_node add(pugi::xml_node parent, const char* element, std::string_view text, const char* class_name) {
    pugi::xml_node node = parent.append_child(element);
    if (class_name != nullptr) node.append_attribute("class").set_value(class_name);
    if (!text.empty()) node.append_child(pugi::node_pcdata).set_value(visible(text).c_str());
    return node;
}

void set(pugi::xml_node node, const char* attribute, std::string_view value) {
    node.append_attribute(attribute).set_value(visible(value).c_str());
}

Cell number_cell(int64_t number, double heat) {
    return {.text = fmt::format("{}", number), .sort_by = static_cast<double>(number), .heat = heat, .title = {}};
}

Cell text_cell(std::string text, std::string title) {
    return {.text = std::move(text), .is_number = false, .title = std::move(title)};
}

HtmlTable::HtmlTable(pugi::xml_node parent, const std::vector<std::string>& heading) {
    pugi::xml_node table = add(add(parent, "div", {}, "wide"), "table");
    pugi::xml_node row = add(add(table, "thead"), "tr");
    for (const std::string& text : heading) add(row, "th", text);
    body_ = add(table, "tbody");
}

pugi::xml_node HtmlTable::add_row(const std::vector<Cell>& cells) {
    pugi::xml_node row = add(body_, "tr");
    for (const Cell& cell : cells) {
        const bool is_hot = cell.heat > 0;
        const char* name = !cell.is_number ? (is_hot ? "text heat" : "text") : is_hot ? "heat" : nullptr;
        pugi::xml_node node = add(row, "td", cell.text, name);
        if (cell.is_number) set(node, "data-n", fmt::format("{}", cell.sort_by));
        if (is_hot) set(node, "style", fmt::format("--heat: {}%", std::lround(100 * std::min(cell.heat, 1.0))));
        if (!cell.title.empty()) set(node, "title", cell.title);
    }
    return row;
}

HtmlPage::HtmlPage(std::string_view title) {
    document_.append_child(pugi::node_doctype).set_value("html");
    pugi::xml_node html = document_.append_child("html");
    set(html, "lang", "en");
    pugi::xml_node head = add(html, "head");
    set(add(head, "meta"), "charset", "utf-8");
    pugi::xml_node viewport = add(head, "meta");
    set(viewport, "name", "viewport");
    set(viewport, "content", "width=device-width");
    add(head, "title", title);
    head.append_child("style").append_child(pugi::node_pcdata).set_value(kStyle);
    main_ = add(add(html, "body"), "main");
    add(main_, "h1", title);
    main_.parent().append_child("script").append_child(pugi::node_pcdata).set_value(kScript);
}

std::string HtmlPage::text() const {
    std::ostringstream out;
    document_.save(out, "", pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags);
    return out.str();
}

}  // namespace jali::audit
