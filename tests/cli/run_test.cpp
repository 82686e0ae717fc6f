// `jali run` against attention written out here, in float64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cli/run_command.h"
#include "cli/tensor_files.h"
#include "io/temporary_folder.h"
#include "support/random_seed.h"

namespace jali::test {
namespace {

using testing::IsEmpty;
using testing::MatchesRegex;
using testing::UnorderedElementsAre;

using Keep = std::function<bool(int64_t b, int64_t h, int64_t q, int64_t kv)>;

// Row-major offset of (b, h, s, d).
size_t at(const Values& values, int64_t b, int64_t h, int64_t s, int64_t d) {
    return static_cast<size_t>(((b * values.shape[1] + h) * values.shape[2] + s) * values.shape[3] + d);
}

struct Expected {
    std::vector<double> out, lse, dq, dk, dv;
};

// One query row of one head at a time: scores, softmax, and the chain rule by hand.
Expected expected_results(const NamedValues& in, const Sizes& n, double scale, const Keep& keep) {
    const Values &q = in.at("q"), &k = in.at("k"), &v = in.at("v"), &dout = in.at("dout"), &dlse = in.at("dlse");
    Expected r{std::vector<double>(dout.data.size()),
               {},
               std::vector<double>(q.data.size()),
               std::vector<double>(k.data.size()),
               std::vector<double>(v.data.size())};
    for (int64_t b = 0; b < n.batch; ++b) {
        for (int64_t h = 0; h < n.heads; ++h) {
            const int64_t g = h * n.kv_heads / n.heads;
            for (int64_t i = 0; i < n.q_len; ++i) {
                std::vector<int64_t> keys;
                std::vector<double> weights;
                double sum = 0;
                for (int64_t j = 0; j < n.kv_len; ++j) {
                    if (!keep(b, h, i, j)) continue;
                    double score = 0;
                    for (int64_t d = 0; d < n.head_dim; ++d)
                        score += double{q.data[at(q, b, h, i, d)]} * double{k.data[at(k, b, g, j, d)]};
                    keys.push_back(j);
                    weights.push_back(std::exp(scale * score));  // small inputs: no maximum to subtract
                    sum += weights.back();
                }
                r.lse.push_back(std::log(sum));
                std::vector<double> dweights(keys.size());
                double delta = -double{dlse.data[static_cast<size_t>((b * n.heads + h) * n.q_len + i)]};
                for (size_t x = 0; x < keys.size(); ++x) {
                    weights[x] /= sum;
                    for (int64_t d = 0; d < n.v_head_dim; ++d) {
                        const double value = v.data[at(v, b, g, keys[x], d)],
                                     gradient = dout.data[at(dout, b, h, i, d)];
                        r.out[at(dout, b, h, i, d)] += weights[x] * value;
                        dweights[x] += gradient * value;
                        r.dv[at(v, b, g, keys[x], d)] += weights[x] * gradient;
                    }
                    delta += weights[x] * dweights[x];
                }
                for (size_t x = 0; x < keys.size(); ++x) {
                    const double dscore = scale * weights[x] * (dweights[x] - delta);
                    for (int64_t d = 0; d < n.head_dim; ++d) {
                        r.dq[at(q, b, h, i, d)] += dscore * double{k.data[at(k, b, g, keys[x], d)]};
                        r.dk[at(k, b, g, keys[x], d)] += dscore * double{q.data[at(q, b, h, i, d)]};
                    }
                }
            }
        }
    }
    return r;
}

void expect_near(const Values& values, const std::vector<double>& expected, const char* name) {
    ASSERT_EQ(values.data.size(), expected.size()) << name;
    double largest = 0;
    for (const double x : expected) largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
    for (size_t i = 0; i < expected.size(); ++i) {
        if (std::isinf(expected[i])) {
            ASSERT_EQ(values.data[i], expected[i]) << name << " " << i;
        } else {
            ASSERT_NEAR(values.data[i], expected[i], 2e-5 * largest) << name << " " << i;
        }
    }
}

struct Case {
    std::string name;
    Sizes sizes;
    std::vector<std::string> mask;
    Keep keep;
    std::vector<std::string> options;
    Order order = Order::kBhsd;
    double scale = 0;  // 0: the default
};
void PrintTo(const Case& c, std::ostream* stream) {
    *stream << c.name;
}

class Run : public testing::TestWithParam<Case> {};

TEST_P(Run, AgreesWithTheDefinition) {
    const Case& c = GetParam();
    const TemporaryFolder folder;
    const NamedValues inputs = draw_inputs(c.sizes, seed_for(c.name));
    write_tensors(folder / "in.safetensors", inputs, c.order);
    std::vector<std::string> arguments = {"run"};
    arguments.insert(arguments.end(), c.mask.begin(), c.mask.end());
    arguments.insert(arguments.end(), {"--in", "in.safetensors", "--out", "out.safetensors", "--backward"});
    arguments.insert(arguments.end(), c.options.begin(), c.options.end());
    const Ran ran = run_jali(arguments, folder.path());
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(folder.names(), UnorderedElementsAre("in.safetensors", "out.safetensors"));

    const NamedValues results = read_tensors(folder / "out.safetensors", c.order);
    std::vector<std::string> names;
    for (const auto& [name, values] : results) names.push_back(name);
    ASSERT_THAT(names, UnorderedElementsAre("out", "lse", "dq", "dk", "dv"));
    EXPECT_EQ(results.at("out").shape, inputs.at("dout").shape);
    EXPECT_EQ(results.at("lse").shape, inputs.at("dlse").shape);
    EXPECT_EQ(results.at("dq").shape, inputs.at("q").shape);
    EXPECT_EQ(results.at("dk").shape, inputs.at("k").shape);
    EXPECT_EQ(results.at("dv").shape, inputs.at("v").shape);

    const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.sizes.head_dim));
    const Expected expected = expected_results(inputs, c.sizes, scale, c.keep);
    expect_near(results.at("out"), expected.out, "out");
    expect_near(results.at("lse"), expected.lse, "lse");
    expect_near(results.at("dq"), expected.dq, "dq");
    expect_near(results.at("dk"), expected.dk, "dk");
    expect_near(results.at("dv"), expected.dv, "dv");
}

