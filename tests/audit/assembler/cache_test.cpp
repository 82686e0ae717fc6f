#include "audit/assembler/cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "audit/assembler/fake_tools.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

namespace fs = std::filesystem;

Variant some_variant() {
    Variant variant;
    variant.assembler.sha256 = "0123";
    variant.options = {"-O3"};
    variant.arch = "sm_90a";
    return variant;
}

std::vector<fs::path> entry_files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(cache_folder() / "assemblies")) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
}

class AssemblyCache : public testing::Test {
   protected:
    Isolated isolated_;
};

TEST_F(AssemblyCache, GivesBackWhatItWasGiven) {
    const std::string key = cache_key("ptx", some_variant());
    EXPECT_FALSE(load_cached(key).has_value());
    store_cached(key, {"a\nlog \"quoted\"\n", 12.5, {0, 1, '\n', 255}});
    const auto loaded = load_cached(key);
    ASSERT_TRUE(loaded.has_value());
    EXPECT_EQ(loaded->log, "a\nlog \"quoted\"\n");
    EXPECT_EQ(loaded->milliseconds, 12.5);
    EXPECT_EQ(loaded->cubin, (std::vector<uint8_t>{0, 1, '\n', 255}));
    EXPECT_EQ(assembly_cache_use().results, 1);
}

TEST_F(AssemblyCache, KnowsResultsByAllThatDecidesThem) {
    const std::string key = cache_key("ptx", some_variant());
    EXPECT_EQ(key, cache_key("ptx", some_variant()));
    std::vector<std::string> others = {cache_key("ptx ", some_variant())};
    Variant variant = some_variant();
    variant.assembler.sha256 = "0124";
    others.push_back(cache_key("ptx", variant));
    variant = some_variant();
    variant.options = {"-O2"};
    others.push_back(cache_key("ptx", variant));
    variant.options = {"-O3", "-O3"};
    others.push_back(cache_key("ptx", variant));
    variant = some_variant();
    variant.arch = "sm_90";
    others.push_back(cache_key("ptx", variant));
    variant = some_variant();
    variant.route = Route::kLinked;
    others.push_back(cache_key("ptx", variant));
    variant = some_variant();
    variant.line_tables = false;
    others.push_back(cache_key("ptx", variant));
    for (const std::string& other : others) EXPECT_NE(other, key);
    // Where it lies and what it is called decide nothing.
    variant = some_variant();
    variant.assembler.ptxas = "/elsewhere/ptxas";
    variant.assembler.version = "1.2.3";
    EXPECT_EQ(cache_key("ptx", variant), key);
}

TEST_F(AssemblyCache, KnowsResultsByTheFilesThatOptionsName) {
    Variant variant = some_variant();
    variant.options = {"--apply-controls", (isolated_ / "controls").string()};
    EXPECT_THROW(cache_key("ptx", variant), FileError);
    test::write_text(isolated_ / "controls", "one");
    const std::string one = cache_key("ptx", variant);
    test::write_text(isolated_ / "controls", "two");
    EXPECT_NE(cache_key("ptx", variant), one);
}

TEST_F(AssemblyCache, TakesNoDamagedEntry) {
    const std::string key = cache_key("ptx", some_variant());
    store_cached(key, {"log", 1, {1, 2, 3, 4}});
    ASSERT_EQ(entry_files().size(), 1u);
    const fs::path file = entry_files()[0];
    const std::string whole = test::read_text(file);
    for (size_t size = 0; size < whole.size(); ++size) {
        test::write_text(file, whole.substr(0, size));
        EXPECT_FALSE(load_cached(key).has_value()) << size;
    }
    for (size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        test::write_text(file, changed);
        EXPECT_FALSE(load_cached(key).has_value()) << at;
    }
    test::write_text(file, whole);
    EXPECT_TRUE(load_cached(key).has_value());
}

TEST_F(AssemblyCache, DropsTheLongestUnusedFirst) {
    std::vector<std::string> keys;
    for (int i = 0; i < 4; ++i) {
        keys.push_back(cache_key("ptx" + std::to_string(i), some_variant()));
        store_cached(keys.back(), {"log", 1, std::vector<uint8_t>(1000)});
    }
    const auto now = fs::file_time_type::clock::now();
    for (const fs::path& file : entry_files()) {
        for (size_t i = 0; i < keys.size(); ++i) {
            if (file.stem() == keys[i]) fs::last_write_time(file, now - std::chrono::hours(10 - static_cast<int>(i)));
        }
    }
    ASSERT_TRUE(load_cached(keys[0]).has_value());  // used now
    const int64_t bytes = assembly_cache_use().bytes;
    shrink_cache(bytes);
    EXPECT_EQ(assembly_cache_use().results, 4);
    shrink_cache(bytes - 1);
    EXPECT_FALSE(load_cached(keys[1]).has_value());
    shrink_cache(bytes / 4);
    EXPECT_TRUE(load_cached(keys[0]).has_value());
    EXPECT_EQ(assembly_cache_use().results, 1);
}

TEST_F(AssemblyCache, IsCleared) {
    EXPECT_EQ(clear_assembly_cache().results, 0);  // where there is none
    store_cached(cache_key("ptx", some_variant()), {"log", 1, {1}});
    EXPECT_EQ(clear_assembly_cache().results, 1);
    EXPECT_EQ(assembly_cache_use().results, 0);
    EXPECT_FALSE(load_cached(cache_key("ptx", some_variant())).has_value());
}

TEST_F(AssemblyCache, ThatCannotBeWrittenIsNone) {
    test::write_text(isolated_ / "cache", "a file where the folder would be");
    const std::string key = cache_key("ptx", some_variant());
    store_cached(key, {"log", 1, {1}});
    EXPECT_FALSE(load_cached(key).has_value());
    EXPECT_EQ(assembly_cache_use().results, 0);
    shrink_cache(0);
}

TEST_F(AssemblyCache, IsWhereTheEnvironmentSays) {
    EXPECT_EQ(cache_folder(), isolated_ / "cache");
    const ScopedVariable none("JALI_CACHE", std::nullopt);
    const ScopedVariable shared("XDG_CACHE_HOME", "/shared");
    EXPECT_EQ(cache_folder(), "/shared/jali");
    const ScopedVariable unset("XDG_CACHE_HOME", std::nullopt);
    const ScopedVariable home("HOME", "/people/somebody");
    EXPECT_EQ(cache_folder(), "/people/somebody/.cache/jali");
    const ScopedVariable homeless("HOME", std::nullopt);
    EXPECT_THROW(cache_folder(), Error);
}

TEST_F(AssemblyCache, ServesManyAtOnceThreads) {
    const std::string key = cache_key("ptx", some_variant());
    const std::vector<uint8_t> cubin(100000, 7);
    std::vector<std::thread> threads;
    std::vector<int> wrong(8);
    for (size_t i = 0; i < wrong.size(); ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 30; ++round) {
                store_cached(key, {"log", 1, cubin});
                const auto loaded = load_cached(key);
                if (loaded && loaded->cubin != cubin) ++wrong[i];
                if (!loaded) ++wrong[i];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(8));
    EXPECT_EQ(entry_files().size(), 1u);  // no temporary is left
}

}  // namespace
}  // namespace jali::audit
