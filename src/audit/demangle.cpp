#include "audit/demangle.h"

#include <libiberty/demangle.h>

#include <cstddef>

namespace jali::audit {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;
constexpr size_t kMostMangledBytes = size_t{16} << 10;

struct TooLong {};

void append(const char* piece, size_t size, void* state) {
    auto& text = *static_cast<std::string*>(state);
    if (size > kMostBytes - text.size()) throw TooLong{};
    text.append(piece, size);
}

}  // namespace

std::string demangle(const std::string& name) {
    if (name.compare(0, 2, "_Z") != 0 || name.size() > kMostMangledBytes) return name;
    std::string text;
    try {
        // The exception passes through frames of C that own nothing but their stack.
        if (cplus_demangle_v3_callback(name.c_str(), DMGL_PARAMS | DMGL_ANSI, append, &text) == 0) return name;
    } catch (const TooLong&) {
        return name;
    }
    return text;
}

}  // namespace jali::audit
