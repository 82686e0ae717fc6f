#include "block_mask/svg_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jali {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SvgText, WrapsAtSpacesAndEndsInAnEllipsis) {
    EXPECT_THAT(wrap("one two three", 7, 4), ElementsAre("one two", "three"));
    EXPECT_THAT(wrap("one two three", 3, 2), ElementsAre("one", "two…"));
    EXPECT_THAT(wrap("abcdefgh", 3, 4), ElementsAre("abc", "def", "gh"));
    EXPECT_THAT(wrap("  a\n b  ", 9, 4), ElementsAre("a  b"));
    EXPECT_THAT(wrap("≤≤≤≤", 2, 4), ElementsAre("≤≤", "≤≤"));
    EXPECT_THAT(wrap("", 9, 4), IsEmpty());
}

TEST(SvgText, NumbersAreShort) {
    EXPECT_EQ(svg_number(12), "12");
    EXPECT_EQ(svg_number(12.5), "12.5");
    EXPECT_EQ(svg_number(-0.00001), "0");
    EXPECT_EQ(svg_number(1.0 / 3), "0.3333");
}

}  // namespace
}  // namespace jali
