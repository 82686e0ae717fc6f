#include "audit/cubin_kernels.h"
#include "audit/parallel_read.h"
#include "jali/audit.h"

namespace jali::audit {

Audit read(const std::filesystem::path& path, const ReadOptions& options) {
    return read_images(path, options, [](const Image& image, const ReadOptions& wanted) {
        return read_kernels(image.bytes, image.origin, wanted);
    });
}

}  // namespace jali::audit
