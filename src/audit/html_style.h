// What a report's page looks like, and the one thing it does.
#pragma once

namespace jali::audit {

extern const char* const kPageStyle;
extern const char* const kPageScript;  // sorts tables; the page is whole without it

}  // namespace jali::audit
