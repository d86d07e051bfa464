/* planted_cuda.c - runs the broken device kernels through the checks of their families. */
#include <stdio.h>
#include <string.h>

#include "cuda_device.h"
#include "cuda_planted.h"

#define PLANTED(X)                                                                                 \
    X(rows_f32, rows_sync, takt_cuda_rows_f32)                                                     \
    X(rows_f32, rows_lane, takt_cuda_rows_f32_256)                                                 \
    X(rows_f32, rows_sync, takt_cuda_rows_f32_block)                                               \
    X(rows_f32, rows_sync, takt_cuda_rows_f32_1024)                                                \
    X(reduce_f32, reduce_sync, takt_cuda_reduce_f32)                                               \
    X(reduce_f32, reduce_sync, takt_cuda_reduce_arg_f32)                                           \
    X(reduce_f32, reduce_lane, takt_cuda_reduce_f32)                                               \
    X(reduce_f32, reduce_lane, takt_cuda_reduce_row_f32)                                           \
    X(reduce_f32, reduce_sync, takt_cuda_reduce_long_f32)                                          \
    X(map_f32, map_first, takt_cuda_map_f32_light)                                                 \
    X(gemm_f32, few_sync, takt_cuda_gemm_f32_few)                                                  \
    X(gemm_f32, gemm_ticket, takt_cuda_gemm_f32_64)                                                \
    X(gemm_f32, gemm_sync, takt_cuda_gemm_f32_128)                                                 \
    X(gemm_f32, gemm_sync, takt_cuda_gemm_f32_64)                                                  \
    X(gemm_f32, gemm_fma, takt_cuda_gemm_f32_64)                                                   \
    X(gemm_f32, gemm_far, takt_cuda_gemm_f32_32)

#define X(family, bug, kernel) takt_lane_fn bug##_##kernel;
PLANTED(X)
#undef X

static const struct {
    const char *family, *bug, *kernel;
    takt_lane_fn *run;
} rows[] = {
#define X(family, bug, kernel) {#family, #bug, #kernel, bug##_##kernel},
    PLANTED(X)
#undef X
};

int device_planted(takt_check *c, check_fn *find(const char *family),
                   int (*run)(takt_check *c, check_fn *check, const takt_kernel *reference))
{
    int missed = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t u = 0;
        while (strcmp(device_unit(u)->family, rows[i].family) != 0)
            u++;
        c->unit = device_unit(u);
        c->kernel = &c->unit->kernels[0];
        c->random = 1;
        device_plant(rows[i].kernel, rows[i].run, c->give_up);
        const takt_kernel *reference =
            takt_kernel_find(rows[i].family, UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
        if (run(c, find(rows[i].family), reference) == 0) {
            missed++;
            printf("FAIL the broken kernel '%s' of %s was not caught\n", rows[i].bug,
                   rows[i].kernel);
        }
    }
    device_plant(NULL, NULL, NULL);
    printf("%zu broken device kernels, %d not caught\n", sizeof rows / sizeof *rows, missed);
    return missed;
}
