#include "jali/audit.h"

namespace jali::audit {

std::string_view name_of(SpillSource source) {
    return source == SpillSource::kAnnotations ? "annotations" : "opcodes";
}

std::string_view name_of(Serialisation serialisation) {
    switch (serialisation) {
        case Serialisation::kNone:
            return "none";
        case Serialisation::kNoted:
            return "noted";
        case Serialisation::kObserved:
            return "observed";
    }
    return "none";
}

}  // namespace jali::audit
