// Real text, packed: the paragraphs of a file become documents of one sequence, each byte a token, and attention runs
// over all of them at once, forward and backward, without a padded token and without a byte looking into another
// paragraph. Each paragraph by itself gives the same results and gradients.
//
//     packed_text FILE            (a paragraph ends at an empty line)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "jali/jali.h"

namespace {

constexpr int64_t kHeads = 4;
constexpr int64_t kHeadDim = 64;

// The paragraphs of a text, blank lines left out.
std::vector<std::string> paragraphs(std::istream& text) {
    std::vector<std::string> found(1);
    for (std::string line; std::getline(text, line);) {
        if (!line.empty()) {
            found.back() += line + "\n";
        } else if (!found.back().empty()) {
            found.emplace_back();
        }
    }
    if (found.back().empty()) found.pop_back();
    return found;
}

// A vector for each of the 256 bytes, the same for every use of it: what an embedding and a projection would give.
std::vector<float> byte_vectors(uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> vectors(static_cast<size_t>(256 * kHeads * kHeadDim));
    for (float& value : vectors) value = normal(random);
    return vectors;
}

// A dense float32 tensor (1, heads, tokens, columns).
struct Tensor {
    Tensor(int64_t tokens, int64_t columns)
        : data(static_cast<size_t>(kHeads * tokens * columns)),
          view(jali::contiguous(data.data(), jali::DType::kFloat32, {1, kHeads, tokens, columns})) {}

    std::vector<float> data;
    jali::TensorView view;
};

Tensor embed(const std::string& bytes, uint32_t seed) {
    const std::vector<float> vectors = byte_vectors(seed);
    const auto tokens = static_cast<int64_t>(bytes.size());
    Tensor tensor(tokens, kHeadDim);
    for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t s = 0; s < tokens; ++s) {
            const auto byte = static_cast<unsigned char>(bytes[static_cast<size_t>(s)]);
            std::copy_n(vectors.begin() + (byte * kHeads + h) * kHeadDim, kHeadDim,
                        tensor.data.begin() + (h * tokens + s) * kHeadDim);
        }
    }
    return tensor;
}

// What attention gives of each byte and head, and the gradients for a loss whose gradient is that of the bytes.
struct Attended {
    explicit Attended(int64_t tokens)
        : out(tokens, kHeadDim), lse(tokens, 1), dq(tokens, kHeadDim), dk(tokens, kHeadDim), dv(tokens, kHeadDim) {}
    Tensor out, lse, dq, dk, dv;
};

Attended attend(const std::string& bytes, const jali::BlockMask& mask) {
    const Tensor q = embed(bytes, 1), k = embed(bytes, 2), v = embed(bytes, 3), dout = embed(bytes, 4);
    Attended done(static_cast<int64_t>(bytes.size()));
    jali::attention_forward({q.view, k.view, v.view, done.out.view, done.lse.view}, mask);
    jali::attention_backward(
        {q.view, k.view, v.view, done.out.view, done.lse.view, dout.view, {}, done.dq.view, done.dk.view, done.dv.view},
        mask);
    return done;
}

// The largest difference between the rows of `packed` from `begin` on and `alone`, in parts of the largest value.
double difference(const Tensor& packed, int64_t begin, const Tensor& alone) {
    const int64_t tokens = alone.view.shape[2], all = packed.view.shape[2];
    double largest = 0, scale = 1;
    for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t i = 0; i < tokens * kHeadDim; ++i) {
            const double one = alone.data[static_cast<size_t>(h * tokens * kHeadDim + i)];
            const double other = packed.data[static_cast<size_t>((h * all + begin) * kHeadDim + i)];
            largest = std::max(largest, std::fabs(one - other));
            scale = std::max(scale, std::fabs(one));
        }
    }
    return largest / scale;
}

// Of a paragraph that is attended to by itself.
double difference(const Attended& packed, int64_t begin, const std::string& paragraph) {
    using namespace jali::indices;
    const auto tokens = static_cast<int64_t>(paragraph.size());
    const Attended alone =
        attend(paragraph, jali::build_block_mask(q >= kv, {.domain = {.q_len = tokens, .kv_len = tokens}}));
    return std::max({difference(packed.out, begin, alone.out), difference(packed.dq, begin, alone.dq),
                     difference(packed.dk, begin, alone.dk), difference(packed.dv, begin, alone.dv)});
}

}  // namespace

int main(int argc, char** argv) {
    std::ifstream file(argc == 2 ? argv[1] : "");
    if (!file) {
        std::cerr << "usage: packed_text FILE, a text whose paragraphs end at empty lines\n";
        return 2;
    }
    const std::vector<std::string> texts = paragraphs(file);
    std::string bytes;
    std::vector<int64_t> lengths;
    for (const std::string& text : texts) {
        bytes += text;
        lengths.push_back(static_cast<int64_t>(text.size()));
    }

    using namespace jali::indices;
    const jali::Table doc = jali::Table::documents("doc", lengths);
    const auto tokens = static_cast<int64_t>(bytes.size());
    const jali::BlockMask mask =
        jali::build_block_mask(doc[q] == doc[kv] && q >= kv, {.domain = {.q_len = tokens, .kv_len = tokens}});
    std::cout << texts.size() << " paragraphs, " << tokens << " bytes\n"
              << jali::terminal_picture(mask, {.columns = 48});

    const auto start = std::chrono::steady_clock::now();
    const Attended packed = attend(bytes, mask);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    std::cout << "attention forward and backward: " << elapsed.count() << " ms\n";

    double largest = 0;
    for (size_t i = 0, begin = 0; i < texts.size(); begin += texts[i++].size()) {
        largest = std::max(largest, difference(packed, static_cast<int64_t>(begin), texts[i]));
    }
    std::cout << "largest difference from each paragraph by itself, results and gradients: " << largest << "\n";
    return largest < 1e-4 ? 0 : 1;
}
