#include "audit/sass.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>

#include "audit/instruction_mix.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr uint64_t kRZ = 255;

// Fields of an instruction under PT; others are zero.
struct Fields {
    uint64_t opcode = 0;
    uint64_t a = 0;    // bits 24 to 31
    uint64_t b = 0;    // bits 32 to 63
    uint64_t c = 0;    // bits 64 to 71
    uint64_t top = 0;  // bits 72 on
};

std::vector<uint8_t> code_of(std::initializer_list<Fields> instructions) {
    std::vector<uint8_t> code;
    for (const Fields& fields : instructions) {
        const uint64_t words[] = {fields.opcode | uint64_t{7} << 12 | fields.a << 24 | fields.b << 32,
                                  fields.c | fields.top << 8};
        const size_t end = code.size();
        code.resize(end + sizeof words);
        std::memcpy(code.data() + end, words, sizeof words);
    }
    return code;
}

Instruction decode_one(const Fields& fields, std::string_view arch = "sm_90a") {
    return decode(code_of({fields}), arch).at(0);
}

// A width in bits 73 to 75, as loads and stores have it.
constexpr uint64_t width(uint64_t code) {
    return code << 1;
}

TEST(Sass, NamesAnOperationWhateverTheFormOfItsOperands) {
    for (const uint64_t form : std::initializer_list<uint64_t>{1, 2, 3, 4, 5, 6, 7})
        EXPECT_EQ(decode_one({.opcode = 0x023 | form << 9}).mnemonic, "FFMA");
    EXPECT_EQ(decode_one({.opcode = 0x94d}).mnemonic, "EXIT");
    EXPECT_EQ(decode_one({.opcode = 0x387}).mnemonic, "STL");
    EXPECT_EQ(decode_one({.opcode = 0x983}).mnemonic, "LDL");
}

TEST(Sass, NamesANumberGivenAnewByTheArchitecture) {
    EXPECT_EQ(decode_one({.opcode = 0x235}, "sm_80").mnemonic, "HFMA2");
    EXPECT_EQ(decode_one({.opcode = 0x235}, "sm_120a").mnemonic, "IADD");
    EXPECT_EQ(decode_one({.opcode = 0x24a}, "sm_100f").mnemonic, "FMUL2");
    EXPECT_EQ(decode_one({.opcode = 0x24a}, "sm_121").mnemonic, "UVIMNMX");
    EXPECT_EQ(decode_one({.opcode = 0x98e}, "sm_89").mnemonic, "RED");
    EXPECT_EQ(decode_one({.opcode = 0x98e}, "sm_90").mnemonic, "REDG");
}

TEST(Sass, TellsByModifiersWhatOneNumberStandsFor) {
    const auto tensor_product = [](uint64_t type, uint64_t scaled) {
        return decode_one({.opcode = 0x5ea, .b = scaled << 31, .top = type}, "sm_100a").mnemonic;
    };
    EXPECT_EQ(tensor_product(0, 0), "UTCHMMA");
    EXPECT_EQ(tensor_product(1, 0), "UTCIMMA");
    EXPECT_EQ(tensor_product(3, 0), "UTCQMMA");
    EXPECT_EQ(tensor_product(0, 1), "UTCOMMA");
    EXPECT_EQ(decode_one({.opcode = 0x9ab}).mnemonic, "ERRBAR");
    EXPECT_EQ(decode_one({.opcode = 0x5ab}).mnemonic, "CGAERRBAR");
    EXPECT_EQ(decode_one({.opcode = 0x9c7}).mnemonic, "UCGABAR_ARV");
    EXPECT_EQ(decode_one({.opcode = 0xdc7}).mnemonic, "UCGABAR_WAIT");
}

TEST(Sass, CountsAnOperationWithoutANameAndGoesOn) {
    const auto code = decode(code_of({{.opcode = 0x1ff}, {.opcode = 0x918}}), "sm_90a");
    EXPECT_EQ(code[0].mnemonic, "");
    EXPECT_EQ(code[0].kind, InstructionKind::kUnknown);
    EXPECT_EQ(code[1].mnemonic, "NOP");
    EXPECT_EQ(mix_of(code).unknown, 1);
}

