#include "cli/random_tensor.h"

#include <algorithm>
#include <random>
#include <span>

#include "attention/rounding.h"

namespace jali::cli {

namespace {

constexpr int64_t kSamples = 1 << 16;

// SplitMix64 (Steele, Lea, Flood 2014).
uint64_t next_random(uint64_t& state) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

// Each element a copy of one of `samples`, four for each random number.
template <class Element>
void fill_from(std::span<uint8_t> bytes, const OwnedTensor& samples, uint64_t state) {
    const auto* sample = static_cast<const Element*>(samples.view().data);
    auto* elements = reinterpret_cast<Element*>(bytes.data());
    const size_t count = bytes.size() / sizeof(Element);
    for (size_t i = 0; i < count; i += 4) {
        uint64_t bits = next_random(state);
        for (size_t j = i; j < std::min(i + 4, count); ++j, bits >>= 16) elements[j] = sample[bits & 0xFFFF];
    }
}

}  // namespace

void fill_normal(const OwnedTensor& tensor, uint64_t seed) {
    const DType dtype = tensor.view().dtype;
    const OwnedTensor samples(dtype, {1, 1, 1, kSamples});
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < kSamples; ++i) set_element(samples.view(), 0, 0, 0, i, normal(generator));
    const uint64_t state = generator();
    if (dtype == DType::kFloat32) return fill_from<float>(tensor.bytes(), samples, state);
    fill_from<uint16_t>(tensor.bytes(), samples, state);
}

}  // namespace jali::cli
