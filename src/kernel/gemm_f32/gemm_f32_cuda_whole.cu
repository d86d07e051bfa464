/* gemm_f32_cuda_whole.cu - small products on a device: all of k is in shared memory.
 *
 * launch_gemm.c says which products have room there, and are small enough to gain.
 */
#include "kernel/gemm_f32/cuda_soft.h"

/* One row: eight columns per block, so that many multiprocessors load B. */
#define BM 1
#define BN 8
#define TM 1
#define TN 1
#define WHOLE(name) name##_whole_row
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_whole_row, takt_cuda_gemm, 512, 1)
#include "kernel/gemm_f32/cuda_whole.inc"

/* Some rows. */
#define BM 8
#define BN 8
#define TM 1
#define TN 2
#define WHOLE(name) name##_whole_8
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_whole_8, takt_cuda_gemm, 512, 1)
#include "kernel/gemm_f32/cuda_whole.inc"

/* Small images, deep. */
#define BM 16
#define BN 16
#define TM 2
#define TN 2
#define WHOLE(name) name##_whole_16
#define TILED LATE_KERNEL(takt_cuda_gemm_f32_whole_16, takt_cuda_gemm, 512, 1)
#include "kernel/gemm_f32/cuda_whole.inc"
