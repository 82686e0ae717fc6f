#include "jali/mask_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "block_mask/assembled_bytes.h"
#include "block_mask/mask_file_layout.h"
#include "io/atomic_file.h"
#include "io/read_file.h"
#include "jali/error.h"

namespace jali {
namespace {

constexpr int64_t kTileBytes = 8, kOffsetBytes = 8, kRunBytes = 12;
constexpr int64_t kStencilBytes = 2 * kTileRows * 8;

template <class Integer>
void append(std::vector<uint8_t>& bytes, Integer value) {
    const auto unsigned_value = static_cast<std::make_unsigned_t<Integer>>(value);
    for (size_t i = 0; i < sizeof(Integer); ++i) bytes.push_back(static_cast<uint8_t>(unsigned_value >> (8 * i)));
}

void append_grid(std::vector<uint8_t>& bytes, const Grid& grid) {
    append(bytes, static_cast<int64_t>(grid.q_tiles.size()));
    append(bytes, static_cast<int64_t>(grid.kv_tiles.size()));
    for (const std::vector<Tile>* tiles : {&grid.q_tiles, &grid.kv_tiles}) {
        for (const Tile& tile : *tiles) {
            append(bytes, tile.begin);
            append(bytes, tile.rows);
        }
    }
}

template <class Visit>
void for_each_head(const BlockMask& mask, Visit visit) {
    for (int64_t b = 0; b < mask.batch(); ++b) {
        for (int64_t h = 0; h < mask.heads(); ++h) visit(mask.head(b, h));
    }
}

// The sections of a file, read front to back. Counts are checked against the bytes that are left before anything is
// allocated for them.
struct SectionReader {
    std::span<const uint8_t> bytes;
    std::string_view file;

    template <class... Arguments>
    [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
        throw FileError(
            fmt::format("{} is inconsistent: {}", file, fmt::format(format, std::forward<Arguments>(arguments)...)));
    }

    void require(int64_t count, int64_t bytes_each, std::string_view what) const {
        if (count < 0) fail("it says that it has {} {}", count, what);
        if (count > static_cast<int64_t>(bytes.size()) / bytes_each) {
            fail("{} {} need {} bytes each and {} are left", count, what, bytes_each, bytes.size());
        }
    }

    template <class Integer>
    Integer next() {
        using Unsigned = std::make_unsigned_t<Integer>;
        Unsigned value = 0;
        for (size_t i = 0; i < sizeof(Integer); ++i) {
            value = static_cast<Unsigned>(value | static_cast<Unsigned>(bytes[i]) << (8 * i));
        }
        bytes = bytes.subspan(sizeof(Integer));
        return static_cast<Integer>(value);
    }

    std::vector<Tile> tiles(int64_t count) {
        std::vector<Tile> tiles(static_cast<size_t>(count));
        for (Tile& tile : tiles) tile = {next<int32_t>(), next<int32_t>()};
        return tiles;
    }

    std::vector<int64_t> offsets(int64_t count) {
        std::vector<int64_t> offsets(static_cast<size_t>(count));
        for (int64_t& offset : offsets) offset = next<int64_t>();
        return offsets;
    }

    std::vector<Run> runs(int64_t count) {
        std::vector<Run> runs(static_cast<size_t>(count));
        for (Run& run : runs) run = {next<int32_t>(), next<int32_t>(), next<int32_t>()};
        return runs;
    }

    std::vector<Stencil> stencils(int64_t count) {
        std::vector<Stencil> stencils(static_cast<size_t>(count));
        for (Stencil& stencil : stencils) {
            for (uint64_t& word : stencil.words) word = next<uint64_t>();
        }
        return stencils;
    }
};

// Checks the header and returns the sections.
std::span<const uint8_t> open_frame(std::span<const uint8_t> bytes, std::string_view file) {
    const size_t magic_bytes = std::min(bytes.size(), kMaskFileMagic.size());
    if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(magic_bytes), kMaskFileMagic.begin())) {
        throw FileError(fmt::format("{} is not a .jmask file: it begins with {:02x}, expected {:02x}", file,
                                    fmt::join(bytes.first(magic_bytes), " "), fmt::join(kMaskFileMagic, " ")));
    }
    if (bytes.size() < kMaskFileHeaderBytes) {
        throw FileError(fmt::format("{} is truncated: it has {} bytes, expected at least {}", file, bytes.size(),
                                    kMaskFileHeaderBytes));
    }
    SectionReader header{bytes.subspan(kMaskFileMagic.size()), file};
    const auto version = header.next<uint32_t>();
    if (version != kMaskFileVersion) {
        throw FileError(
            fmt::format("{} has version {} of the .jmask format, {}", file, version,
                        version > kMaskFileVersion
                            ? fmt::format("written by a newer Jali: this one reads version {}", kMaskFileVersion)
                            : fmt::format("expected {}", kMaskFileVersion)));
    }
    const auto tile_rows = header.next<uint32_t>();
    if (tile_rows != kTileRows) {
        throw FileError(fmt::format("{} has tiles of {} rows, expected {}", file, tile_rows, kTileRows));
    }
    const auto size = header.next<uint64_t>();
    if (size != bytes.size()) {
        throw FileError(fmt::format("{} {}: it has {} bytes, expected {}", file,
                                    bytes.size() < size ? "is truncated" : "is too long", bytes.size(), size));
    }
    const std::span<const uint8_t> body = bytes.subspan(kMaskFileHeaderBytes);
    const std::array<uint8_t, 16> checksum = mask_file_checksum(body);
    const std::span<const uint8_t> stated = bytes.subspan(kMaskFileChecksumAt, checksum.size());
    if (!std::equal(checksum.begin(), checksum.end(), stated.begin())) {
        throw FileError(fmt::format("{} was altered: its checksum is {:02x}, expected {:02x}", file,
                                    fmt::join(checksum, ""), fmt::join(stated, "")));
    }
    return body;
}

