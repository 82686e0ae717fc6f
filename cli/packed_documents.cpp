#include "cli/packed_documents.h"

#include "cli/random_tensor.h"

namespace jali::cli {

const std::vector<int64_t>& document_lengths() {
    static const std::vector<int64_t> lengths = {684,  3119, 1653, 3776, 835,  2299, 707,  1383, 1545,
                                                 2771, 3349, 2290, 2340, 1623, 1606, 1496, 600,  692};
    return lengths;
}

Predicate packed_documents(const std::vector<int64_t>& lengths) {
    using namespace indices;
    const Table doc = Table::documents("doc", lengths);
    return doc[q] == doc[kv] && q >= kv;
}

DemoTensors draw_demo_tensors(int64_t tokens, uint64_t seed) {
    const auto make = [&] { return OwnedTensor(kDemoDType, {1, kDemoHeads, tokens, kDemoHeadDim}); };
    DemoTensors tensors{make(), make(), make(), make(), make(), {}, make(), make(), make()};
    tensors.lse = OwnedTensor(DType::kFloat32, {1, kDemoHeads, tokens, 1});
    for (const OwnedTensor* tensor : {&tensors.q, &tensors.k, &tensors.v, &tensors.dout}) fill_normal(*tensor, seed++);
    return tensors;
}

ForwardTensors DemoTensors::forward() const {
    return {q.view(), k.view(), v.view(), out.view(), lse.view()};
}

BackwardTensors DemoTensors::backward() const {
    return {.q = q.view(),
            .k = k.view(),
            .v = v.view(),
            .out = out.view(),
            .lse = lse.view(),
            .dout = dout.view(),
            .dlse = {},
            .dq = dq.view(),
            .dk = dk.view(),
            .dv = dv.view()};
}

}  // namespace jali::cli
