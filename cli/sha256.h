// SHA-256 of bytes that arrive in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace jali::cli {

class Sha256 {
   public:
    Sha256();
    void update(std::span<const uint8_t> bytes);
    // 64 lower-case hexadecimal digits; call once, last.
    std::string finish();

   private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace jali::cli