BlockMask::Parts read_sections(std::span<const uint8_t> body, std::string_view file) {
    SectionReader reader{body, file};
    reader.require(5, 8, "sizes");
    BlockMask::Parts parts;
    parts.batch = reader.next<int64_t>();
    parts.heads = reader.next<int64_t>();
    parts.q_len = reader.next<int64_t>();
    parts.kv_len = reader.next<int64_t>();
    const auto stencils = reader.next<int64_t>();

    reader.require(parts.batch, 2 * 8, "batches");
    for (int64_t b = 0; b < parts.batch; ++b) {
        reader.require(2, 8, "counts of tiles");
        const auto q_tiles = reader.next<int64_t>(), kv_tiles = reader.next<int64_t>();
        reader.require(q_tiles, kTileBytes, "query tiles");
        std::vector<Tile> queries = reader.tiles(q_tiles);
        reader.require(kv_tiles, kTileBytes, "key tiles");
        parts.grids.push_back({std::move(queries), reader.tiles(kv_tiles)});
    }
    for (const Grid& grid : parts.grids) {
        reader.require(parts.heads, kOffsetBytes, "heads");
        for (int64_t h = 0; h < parts.heads; ++h) {
            const auto count = static_cast<int64_t>(grid.q_tiles.size()) + 1;
            reader.require(count, kOffsetBytes, "row offsets");
            parts.row_offsets.push_back(reader.offsets(count));
        }
    }
    for (const std::vector<int64_t>& offsets : parts.row_offsets) {
        reader.require(offsets.back(), kRunBytes, "runs");
        parts.runs.push_back(reader.runs(offsets.back()));
    }
    reader.require(stencils, kStencilBytes, "stencils");
    parts.stencils = reader.stencils(stencils);
    if (!reader.bytes.empty()) reader.fail("{} bytes are left after its last section", reader.bytes.size());
    return parts;
}

// One block mask has one file: stencils are numbered as the runs first name them, and each is named.
void check_stencil_order(const BlockMask::Parts& parts, std::string_view file) {
    int32_t named = 0;
    for (const std::vector<Run>& runs : parts.runs) {
        for (const Run& run : runs) {
            if (run.stencil > named) {
                throw FileError(fmt::format("{} is inconsistent: a run names stencil {} before any names stencil {}",
                                            file, run.stencil, named));
            }
            if (run.stencil == named) ++named;
        }
    }
    if (named != std::ssize(parts.stencils)) {
        throw FileError(fmt::format("{} is inconsistent: it has {} stencils and its runs name {}", file,
                                    parts.stencils.size(), named));
    }
}

BlockMask decode(std::span<const uint8_t> bytes, const std::string& file, int64_t byte_limit) {
    BlockMask::Parts parts = read_sections(open_frame(bytes, file), file);
    check_stencil_order(parts, file);
    const int64_t needed = assembled_bytes(parts);
    if (needed > byte_limit) {
        throw LimitError(
            fmt::format("{} would take {} bytes in memory, and the limit is {}", file, needed, byte_limit));
    }
    try {
        return BlockMask::assemble(std::move(parts));
    } catch (const Error& error) {
        throw FileError(fmt::format("{} is inconsistent: {}", file, error.what()));
    }
}

}  // namespace

std::vector<uint8_t> encode_mask(const BlockMask& mask) {
    std::vector<uint8_t> body;
    append(body, mask.batch());
    append(body, mask.heads());
    append(body, mask.q_len());
    append(body, mask.kv_len());
    append(body, static_cast<int64_t>(mask.stencils().size()));
    for (int64_t b = 0; b < mask.batch(); ++b) append_grid(body, mask.grid(b));
    for_each_head(mask, [&](const HeadView& head) {
        for (const int64_t offset : head.row_offsets) append(body, offset - head.row_offsets.front());
    });
    for_each_head(mask, [&](const HeadView& head) {
        const auto begin = static_cast<size_t>(head.row_offsets.front());
        const auto end = static_cast<size_t>(head.row_offsets.back());
        for (const Run& run : head.runs.subspan(begin, end - begin)) {
            append(body, run.first_tile);
            append(body, run.tiles);
            append(body, run.stencil);
        }
    });
    for (const Stencil& stencil : mask.stencils()) {
        for (const uint64_t word : stencil.words) append(body, word);
    }
    return frame_mask_file(body);
}

BlockMask decode_mask(std::span<const uint8_t> bytes, int64_t byte_limit) {
    return decode(bytes, "the block mask", byte_limit);
}

void save_mask(const BlockMask& mask, const std::filesystem::path& path) {
    io::write_file(path, encode_mask(mask));
}

BlockMask load_mask(const std::filesystem::path& path, int64_t byte_limit) {
    return decode(io::read_file(path), fmt::format("'{}'", path.string()), byte_limit);
}

}  // namespace jali
