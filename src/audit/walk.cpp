#include "audit/walk.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "audit/ar_archive.h"
#include "audit/carrier.h"
#include "audit/embedded.h"
#include "audit/file_kind.h"
#include "audit/zip_archive.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

namespace fs = std::filesystem;

// Archives within archives: a wheel in a zip with a library of objects is 3.
constexpr int kMostDepth = 6;

enum class Wanted {
    kAlways,    // the user named it
    kWhenKnown  // it lies in what the user named: what is of no kind that we read is passed over
};

bool is_zip_of_libraries(std::string_view name) {
    return name.ends_with(".whl") || name.ends_with(".zip");
}

// In a folder or a zip, zips of other things (.npz, .jar, .pt: gigabytes) are none of ours.
bool is_wanted(std::string_view name, FileKind kind) {
    return kind != FileKind::kUnknown && (kind != FileKind::kZip || is_zip_of_libraries(name));
}

class Walker {
   public:
    explicit Walker(const WalkVisitor& visitor) : visitor_(visitor) {}

    void walk_path(const fs::path& path) {
        const auto status = status_of(path);
        if (S_ISDIR(status.st_mode)) {
            if (is_new(status)) walk_folder(path);
            return;
        }
        is_new(status);
        walk_file(map_file(path));
    }
    void walk_file(const Carrier& file) { walk_carrier(file, Wanted::kAlways, 0); }

   private:
    using Status = struct stat;

    static Status status_of(const fs::path& path) {
        Status status{};
        if (::stat(path.c_str(), &status) != 0)
            throw FileError(fmt::format("cannot read '{}': {}", path.string(), std::generic_category().message(errno)));
        return status;
    }

    // A library has several names that link to one file, and links between folders may form a loop.
    bool is_new(const Status& status) { return seen_.emplace(status.st_dev, status.st_ino).second; }

    void report(const std::string& origin, const std::string& sentence) { visitor_.on_problem({origin, sentence}); }

    void walk_folder(const fs::path& folder) {
        std::vector<fs::path> paths;
        std::error_code error;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
            paths.push_back(entry->path());
        if (error) report(folder.string(), fmt::format("cannot list '{}': {}", folder.string(), error.message()));
        std::sort(paths.begin(), paths.end());
        for (const fs::path& path : paths) {
            try {
                walk_entry(path);
            } catch (const FileError& wrong) {
                report(path.string(), wrong.what());
            }
        }
    }

    void walk_entry(const fs::path& path) {
        std::error_code error;
        const bool dangles = fs::is_symlink(path, error) && !fs::exists(path, error);
        if (dangles) return;
        const Status status = status_of(path);
        if (S_ISDIR(status.st_mode)) {
            if (is_new(status)) walk_folder(path);
        } else if (S_ISREG(status.st_mode) && status.st_size > 0 && is_new(status)) {
            walk_carrier(map_file(path), Wanted::kWhenKnown, 0);
        }
    }

    void walk_carrier(const Carrier& carrier, Wanted wanted, int depth) {
        const auto beginning = carrier.bytes.first(std::min(carrier.bytes.size(), kKindBytes));
        const FileKind kind = kind_of(beginning);
        if (wanted == Wanted::kWhenKnown && !is_wanted(carrier.origin, kind)) return;
        if (depth > kMostDepth)
            return report(carrier.origin, fmt::format("lies in {} archives, the limit is {}", depth, kMostDepth));
        switch (kind) {
            case FileKind::kPtx:
                return visit_whole(carrier, ImageKind::kPtx);
            case FileKind::kCubin:
                return visit_whole(carrier, ImageKind::kCubin);
            case FileKind::kFatBinary: {
                const ScanRange all{0, carrier.bytes.size(), true};
                return scan(carrier, {&all, 1}, visitor_);
            }
            case FileKind::kHostElf:
                return walk_host_elf(carrier);
            case FileKind::kArchive:
                return walk_ar(carrier, depth);
            case FileKind::kZip:
                return walk_zip(carrier, depth);
            case FileKind::kUnknown:
                return walk_unknown(carrier);
        }
    }

    void visit_whole(const Carrier& carrier, ImageKind kind) {
        visitor_.on_image({.image = {.kind = kind,
                                     .origin = carrier.origin,
                                     .arch = {},
                                     .options = {},
                                     .bytes = carrier.bytes,
                                     .owner = carrier.owner},
                           .compression = Compression::kNone,
                           .unpacked_bytes = carrier.bytes.size(),
                           .carrier_offset = 0,
                           .held_bytes = carrier.held_bytes});
    }

    void walk_host_elf(const Carrier& carrier) {
        std::vector<ScanRange> ranges;
        try {
            ranges = device_code_ranges(carrier.bytes);
        } catch (const FileError& error) {
            report(carrier.origin, error.what());
            ranges = {{0, carrier.bytes.size(), false}};
        }
        scan(carrier, ranges, visitor_);
    }

    // A dump, a library of another system: whatever it is, device code begins with a magic.
    void walk_unknown(const Carrier& carrier) {
        bool found = false;
        WalkVisitor noting = visitor_;
        noting.on_image = [&](PackedImage image) {
            found = true;
            visitor_.on_image(std::move(image));
        };
        const ScanRange all{0, carrier.bytes.size(), false};
        scan(carrier, {&all, 1}, noting);
        if (!found)
            report(carrier.origin, fmt::format("is neither PTX, cubin, fat binary, ELF, archive nor wheel, and no "
                                               "device code is in its {} bytes",
                                               carrier.bytes.size()));
    }

    void walk_ar(const Carrier& carrier, int depth) {
        PageReturn pages(carrier);
        try {
            read_ar(carrier.bytes, [&](const ArMember& member) {
                pages.passed(member.offset);
                walk_carrier(carrier.part(carrier.origin + "!" + member.name, member.offset, member.bytes.size()),
                             Wanted::kWhenKnown, depth + 1);
            });
        } catch (const FileError& error) {
            report(carrier.origin, error.what());
        }
    }

    void walk_zip(const Carrier& carrier, int depth) {
        const ZipVisitor members{
            .wants = [](const std::string& name,
                        std::span<const uint8_t> beginning) { return is_wanted(name, kind_of(beginning)); },
            .on_member = [&](const Carrier& member) { walk_carrier(member, Wanted::kWhenKnown, depth + 1); },
            .on_problem =
                [&](const std::string& name, const std::string& sentence) {
                    report(name.empty() ? carrier.origin : carrier.origin + "!" + name, sentence);
                }};
        read_zip(carrier, members);
    }

    const WalkVisitor& visitor_;
    std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

void walk(const fs::path& path, const WalkVisitor& visitor) {
    Walker(visitor).walk_path(path);
}

void walk(const Carrier& carrier, const WalkVisitor& visitor) {
    Walker(visitor).walk_file(carrier);
}

PtxImages read_ptx_images(const fs::path& path) {
    PtxImages found;
    const auto keep = [&](const PackedImage& packed) {
        if (packed.image.kind != ImageKind::kPtx) return;
        try {
            found.images.push_back(unpack(packed));
        } catch (const FileError& error) {
            found.problems.push_back({packed.image.origin, error.what()});
        }
    };
    walk(path, {.on_image = keep,
                .on_problem = [&](Problem problem) { found.problems.push_back(std::move(problem)); },
                .on_other = {}});
    return found;
}

}  // namespace jali::audit
