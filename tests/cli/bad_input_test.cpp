// Every mistake is one sentence with its numbers, exit code 2, and nothing written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_command.h"
#include "cli/tensor_files.h"
#include "io/safetensors.h"
#include "io/temporary_folder.h"

namespace jali::test {
namespace {

using testing::StartsWith;

struct Mistake {
    std::vector<std::string> arguments;
    std::string sentence;  // without "jali: "
};

void expect_refused(const TemporaryFolder& folder, const std::vector<Mistake>& mistakes) {
    const std::vector<std::string> before = folder.names();
    for (const Mistake& mistake : mistakes) {
        const Ran ran = run_jali(mistake.arguments, folder.path());
        EXPECT_EQ(ran.exit_code, 2) << mistake.sentence;
        EXPECT_EQ(ran.out, "") << mistake.sentence;
        EXPECT_EQ(ran.err, "jali: " + mistake.sentence + "\n");
    }
    EXPECT_THAT(folder.names(), testing::UnorderedElementsAreArray(before));
}

TEST(BadPredicate, IsRefused) {
    const TemporaryFolder folder;
    const auto mask = [](const std::string& text, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {"mask", text, "--q-len", "4", "--save", "result.jmask"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    expect_refused(
        folder,
        {{mask("doc[q] == kv"), "column 1: unknown name 'doc': the names here are b, h, q, kv, q_len, kv_len"},
         {mask("q >= w"), "column 6: unknown name 'w': the names here are b, h, q, kv, q_len, kv_len"},
         {mask("doc[q, kv] == 1", {"--table", "doc=1,2,3,4"}),
          "column 1: table doc has rank 1 but is read with 2 indices"},
         {mask("doc[q] == 1", {"--table", "doc=1,2,3"}),
          "table doc has 3 entries but is read at 3 in doc[q] at b = 0, h = 0, q = 3, kv = 0"},
         {mask("q - kv"), "column 1: the predicate needs a boolean but 'q - kv' is an integer: write 'q - kv != 0'"},
         {mask("q and kv"), "column 1: 'and' needs a boolean but 'q' is an integer: write 'q != 0'"},
         {mask("q >= "), "column 6: expected a value after '>=' but the text ends"},
         {mask("q > 0.5"), "column 5: '0.5' is not an integer: predicates have no floating point"},
         {mask("q * 4611686018427387904 > kv"),
          "the value for 2 and 4611686018427387904 does not fit in 64 bits in q * 4611686018427387904 at b = 0, h = 0, "
          "q = 2, kv = 0"},
         {mask("10 // (kv - 2) > q"), "division of 10 by zero in 10 // (kv - 2) at b = 0, h = 0, q = 0, kv = 2"},
         {mask("10 // (kv - 2) > q and b == 0", {"--batch", "2", "--heads", "2"}),
          "division of 10 by zero in 10 // (kv - 2) at b = 0, h = 0, q = 0, kv = 2"},
         {mask("1 << (q - 2) > kv"),
          "shift of 1 by the negative count -2 in 1 << q - 2 at b = 0, h = 0, q = 0, kv = 0"}});
}

TEST(OptionsWithoutEffect, AreRefused) {
    const TemporaryFolder folder;
    write_text(folder / "empty.json", "[]");
    ASSERT_EQ(run_jali({"mask", "True", "--q-len", "4", "--save", "m.jmask"}, folder.path()).exit_code, 0);
    const auto mask = [](std::vector<std::string> more) {
        more.insert(more.begin(), {"mask", "q >= kv", "--q-len", "4"});
        return more;
    };
    expect_refused(folder, {{mask({"--table", "d=1,2"}), "--table d has no effect: TEXT does not name it"},
                            {mask({"--scalar", "k=3"}), "--scalar k has no effect: TEXT does not name it"},
                            {mask({"--picture-of", "0,0"}), "--picture-of has no effect without --picture or --svg"},
                            {{"mask", "--mask", "m.jmask", "--grid", "aligned"},
                             "--mask excludes --grid (jali mask --help shows examples)"},
                            {{"mask", "--spec", "empty.json"}, "empty.json is an empty list: there is no mask in it"}});
}

TEST(Dense, ThatNoDiskHoldsIsRefusedBeforeAnyWork) {
    const TemporaryFolder folder;
    const Ran ran =
        run_jali({"mask", "q >= kv", "--q-len", "2000000", "--heads", "64", "--dense", "x.npy"}, folder.path());
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, StartsWith("jali: --dense needs 232.8 TiB for 1 x 64 x 2000000 x 2000000 bytes but the disk "
                                    "of 'x.npy' has "));
    EXPECT_THAT(folder.names(), testing::IsEmpty());
}

TEST(Messages, HoldNoControlCharactersAndDoNotFillAPage) {
    const Ran ran = run_jali({"mask", "--mask", "a\x1b[31mb"});
    EXPECT_EQ(ran.err, "jali: cannot read 'a\\x1b[31mb': No such file or directory\n");
    const Ran longer = run_jali({"mask", "--mask", std::string(200, 'a') + std::string(5000, 'b')});
    EXPECT_EQ(longer.exit_code, 2);
    EXPECT_LT(longer.err.size(), 1100U);
}

TEST(Predicate, MayBeginWithAMinus) {
    const nlohmann::json json = json_of(run_jali({"mask", "-q + kv <= 0", "--q-len", "8", "--json"}));
    EXPECT_EQ(json["pairs"], 36);
    EXPECT_EQ(json["name"], "-q + kv <= 0");
}

TEST(BadTables, AreRefused) {
    const TemporaryFolder folder;
    ASSERT_EQ(run_jali({"mask", "True", "--q-len", "2", "--dense", "bits.npy"}, folder.path()).exit_code, 0);
    const std::string array = read_text(folder / "bits.npy");
    write_text(folder / "cut.npy", array.substr(0, 70));
    std::string rank_five = array;
    rank_five.replace(rank_five.find("(1, 1, 2, 2)"), 12, "(1,1,1,2,2) ");
    write_text(folder / "five.npy", rank_five);
    const auto table = [](const std::string& option) {
        return std::vector<std::string>{"mask", "q >= kv", "--q-len", "4", "--table", option};
    };
    expect_refused(
        folder,
        {{table("doc"), "--table is 'doc' but must be NAME=VALUE"},
         {table("doc=foo"), "--table doc is 'foo' but must be FILE.npy, lengths:4,7,9, offsets:0,4,11 or 1,2,3"},
         {table("doc=1,x,3"), "value 1 of --table doc is 'x', not a whole number"},
         {table("doc=1,9223372036854775808"),
          "value 1 of --table doc is 9223372036854775808, which does not fit 64 bits"},
         {table("doc=lengths:4,-1"), "document 1 of table doc has length -1"},
         {table("doc=offsets:0,4,2"), "the offsets of table doc fall from 4 to 2 at position 2"},
         {table("doc=missing.npy"), "cannot read 'missing.npy': No such file or directory"},
         {table("doc=cut.npy"), "'cut.npy' is truncated: its header ends at byte 128 and it has 70"},
         {table("doc=five.npy"), "--table doc: five.npy has rank 5 but a table has rank 1 to 4"},
         {table("q=1"), "the table 'q' has a name of the language: choose another"},
         {{"mask", "q >= kv", "--q-len", "4", "--table", "d=1", "--table", "d=2"}, "--table d is given twice"},
         {{"mask", "q >= kv", "--q-len", "4", "--table", "d=1", "--scalar", "d=2"},
          "d is both a --table and a --scalar"},
         {{"mask", "q >= kv", "--q-len", "4", "--scalar", "w=1.5"}, "--scalar w is '1.5', not a whole number"}});
}

TEST(BadSizes, AreRefused) {
    const TemporaryFolder folder;
    expect_refused(
        folder,
        {{{"mask", "q >= kv"}, "--q-len is needed with a mask given as text"},
         {{"mask", "q >= kv", "--q-len", "-1"}, "--q-len is -1 but must be at least 0"},
         {{"mask", "q >= kv", "--q-len", "4x"}, "--q-len is '4x', not a whole number"},
         {{"mask", "q >= kv", "--q-len", "99999999999"}, "--q-len is 99999999999 but must be at most 2147483647"},
         {{"mask", "q >= kv", "--q-len", "4", "--heads", "0"}, "--heads is 0 but must be at least 1"},
         {{"mask", "q >= kv", "--q-len", "4", "--grid", "round"},
          "--grid is 'round' but must be auto, aligned or anchored"},
         {{"mask", "q >= kv", "--q-len", "4", "--byte-limit", "1GB"},
          "--byte-limit is '1GB' but must be a count of bytes: 4096, 64KiB, 64MiB or 2GiB"},
         {{"check", "True", "--q-len", "4", "--heads", "10", "--kv-heads", "4"},
          "q has 10 heads, which is not a multiple of the 4 heads of k"},
         {{"check", "True", "--q-len", "4", "--head-dim", "12"}, "--head-dim is 12 but must be a multiple of 8"},
         {{"bench", "True", "--q-len", "4", "--head-dim", "264"}, "--head-dim is 264 but must be at most 256"},
         {{"check", "True", "--q-len", "4", "--dtype", "int8"}, "--dtype is 'int8' but must be fp32, bf16 or fp16"},
         {{"check", "True", "--q-len", "4", "--engine", "gpu"}, "engine 'gpu' is unknown; there is: cpu"},
         {{"check", "True", "--q-len", "4", "--flip", "0,0,0,4"},
          "--flip is '0,0,0,4' but must be B,H,Q,KV below 1,1,4,4"}});
}

TEST(BadLimit, IsSaidWithTheNumbers) {
    const Ran ran = run_jali({"mask", "(q * 7 + kv * 3) % 5 == 0", "--q-len", "1000", "--byte-limit", "10KiB"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_THAT(ran.err, StartsWith("jali: the block mask would exceed the limit: "));
}

TEST(BadMaskFiles, AreRefused) {
    const TemporaryFolder folder;
    write_text(folder / "bad.json", R"([{"name": "x", "text": "q >= ")");
    write_text(folder / "entry.json", R"([{"name": "x", "text": "q >= kv", "B": 1, "H": 1, "q_len": 4}])");
    write_text(folder / "two.json", R"([{"name": "h", "text": "q >= h", "B": 1, "H": 2, "q_len": 4, "kv_len": 4},
                                        {"name": "z", "text": "5 // (q - 2) > 0", "B": 1, "H": 1, "q_len": 4, "kv_len": 4}])");
    ASSERT_EQ(run_jali({"mask", "q >= kv", "--q-len", "12", "--save", "m.jmask"}, folder.path()).exit_code, 0);
    const std::string bytes = read_text(folder / "m.jmask");
    write_text(folder / "cut.jmask", bytes.substr(0, 50));
    expect_refused(
        folder,
        {{{"mask"}, "no mask is given: write a predicate such as \"q >= kv\", or use --spec or --mask"},
         {{"mask", "--spec", "missing.json"}, "cannot read 'missing.json': No such file or directory"},
         {{"mask", "--spec", "bad.json"}, "bad.json: the JSON text ends too early"},
         {{"mask", "--spec", "entry.json"}, "entry.json: mask \"x\": member \"kv_len\" is missing"},
         {{"mask", "--spec", "two.json", "--name", "y"}, "two.json has no mask named 'y', it has: h, z"},
         {{"mask", "--spec", "two.json", "--svg", "p.svg"},
          "--svg writes one mask but two.json has 2 masks; choose one with --name"},
         {{"mask", "--spec", "two.json", "--name", "h", "--heads", "4"}, "mask 'h' is for 2 heads but 4 are asked for"},
         {{"mask", "--spec", "two.json", "--json"},
          "mask 'z': division of 5 by zero in 5 // (q - 2) at b = 0, h = 0, q = 2, kv = 0"},
         {{"check", "--spec", "two.json"}, "two.json has 2 masks; choose one with --name"},
         {{"mask", "--mask", "missing.jmask"}, "cannot read 'missing.jmask': No such file or directory"},
         {{"mask", "--mask", "cut.jmask"},
          "'cut.jmask' is truncated: it has 50 bytes, expected " + std::to_string(bytes.size())},
         {{"check", "--mask", "m.jmask", "--flip", "0,0,0,4"}, "--flip needs a mask given as TEXT or by --spec"}});
    std::string altered = bytes;
    altered[100] = static_cast<char>(altered[100] ^ 1);
    write_text(folder / "altered.jmask", altered);
    EXPECT_THAT(run_jali({"mask", "--mask", "altered.jmask"}, folder.path()).err,
                StartsWith("jali: 'altered.jmask' was altered: its checksum is "));
}

TEST(BadOutputs, AreRefusedBeforeWork) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "folder");
    // A predicate that fails would be the first to be reported, had work begun.
    expect_refused(folder,
                   {{{"mask", "1 // q > kv", "--q-len", "4", "--save", "nowhere/x"},
                     "cannot write 'nowhere/x': No such file or directory"},
                    {{"mask", "1 // q > kv", "--q-len", "4", "--dense", "folder"},
                     "cannot write 'folder': it is a directory, expected a file"},
                    {{"demo", "--out", "/dev/null/x"}, "cannot make the folder '/dev/null/x': Not a directory"}});
}

TEST(BadUsage, IsRefused) {
    const TemporaryFolder folder;
    expect_refused(
        folder,
        {{{"nothing"}, "there is no subcommand 'nothing' (jali --help lists them)"},
         {{"mask", "q >= kv", "--q-len", "4", "--spec", "x.json"},
          "TEXT excludes --spec (jali mask --help shows examples)"},
         {{"mask", "--spec", "x.json", "--mask", "y"}, "--spec excludes --mask (jali mask --help shows examples)"},
         {{"mask", "--mask", "m.jmask", "--q-len", "5"}, "--mask excludes --q-len (jali mask --help shows examples)"},
         {{"mask", "q >= kv", "--q-len", "4", "--picture", "--json"},
          "--picture excludes --json (jali mask --help shows examples)"},
         {{"mask", "q >= kv", "--q-len", "4", "--pictures"},
          "the following argument was not expected: --pictures (jali mask --help shows examples)"},
         {{"mask", "--q-len"}, "--q-len: 1 required N missing (jali mask --help shows examples)"},
         {{"run", "True", "--out", "o"}, "--in is required (jali run --help shows examples)"}});
}

// Files that `jali run` refuses, each differing from a good one in one tensor.
class BadTensors : public testing::Test {
   protected:
    BadTensors() { write("good", {}); }

