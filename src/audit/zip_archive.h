// Zip files, which Python wheels are: members read one after another, each held only while it is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "audit/carrier.h"

namespace jali::audit {

struct ZipVisitor {
    // Whether a member is wanted, by its name and its first bytes (kKindBytes, or all where there are fewer).
    std::function<bool(const std::string& name, std::span<const uint8_t> beginning)> wants;
    std::function<void(Carrier)> on_member;                                                // its origin is "ZIP!NAME"
    std::function<void(const std::string& name, const std::string& sentence)> on_problem;  // name empty: the whole
};

void read_zip(const Carrier& zip, const ZipVisitor& visitor);

}  // namespace jali::audit
