#include "cli/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "jali/error.h"

namespace jali::cli {

namespace {

constexpr uintptr_t kRowAlignment = 16;

DType dtype_of(const io::StoredTensor& tensor) {
    switch (tensor.type) {
        case io::StoredType::kFloat32:
            return DType::kFloat32;
        case io::StoredType::kBFloat16:
            return DType::kBFloat16;
        case io::StoredType::kFloat16:
            return DType::kFloat16;
        default:
            throw Error(fmt::format("{} is {} but must be F32, BF16 or F16", tensor.name, io::name_of(tensor.type)));
    }
}

io::StoredType stored_type_of(DType dtype) {
    if (dtype == DType::kBFloat16) return io::StoredType::kBFloat16;
    return dtype == DType::kFloat16 ? io::StoredType::kFloat16 : io::StoredType::kFloat32;
}

const io::StoredTensor& find(const io::SafetensorsFile& file, const std::string& file_name, const std::string& name) {
    if (const io::StoredTensor* tensor = file.find(name)) return *tensor;
    std::string names;
    for (const auto& tensor : file.tensors()) names += (names.empty() ? "" : ", ") + tensor.name;
    throw Error(fmt::format("{} has no tensor '{}', it has: {}", file_name, name, names.empty() ? "none" : names));
}

std::vector<int64_t> stored_shape(const TensorView& view, Layout layout) {
    const auto& [b, h, s, d] = view.shape;
    return layout == Layout::kBhsd ? std::vector{b, h, s, d} : std::vector{b, s, h, d};
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path, Layout layout, Direction direction)
    : file_(path), file_name_(path.string()) {
    q = read("q", layout);
    k = read("k", layout);
    v = read("v", layout);
    if (direction == Direction::kForward) return;
    dout = read("dout", layout);
    if (file_.find("dlse") != nullptr) dlse = read_row_values("dlse");
}

TensorView InputFile::read(const std::string& name, Layout layout) {
    const io::StoredTensor& tensor = find(file_, file_name_, name);
    const DType dtype = dtype_of(tensor);
    if (tensor.shape.size() != 4) {
        throw Error(fmt::format(
            "{} has rank {} but must have rank 4: ({})", name, tensor.shape.size(),
            layout == Layout::kBhsd ? "batch, heads, sequence, dimension" : "batch, sequence, heads, dimension"));
    }
    std::array<int64_t, 4> shape{};
    std::copy(tensor.shape.begin(), tensor.shape.end(), shape.begin());
    if (layout == Layout::kBshd) std::swap(shape[1], shape[2]);
    if (reinterpret_cast<uintptr_t>(tensor.data.data()) % kRowAlignment == 0) {
        // Inputs are only read, which TensorView cannot say.
        return dense_view(const_cast<uint8_t*>(tensor.data.data()), dtype, shape, layout);
    }
    const OwnedTensor& copy = copies_.emplace_back(dtype, shape, layout);
    if (!tensor.data.empty()) std::memcpy(copy.bytes().data(), tensor.data.data(), tensor.data.size());
    return copy.view();
}

TensorView InputFile::read_row_values(const std::string& name) {
    const io::StoredTensor& tensor = find(file_, file_name_, name);
    if (tensor.type != io::StoredType::kFloat32) {
        throw Error(fmt::format("{} is {} but must be F32", name, io::name_of(tensor.type)));
    }
    if (tensor.shape.size() != 3) {
        throw Error(
            fmt::format("{} has rank {} but must have rank 3: (batch, heads, queries)", name, tensor.shape.size()));
    }
    const OwnedTensor& copy = copies_.emplace_back(
        DType::kFloat32, std::array{tensor.shape[0], tensor.shape[1], tensor.shape[2], int64_t{1}});
    if (!tensor.data.empty()) std::memcpy(copy.bytes().data(), tensor.data.data(), tensor.data.size());
    return copy.view();
}

Results make_results(const InputFile& inputs, Layout layout, Direction direction) {
    const auto& [b, h, s, d] = inputs.q.shape;
    Results results;
    results.out = OwnedTensor(inputs.q.dtype, {b, h, s, inputs.v.shape[3]}, layout);
    results.lse = OwnedTensor(DType::kFloat32, {b, h, s, 1});
    if (direction == Direction::kForward) return results;
    results.dq = OwnedTensor(inputs.q.dtype, inputs.q.shape, layout);
    results.dk = OwnedTensor(inputs.q.dtype, inputs.k.shape, layout);
    results.dv = OwnedTensor(inputs.q.dtype, inputs.v.shape, layout);
    return results;
}

ForwardTensors forward_tensors(const InputFile& inputs, const Results& results) {
    return {inputs.q, inputs.k, inputs.v, results.out.view(), results.lse.view()};
}

BackwardTensors backward_tensors(const InputFile& inputs, const Results& results) {
    return {.q = inputs.q,
            .k = inputs.k,
            .v = inputs.v,
            .out = results.out.view(),
            .lse = results.lse.view(),
            .dout = inputs.dout,
            .dlse = inputs.dlse,
            .dq = results.dq.view(),
            .dk = results.dk.view(),
            .dv = results.dv.view()};
}

void write_results(const std::filesystem::path& path, const Results& results, Layout layout, Direction direction) {
    const auto stored = [&](const std::string& name, const OwnedTensor& tensor) {
        return io::StoredTensor{name, stored_type_of(tensor.view().dtype), stored_shape(tensor.view(), layout),
                                tensor.bytes()};
    };
    const auto& [b, h, s, one] = results.lse.view().shape;
    std::vector<io::StoredTensor> tensors = {stored("out", results.out),
                                             {"lse", io::StoredType::kFloat32, {b, h, s}, results.lse.bytes()}};
    if (direction == Direction::kBackward) {
        for (const auto& [name, tensor] : {std::pair{"dq", &results.dq}, {"dk", &results.dk}, {"dv", &results.dv}}) {
            tensors.push_back(stored(name, *tensor));
        }
    }
    io::write_safetensors(path, tensors);
}

}  // namespace jali::cli
