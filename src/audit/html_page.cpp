#include "audit/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "audit/html_style.h"
#include "audit/visible_text.h"

namespace jali::audit {
namespace {

void add_bar(pugi::xml_node parent, double share, const char* class_name) {
    constexpr double kWidest = 12;
    const double width = kWidest * std::clamp(share, 0.0, 1.0);
    set(add(parent, "span", {}, class_name), "style", fmt::format("width: {:.1f}rem", width));
}

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

void add_fact(pugi::xml_node list, const char* name, const std::string& text) {
    pugi::xml_node item = add(list, "li");
    add(item, "span", std::string(name) + ": ", "faint");
    add(item, "span", text);
}

Cell number_cell(int64_t number, double heat) {
    return {.text = fmt::format("{}", number),
            .sort_by = static_cast<double>(number),
            .heat = heat,
            .title = {},
            .link = {}};
}

Cell text_cell(std::string text, std::string title, std::string link) {
    return {.text = std::move(text), .is_number = false, .title = std::move(title), .link = std::move(link)};
}

void add_heat(pugi::xml_node node, double heat) {
    const long percent = std::lround(100 * std::clamp(heat, -1.0, 1.0));
    if (percent == 0) return;
    pugi::xml_attribute name = node.attribute("class");
    if (!name) name = node.append_attribute("class");
    const std::string before = name.value();
    name.set_value((before + (before.empty() ? "" : " ") + (percent > 0 ? "heat" : "cool")).c_str());
    set(node, "style", fmt::format("--heat: {}%", std::abs(percent)));
}

HtmlTable::HtmlTable(pugi::xml_node parent, const std::vector<std::string>& heading) {
    pugi::xml_node table = add(add(parent, "div", {}, "wide"), "table");
    heading_ = add(add(table, "thead"), "tr");
    for (const std::string& text : heading) add(heading_, "th", text);
    body_ = add(table, "tbody");
}

pugi::xml_node HtmlTable::add_row(const std::vector<Cell>& cells) {
    const bool is_first = !body_.first_child();
    pugi::xml_node row = add(body_, "tr"), heading = heading_.first_child();
    for (const Cell& cell : cells) {
        if (is_first && !cell.is_number) set(heading, "class", "text");
        heading = heading.next_sibling();
        pugi::xml_node node = add(row, "td", {}, cell.is_number ? nullptr : "text");
        if (cell.link.empty()) {
            if (!cell.text.empty()) node.append_child(pugi::node_pcdata).set_value(visible(cell.text).c_str());
        } else {
            set(add(node, "a", cell.text), "href", cell.link);
        }
        const std::string number = cell.is_number ? fmt::format("{}", cell.sort_by) : "";
        if (number != cell.text && cell.is_number) set(node, "data-n", number);
        add_heat(node, cell.heat);
        if (!cell.title.empty()) set(node, "title", cell.title);
    }
    return row;
}

void HtmlTable::add_bar_cell(pugi::xml_node row, const Cell& cell, double share, const char* class_name) {
    auto heading = heading_.begin();
    std::advance(heading, std::distance(row.begin(), row.end()));
    if (!heading->attribute("class")) set(*heading, "class", "drawn");
    pugi::xml_node node = add(row, "td", {}, "text");
    set(node, "data-n", fmt::format("{}", cell.sort_by));
    add_bar(node, share, class_name);
    add(node, "span", cell.text);
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
    head.append_child("style").append_child(pugi::node_pcdata).set_value(kPageStyle);
    main_ = add(add(html, "body"), "main");
    add(main_, "h1", title);
    main_.parent().append_child("script").append_child(pugi::node_pcdata).set_value(kPageScript);
}

std::string HtmlPage::text() const {
    std::ostringstream out;
    document_.save(out, "", pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags);
    return out.str();
}

}  // namespace jali::audit
