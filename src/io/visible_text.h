// Text out of files that nobody vouches for, made fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jali::io {

// Valid UTF-8 without control characters: those become \x1b and the like, bytes that are no UTF-8 become U+FFFD, tabs
// become spaces. Marks that reorder or hide text (bidirectional controls, zero width) are spelled out too.
std::string visible(std::string_view text);
// The same, with & < > " ' as HTML wants them; fit for text and quoted attributes.
std::string html(std::string_view text);

// Characters that a terminal shows for valid UTF-8.
size_t characters_of(std::string_view text);
// At most `characters`, the middle replaced by an ellipsis. `text` is valid UTF-8.
std::string shortened(std::string_view text, size_t characters);

}  // namespace jali::io
