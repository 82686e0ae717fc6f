#include "audit/zip_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <vector>

#include "audit/file_kind.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

constexpr uint64_t kPageReturnBytes = uint64_t{32} << 20;
constexpr size_t kChunkBytes = size_t{1} << 18;
// Deflate shrinks at most 1,032 times; who claims more for what is large wants to fill the disk.
constexpr uint64_t kBelievedBytes = uint64_t{64} << 20;
constexpr uint64_t kBelievedRatio = 1100;

struct CloseZip {
    void operator()(zip_t* zip) const { zip_discard(zip); }
};
struct CloseMember {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using ZipHandle = std::unique_ptr<zip_t, CloseZip>;
using MemberHandle = std::unique_ptr<zip_file_t, CloseMember>;

std::string words_of(zip_error_t& error) {
    std::string words = zip_error_strerror(&error);
    zip_error_fini(&error);
    return words;
}

ZipHandle open_zip(std::span<const uint8_t> bytes) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source == nullptr) throw FileError("zip file cannot be opened: " + words_of(error));
    ZipHandle zip(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (zip == nullptr) {
        zip_source_free(source);
        throw FileError("zip file cannot be opened: " + words_of(error));
    }
    zip_error_fini(&error);
    return zip;
}

// Members of one file, with what they are allowed to take together.
class Members {
   public:
    Members(const Carrier& carrier, const ZipVisitor& visitor)
        : carrier_(carrier), visitor_(visitor), zip_(open_zip(carrier.bytes)), stored_left_(carrier.bytes.size()) {}

    int64_t count() const { return zip_get_num_entries(zip_.get(), 0); }

    void visit(uint64_t index) {
        std::string name = fmt::format("member {}", index + 1);
        try {
            zip_stat_t status;
            zip_stat_init(&status);
            if (zip_stat_index(zip_.get(), index, 0, &status) != 0) fail("has no header", zip_strerror(zip_.get()));
            constexpr uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
            if ((status.valid & kNeeded) != kNeeded) throw FileError("has no name or no size");
            name = status.name;
            if (name.ends_with('/') || status.size == 0) return;
            visit(index, name, status);
        } catch (const FileError& error) {
            visitor_.on_problem(name, error.what());
        }
    }

   private:
    [[noreturn]] static void fail(const char* what, const char* words) {
        throw FileError(fmt::format("{}: {}", what, words));
    }

    void visit(uint64_t index, const std::string& name, const zip_stat_t& status) {
        const MemberHandle file(zip_fopen_index(zip_.get(), index, 0));
        if (file == nullptr) fail("cannot be opened", zip_strerror(zip_.get()));
        std::vector<uint8_t> chunk(std::min<uint64_t>(status.size, kChunkBytes));
        size_t size = read(file.get(), chunk, 0);
        const std::span<const uint8_t> beginning(chunk.data(), std::min(size, kKindBytes));
        if (!visitor_.wants(name, beginning)) return;
        check_sizes(status);
        CarrierWriter writer;
        for (uint64_t done = 0; size > 0; size = read(file.get(), chunk, done)) {
            writer.write({chunk.data(), size});
            done += size;
            unpacked_ += size;
            // Members need not lie in order: all that was read goes back, and what is needed again comes again.
            if (unpacked_ >= kPageReturnBytes) {
                carrier_.drop_pages(carrier_.bytes.size());
                unpacked_ = 0;
            }
        }
        visitor_.on_member(writer.finish(carrier_.origin + "!" + name));
    }

    static size_t read(zip_file_t* file, std::vector<uint8_t>& chunk, uint64_t done) {
        const zip_int64_t size = zip_fread(file, chunk.data(), chunk.size());
        if (size < 0)
            throw FileError(fmt::format("does not unpack past its byte {}: {}", done,
                                        zip_error_strerror(zip_file_get_error(file))));
        return static_cast<size_t>(size);
    }

    void check_sizes(const zip_stat_t& status) {
        if (status.size > kBelievedBytes && status.size / kBelievedRatio > status.comp_size)
            throw FileError(fmt::format("would unpack from {} to {} bytes, over {} times as many", status.comp_size,
                                        status.size, kBelievedRatio));
        // Members that share their bytes unpack to any size.
        if (status.comp_size > stored_left_)
            throw FileError(fmt::format("takes {} bytes and the members before it left {} of the file's {}",
                                        status.comp_size, stored_left_, carrier_.bytes.size()));
        stored_left_ -= status.comp_size;
    }

    const Carrier& carrier_;
    const ZipVisitor& visitor_;
    ZipHandle zip_;
    uint64_t stored_left_;
    uint64_t unpacked_ = 0;  // since pages were given back
};

}  // namespace

void read_zip(const Carrier& zip, const ZipVisitor& visitor) {
    try {
        Members members(zip, visitor);
        const int64_t count = members.count();
        for (int64_t index = 0; index < count; ++index) members.visit(static_cast<uint64_t>(index));
    } catch (const FileError& error) {
        visitor.on_problem("", error.what());
    }
}

}  // namespace jali::audit
