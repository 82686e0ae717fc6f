// Times the GPU engine on the shapes that docs/performance.md lists, and prints useful-pair TFLOP/s (4 D flop a pair
// and head forward, 10 D backward). Two protocols: hot is the median of calls recorded back to back for 0.7 s, so that
// the card sits at its power limit; cool is the mean of two calls after 0.4 s of idling and one warm-up. usage:
// gpu_attention_table [NAME]: only shapes whose name contains NAME
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "attention/cuda/device_memory.h"
#include "attention/cuda/driver.h"
#include "jali/cuda.h"
#include "jali/error.h"
#include "jali/predicate_text.h"

namespace jali {
namespace {

using cuda::check;
using cuda::DeviceMemory;
using cuda::driver;

struct Case {
    std::string name, text;
    GridChoice grid = GridChoice::kAligned;
    int64_t batch = 1, q_heads = 16, kv_heads = 16, length = 32768, dim = 128;
};

// The public report's packing of 32,768 tokens.
constexpr int32_t kDocuments[] = {684,  3119, 1653, 3776, 835,  2299, 707,  1383, 1545,
                                  2771, 3349, 2290, 2340, 1623, 1606, 1496, 600,  692};

std::vector<Case> cases() {
    const std::string causal = "q >= kv", documents = "doc[q] == doc[kv] and q >= kv";
    const GridChoice anchored = GridChoice::kAnchored;
    return {{"causal", causal},
            {"full", "True"},
            {"documents", documents, anchored},
            {"documents, aligned", documents},
            {"window 1,024", "q >= kv and q - kv < 1024"},
            {"prefix 2,048 or causal", "q >= kv or kv < 2048"},
            {.name = "causal 8,192 B2", .text = causal, .batch = 2, .length = 8192},
            {.name = "causal 2,048 B8", .text = causal, .batch = 8, .length = 2048},
            {.name = "causal 1,024 B16", .text = causal, .batch = 16, .length = 1024},
            {.name = "D 64 causal", .text = causal, .dim = 64},
            {.name = "D 64 documents", .text = documents, .grid = anchored, .dim = 64},
            {.name = "documents, GQA 64/8", .text = documents, .grid = anchored, .q_heads = 64, .kv_heads = 8}};
}

Predicate predicate_of(const std::string& text) {
    std::vector<int32_t> ids;
    int32_t id = 0;
    for (const int32_t tokens : kDocuments) ids.insert(ids.end(), static_cast<size_t>(tokens), id++);
    ids.resize(32768, id);
    Bindings bindings;
    bindings.tables.insert({"doc", Table("doc", ids)});
    return parse_predicate(text, bindings).predicate;
}

// N(0, 1) in bfloat16, 4 Mi values again and again.
DeviceMemory drawn(int64_t elements, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<uint16_t> bits(static_cast<size_t>(std::min<int64_t>(elements, int64_t{1} << 22)));
    for (uint16_t& value : bits) value = static_cast<uint16_t>(std::bit_cast<uint32_t>(normal(random)) >> 16);
    DeviceMemory memory(elements * 2, 0);
    for (int64_t at = 0; at < elements; at += std::ssize(bits))
        check(driver().copy_to_device(memory.address() + static_cast<uint64_t>(at) * 2, bits.data(),
                                      static_cast<size_t>(std::min<int64_t>(std::ssize(bits), elements - at)) * 2,
                                      nullptr),
              "copying");
    check(driver().stream_synchronize(nullptr), "copying");
    return memory;
}

class Event {
   public:
    Event() { check(driver().event_create(&event_, 0), "making an event"); }
    ~Event() { driver().event_destroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() const { check(driver().event_record(event_, nullptr), "recording an event"); }
    float milliseconds_since(const Event& earlier) const {
        float milliseconds = 0;
        check(driver().event_elapsed(&milliseconds, earlier.event_, event_), "reading an event");
        return milliseconds;
    }

   private:
    CUevent event_ = nullptr;
};

void wait() {
    check(driver().stream_synchronize(nullptr), "waiting");
}

template <typename Call>
double cool_milliseconds(const Call& call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    call();
    const Event begin, end;
    begin.record();
    call();
    call();
    end.record();
    wait();
    return end.milliseconds_since(begin) / 2.0;
}

template <typename Call>
double hot_milliseconds(const Call& call, double about_milliseconds) {
    const auto calls = static_cast<size_t>(std::clamp(700.0 / about_milliseconds, 8.0, 4000.0));
    const std::vector<Event> events(calls + 1);
    events[0].record();
    for (size_t i = 0; i < calls; ++i) {
        call();
        events[i + 1].record();
    }
    wait();
    std::vector<float> times;
    for (size_t i = 0; i < calls; ++i) times.push_back(events[i + 1].milliseconds_since(events[i]));
    std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
    return times[times.size() / 2];
}

void measure(const Case& c) {
    BuildOptions build;
    build.domain = {.q_len = c.length, .kv_len = c.length};
    build.grid = c.grid;
    const BlockMask mask = build_block_mask(predicate_of(c.text), build);
    const MaskStatistics counts = statistics(mask, c.batch, c.q_heads);
    const auto upload_begin = std::chrono::steady_clock::now();
    const cuda::Attention attention(
        mask, {.batch = c.batch, .q_heads = c.q_heads, .kv_heads = c.kv_heads, .head_dim = c.dim, .v_head_dim = c.dim});
    const double upload_microseconds =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - upload_begin).count();

