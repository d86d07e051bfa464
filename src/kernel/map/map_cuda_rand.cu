/* map_cuda_rand.cu - random numbers by position: Philox4x32-10 (base/philox.h), and the
 * distributions made from its words. Normal numbers by Box and Muller in double, with the
 * element-wise kernels' own functions. */
#include "kernel/cuda/args.h"
#include "kernel/cuda/lang.h"

#include "kernel/cuda/element.inc"

enum { UNIFORM, NORMAL };

DEVICE void words_of(uint64_t seed, uint32_t stream, uint32_t step, uint64_t index, uint32_t *c)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    c[0] = (uint32_t)index;
    c[1] = (uint32_t)(index >> 32);
    c[2] = stream;
    c[3] = step;
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53U * c[0], p1 = (uint64_t)0xCD9E8D57U * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
}

/* Cut off, not rounded: the result is never 1. */
DEVICE double uniform(uint32_t dtype, uint32_t bits)
{
    const int32_t keep = dtype == TAKT_F16 ? 11 : dtype == TAKT_BF16 ? 8 : 24;
    return (double)(bits >> (32 - keep)) * power_of(-keep);
}

/* Element `even` or the one after it, from the pair's words. An angle is a number of quarter
 * circles plus or minus at most an eighth. */
DEVICE double normal(uint32_t first, uint32_t second, bool is_even)
{
    const uint32_t eighth = 1U << 21, quarter = 1U << 22, shifted = (second >> 8) + eighth;
    const double u = 1.0 - (double)(first >> 8) * 0x1p-24;
    const double angle =
        1.57079632679489661923 * (((double)(shifted % quarter) - (double)eighth) / (double)quarter);
    const double radius = sqrt(log_f64(u) * -2.0);
    const uint32_t at = shifted / quarter + (is_even ? 1 : 0);
    const double wave = at % 2 == 0 ? sin_f64(angle) : cos_f64(angle);
    return radius * (at % 4 < 2 ? wave : -wave);
}

KERNEL(takt_cuda_rand, takt_cuda_rand_args, TAKT_CUDA_MOVE_THREADS)
{
    const uint64_t i = INDEX;
    if (i >= ARG.count)
        return;
    const uint64_t element = *ARG.base + i;
    const uint32_t at = (uint32_t)(element % 4);
    const uint8_t dtype = (uint8_t)ARG.dtype;
    uint32_t c[4];
    words_of(*ARG.seed, ARG.stream, (uint32_t)*ARG.step, element / 4, c);
    if (ARG.dist != UNIFORM && ARG.dist != NORMAL) {
        ((uint32_t *)ARG.dst)[i] = c[at];
        return;
    }
    const double x =
        ARG.dist == UNIFORM ? uniform(dtype, c[at]) : normal(c[at & 2], c[at | 1], (at & 1) == 0);
    stored(dtype, ARG.dst, (int64_t)i, bits_of_float(dtype, x, false));
}
