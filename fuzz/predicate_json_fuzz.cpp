// Any bytes as the JSON form: an Error of one line, or masks whose JSON gives the same masks back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "jali/error.h"
#include "jali/predicate_text.h"

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

void check_round_trip(const jali::MaskSpecification& specification) {
    const std::string json = jali::to_json(specification);
    const std::vector<jali::MaskSpecification> again = jali::parse_specifications(json);
    require(again.size() == 1, "one mask comes back");
    require(again[0].name == specification.name, "the name comes back");
    require(again[0].predicate.same_as(specification.predicate), "the predicate comes back");
    require(again[0].domain.batch == specification.domain.batch &&
                again[0].domain.heads == specification.domain.heads &&
                again[0].domain.q_len == specification.domain.q_len &&
                again[0].domain.kv_len == specification.domain.kv_len,
            "the domain comes back");
    require(jali::to_json(again[0]) == json, "writing again gives the same JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string json(data, data + size);
    std::vector<jali::MaskSpecification> specifications;
    try {
        specifications = jali::parse_specifications(json);
    } catch (const jali::Error& error) {
        for (const char* c = error.what(); *c != '\0'; ++c) {
            require(static_cast<unsigned char>(*c) >= ' ', "the message is one line");
        }
    }
    for (const jali::MaskSpecification& each : specifications) check_round_trip(each);
    return 0;
}
