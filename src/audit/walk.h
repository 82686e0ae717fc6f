// All device code of a path: files, what is in them, and folders.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "audit/carrier.h"
#include "audit/packed_image.h"
#include "jali/audit.h"

namespace jali::audit {

struct WalkVisitor {
    std::function<void(PackedImage)> on_image;
    std::function<void(Problem)> on_problem;
    std::function<void()> on_other;  // an entry of a fat binary that is neither PTX nor a cubin; may be empty
};

// Visits the images of PTX text, a cubin, fat binary, host object, executable, shared library, static archive, Python
// wheel or zip, or a folder of any of these, in the order of names and then of offsets. Files and members of a folder
// or wheel that are none of these are passed over; links are followed, and each file is read once. The visitor is
// called by the calling thread. Throws FileError only where `path` does not exist or cannot be opened.
void walk(const std::filesystem::path& path, const WalkVisitor& visitor);
// The same of one file's bytes.
void walk(const Carrier& carrier, const WalkVisitor& visitor);

// The PTX of a path, unpacked, ready for an assembler.
struct PtxImages {
    std::vector<Image> images;
    std::vector<Problem> problems;
};
PtxImages read_ptx_images(const std::filesystem::path& path);

}  // namespace jali::audit
