/* gemm_f32.c - checks products of f32 against the scalar one; see check_gemm_body.inc. */
#include "kernel/gemm_f32/gemm_f32.h"

#include "gemm_f32_stored.h"

typedef float elem;
typedef takt_gemm_f32 gemm;
typedef takt_gemm_f32_info info_type;
typedef takt_epilogue_f32 epilogue;
#define TINY 1e-30f
#define FILL check_fill_f32
#define SAME check_same_f32
#define AS_GEMM takt_kernel_as_gemm_f32
#define CHUNKS takt_gemm_f32_chunks
#define SUM takt_gemm_f32_sum

#include "check_gemm_body.inc"

void check_gemm_tail(void *user, float *tile, size_t ld, size_t row, size_t col, size_t rows,
                     size_t cols)
{
    add_one(user, tile, ld, row, col, rows, cols);
}

void check_gemm_f32(takt_check *c, const takt_kernel *reference)
{
    check_all(c, reference);
    check_gemm_f32_stored(c, reference);
    static const shape timed[] = {
        {64, 64, 64},    {128, 128, 128}, {256, 256, 256},   {512, 512, 512},  {1024, 1024, 1024},
        {1, 256, 784},   {1, 1024, 1024}, {1, 4096, 4096},   {8, 256, 784},    {8, 1024, 1024},
        {8, 4096, 4096}, {32, 256, 784},  {32, 1024, 1024},  {32, 4096, 4096}, {1, 3072, 768},
        {8, 3072, 768},  {32, 3072, 768}, {2048, 2048, 2048}};
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 3);
    for (size_t i = 0; i < count; i++)
        bench(c, timed[i]);
}