TEST(Sass, RefusesWhatIsNotWholeInstructionsOfAKnownGeneration) {
    const std::vector<uint8_t> half(24);
    EXPECT_THROW(decode(half, "sm_90a"), FileError);
    const auto nop = code_of({{.opcode = 0x918}});
    EXPECT_THROW(decode(nop, "sm_75"), FileError);
    EXPECT_THROW(decode(nop, ""), FileError);
    EXPECT_THROW(decode(nop, "sm_"), FileError);
    EXPECT_TRUE(decode({}, "sm_80").empty());
}

TEST(Sass, KnowsTheBytesThatAThreadMoves) {
    for (const uint64_t opcode :
         std::initializer_list<uint64_t>{0x983, 0x387, 0x984, 0x388, 0x981, 0x986, 0x980, 0x985}) {
        const int64_t bytes[] = {1, 1, 2, 2, 4, 8, 16};
        for (uint64_t code = 0; code < std::size(bytes); ++code)
            EXPECT_EQ(access_bytes(decode_one({.opcode = opcode, .top = width(code)})), bytes[code]) << opcode;
    }
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0x97e, .top = width(4)}, "sm_100a")), 32);
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0x97f, .top = width(4)}, "sm_100a")), 32);
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0x94d})), 0);
}

TEST(Sass, KnowsTheBytesOfMatricesAndOfCopiesToSharedMemory) {
    for (const uint64_t opcode : std::initializer_list<uint64_t>{0x83b, 0x844}) {
        EXPECT_EQ(access_bytes(decode_one({.opcode = opcode, .top = 0})), 4);
        EXPECT_EQ(access_bytes(decode_one({.opcode = opcode, .top = 1})), 8);
        EXPECT_EQ(access_bytes(decode_one({.opcode = opcode, .top = 2})), 16);
    }
    constexpr uint64_t kBytes16By16 = 7 << 3;
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0x83b, .top = kBytes16By16}, "sm_100a")), 8);
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0x83b, .top = kBytes16By16 | 1}, "sm_100a")), 16);
    // LDGSTS has its width at another place since sm_100.
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0xfae, .top = width(6)}, "sm_80")), 16);
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0xfae, .top = width(4) | 1}, "sm_90")), 4);
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0xfae, .top = 2 << 2 | 2}, "sm_100a")), 16);
    EXPECT_EQ(access_bytes(decode_one({.opcode = 0xfae, .top = 1 << 2 | 2}, "sm_120")), 8);
}

TEST(Sass, TakesAMultiplicationForWhatItIsUsedFor) {
    const auto use = [](const Fields& fields) { return imad_use(decode_one(fields)); };
    // R, R, R; a number at b; a number, constant or uniform register as the addend, the factor then at c.
    EXPECT_EQ(use({.opcode = 0x224, .a = kRZ, .b = kRZ, .c = 4}), ImadUse::kMove);
    EXPECT_EQ(use({.opcode = 0x424, .a = kRZ, .b = 1234, .c = kRZ}), ImadUse::kMove);
    EXPECT_EQ(use({.opcode = 0x624, .a = kRZ, .b = 1234, .c = kRZ}), ImadUse::kMove);
    EXPECT_EQ(use({.opcode = 0xe24, .a = kRZ, .b = 4, .c = kRZ}), ImadUse::kMove);
    EXPECT_EQ(use({.opcode = 0x224, .a = 2, .b = kRZ, .c = 4}), ImadUse::kProduct);
    EXPECT_EQ(use({.opcode = 0x224, .a = 2, .b = 3, .c = 4}), ImadUse::kProduct);
    EXPECT_EQ(use({.opcode = 0x424, .a = 2, .b = 3, .c = kRZ}), ImadUse::kProduct);
    EXPECT_EQ(use({.opcode = 0x824, .a = 2, .b = 64, .c = kRZ}), ImadUse::kShift);
    EXPECT_EQ(use({.opcode = 0x824, .a = 2, .b = 64, .c = 4}), ImadUse::kProduct);
    EXPECT_EQ(use({.opcode = 0x824, .a = 2, .b = 1, .c = 4}), ImadUse::kAdd);
    EXPECT_EQ(use({.opcode = 0x824, .a = 2, .b = 3, .c = kRZ}), ImadUse::kProduct);
    constexpr uint64_t kWithCarry = 4;
    EXPECT_EQ(use({.opcode = 0x224, .a = kRZ, .b = kRZ, .c = 4, .top = kWithCarry}), ImadUse::kAdd);
    EXPECT_EQ(use({.opcode = 0x225, .a = 2, .b = 3, .c = 4}), ImadUse::kWide);
    EXPECT_EQ(use({.opcode = 0x227, .a = 2, .b = 3, .c = 4}), ImadUse::kProduct);
    EXPECT_EQ(use({.opcode = 0x223}), ImadUse::kNotImad);
}

