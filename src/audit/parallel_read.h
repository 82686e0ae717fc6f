// Reading the images of a path on all cores.
#pragma once

#include <filesystem>
#include <functional>

#include "audit/cubin_kernels.h"
#include "audit/image.h"
#include "jali/audit.h"

namespace jali::audit {

// The kernels of one cubin, of all names and architectures that `options` ask for. Called by several threads at once.
using CubinReader = std::function<CubinKernels(const Image& image, const ReadOptions& options)>;

// What read() does, with any reader of cubins. What the reader throws becomes a problem of its image.
Audit read_images(const std::filesystem::path& path, const ReadOptions& options, const CubinReader& reader);

}  // namespace jali::audit
