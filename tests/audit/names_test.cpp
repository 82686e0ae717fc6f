// Names of kernels as tables show them, and text that nobody vouches for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "audit/glob.h"
#include "audit/made_kernels.h"
#include "audit/short_names.h"
#include "audit/visible_text.h"

namespace jali::audit::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> short_of(const std::vector<std::string>& names, size_t characters) {
    std::vector<Kernel> kernels;
    for (const std::string& name : names) kernels.push_back(made_kernel(name));
    std::vector<const Kernel*> pointers;
    for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
    return short_names(pointers, characters);
}

TEST(Signature, IsLeftOut) {
    EXPECT_EQ(without_signature("void flash::bwd<128, true>(Params, int (*)(int))"), "flash::bwd<128, true>");
    EXPECT_EQ(without_signature("void (anonymous namespace)::k<(int)4>(float*)"), "(anonymous namespace)::k<(int)4>");
    EXPECT_EQ(without_signature("std::enable_if<(a > 1), void>::type ns::k<2>()"), "ns::k<2>");
    EXPECT_EQ(without_signature("plain_name"), "plain_name");
    EXPECT_EQ(without_signature("(odd)"), "(odd)");
}

TEST(Hashes, AreLeftOutOfNames) {
    EXPECT_EQ(without_hashes("kernel_0d1d2d3de_7"), "kernel_#_#");
    EXPECT_EQ(without_hashes("a12_deadbeef0_face"), "a#_#_face");
}

TEST(ShortNames, StayWholeWhereTheyFit) {
    EXPECT_THAT(short_of({"void a::k<1>(int)", "b"}, 40), ElementsAre("a::k<1>", "b"));
}

TEST(ShortNames, DropArgumentsThatTellNothingApart) {
    EXPECT_THAT(short_of({"void a::kernel<cute::tuple<cute::C<128>, cute::C<64>>, float>(int)"}, 20),
                ElementsAre("a::kernel<>"));
}

TEST(ShortNames, KeepWhatDiffers) {
    const std::string begin = "void f::bwd<cutlass::arch::Sm90, cutlass::half_t, ",
                      end = ", cute::tuple<a, b, c, d>>(P)";
    EXPECT_THAT(short_of({begin + "128" + end, begin + "192" + end}, 30),
                ElementsAre("f::bwd<\u2026128\u2026>", "f::bwd<\u2026192\u2026>"));
}

TEST(ShortNames, AreNumberedWhereShorteningMakesThemEqual) {
    const std::string middle(200, 'x');
    EXPECT_THAT(short_of({"head" + middle + "1" + middle + "tail", "head" + middle + "2" + middle + "tail"}, 12),
                ElementsAre(testing::EndsWith(" #1"), testing::EndsWith(" #2")));
}

TEST(VisibleText, HoldsNoControlsAndNoBrokenUtf8) {
    EXPECT_EQ(visible("a\x1b[31mb\nc\td"), "a\\x1b[31mb\\x0ac d");
    EXPECT_EQ(visible("\xC3\xA9 \xFF \xC3 \xE2\x80\xAE"), "\xC3\xA9 \xEF\xBF\xBD \xEF\xBF\xBD \\u202e");
    EXPECT_EQ(visible("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
    EXPECT_EQ(visible("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // an overlong slash
}

TEST(VisibleText, IsEscapedForHtml) {
    EXPECT_EQ(html("<script>'\"&"), "&lt;script&gt;&#39;&quot;&amp;");
}

TEST(VisibleText, IsShortenedInTheMiddle) {
    EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
    EXPECT_EQ(shortened("abcdefghij", 6), "abc\u2026ij");
    EXPECT_EQ(shortened("\u00e9\u00e9\u00e9\u00e9", 3), "\u00e9\u2026\u00e9");
    EXPECT_EQ(shortened("abc", 1), "\u2026");
    EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Glob, MatchesAsAShellsStarsDo) {
    EXPECT_TRUE(matches_glob("flash_bwd_128", "flash*128"));
    EXPECT_TRUE(matches_glob("flash_bwd_128", "*bwd*"));
    EXPECT_TRUE(matches_glob("ab", "a?"));
    EXPECT_TRUE(matches_glob("", "*"));
    EXPECT_FALSE(matches_glob("flash_bwd_128", "bwd*"));
    EXPECT_FALSE(matches_glob("a", "a?"));
    EXPECT_FALSE(matches_glob("a", ""));
    EXPECT_TRUE(matches_glob("k<int [4]>(float*)", "k<int [4]>(float*)"));
}

TEST(Glob, TakesNoTimeOverHostileNames) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(matches_glob(std::string(100000, 'a'), "*a*a*a*a*a*a*a*a*a*a*b"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace jali::audit::test
