// Kernels that use local memory in every way that the audit tells apart, in one module. For sm_90a.
namespace {

template <int kCount>
__device__ __forceinline__ float chain(float (&c)[kCount], const float* in, int steps) {
    float sum = 0.0F;
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sum = fmaf(sum, in[step], c[i]);
#pragma unroll
        for (int i = 0; i < kCount; ++i) c[i] = fmaf(c[i], sum, in[i]);
    }
    return sum;
}

template <int kCount>
__device__ __forceinline__ void load(float (&c)[kCount], const float* in) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) c[i] = in[kCount * threadIdx.x + i];
}

template <int kCount>
__device__ __forceinline__ float sum_of(const float (&c)[kCount]) {
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum += c[i] * c[(7 * i + 3) % kCount];
    return sum;
}

}  // namespace

// A local array and no spill.
extern "C" __global__ void array_only(const int* in, int* out, int count) {
    int bins[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) bins[i] = 0;
    for (int i = 0; i < count; ++i) bins[in[i] & 15] += i;
    for (int i = 0; i < 16; ++i) out[16 * threadIdx.x + i] = bins[(i + count) & 15];
}

// A local array, and spills beside it.
extern "C" __global__ void __launch_bounds__(1024, 2) array_and_spills(const float* in, float* out, int steps) {
    float c[40];
    load(c, in);
    float bins[8] = {};
    for (int i = 0; i < steps; ++i) bins[i & 7] += chain(c, in, i);
    out[threadIdx.x] = bins[steps & 7] + sum_of(c);
}

// Spills that the assembler may keep in shared memory.
extern "C" __global__ void __launch_bounds__(512, 4) shared_spills(const float* in, float* out, int steps) {
    asm volatile(".pragma \"enable_smem_spilling\";");
    float c[48];
    load(c, in);
    out[threadIdx.x] = chain(c, in, steps) + sum_of(c);
}

// Two kinds of warps with register budgets of their own; one of them spills.
extern "C" __global__ void __launch_bounds__(384, 1) roles(const float* in, float* out, int steps) {
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        float sum = 0.0F;
        for (int i = 0; i < steps; ++i) sum += in[i + threadIdx.x];
        out[threadIdx.x] = sum;
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        float c[250];
        load(c, in);
        out[threadIdx.x] = chain(c, in, steps) + sum_of(c);
    }
}

// Nothing of the kind.
extern "C" __global__ void plain(const float* in, float* out) { out[threadIdx.x] = 2.0F * in[threadIdx.x]; }
