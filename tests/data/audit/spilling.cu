// Spills on purpose: forty values live over a loop in 32 registers; an inlined function reads them back.
__device__ __forceinline__ float polynomial(const float (&c)[40], float x) {
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < 40; ++i) sum = fmaf(sum, x, c[i]);
    return sum;
}

extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const float* in, float* out, int steps) {
    float c[40];
#pragma unroll
    for (int i = 0; i < 40; ++i) c[i] = in[40 * threadIdx.x + i];
    for (int step = 0; step < steps; ++step) {
        const float value = polynomial(c, out[step]);
#pragma unroll
        for (int i = 0; i < 40; ++i) c[i] = fmaf(c[i], value, in[i]);
    }
    out[threadIdx.x] = polynomial(c, 0.5F);
}
