/* conv_f32_cuda.cu - f32 convolutions on a device: products whose first factor is gathered from x.
 *
 * Channels are last; groups are batches. k = (kh, kw, channel), in the order of gemm_f32.h.
 */
#include "kernel/gemm_f32/cuda_place.h"

/* Large convolutions. */
#define BM 128
#define BN 128
#define TM 16
#define TN 8
#define BK 16
#define STAGES 2
#define HIGH 4
#define DEEP 8
#define GATHERS 1
#define TILE(name) name##_128w
#define TILED KERNEL(takt_cuda_conv_f32_128w, takt_cuda_gemm, 128, 2)
#include "kernel/gemm_f32/cuda_wide.inc"

/* Small tiles. */
#define BM 64
#define BN 64
#define TM 8
#define TN 4
#define BK 16
#define STAGES 3
#define GATHERS 1
#define TILE(name) name##_64
#define TILED LATE_KERNEL(takt_cuda_conv_f32_64, takt_cuda_gemm, 128, 3)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Smaller ones. */
#define BM 64
#define BN 32
#define TM 4
#define TN 4
#define BK 32
#define STAGES 3
#define GATHERS 1
#define TILE(name) name##_64x32
#define TILED LATE_KERNEL(takt_cuda_conv_f32_64x32, takt_cuda_gemm, 128, 4)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Few positions, deep. */
#define BM 32
#define BN 32
#define TM 2
#define TN 4
#define BK 64
#define STAGES 4
#define GATHERS 1
#define TILE(name) name##_32
#define TILED LATE_KERNEL(takt_cuda_conv_f32_32, takt_cuda_gemm, 128)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Fewer rows, as those of small images. */
#define BM 32
#define BN 64
#define TM 4
#define TN 4
#define BK 32
#define STAGES 3
#define GATHERS 1
#define TILE(name) name##_32x64
#define TILED LATE_KERNEL(takt_cuda_conv_f32_32x64, takt_cuda_gemm, 128, 4)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Still fewer, deep. */
#define BM 16
#define BN 64
#define TM 2
#define TN 4
#define BK 64
#define STAGES 4
#define GATHERS 1
#define TILE(name) name##_16x64
#define TILED LATE_KERNEL(takt_cuda_conv_f32_16x64, takt_cuda_gemm, 128)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Pixels of fewer than four channels, each a quad. */
KERNEL(takt_cuda_fours_f32, takt_cuda_fours, 256)
{
    const uint64_t pixel = INDEX;
    float x[4];
    if (pixel >= ARG.count)
        return;
    UNROLL
    for (uint32_t c = 0; c < 4; c++)
        x[c] = c < ARG.channels ? ARG.src[pixel * ARG.channels + c] : 0.0f;
    ((quad *)ARG.dst)[pixel] = quad_of(x);
}
