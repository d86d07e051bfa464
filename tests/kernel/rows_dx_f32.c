/* rows_dx_f32.c - checks gradients of row kernels against the scalar ones: tails, gaps, labels. */
#include "kernel/rows_dx_f32/rows_dx_f32.h"

#include <string.h>

#include "check.h"

enum { DX, X, DY, GAMMA, LABEL, SEED, WANT, ROUNDS = 4 };

static const char *const names[] = {"softmax_dx",  "layer_norm_dx", "rms_norm_dx", "layer_product",
                                    "rms_product", "entropy",       "entropy_dx"};

check_fn check_rows_dx_f32;

static bool is_entropy(takt_rows_dx_op op)
{
    return op == TAKT_ROWS_DX_ENTROPY || op == TAKT_ROWS_DX_ENTROPY_DX;
}

static float *filled(takt_check *c, int slot, size_t count, int values, int where)
{
    float *to = check_place(c, slot, count * sizeof *to, where);
    check_fill_f32(c, to, count, values);
    return to;
}

static size_t span(size_t rows, size_t stride, size_t n)
{
    return rows > 0 ? (rows - 1) * stride + n : 0;
}

/* Elements of a row that are written. */
static size_t width(const takt_rows_dx_f32 *r)
{
    return r->op == TAKT_ROWS_DX_ENTROPY && r->n > 0 ? 1 : r->n;
}

static void give_labels(takt_check *c, takt_rows_dx_f32 *r, int where)
{
    size_t *label = check_place(c, LABEL, r->rows * sizeof *label, where);
    for (size_t i = 0; i < r->rows && r->n > 0; i++)
        label[i] = check_below(c, r->n);
    if (r->op == TAKT_ROWS_DX_ENTROPY_DX && r->rows > 1)
        label[1] = SIZE_MAX;
    r->label = label;
    r->seed = filled(c, SEED, r->rows, CHECK_PLAIN, where);
}

/* In place over dy in the last round. */
static void once(takt_check *c, const takt_kernel *reference, takt_rows_dx_f32 *r, int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    const size_t out = span(r->rows, r->dx_stride, width(r));
    check_case(c, "%s rows=%zu n=%zu values %d round %d", names[r->op], r->rows, r->n, values,
               round);
    r->x = filled(c, X, span(r->rows, r->x_stride, r->n), values, where);
    float *dy = filled(c, DY, span(r->rows, r->dy_stride, r->n), values, where);
    r->dy = is_entropy(r->op) ? NULL : dy;
    const float *gamma = filled(c, GAMMA, r->n, CHECK_PLAIN, where);
    r->gamma = round & 1 ? gamma : NULL;
    give_labels(c, r, where);
    float *want = check_place(c, WANT, out * sizeof *want, CHECK_AT_END);
    memset(want, 0x11, out * sizeof *want);
    r->dx = want;
    takt_kernel_as_rows_dx_f32(reference)(r);
    float *got = check_place(c, DX, out * sizeof *got, where);
    memset(got, 0x11, out * sizeof *got);
    const bool is_over = round == ROUNDS - 1 && r->dy_stride == r->dx_stride && !is_entropy(r->op);
    if (is_over) {
        memcpy(got, dy, out * sizeof *got);
        r->dy = got;
    }
    r->dx = got;
    CHECK_CALL(c, takt_kernel_as_rows_dx_f32(c->kernel)(r));
    for (size_t i = 0; i < r->rows; i++)
        check_same_f32(c, got + i * r->dx_stride, want + i * r->dx_stride, width(r));
    for (int slot = DX; slot <= SEED; slot++)
        check_intact(c, slot);
    const unsigned char *bytes = (const unsigned char *)got;
    for (size_t i = 0; !is_over && i + 1 < r->rows; i++)
        for (size_t k = 4 * width(r); k < 4 * r->dx_stride; k++)
            if (bytes[4 * i * r->dx_stride + k] != 0x11) {
                check_fail(c, "wrote between rows");
                return;
            }
}

static void bench(takt_check *c, takt_rows_dx_op op)
{
    const size_t rows = 32, n = 512;
    takt_rows_dx_f32 r = {.op = op,
                          .rows = rows,
                          .n = n,
                          .x_stride = n,
                          .dy_stride = n,
                          .dx_stride = n,
                          .epsilon = 1e-5};
    r.x = filled(c, X, rows * n, CHECK_PLAIN, CHECK_AT_START);
    r.dy = filled(c, DY, rows * n, CHECK_PLAIN, CHECK_AT_START);
    r.dx = filled(c, DX, rows * n, CHECK_PLAIN, CHECK_AT_START);
    give_labels(c, &r, CHECK_AT_START);
    CHECK_BENCH(c, names[op], (is_entropy(op) ? 2.0 : 3.0) * 4 * (double)(rows * n), 0,
                takt_kernel_as_rows_dx_f32(c->kernel)(&r));
}

void check_rows_dx_f32(takt_check *c, const takt_kernel *reference)
{
    static const size_t lengths[] = {4095, 4096, 4097, 9000};
    for (int op = 0; op < TAKT_ROWS_DX_OP_COUNT; op++) {
        for (int round = 0; round < ROUNDS; round++)
            for (size_t n = 0; n <= CHECK_TAILS; n++) {
                takt_rows_dx_f32 r = {.op = (takt_rows_dx_op)op,
                                      .rows = n % 4,
                                      .n = n,
                                      .x_stride = n + n % 2,
                                      .dy_stride = n + (n % 5 == 1),
                                      .dx_stride = n + (n % 3 == 1),
                                      .epsilon = round < 3 ? 1e-5 : 0};
                once(c, reference, &r, round);
            }
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            takt_rows_dx_f32 r = {.op = (takt_rows_dx_op)op,
                                  .rows = 2,
                                  .n = lengths[i],
                                  .x_stride = lengths[i],
                                  .dy_stride = lengths[i],
                                  .dx_stride = lengths[i],
                                  .epsilon = 1e-5};
            once(c, reference, &r, (int)i % ROUNDS);
        }
    }
    for (int op = 0; op < TAKT_ROWS_DX_OP_COUNT; op++)
        bench(c, (takt_rows_dx_op)op);
}
