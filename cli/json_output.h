// JSON on standard output.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/console.h"

namespace jali::cli {

using Json = nlohmann::ordered_json;

// One document and a line break. Bytes that are no UTF-8 (in names) become U+FFFD; numbers that are not finite, null.
inline void print_document(const Json& json) {
    print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace jali::cli