TEST(InstructionMix, CountsByWhatTheMachineDoes) {
    const Fields constant_by_hfma2 = {.opcode = 0x431, .a = kRZ, .b = 5, .c = kRZ};
    const Fields product_by_hfma2 = {.opcode = 0x231, .a = 2, .b = 3, .c = 4};
    const auto mix = mix_of(decode(code_of({{.opcode = 0x224, .a = kRZ, .b = kRZ, .c = 4},  // IMAD.MOV
                                            {.opcode = 0x824, .a = 2, .b = 64, .c = kRZ},   // IMAD.SHL
                                            {.opcode = 0x824, .a = 2, .b = 1, .c = 4},      // IMAD.IADD
                                            {.opcode = 0x225, .a = 2, .b = 3, .c = 4},      // IMAD.WIDE
                                            {.opcode = 0x224, .a = 2, .b = 3, .c = 4},      // IMAD
                                            constant_by_hfma2,
                                            product_by_hfma2,
                                            {.opcode = 0x23c},    // HMMA
                                            {.opcode = 0xfae},    // LDGSTS
                                            {.opcode = 0x308},    // MUFU
                                            {.opcode = 0x984},    // LDS
                                            {.opcode = 0x981},    // LDG
                                            {.opcode = 0x983},    // LDL
                                            {.opcode = 0xb82},    // LDC
                                            {.opcode = 0x9ee},    // LDTM
                                            {.opcode = 0xb1d},    // BAR
                                            {.opcode = 0x947},    // BRA
                                            {.opcode = 0x306},    // I2F
                                            {.opcode = 0x20c},    // ISETP
                                            {.opcode = 0x212},    // LOP3
                                            {.opcode = 0x918}}),  // NOP
                                   "sm_100a"));
    EXPECT_EQ(mix.total, 21);
    EXPECT_EQ(mix.imad_mov, 1);
    EXPECT_EQ(mix.imad_shl, 1);
    EXPECT_EQ(mix.imad_iadd, 1);
    EXPECT_EQ(mix.imad_wide, 1);
    EXPECT_EQ(mix.imad, 1);
    EXPECT_EQ(mix.moves, 2);     // with the constant
    EXPECT_EQ(mix.logic, 2);     // with the shift
    EXPECT_EQ(mix.integers, 3);  // IMAD.IADD, IMAD.WIDE, IMAD
    EXPECT_EQ(mix.floats, 1);
    for (const int64_t once :
         {mix.matrix, mix.async_copies, mix.special, mix.shared, mix.global, mix.local, mix.constant, mix.tensor_memory,
          mix.barriers, mix.branches, mix.conversions, mix.predicates, mix.others})
        EXPECT_EQ(once, 1);
    EXPECT_EQ(mix.unknown, 0);
}

}  // namespace
}  // namespace jali::audit
