// A page for browsers: one file, no network, readable without its script.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace jali::audit {

// An element with text in it. Everything that came out of a file goes through here: it is made visible, then escaped.
pugi::xml_node add(pugi::xml_node parent, const char* element, std::string_view text = {},
                   const char* class_name = nullptr);
void set(pugi::xml_node node, const char* attribute, std::string_view value);
// "name: text", an item of a list of facts.
void add_fact(pugi::xml_node list, const char* name, const std::string& text);

// A cell of a table: its text, what it is sorted by, and how hot it is, in [-1, 1]; below zero is good news.
struct Cell {
    std::string text;
    double sort_by = 0;
    bool is_number = true;
    double heat = 0;
    std::string title;  // shown when pointed at
    std::string link;   // within the page: "#k3"
};
Cell number_cell(int64_t number, double heat = 0);
Cell text_cell(std::string text, std::string title = {}, std::string link = {});
void add_heat(pugi::xml_node node, double heat);  // of a node without a class yet

// A table whose columns can be sorted by clicking on their headings. Long ones scroll under their headings.
class HtmlTable {
   public:
    HtmlTable(pugi::xml_node parent, const std::vector<std::string>& heading);
    pugi::xml_node add_row(const std::vector<Cell>& cells);
    // At the end of a row: a number as a bar of `share` of the widest, with its text beside it.
    void add_bar_cell(pugi::xml_node row, const Cell& cell, double share, const char* class_name = "bar");

   private:
    pugi::xml_node heading_, body_;
};

class HtmlPage {
   public:
    explicit HtmlPage(std::string_view title);
    pugi::xml_node main() { return main_; }
    std::string text() const;

   private:
    pugi::xml_document document_;
    pugi::xml_node main_;
};

}  // namespace jali::audit