    const int64_t q_elements = c.batch * c.q_heads * c.length * c.dim;
    const int64_t kv_elements = c.batch * c.kv_heads * c.length * c.dim;
    const DeviceMemory q = drawn(q_elements, 1), k = drawn(kv_elements, 2), v = drawn(kv_elements, 3),
                       dout = drawn(q_elements, 4);
    const DeviceMemory out(q_elements * 2, 0), dq(q_elements * 2, 0), dk(kv_elements * 2, 0), dv(kv_elements * 2, 0),
        lse(q_elements / c.dim * 4, 0), workspace(attention.backward_workspace_bytes(), 0);
    const auto view = [&](const DeviceMemory& memory, int64_t heads) {
        return contiguous(memory.pointer(), DType::kBFloat16, {c.batch, heads, c.length, c.dim});
    };
    const TensorView lse_view = contiguous(lse.pointer(), DType::kFloat32, {c.batch, c.q_heads, c.length, 1});
    const ForwardTensors forward{view(q, c.q_heads), view(k, c.kv_heads), view(v, c.kv_heads), view(out, c.q_heads),
                                 lse_view};
    const BackwardTensors backward{forward.q,
                                   forward.k,
                                   forward.v,
                                   forward.out,
                                   lse_view,
                                   view(dout, c.q_heads),
                                   {},
                                   view(dq, c.q_heads),
                                   view(dk, c.kv_heads),
                                   view(dv, c.kv_heads)};
    const auto run_forward = [&] { attention.forward(forward, workspace.pointer()); };
    const auto run_backward = [&] { attention.backward(backward, workspace.pointer()); };
    run_forward();
    wait();
    const double cool_forward = cool_milliseconds(run_forward), cool_backward = cool_milliseconds(run_backward);
    const double hot_forward = hot_milliseconds(run_forward, cool_forward);
    const double hot_backward = hot_milliseconds(run_backward, cool_backward);
    const double gigaflop = static_cast<double>(c.dim) * static_cast<double>(counts.useful_pairs) / 1e9;
    fmt::print("{:<24} {:>8.3f} {:>5.0f} {:>5.0f}   {:>8.3f} {:>5.0f} {:>5.0f}   {:>6.3f} {:>9.0f}\n", c.name,
               hot_forward, 4 * gigaflop / hot_forward, 4 * gigaflop / cool_forward, hot_backward,
               10 * gigaflop / hot_backward, 10 * gigaflop / cool_backward,
               static_cast<double>(counts.useful_pairs) / static_cast<double>(counts.computed_pairs),
               upload_microseconds);
}

int run(const std::string& only) {
    if (const std::string problem = cuda::driver_problem(); !problem.empty()) throw Error(problem);
    const cuda::CurrentDevice current(0);
    fmt::print("{}, bfloat16, D 128 and 16 heads unless said; hot ms, hot TFLOP/s, cool TFLOP/s\n",
               cuda::devices().front().name);
    fmt::print("{:<24} {:^20}   {:^20}   {:>6} {:>9}\n", "", "forward", "backward", "useful", "upload us");
    for (const Case& c : cases())
        if (c.name.find(only) != std::string::npos) measure(c);
    return 0;
}

}  // namespace
}  // namespace jali

int main(int argc, char** argv) {
    try {
        return jali::run(argc > 1 ? argv[1] : "");
    } catch (const std::exception& error) {
        fmt::print(stderr, "gpu_attention_table: {}\n", error.what());
        return 2;
    }
}
