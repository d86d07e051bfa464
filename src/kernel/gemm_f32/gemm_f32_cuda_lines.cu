/* gemm_f32_cuda_lines.cu - large f32 products on a device, of A transposed: lines of each k. */
#include "kernel/gemm_f32/cuda_place.h"

/* Four blocks on a multiprocessor: tiles of 128 x 128, two on each, took 5 % more. */
#define BM 64
#define BN 128
#define TM 16
#define TN 8
#define BK 8
#define STAGES 3
#define TILE(name) name##_64l
#define TILED KERNEL(takt_cuda_gemm_f32_64l, takt_cuda_gemm, 64, 4)
#include "kernel/gemm_f32/cuda_lines.inc"
