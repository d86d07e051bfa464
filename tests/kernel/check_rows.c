/* check_rows.c - one check for softmax and norms; `size` of the element tells the type. */
#include "check_rows.h"

#include <string.h>

enum { ROUNDS = 6, WANT = 7 };

static const char *const names[] = {"softmax", "log_softmax", "layer_norm", "rms_norm"};

static void fill(takt_check *c, void *p, size_t n, size_t size, int values)
{
    if (size == sizeof(float))
        check_fill_f32(c, p, n, values);
    else
        check_fill_f64(c, p, n, values);
}

/* Rows may have gaps between them, which must not change. */
static void check_once(takt_check *c, const takt_kernel *reference, takt_rows_step *r, size_t size,
                       int round)
{
    const int values = (int)check_below(c, CHECK_VALUES), where = round % CHECK_PLACES;
    const size_t in = r->rows > 0 ? (r->rows - 1) * r->src_stride + r->n : 0;
    const size_t out = r->rows > 0 ? (r->rows - 1) * r->dst_stride + r->n : 0;
    void *x = check_place(c, 1, in * size, where);
    fill(c, x, in, size, values);
    const size_t each = r->plane > 0 ? r->channels : r->n;
    void *gamma = check_place(c, 2, each * size, where),
         *beta = check_place(c, 3, each * size, where);
    fill(c, gamma, each, size, CHECK_PLAIN);
    fill(c, beta, each, size, CHECK_PLAIN);
    r->src = x;
    r->gamma = round & 1 ? gamma : NULL;
    r->beta = round & 2 ? beta : NULL;
    check_case(c, "%s rows=%zu n=%zu plane=%zu values %d round %d", names[r->op], r->rows, r->n,
               r->plane, values, round);
    r->dst = check_place(c, WANT, out * size, CHECK_AT_END);
    memset(r->dst, 0x11, out * size);
    const void *want = r->dst;
    takt_kernel_as_rows_f32(reference)(r);
    r->dst = check_place(c, 0, out * size, where);
    memset(r->dst, 0x11, out * size);
    if (round == ROUNDS - 1 && r->src_stride == r->dst_stride) {
        memcpy(r->dst, x, in * size);
        memcpy(c->placed[WANT].p, want, out * size);
        r->src = r->dst;
    }
    r->is_back = round % 2 == 1;
    CHECK_CALL(c, takt_kernel_as_rows_f32(c->kernel)(r));
    for (size_t i = 0; i < r->rows; i++) {
        const size_t at = i * r->dst_stride * size;
        if (size == sizeof(float))
            check_same_f32(c, (const float *)r->dst + at / size, (const float *)want + at / size,
                           r->n);
        else
            check_same_f64(c, (const double *)r->dst + at / size, (const double *)want + at / size,
                           r->n);
    }
    for (int slot = 0; slot < 4; slot++)
        check_intact(c, slot);
    const unsigned char *bytes = r->dst;
    for (size_t i = 0; r->src != r->dst && i + 1 < r->rows; i++)
        for (size_t k = r->n * size; k < r->dst_stride * size; k++)
            if (bytes[i * r->dst_stride * size + k] != 0x11) {
                check_fail(c, "wrote between rows");
                return;
            }
}

static void bench(takt_check *c, takt_rows_op op, size_t size)
{
    const size_t rows = 32, n = 512;
    void *x = check_place(c, 1, rows * n * size, CHECK_AT_START);
    void *dst = check_place(c, 0, rows * n * size, CHECK_AT_START);
    fill(c, x, rows * n, size, CHECK_PLAIN);
    const takt_rows_step r = {.op = op,
                              .dst = dst,
                              .src = x,
                              .rows = rows,
                              .n = n,
                              .dst_stride = n,
                              .src_stride = n,
                              .epsilon = 1e-5};
    CHECK_BENCH(c, names[op], 2.0 * (double)(rows * n * size), 0,
                takt_kernel_as_rows_f32(c->kernel)(&r));
}

/* Rows of one to three planes, of two or six channels, from the middle of a sample on. */
static void check_planes(takt_check *c, const takt_kernel *reference, size_t size)
{
    for (int round = 0; round < ROUNDS; round++)
        for (size_t plane = 1; plane <= CHECK_TAILS; plane++) {
            const size_t each = 1 + plane % 3;
            takt_rows_step r = {.op = TAKT_ROWS_LAYER_NORM,
                                .rows = 1 + plane % 4,
                                .n = each * plane,
                                .dst_stride = each * plane,
                                .src_stride = each * plane,
                                .plane = plane,
                                .channels = each == 2 ? 2 : 6,
                                .first = plane % 5,
                                .epsilon = 1e-5};
            check_once(c, reference, &r, size, round);
        }
}

void check_rows(takt_check *c, const takt_kernel *reference, size_t size)
{
    static const size_t lengths[] = {4095, 4096, 4097, 9000, 16385};
    for (int op = 0; op < TAKT_ROWS_OP_COUNT; op++) {
        for (int round = 0; round < ROUNDS; round++)
            for (size_t n = 0; n <= CHECK_TAILS; n++) {
                takt_rows_step r = {.op = (takt_rows_op)op,
                                    .rows = n % 4,
                                    .n = n,
                                    .dst_stride = n + n % 2,
                                    .src_stride = n + n % 2 + (n % 5 == 1),
                                    .epsilon = round < 3 ? 1e-5 : 0};
                check_once(c, reference, &r, size, round);
            }
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            takt_rows_step r = {.op = (takt_rows_op)op,
                                .rows = 2,
                                .n = lengths[i],
                                .dst_stride = lengths[i],
                                .src_stride = lengths[i],
                                .epsilon = 1e-5};
            check_once(c, reference, &r, size, (int)i);
        }
    }
    const uint64_t digest = c->digest; /* the recorded ones are of the cases above */
    check_planes(c, reference, size);
    c->digest = digest;
    for (int op = 0; c->bench && op < TAKT_ROWS_OP_COUNT; op++)
        bench(c, (takt_rows_op)op, size);
}
