// Vectors of floats as wide as the including file is compiled for, through the compilers' vector extension: what the
// primitives need and nothing more. Everything has internal linkage and uses no standard library function: a function
// shared with other files could be linked from here and then run on processors without these instructions.
//
// Compiled with floating-point contraction off (cmake/cpu_engine.cmake): products fuse where fused() says so.
#pragma once

#include <cstdint>

#if defined(__F16C__) || defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace jali::cpu {
namespace {

// The maskz forms below avoid g++ 12's false warning about the undefined source of the plain ones.
#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif

using Vector = float __attribute__((vector_size(4 * kWidth)));
using Integers = int32_t __attribute__((vector_size(4 * kWidth)));
using Words = uint32_t __attribute__((vector_size(4 * kWidth)));
using Halves = uint16_t __attribute__((vector_size(2 * kWidth)));

template <class V>
[[gnu::always_inline]] inline V load(const void* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
}

template <class V>
[[gnu::always_inline]] inline void store(void* to, V v) {
    __builtin_memcpy(to, &v, sizeof v);
}

[[gnu::always_inline]] inline Vector splat(float x) {
    return x - Vector{};
}
[[gnu::always_inline]] inline Words splat(uint32_t x) {
    return x + Words{};
}

// Where the two are unordered, y.
[[gnu::always_inline]] inline Vector maximum(Vector x, Vector y) {
    return x > y ? x : y;
}

[[gnu::always_inline]] inline Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
    return Vector(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#elif defined(__AVX2__) && defined(__FMA__)
    return Vector(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
#elif defined(__ARM_NEON) && defined(__aarch64__)
    return Vector(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
#else
    return a * b + c;
#endif
}

// Lanes whose bit of the stencil row `row` (two words) is set; lane 0 is bit `first`, a multiple of kWidth.
[[gnu::always_inline]] inline Integers kept_lanes(const uint64_t* row, int32_t first) {
    constexpr int32_t bit[16] = {1,      1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
                                 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
    const auto bits = static_cast<int32_t>(row[first / 64] >> (first % 64) & 0xffff);
    return ((bits + Integers{}) & load<Integers>(bit)) != 0;
}

// exp to about one unit in the last place; results below the smallest normal number are 0, NaN stays NaN.
[[gnu::always_inline]] inline Vector exponential(Vector x) {
    constexpr float kMagic = 0x1.8p23F;  // adding it rounds to an integer, held in the low bits
    const Vector shifted = fused(x, splat(0x1.715476p0F), splat(kMagic));
    const Vector n = shifted - splat(kMagic);
    // ln 2 in two parts, the first short enough for n * part to be exact.
    const Vector r = fused(n, splat(0x1.bd0105p-13F), fused(n, splat(-0x1.63p-1F), x));
    // (exp(r) - 1 - r) / r^2 interpolated at the six Chebyshev nodes of |r| <= ln 2 / 2: off by 1e-9.
    Vector p = fused(r, splat(0x1.a12792p-13F), splat(0x1.6d4618p-10F));
    p = fused(p, r, splat(0x1.1110e0p-7F));
    p = fused(p, r, splat(0x1.5554e6p-5F));
    p = fused(p, r, splat(0x1.555556p-3F));
    p = fused(p, r, splat(0.5F));
    p = fused(p * r, r, r) + splat(1.0F);
    // 2^n in two factors: n reaches 128, which a float's exponent does not.
    const auto half = (Integers(shifted) - Integers(splat(kMagic))) >> 1;
    const auto rest = (Integers(shifted) - Integers(splat(kMagic))) - half;
    const Vector y = p * Vector((half + 127) << 23) * Vector((rest + 127) << 23);
    const Vector above = x > splat(88.72284F) ? splat(__builtin_inff()) : y;
    return x < splat(-87.33654F) ? Vector{} : above;
}

[[gnu::always_inline]] inline Vector from_bfloat16(Halves h) {
    return Vector(__builtin_convertvector(h, Words) << 16);
}

[[gnu::always_inline]] inline Halves to_bfloat16(Vector x) {
    const auto bits = Words(x);
    const Words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const Words quiet = bits >> 16 | 0x40;
    return __builtin_convertvector(x != x ? quiet : rounded, Halves);
}

[[gnu::always_inline]] inline Vector from_float16(Halves h) {
#if defined(__AVX512F__)
    return Vector(_mm512_maskz_cvtph_ps(0xffff, __m256i(h)));
#elif defined(__F16C__) && defined(__AVX2__)
    return Vector(_mm256_cvtph_ps(__m128i(h)));
#else
    const Words bits = __builtin_convertvector(h, Words);
    const Words exponent = bits & 0x7c00;
    // Moving the exponent field scales by 2^-112, exactly also for subnormal halves.
    const Words finite = Words(Vector((bits & 0x7fff) << 13) * splat(0x1p112F));
    const Words special = (bits & 0x7fff) << 13 | 0x7f800000;
    return Vector((exponent == 0x7c00 ? special : finite) | (bits & 0x8000) << 16);
#endif
}

[[gnu::always_inline]] inline Halves to_float16(Vector x) {
#if defined(__AVX512F__)
    return Halves(_mm512_maskz_cvtps_ph(0xffff, __m512(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__) && defined(__AVX2__)
    return Halves(_mm256_cvtps_ph(__m256(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
    const Words bits = Words(x) & 0x7fffffff;
    const Words sign = Words(x) >> 16 & 0x8000;
    const Words rounded = (bits + 0xfff + (bits >> 13 & 1) - (112U << 23)) >> 13;
    const Words normal = bits >= 0x47800000 ? splat(0x7c00U) : rounded;
    // Below 2^-14 halves are multiples of 2^-24, the last place of 0.5.
    const Words subnormal = Words(Vector(bits) + splat(0.5F)) - Words(splat(0.5F));
    const Words finite = bits < 0x38800000 ? subnormal : normal;
    return __builtin_convertvector((bits > 0x7f800000 ? splat(0x7e00U) : finite) | sign, Halves);
#endif
}

// x0 y0 x1 y1 ... of the first halves, and of the second halves.
[[gnu::always_inline]] inline void interleave(Vector x, Vector y, Vector& low, Vector& high) {
#if defined(__AVX512F__)
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    low = Vector(_mm512_permutex2var_ps(__m512(x), first, __m512(y)));
    high = Vector(_mm512_permutex2var_ps(__m512(x), second, __m512(y)));
#elif defined(__AVX2__)
    const __m256 a = _mm256_unpacklo_ps(__m256(x), __m256(y)), b = _mm256_unpackhi_ps(__m256(x), __m256(y));
    low = Vector(_mm256_permute2f128_ps(a, b, 0x20));
    high = Vector(_mm256_permute2f128_ps(a, b, 0x31));
#else
    low = Vector{x[0], y[0], x[1], y[1]};
    high = Vector{x[2], y[2], x[3], y[3]};
#endif
}

// Transposes kWidth vectors in place: log2(kWidth) rounds of interleaving row i with row i + kWidth / 2.
[[gnu::always_inline]] inline void transpose(Vector (&rows)[kWidth]) {
    for (int round = 1; round < kWidth; round *= 2) {
        Vector next[kWidth];
        for (int i = 0; i < kWidth / 2; ++i) interleave(rows[i], rows[i + kWidth / 2], next[2 * i], next[2 * i + 1]);
        for (int i = 0; i < kWidth; ++i) rows[i] = next[i];
    }
}

}  // namespace
}  // namespace jali::cpu
