// Memory grows with the length, not with its square: measured in child processes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "jali/attention.h"
#include "support/sanitized.h"

namespace jali {
namespace {

constexpr int64_t kHeadDim = 64;

void attend_in_a_window(int64_t length) {
    using namespace indices;
    BuildOptions build;
    build.domain = {.q_len = length, .kv_len = length};
    const BlockMask mask = build_block_mask(q >= kv && q - kv < 512, build);
    std::vector<std::vector<uint16_t>> storage;
    const auto rows = [&] {
        storage.emplace_back(static_cast<size_t>(length * kHeadDim), uint16_t{0x3f80});
        return contiguous(storage.back().data(), DType::kBFloat16, {1, 1, length, kHeadDim});
    };
    std::vector<float> lse_storage(static_cast<size_t>(length));
    BackwardTensors t;
    for (TensorView* tensor : {&t.q, &t.k, &t.v, &t.out, &t.dout, &t.dq, &t.dk, &t.dv}) *tensor = rows();
    t.lse = contiguous(lse_storage.data(), DType::kFloat32, {1, 1, length, 1});
    AttentionOptions options;
    options.threads = 2;
    attention_forward({t.q, t.k, t.v, t.out, t.lse}, mask, options);
    attention_backward(t, mask, options);
}

// The most memory that a child process had while it attended, less what it began with.
int64_t peak_bytes(int64_t length) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        rusage before{}, after{};
        getrusage(RUSAGE_SELF, &before);
        attend_in_a_window(length);
        getrusage(RUSAGE_SELF, &after);
        const int64_t bytes = (after.ru_maxrss - before.ru_maxrss) * 1024;
        _exit(write(ends[1], &bytes, sizeof bytes) == sizeof bytes ? 0 : 1);
    }
    close(ends[1]);
    int64_t bytes = -1;
    const bool whole = read(ends[0], &bytes, sizeof bytes) == sizeof bytes;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return whole && status == 0 ? bytes : -1;
}

TEST(Memory, GrowsWithTheLength) {
#ifdef JALI_SANITIZED
    GTEST_SKIP() << "a sanitizer's own memory would be measured";
#endif
    const int64_t at_8192 = peak_bytes(8192), at_32768 = peak_bytes(32768);
    ASSERT_GT(at_8192, 0);
    ASSERT_GT(at_32768, 0);
    // Eight tensors of two bytes, and dq in float32; a byte a pair would be 40 kB a query.
    const int64_t bytes_a_query = (at_32768 - at_8192) / (32768 - 8192);
    EXPECT_GT(bytes_a_query, 8 * 2 * kHeadDim - 100);
    EXPECT_LT(bytes_a_query, 2 * (8 * 2 + 4) * kHeadDim);
    RecordProperty("bytes_a_query", static_cast<int>(bytes_a_query));
}

}  // namespace
}  // namespace jali
