// Text out of files that nobody vouches for, made fit to be shown.
#pragma once

#include "io/visible_text.h"

namespace jali::audit {

using io::characters_of;
using io::html;
using io::shortened;
using io::visible;

}  // namespace jali::audit
