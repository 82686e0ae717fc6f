#include "audit/assembler/fake_tools.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace jali::audit {

namespace fs = std::filesystem;

namespace {

std::optional<std::string> variable(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void set_variable(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
        setenv(name.c_str(), value->c_str(), 1);
    } else {
        unsetenv(name.c_str());
    }
}

uint32_t crc32_of(const std::string& bytes) {
    uint32_t crc = 0xffffffffu;
    for (const char byte : bytes) {
        crc ^= static_cast<uint8_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
    }
    return ~crc;
}

void put(std::string& bytes, uint32_t number, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xff);
}

// The fields that the local header and the central directory have in common, from "version needed" on.
std::string common_fields(const std::string& name, const std::string& content) {
    std::string bytes;
    put(bytes, 20, 2);          // version needed
    put(bytes, 0, 2);           // flags
    put(bytes, 0, 2);           // stored
    put(bytes, 0x58210000, 4);  // 2024-01-01
    put(bytes, crc32_of(content), 4);
    put(bytes, static_cast<uint32_t>(content.size()), 4);
    put(bytes, static_cast<uint32_t>(content.size()), 4);
    put(bytes, static_cast<uint32_t>(name.size()), 2);
    put(bytes, 0, 2);  // no extra field
    return bytes;
}

}  // namespace

ScopedVariable::ScopedVariable(std::string name, const std::optional<std::string>& value)
    : name_(std::move(name)), before_(variable(name_)) {
    set_variable(name_, value);
}

ScopedVariable::~ScopedVariable() {
    set_variable(name_, before_);
}

void write_script(const fs::path& path, const std::string& body) {
    fs::create_directories(path.parent_path());
    test::write_text(path, "#!/bin/sh\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
}

void write_fake_ptxas(const fs::path& folder, const std::string& version, const std::string& ptx_version,
                      const std::string& body) {
    write_script(folder / "ptxas", R"(case "$*" in
*--version*) echo 'Cuda compilation tools, release x, V)" +
                                       version + R"('; exit 0;;
*probe.ptx*) echo "ptxas probe.ptx, line 1; fatal   : Unsupported .version 99.9; current version is ')" +
                                       ptx_version + R"('"; exit 255;;
esac
echo "$*" >> ')" + (folder / "calls").string() +
                                       R"('
for output; do :; done
)" + body);
}

int calls_of(const fs::path& folder) {
    const std::string calls = test::read_text(folder / "calls");
    return static_cast<int>(std::ranges::count(calls, '\n'));
}

Assembler fake_assembler(const fs::path& folder) {
    return find_assembler((folder / "ptxas").string());
}

void write_wheel(const fs::path& path, const std::vector<std::pair<std::string, std::string>>& members) {
    std::string bytes, directory;
    for (const auto& [name, content] : members) {
        const auto offset = static_cast<uint32_t>(bytes.size());
        put(bytes, 0x04034b50, 4);
        bytes += common_fields(name, content);
        bytes += name;
        bytes += content;
        put(directory, 0x02014b50, 4);
        put(directory, 20, 2);  // made by
        directory += common_fields(name, content);
        put(directory, 0, 2);  // no comment
        put(directory, 0, 2);  // disk
        put(directory, 0, 2);  // attributes
        put(directory, 0, 4);
        put(directory, offset, 4);
        directory += name;
    }
    const auto begin = static_cast<uint32_t>(bytes.size());
    bytes += directory;
    put(bytes, 0x06054b50, 4);
    put(bytes, 0, 4);  // disks
    put(bytes, static_cast<uint32_t>(members.size()), 2);
    put(bytes, static_cast<uint32_t>(members.size()), 2);
    put(bytes, static_cast<uint32_t>(directory.size()), 4);
    put(bytes, begin, 4);
    put(bytes, 0, 2);
    test::write_text(path, bytes);
}

Isolated::Isolated()
    : cache_("JALI_CACHE", (folder_ / "cache").string()),
      ptxas_("JALI_PTXAS", std::nullopt),
      cuda_home_("CUDA_HOME", std::nullopt),
      cuda_path_("CUDA_PATH", std::nullopt),
      path_("PATH", (folder_ / "programs").string() + ":/usr/bin:/bin") {
    fs::create_directory(programs());
}

std::vector<Assembler> assemblers_below(const fs::path& folder) {
    std::vector<Assembler> found = find_assemblers();
    const std::string beginning = fs::canonical(folder).string() + "/";
    std::erase_if(found, [&](const Assembler& assembler) { return !assembler.ptxas.string().starts_with(beginning); });
    return found;
}

}  // namespace jali::audit
