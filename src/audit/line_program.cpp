#include "audit/line_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "audit/byte_reader.h"
#include "audit/line_header.h"

namespace jali::audit {
namespace {

enum Standard : uint8_t {
    kCopy = 1,
    kAdvancePc = 2,
    kAdvanceLine = 3,
    kSetFile = 4,
    kSetColumn = 5,
    kConstAddPc = 8,
    kFixedAdvancePc = 9,
};
enum Extended : uint8_t { kEndSequence = 1, kSetAddress = 2, kDefineFile = 3, kInlinedCall = 0x90 };

class Machine {
   public:
    Machine(const LineProgramInput& input, LineProgramOutput& output, ByteReader& reader, const LineHeader& header)
        : input_(input), output_(output), reader_(reader), header_(header) {
        start();
    }

    void run(size_t end) {
        while (reader_.offset() < end) {
            const auto operation = reader_.read<uint8_t>();
            if (operation >= header_.first_special)
                special(operation);
            else if (operation == 0)
                extended();
            else
                standard(operation);
        }
        if (!sequence_rows_.empty()) end_sequence();  // a program that stops without saying so
    }

   private:
    void start() {
        state_ = {.file = 1, .line = 1};
        address_ = 0;
        section_ = 0;
        sequence_rows_.clear();
    }

    void emit() {
        if (output_.rows.size() + sequence_rows_.size() >= kMostLineRows)
            reader_.fail(fmt::format("has over {} rows", kMostLineRows));
        state_.address = static_cast<uint32_t>(std::min<uint64_t>(address_, std::numeric_limits<uint32_t>::max()));
        LineRow row = state_;
        // Version 5 counts files from 0, the others from 1.
        if (header_.version < 5) row.file = row.file == 0 ? std::numeric_limits<uint32_t>::max() : row.file - 1;
        sequence_rows_.push_back(row);
    }

    void advance(uint64_t operations) { address_ += operations * header_.instruction_bytes; }

    void special(uint8_t operation) {
        const unsigned adjusted = operation - header_.first_special;
        advance(adjusted / header_.line_range);
        state_.line += static_cast<uint32_t>(header_.line_base + static_cast<int>(adjusted % header_.line_range));
        emit();
    }

    void standard(uint8_t operation) {
        switch (operation) {
            case kCopy:
                emit();
                break;
            case kAdvancePc:
                advance(reader_.read_uleb128());
                break;
            case kAdvanceLine:
                state_.line += static_cast<uint32_t>(reader_.read_sleb128());
                break;
            case kSetFile:
                state_.file = static_cast<uint32_t>(reader_.read_uleb128());
                break;
            case kConstAddPc:
                advance((255U - header_.first_special) / header_.line_range);
                break;
            case kFixedAdvancePc:
                address_ += reader_.read<uint16_t>();
                break;
            default:
                for (unsigned i = 0; i < header_.operands[operation]; ++i) reader_.read_uleb128();
        }
    }

    void extended() {
        const uint64_t bytes = reader_.read_uleb128();
        const size_t begin = reader_.offset();
        if (bytes == 0) return;
        if (bytes > reader_.left()) reader_.fail(fmt::format("has an operation of {} bytes", bytes));
        switch (reader_.read<uint8_t>()) {
            case kEndSequence:
                end_sequence();
                break;
            case kSetAddress:
                set_address(bytes - 1);
                break;
            case kInlinedCall:
                state_.context = static_cast<uint32_t>(reader_.read_uleb128());
                state_.function = static_cast<uint32_t>(reader_.read_uleb128());
                break;
            default:
                break;
        }
        reader_.seek(begin + bytes);
    }

    void set_address(uint64_t bytes) {
        if (bytes != 8 && bytes != 4) reader_.fail(fmt::format("has an address of {} bytes", bytes));
        const size_t at = reader_.offset();
        address_ = bytes == 8 ? reader_.read<uint64_t>() : reader_.read<uint32_t>();
        const auto relocations = input_.relocations;
        const auto found = std::lower_bound(relocations.begin(), relocations.end(), at,
                                            [](const LineRelocation& r, size_t offset) { return r.offset < offset; });
        if (found == relocations.end() || found->offset != at) return;
        address_ += found->address;
        section_ = found->section;
    }

    void end_sequence() {
        const auto end = static_cast<uint32_t>(std::min<uint64_t>(address_, std::numeric_limits<uint32_t>::max()));
        const size_t first = output_.rows.size();
        // Rows keep their order within an address, the last of which counts; contexts count them as they came.
        output_.rows.insert(output_.rows.end(), sequence_rows_.begin(), sequence_rows_.end());
        if (!sequence_rows_.empty())
            output_.sequences.push_back({.section = section_,
                                         .begin = sequence_rows_.front().address,
                                         .end = end,
                                         .first_row = first,
                                         .end_row = output_.rows.size(),
                                         .unit = output_.units.size()});
        start();
    }

    const LineProgramInput& input_;
    LineProgramOutput& output_;
    ByteReader& reader_;
    const LineHeader& header_;
    LineRow state_;
    uint64_t address_ = 0;
    uint32_t section_ = 0;
    std::vector<LineRow> sequence_rows_;
};

}  // namespace

LineProgramOutput run_line_programs(const LineProgramInput& input) {
    LineProgramOutput output;
    ByteReader reader(input.bytes, input.name);
    while (!reader.at_end()) {
        LineHeader header = read_line_header(reader, input.strings, input.line_strings);
        // A reader of this unit alone, whose offsets are the section's.
        ByteReader program(input.bytes.first(header.end), input.name);
        program.seek(header.program);
        Machine(input, output, program, header).run(header.end);
        output.units.push_back({std::move(header.files)});
        reader.seek(header.end);
    }
    return output;
}

}  // namespace jali::audit
