#include "audit/assembler/version.h"

#include <gtest/gtest.h>

namespace jali::audit {
namespace {

TEST(AssemblerVersion, IsNumbersWithDotsBetween) {
    for (const char* version : {"13", "13.0", "13.0.88", "12.8.93.1"}) EXPECT_TRUE(is_version(version)) << version;
    for (const char* text : {"", ".", "13.", ".0", "13..0", "13.0a", "v13", "1.2.3.4.5", "1234567890", "13.0 "}) {
        EXPECT_FALSE(is_version(text)) << text;
    }
}

TEST(AssemblerVersion, IsOrderedByNumberNotByDigit) {
    EXPECT_TRUE(is_older("12.9.86", "12.10.1"));
    EXPECT_FALSE(is_older("12.10.1", "12.9.86"));
    EXPECT_TRUE(is_older("8.8", "9.0"));
    EXPECT_TRUE(is_older("13", "13.0.88"));
    EXPECT_FALSE(is_older("13.0.88", "13.0.88"));
}

TEST(AssemblerVersion, BeginsAtWholeNumbers) {
    EXPECT_TRUE(begins_version("13", "13.0.88"));
    EXPECT_TRUE(begins_version("13.0", "13.0.88"));
    EXPECT_TRUE(begins_version("13.0.88", "13.0.88"));
    EXPECT_FALSE(begins_version("13.0.8", "13.0.88"));
    EXPECT_FALSE(begins_version("1", "13.0.88"));
    EXPECT_FALSE(begins_version("", "13.0.88"));
}

TEST(AssemblerVersion, IsFoundAfterAMark) {
    EXPECT_EQ(version_after("Cuda compilation tools, release 13.0, V13.0.88\nBuild", ", V"), "13.0.88");
    EXPECT_EQ(version_after("fatal   : Unsupported .version 99.9; current version is '9.0'", "version is '"), "9.0");
    EXPECT_EQ(version_after("Vx V. V1.2.", "V"), "1.2");
    EXPECT_EQ(version_after("nothing here", "V"), "");
}

}  // namespace
}  // namespace jali::audit
