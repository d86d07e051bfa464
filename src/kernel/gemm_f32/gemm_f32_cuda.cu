/* gemm_f32_cuda.cu - f32 products on a device, in the order of gemm_f32.h, tile by tile.
 *
 * A product with fewer tiles than the device has multiprocessors is cut along k: chunks are
 * computed by separate blocks, and the last block of a tile adds them in order. launch_gemm.c
 * chooses.
 *
 * Shared memory gives a multiprocessor 128 bytes a cycle, and 8 x 8 elements a thread need just
 * that for 128 fma; more elements need less.
 */
#include "kernel/gemm_f32/cuda_place.h"

/* Large products: 16 x 8 elements a thread. */
#define BM 128
#define BN 128
#define TM 16
#define TN 8
#define BK 16
#define STAGES 2
#define HIGH 4
#define DEEP 8
#define GATHERS 0
#define TILE(name) name##_128w
#define TILED KERNEL(takt_cuda_gemm_f32_128w, takt_cuda_gemm, 128, 2)
#include "kernel/gemm_f32/cuda_wide.inc"

/* Twice the threads, for fewer tiles. */
#define BM 128
#define BN 128
#define TM 8
#define TN 8
#define BK 16
#define STAGES 2
#define HIGH 8
#define DEEP 1
#define GATHERS 0
#define TILE(name) name##_128
#define TILED KERNEL(takt_cuda_gemm_f32_128, takt_cuda_gemm, 256, 2)
#include "kernel/gemm_f32/cuda_wide.inc"

/* Smaller products. */
#define BM 64
#define BN 64
#define TM 8
#define TN 8
#define BK 16
#define STAGES 2
#define HIGH 8
#define DEEP 8
#define GATHERS 0
#define TILE(name) name##_64w
#define TILED KERNEL(takt_cuda_gemm_f32_64w, takt_cuda_gemm, 64, 5)
#include "kernel/gemm_f32/cuda_wide.inc"

/* Twice the threads. */
#define BM 64
#define BN 64
#define TM 8
#define TN 4
#define BK 16
#define STAGES 3
#define GATHERS 0
#define TILE(name) name##_64
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_64, takt_cuda_gemm, 128, 4)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Smaller ones. */
#define BM 64
#define BN 32
#define TM 4
#define TN 4
#define BK 32
#define STAGES 3
#define GATHERS 0
#define TILE(name) name##_64x32
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_64x32, takt_cuda_gemm, 128, 4)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Few rows or columns, deep: all of a chunk is on its way at once. */
#define BM 32
#define BN 32
#define TM 2
#define TN 4
#define BK 64
#define STAGES 4
#define GATHERS 0
#define TILE(name) name##_32
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_32, takt_cuda_gemm, 128)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Fewer rows, as those of small images. */
#define BM 32
#define BN 64
#define TM 4
#define TN 4
#define BK 32
#define STAGES 3
#define GATHERS 0
#define TILE(name) name##_32x64
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_32x64, takt_cuda_gemm, 128, 4)
#include "kernel/gemm_f32/cuda_tile.inc"

/* Still fewer, deep. */
#define BM 16
#define BN 64
#define TM 2
#define TN 4
#define BK 64
#define STAGES 4
#define GATHERS 0
#define TILE(name) name##_16x64
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_16x64, takt_cuda_gemm, 128)
#include "kernel/gemm_f32/cuda_tile.inc"
