// Versions of assemblers ("13.0.88") and of PTX ("9.0"): numbers with dots between.
#pragma once

#include <string>
#include <string_view>

namespace jali::audit {

// One to four numbers of up to nine digits.
bool is_version(std::string_view text);
// By number, not by digit: "12.10" is after "12.9". Both are versions.
bool is_older(std::string_view one, std::string_view other);
// "13.0.88" has the beginnings "13", "13.0" and itself; "13.0.8" is none.
bool begins_version(std::string_view beginning, std::string_view version);
// The first version in a text, such as 13.0.88 of "release 13.0, V13.0.88" after "V"; empty where there is none.
std::string version_after(std::string_view text, std::string_view mark);

}  // namespace jali::audit
