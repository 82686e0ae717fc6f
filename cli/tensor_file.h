// Attention's tensors in a safetensors file: `q k v [dout] [dlse]` in, `out lse [dq dk dv]` out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/owned_tensor.h"
#include "io/safetensors.h"
#include "jali/attention.h"
#include "jali/tensor.h"

namespace jali::cli {

enum class Direction : uint8_t { kForward, kBackward };

// Views into the file, or into copies where its bytes are not aligned. dlse has null data where the file has none.
class InputFile {
   public:
    // Throws Error naming the tensor where one is missing, or has a type or rank that attention does not take.
    InputFile(const std::filesystem::path& path, Layout layout, Direction direction);

    TensorView q, k, v, dout, dlse;

   private:
    TensorView read(const std::string& name, Layout layout);
    TensorView read_row_values(const std::string& name);

    io::SafetensorsFile file_;
    std::string file_name_;
    std::vector<OwnedTensor> copies_;
};

struct Results {
    OwnedTensor out, lse, dq, dk, dv;
};
Results make_results(const InputFile& inputs, Layout layout, Direction direction);
ForwardTensors forward_tensors(const InputFile& inputs, const Results& results);
BackwardTensors backward_tensors(const InputFile& inputs, const Results& results);

// lse is (batch, heads, sequence) float32 in both layouts.
void write_results(const std::filesystem::path& path, const Results& results, Layout layout, Direction direction);

}  // namespace jali::cli
