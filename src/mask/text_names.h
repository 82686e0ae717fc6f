// The names of scalars and tables in the text form.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jali/predicate.h"
#include "jali/predicate_text.h"

namespace jali {

// Whether the printer may call a table of the name `own` by `key`: the same name, or where it is taken or not legal
// in the text form what stands in its place (doc_2, t).
bool stands_for(std::string_view key, std::string_view own);

// Gives each scalar and each table of a tree a legal name that no other one has. Two tables are one where name and
// values agree, two scalars likewise.
class Names {
   public:
    // Keeps pointers into the tree.
    explicit Names(const Expression& expression);

    // Of a node that is a kScalar or a kRead of the tree.
    const std::string& of(const Node& node) const { return named_[position_.at(&node)].printed; }
    Bindings bindings() const;

   private:
    struct Named {
        const Node* node;  // the first that uses it
        std::string printed;
    };

    void collect(const Node& node);
    void choose(Op op);

    std::vector<Named> named_;
    std::unordered_map<const Node*, size_t> position_;     // in named_
    std::multimap<std::string_view, size_t> of_own_name_;  // in named_
};

}  // namespace jali