const Keep kCausal = [](int64_t, int64_t, int64_t q, int64_t kv) { return q >= kv; };

const Keep kPerHead = [](int64_t b, int64_t h, int64_t, int64_t kv) {
    constexpr int64_t kWidths[] = {0, 5, 59, 7, 40, 63};
    return kv <= kWidths[3 * b + h];
};

INSTANTIATE_TEST_SUITE_P(
    Of, Run,
    testing::Values(Case{"causal", {1, 2, 2, 150, 150, 16, 16}, {"q >= kv"}, kCausal, {}},
                    Case{"reference", {1, 2, 2, 40, 40, 16, 16}, {"q >= kv"}, kCausal, {"--engine", "reference"}},
                    Case{"grouped_heads_and_other_dimensions",
                         {2, 6, 3, 131, 70, 24, 8},
                         {"True"},
                         [](auto...) { return true; },
                         {}},
                    Case{"bshd",
                         {2, 4, 2, 60, 90, 16, 32},
                         {"q < kv"},
                         [](auto, auto, auto q, auto kv) { return q < kv; },
                         {"--layout", "bshd"},
                         Order::kBshd},
                    Case{"scale",
                         {1, 1, 1, 33, 33, 16, 16},
                         {"q >= kv"},
                         kCausal,
                         {"--scale", "0.7", "--threads", "1"},
                         Order::kBhsd,
                         0.7},
                    Case{"batch_and_head",
                         {2, 3, 3, 50, 60, 8, 8},
                         {"kv <= w[3 * b + h]", "--table", "w=0,5,59,7,40,63"},
                         kPerHead,
                         {}},
                    Case{"empty_rows",
                         {1, 2, 1, 70, 70, 16, 16},
                         {"q >= kv + 20"},
                         [](auto, auto, auto q, auto kv) { return q >= kv + 20; },
                         {"--grid", "anchored"}}),
    [](const auto& c) { return c.param.name; });

