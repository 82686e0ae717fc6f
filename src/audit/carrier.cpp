#include "audit/carrier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "io/read_file.h"
#include "jali/error.h"

namespace jali::audit {
namespace {

// What is larger than this goes to a file.
constexpr uint64_t kMostBytesInMemory = uint64_t{1} << 20;

[[noreturn]] void fail(const std::filesystem::path& folder, const char* what, int error) {
    throw FileError(fmt::format("cannot {} a temporary file in '{}': {}", what, folder.string(),
                                std::generic_category().message(error)));
}

// /tmp may be memory; /var/tmp is for what is large.
std::filesystem::path temporary_folder() {
    const char* chosen = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
    if (chosen != nullptr && *chosen != '\0') return chosen;
    return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

int open_nameless(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    // Not every file system has files without a name.
    std::string name = (folder / "jali-audit-XXXXXX").string();
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named < 0) fail(folder, "make", errno);
    ::unlink(name.c_str());
    return named;
}

struct Mapping {
    std::span<const uint8_t> bytes;

    explicit Mapping(std::span<const uint8_t> mapped) : bytes(mapped) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    // munmap's parameter has no const, and the pages are ours.
    ~Mapping() { ::munmap(const_cast<uint8_t*>(bytes.data()), bytes.size()); }
};

}  // namespace

void Carrier::drop_pages(size_t size) const {
    if (!mapped) return;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    const uintptr_t begin = (address + page - 1) / page * page;
    const uintptr_t end = (address + std::min(size, bytes.size())) / page * page;
    // The advice only saves memory: nothing depends on it.
    if (begin < end)
        ::madvise(const_cast<uint8_t*>(bytes.data()) + (begin - address), end - begin, MADV_DONTNEED);  // NOLINT
}

Carrier map_file(const std::filesystem::path& path) {
    auto file = std::make_shared<io::MappedFile>(path);
    const std::span<const uint8_t> bytes = file->bytes();
    const bool mapped = file->is_mapped();
    return {path.string(), bytes, std::move(file), mapped, mapped ? 0 : bytes.size()};
}

CarrierWriter::~CarrierWriter() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void CarrierWriter::write_through(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(folder_, "write", errno);
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
}

void CarrierWriter::write(std::span<const uint8_t> bytes) {
    size_ += bytes.size();
    if (descriptor_ < 0 && size_ > kMostBytesInMemory) {
        folder_ = temporary_folder();
        descriptor_ = open_nameless(folder_);
        write_through(*memory_);
        *memory_ = {};
    }
    if (descriptor_ < 0)
        memory_->insert(memory_->end(), bytes.begin(), bytes.end());
    else
        write_through(bytes);
}

Carrier CarrierWriter::finish(std::string origin) {
    if (descriptor_ < 0) {
        const std::span<const uint8_t> bytes = *memory_;
        return {std::move(origin), bytes, std::move(memory_), false, bytes.size()};
    }
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (address == MAP_FAILED) fail(folder_, "map", errno);
    const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(address), size_);
    return {std::move(origin), bytes, std::make_shared<Mapping>(bytes), true, 0};
}

}  // namespace jali::audit
