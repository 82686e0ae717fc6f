#include "cli/tensor_files.h"

#include <cstring>
#include <random>

#include "io/safetensors.h"

namespace jali::test {

namespace {

// Exchanges the two middle dimensions of a rank-4 tensor.
Values swapped(const Values& values) {
    const int64_t b = values.shape[0], x = values.shape[1], y = values.shape[2], d = values.shape[3];
    Values result{{b, y, x, d}, std::vector<float>(values.data.size())};
    for (int64_t i = 0; i < b; ++i) {
        for (int64_t j = 0; j < x; ++j) {
            for (int64_t k = 0; k < y; ++k) {
                for (int64_t l = 0; l < d; ++l) {
                    result.data[static_cast<size_t>(((i * y + k) * x + j) * d + l)] =
                        values.data[static_cast<size_t>(((i * x + j) * y + k) * d + l)];
                }
            }
        }
    }
    return result;
}

}  // namespace

NamedValues draw_inputs(const Sizes& n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    const auto draw = [&](std::vector<int64_t> shape) {
        int64_t count = 1;
        for (const int64_t extent : shape) count *= extent;
        Values values{std::move(shape), std::vector<float>(static_cast<size_t>(count))};
        for (float& value : values.data) value = normal(random);
        return values;
    };
    NamedValues tensors;
    tensors["q"] = draw({n.batch, n.heads, n.q_len, n.head_dim});
    tensors["k"] = draw({n.batch, n.kv_heads, n.kv_len, n.head_dim});
    tensors["v"] = draw({n.batch, n.kv_heads, n.kv_len, n.v_head_dim});
    tensors["dout"] = draw({n.batch, n.heads, n.q_len, n.v_head_dim});
    tensors["dlse"] = draw({n.batch, n.heads, n.q_len});
    return tensors;
}

void write_tensors(const std::filesystem::path& path, const NamedValues& tensors, Order order) {
    NamedValues stored = tensors;
    std::vector<io::StoredTensor> list;
    for (auto& [name, values] : stored) {
        if (order == Order::kBshd && values.shape.size() == 4) values = swapped(values);
        list.push_back({name,
                        io::StoredType::kFloat32,
                        values.shape,
                        {reinterpret_cast<const uint8_t*>(values.data.data()), 4 * values.data.size()}});
    }
    io::write_safetensors(path, list);
}

NamedValues read_tensors(const std::filesystem::path& path, Order order) {
    const io::SafetensorsFile file(path);
    NamedValues tensors;
    for (const io::StoredTensor& tensor : file.tensors()) {
        Values values{tensor.shape, std::vector<float>(tensor.data.size() / 4)};
        if (!tensor.data.empty()) std::memcpy(values.data.data(), tensor.data.data(), tensor.data.size());
        if (order == Order::kBshd && values.shape.size() == 4) values = swapped(values);
        tensors[tensor.name] = std::move(values);
    }
    return tensors;
}

void write_attention_inputs(const std::filesystem::path& path, const Sizes& sizes, uint64_t seed) {
    write_tensors(path, draw_inputs(sizes, seed));
}

}  // namespace jali::test
