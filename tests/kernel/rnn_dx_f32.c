/* rnn_dx_f32.c - checks gradients of recurrent cells against those of the scalar kernel. */
#include "kernel/rnn_dx_f32/rnn_dx_f32.h"

#include <string.h>

#include "check.h"

enum { DH, MORE, DC, DY, START, KEPT, DX, DCUT, NEXT, WANT_DX, WANT_DCUT, WANT_NEXT };

check_fn check_rnn_dx_f32;

static const char *const names[] = {"gru", "lstm"};

static const float *filled(takt_check *c, int slot, size_t count, int where)
{
    float *p = check_place(c, slot, count * sizeof *p, where);
    check_fill_f32(c, p, count, (int)check_below(c, CHECK_VALUES));
    return p;
}

/* Rows have gaps between them, which must not change; gates are contiguous. */
static takt_rnn_dx_f32 cell(takt_check *c, takt_rnn_dx_kind kind, size_t rows, size_t n, int where)
{
    takt_rnn_dx_f32 x = {.kind = kind,
                         .rows = rows,
                         .n = n,
                         .stride = n + n % 2,
                         .dy_stride = n + n % 3,
                         .start_stride = n + 1,
                         .to_stride = {4 * n + n % 2, 4 * n + n % 5}};
    x.dh = filled(c, DH, rows * x.stride, where);
    x.more = n % 4 < 2 ? filled(c, MORE, rows * x.stride, where) : NULL;
    x.dc = filled(c, DC, rows * x.stride, where);
    x.dy = n % 3 > 0 ? filled(c, DY, rows * x.dy_stride, where) : NULL;
    x.start = filled(c, START, rows * x.start_stride, where);
    const float *kept = filled(c, KEPT, TAKT_RNN_DX_KEPT * rows * (n + 1), where);
    for (size_t k = 0; k < TAKT_RNN_DX_KEPT; k++) {
        x.kept[k] = kept + k * rows * (n + 1);
        x.kept_stride[k] = n + 1;
    }
    return x;
}

/* Results go to three slots from `slot` on. */
static void place(takt_check *c, takt_rnn_dx_f32 *x, int slot, int where)
{
    for (int i = 0; i < 2; i++) {
        const size_t bytes = x->rows * x->to_stride[i] * sizeof(float);
        float *to = check_place(c, slot + i, bytes, where);
        memset(to, 0x11, bytes);
        for (size_t k = 0; k < TAKT_RNN_DX_GATES; k++)
            x->to[i][k] = i == 1 && x->n % 5 == 0 ? NULL : to + k * x->n;
    }
    const size_t bytes = x->rows * x->stride * sizeof(float);
    x->dh_next = x->dc_next = check_place(c, slot + 2, bytes, where);
    memset(x->dh_next, 0x11, bytes);
}

static void one(takt_check *c, const takt_kernel *reference, takt_rnn_dx_kind kind, size_t n)
{
    const int where = (int)(n % CHECK_PLACES);
    const size_t rows = 1 + n % 4;
    check_case(c, "%s rows=%zu n=%zu place %d", names[kind], rows, n, where);
    takt_rnn_dx_f32 x = cell(c, kind, rows, n, where);
    place(c, &x, WANT_DX, CHECK_AT_END);
    takt_kernel_as_rnn_dx_f32(reference)(&x);
    place(c, &x, DX, where);
    CHECK_CALL(c, takt_kernel_as_rnn_dx_f32(c->kernel)(&x));
    for (int slot = DX; slot <= NEXT; slot++)
        check_same_f32(c, (const float *)(const void *)c->placed[slot].p,
                       (const float *)(const void *)c->placed[slot + WANT_DX - DX].p,
                       c->placed[slot].bytes / sizeof(float));
    for (int slot = DH; slot <= NEXT; slot++)
        if (c->placed[slot].p != NULL)
            check_intact(c, slot);
    float *old = (float *)(void *)c->placed[kind == TAKT_RNN_DX_GRU ? DH : DC].p;
    x.dh_next = x.dc_next = old; /* in place */
    CHECK_CALL(c, takt_kernel_as_rnn_dx_f32(c->kernel)(&x));
    const float *want = (const float *)(const void *)c->placed[WANT_NEXT].p;
    for (size_t i = 0; i < rows; i++)
        check_same_f32(c, old + i * x.stride, want + i * x.stride, n);
}

static void bench(takt_check *c, takt_rnn_dx_kind kind)
{
    enum { ROWS = 8, UNITS = 256 };
    takt_rnn_dx_f32 x = cell(c, kind, ROWS, UNITS, CHECK_AT_START);
    for (int slot = DH; slot <= KEPT; slot++) { /* subnormal numbers take ten times as long */
        float *values = (float *)(void *)c->placed[slot].p;
        if (values != NULL)
            check_fill_f32(c, values, c->placed[slot].bytes / sizeof *values, CHECK_PLAIN);
    }
    place(c, &x, DX, CHECK_AT_START);
    CHECK_BENCH(c, names[kind], 64.0 * ROWS * UNITS, 0, takt_kernel_as_rnn_dx_f32(c->kernel)(&x));
}

void check_rnn_dx_f32(takt_check *c, const takt_kernel *reference)
{
    for (int kind = 0; kind < TAKT_RNN_DX_KINDS; kind++)
        for (int round = 0; round < 2; round++)
            for (size_t n = 0; n <= CHECK_TAILS; n++)
                one(c, reference, (takt_rnn_dx_kind)kind, n);
    for (int kind = 0; c->bench && kind < TAKT_RNN_DX_KINDS; kind++)
        bench(c, (takt_rnn_dx_kind)kind);
}
