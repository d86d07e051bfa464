/* gemm_f64.c - checks products of f64 against the scalar one; see check_gemm_body.inc. */
#include "kernel/gemm_f64/gemm_f64.h"

typedef double elem;
typedef takt_gemm_f64 gemm;
typedef takt_gemm_f64_info info_type;
typedef takt_epilogue_f64 epilogue;
#define TINY 1e-200
#define FILL check_fill_f64
#define SAME check_same_f64
#define AS_GEMM takt_kernel_as_gemm_f64
#define CHUNKS takt_gemm_f64_chunks
#define SUM takt_gemm_f64_sum

#include "check_gemm_body.inc"

void check_gemm_f64(takt_check *c, const takt_kernel *reference)
{
    check_all(c, reference);
    static const shape timed[] = {
        {64, 64, 64}, {256, 256, 256}, {1000, 1000, 1000}, {1, 1024, 1024}, {8, 1024, 1024}};
    const size_t count = check_timed(c, sizeof timed / sizeof *timed, 2);
    for (size_t i = 0; i < count; i++)
        bench(c, timed[i]);
}
