#include "cli/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>

#include "jali/error.h"

namespace jali::cli {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
    EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    if (!context_) throw std::bad_alloc();
    if (EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw Error("OpenSSL offers no SHA-256 here");
}

void Sha256::update(std::span<const uint8_t> bytes) {
    if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw Error("SHA-256 failed in OpenSSL");
}

std::string Sha256::finish() {
    std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) throw Error("SHA-256 failed in OpenSSL");
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
}

}  // namespace jali::cli
