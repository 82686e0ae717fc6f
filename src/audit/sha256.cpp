#include "audit/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "jali/error.h"

namespace jali::audit {

namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;

class Digest {
   public:
    Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
    }
    void update(const void* bytes, size_t count) { check(EVP_DigestUpdate(context_.get(), bytes, count) == 1); }
    std::string finish() {
        std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
        unsigned size = 0;
        check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
        constexpr std::string_view kDigits = "0123456789abcdef";
        std::string text;
        for (unsigned i = 0; i < size; ++i) {
            text += kDigits[digest[i] >> 4];
            text += kDigits[digest[i] & 15];
        }
        return text;
    }

   private:
    static void check(bool worked) {
        if (!worked) throw Error("libcrypto has no SHA-256");
    }
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256(std::span<const uint8_t> bytes) {
    Digest digest;
    digest.update(bytes.data(), bytes.size());
    return digest.finish();
}

std::string sha256(std::string_view text) {
    Digest digest;
    digest.update(text.data(), text.size());
    return digest.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    Digest digest;
    std::vector<char> piece(kPieceBytes);
    while (file) {
        file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        digest.update(piece.data(), static_cast<size_t>(file.gcount()));
    }
    if (!file.eof()) throw FileError("cannot read '" + path.string() + "': " + std::strerror(errno));
    return digest.finish();
}

}  // namespace jali::audit