TEST(RunFiles, ForwardAloneGivesOutAndLseOfAnyMaskForm) {
    const TemporaryFolder folder;
    const Sizes sizes{1, 1, 1, 200, 200, 8, 8};
    const NamedValues inputs = draw_inputs(sizes, seed_for("forms"));
    write_tensors(folder / "in.safetensors", {{"q", inputs.at("q")}, {"k", inputs.at("k")}, {"v", inputs.at("v")}});
    write_text(folder / "masks.json",
               R"([{"name": "w", "text": "0 <= q - kv < 60", "B": 1, "H": 1, "q_len": 200, "kv_len": 200}])");
    ASSERT_EQ(run_jali({"mask", "0 <= q - kv < 60", "--q-len", "200", "--save", "w.jmask"}, folder.path()).exit_code,
              0);
    const auto bytes_with = [&](std::vector<std::string> mask) {
        mask.insert(mask.begin(), "run");
        mask.insert(mask.end(), {"--in", "in.safetensors", "--out", "out.safetensors"});
        const Ran ran = run_jali(mask, folder.path());
        EXPECT_EQ(ran.exit_code, 0) << ran.err;
        return read_text(folder / "out.safetensors");
    };
    const std::string bytes = bytes_with({"0 <= q - kv < 60"});
    EXPECT_EQ(bytes_with({"--spec", "masks.json", "--name", "w"}), bytes);
    EXPECT_EQ(bytes_with({"--mask", "w.jmask"}), bytes);
    const NamedValues results = read_tensors(folder / "out.safetensors");
    EXPECT_EQ(results.size(), 2U);
    EXPECT_TRUE(results.contains("out") && results.contains("lse"));
    // The reference over a block mask's bits.
    bytes_with({"--mask", "w.jmask", "--engine", "reference"});
    const NamedValues exact = read_tensors(folder / "out.safetensors");
    for (size_t i = 0; i < exact.at("out").data.size(); ++i) {
        ASSERT_NEAR(exact.at("out").data[i], results.at("out").data[i], 1e-5);
    }
}

TEST(RunFiles, HoldNothingOfEmptyTensors) {
    const TemporaryFolder folder;
    write_attention_inputs(folder / "in.safetensors", {1, 2, 2, 0, 5, 8, 8}, 1);
    ASSERT_EQ(
        run_jali({"run", "True", "--in", "in.safetensors", "--out", "out.safetensors", "--backward"}, folder.path())
            .exit_code,
        0);
    const NamedValues results = read_tensors(folder / "out.safetensors");
    EXPECT_THAT(results.at("out").data, IsEmpty());
    EXPECT_THAT(results.at("dk").data, testing::Each(0.0F));
}

TEST(RunLine, SaysTimeEngineAndPeakMemory) {
    const TemporaryFolder folder;
    write_attention_inputs(folder / "in.safetensors", {1, 1, 1, 20, 20, 8, 8}, 1);
    const Ran ran = run_jali({"run", "True", "--in", "in.safetensors", "--out", "o", "--backward"}, folder.path());
    EXPECT_THAT(ran.out,
                MatchesRegex("o: mask [0-9.]+ m?s, forward [0-9.]+ m?s, backward [0-9.]+ m?s; engine cpu \\(.*\\), "
                             "peak memory [0-9.]+ [KMG]iB\n"));
}

TEST(RunJson, HasTheMembersThatTheDocumentationLists) {
    const TemporaryFolder folder;
    write_attention_inputs(folder / "in.safetensors", {1, 1, 1, 20, 20, 8, 8}, 1);
    const auto json = json_of(
        run_jali({"run", "True", "--in", "in.safetensors", "--out", "o", "--backward", "--json"}, folder.path()));
    std::vector<std::string> names;
    for (const auto& [name, value] : json.items()) names.push_back(name);
    EXPECT_THAT(names, UnorderedElementsAre("mask", "engine", "build_milliseconds", "forward_milliseconds",
                                            "backward_milliseconds", "peak_memory_bytes", "out"));
}

}  // namespace
}  // namespace jali::test
