// Attention's tensors as the tests write and read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace jali::test {

struct Sizes {
    int64_t batch = 1, heads = 1, kv_heads = 1, q_len = 0, kv_len = 0, head_dim = 0, v_head_dim = 0;
};

// float32 values in (batch, heads, sequence, dimension) order, whatever the layout of the file.
struct Values {
    std::vector<int64_t> shape;
    std::vector<float> data;
};
using NamedValues = std::map<std::string, Values>;

// N(0, 1) in q, k, v, dout and dlse.
NamedValues draw_inputs(const Sizes& n, uint64_t seed);
enum class Order : uint8_t { kBhsd, kBshd };
void write_tensors(const std::filesystem::path& path, const NamedValues& tensors, Order order = Order::kBhsd);
// Of a file of F32 tensors.
NamedValues read_tensors(const std::filesystem::path& path, Order order = Order::kBhsd);

void write_attention_inputs(const std::filesystem::path& path, const Sizes& sizes, uint64_t seed);

}  // namespace jali::test
