#include "cli/dense_rows.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/progress.h"
#include "cli/sha256.h"
#include "io/npy.h"

namespace jali::cli {

namespace {

// Calls visit(row) for each (b, h, q) in order; a row has kv_len bytes.
template <class Visit>
void for_each_row(const BlockMask& mask, const Domain& domain, Progress& progress, const Visit& visit) {
    std::vector<uint8_t> row(static_cast<size_t>(domain.kv_len));
    const double rows =
        static_cast<double>(domain.batch) * static_cast<double>(domain.heads) * static_cast<double>(domain.q_len);
    double done = 0;
    for (int64_t b = 0; b < domain.batch; ++b) {
        for (int64_t h = 0; h < domain.heads; ++h) {
            for (int64_t q = 0; q < domain.q_len; ++q) {
                dense_row(mask, b, h, q, row);
                visit(std::span<const uint8_t>(row));
                progress.advance(++done / rows);
            }
        }
    }
}

}  // namespace

std::string sha256_of(const BlockMask& mask, const Domain& domain) {
    Progress progress("hashing");
    Sha256 hash;
    for_each_row(mask, domain, progress, [&](std::span<const uint8_t> row) { hash.update(row); });
    return hash.finish();
}

void write_dense(const BlockMask& mask, const Domain& domain, const std::filesystem::path& path) {
    Progress progress("writing every bit");
    io::NpyBooleanWriter writer(path, std::array{domain.batch, domain.heads, domain.q_len, domain.kv_len});
    for_each_row(mask, domain, progress, [&](std::span<const uint8_t> row) { writer.write_row(row); });
    writer.commit();
}

}  // namespace jali::cli
