// Finds the first pair, in (b, h, q, kv) order, at which a predicate's value does not exist.
#pragma once

#include "jali/predicate.h"

namespace jali {

// Throws the EvaluationError of that pair, which the caller knows to exist.
[[noreturn]] void throw_first_failure(const Predicate& keep, const Domain& domain);

}  // namespace jali