    static io::StoredTensor zeros(std::string name, std::vector<int64_t> shape,
                                  io::StoredType type = io::StoredType::kFloat32) {
        static const std::vector<uint8_t> bytes(1 << 16);
        int64_t count = io::bytes_of(type);
        for (const int64_t extent : shape) count *= extent;
        return {std::move(name), type, std::move(shape), std::span(bytes).first(static_cast<size_t>(count))};
    }

    void write(const std::string& file, const std::vector<io::StoredTensor>& changed,
               const std::string& left_out = "") {
        std::vector<io::StoredTensor> tensors = {zeros("q", {1, 4, 12, 8}), zeros("k", {1, 2, 12, 8}),
                                                 zeros("v", {1, 2, 12, 8}), zeros("dout", {1, 4, 12, 8})};
        for (const io::StoredTensor& change : changed) {
            std::erase_if(tensors, [&](const auto& tensor) { return tensor.name == change.name; });
            tensors.push_back(change);
        }
        std::erase_if(tensors, [&](const auto& tensor) { return tensor.name == left_out; });
        io::write_safetensors(folder_ / file, tensors);
    }

    static std::vector<std::string> run(const std::string& file, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments = {"run", "1 // (q - 3) != kv", "--in", file, "--out", "result"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }

    TemporaryFolder folder_;
};

TEST_F(BadTensors, AreRefusedBeforeTheMaskIsBuilt) {
    write("no_k", {}, "k");
    write("no_dout", {}, "dout");
    write("integers", {zeros("q", {1, 4, 12, 8}, io::StoredType::kInt64)});
    write("mixed", {zeros("k", {1, 2, 12, 8}, io::StoredType::kBFloat16)});
    write("rank", {zeros("q", {4, 12, 8})});
    write("heads", {zeros("q", {1, 10, 12, 8}), zeros("k", {1, 4, 12, 8}), zeros("v", {1, 4, 12, 8})});
    write("dimension", {zeros("q", {1, 4, 12, 12}), zeros("k", {1, 2, 12, 12})});
    write("keys", {zeros("v", {1, 2, 13, 8})});
    write("dlse", {zeros("dlse", {1, 4, 13})});
    write_text(folder_ / "garbage", "hello");
    const std::string bytes = read_text(folder_ / "good");
    write_text(folder_ / "cut", bytes.substr(0, bytes.size() - 100));
    write_text(folder_ / "result", "old");

    expect_refused(
        folder_,
        {{run("missing"), "cannot read 'missing': No such file or directory"},
         {run("garbage"), "'garbage' is truncated: it has 5 bytes, expected at least 8"},
         {run("no_k"), "no_k has no tensor 'k', it has: q, v, dout"},
         {run("no_dout", {"--backward"}), "no_dout has no tensor 'dout', it has: q, k, v"},
         {run("integers"), "q is I64 but must be F32, BF16 or F16"},
         {run("mixed"), "k is bfloat16 but q is float32"},
         {run("rank"), "q has rank 3 but must have rank 4: (batch, heads, sequence, dimension)"},
         {run("rank", {"--layout", "bshd"}), "q has rank 3 but must have rank 4: (batch, sequence, heads, dimension)"},
         {run("heads"), "q has 10 heads, which is not a multiple of the 4 heads of k"},
         {run("dimension"), "q has head dimension 12 but engines take multiples of 8 from 8 to 256"},
         {run("keys"), "v has length 13 but k has 12"},
         {run("dlse", {"--backward"}), "dlse has shape (1, 4, 13, 1) but q and out ask for (1, 4, 12, 1)"},
         {run("good", {"--q-len", "10"}), "block mask covers 10 queries but q has 12"},
         {run("good", {"--kv-len", "10"}), "block mask covers 10 keys but k has 12"},
         {{"run", "1 // (q - 3) > h", "--heads", "3", "--in", "good", "--out", "result"},
          "block mask covers 3 heads but q has 4"},
         {{"run", "1 // (q - 3) > b", "--batch", "3", "--in", "good", "--out", "result"},
          "block mask covers 3 batches but q has 1"},
         {run("good", {"--scale", "nan"}), "--scale is nan but must be a finite float32 number"},
         {run("good", {"--scale", "1e300"}), "--scale is 1e300 but must be a finite float32 number"},
         {run("good", {"--threads", "0"}), "--threads is 0 but must be at least 1"},
         {run("good", {"--engine", "gpu"}), "engine 'gpu' is unknown; there is: reference, cpu"},
         {run("good", {"--layout", "bdsh"}), "--layout is 'bdsh' but must be bhsd or bshd"},
         {{"run", "1 // (q - 3) != kv", "--in", "good", "--out", "nowhere/o"},
          "cannot write 'nowhere/o': No such file or directory"},
         {run("good"), "division of 1 by zero in 1 // (q - 3) at b = 0, h = 0, q = 3, kv = 0"}});
    EXPECT_THAT(run_jali(run("cut"), folder_.path()).err, StartsWith("jali: 'cut' "));
    EXPECT_EQ(read_text(folder_ / "result"), "old");
}

}  // namespace
}  // namespace jali::test
