/* check_rnn.c - one check for recurrent cells; `size` of the element tells the type. */
#include "check_rnn.h"

#include <string.h>

#include "kernel/simd/half.h"

enum { H_NEXT, X, R, BIAS, PEEPHOLE, H, C, C_NEXT, Y, LIVE, KEEP, WANT, WANT_KEEP, ROUNDS = 8 };

static const char *const names[] = {"plain", "lstm", "gru", "gru_reset", "gru_update"};

/* Possible values of the state and the inputs if the type is narrower. */
static float narrow(float x, takt_rnn_rounding rounding)
{
    return rounding == TAKT_RNN_F16    ? half_from_f16(half_to_f16(x))
           : rounding == TAKT_RNN_BF16 ? half_from_bf16(half_to_bf16(x))
                                       : x;
}

typedef struct subject {
    takt_check *c;
    size_t size;
    int values, where;
    takt_rnn_rounding rounding;
} subject;

static void *filled(const subject *s, int slot, size_t n, bool is_narrow)
{
    void *p = check_place(s->c, slot, n * s->size, s->where);
    if (s->size == sizeof(double)) {
        check_fill_f64(s->c, p, n, s->values);
        return p;
    }
    check_fill_f32(s->c, p, n, s->values);
    for (size_t i = 0; is_narrow && i < n; i++)
        ((float *)p)[i] = narrow(((float *)p)[i], s->rounding);
    return p;
}

static const void *at(const subject *s, const void *p, size_t i)
{
    return (const char *)p + i * s->size;
}

/* Rows have gaps between them, which must not change; gates are contiguous. */
static void fill(const subject *s, takt_rnn_args *t, int round)
{
    const size_t n = t->n, rows = t->rows;
    const void *x = filled(s, X, rows * t->x_stride, true),
               *r = filled(s, R, rows * t->r_stride, false),
               *bias = filled(s, BIAS, TAKT_RNN_GATES * n, true),
               *peephole = filled(s, PEEPHOLE, TAKT_RNN_PEEPHOLES * n, true);
    for (size_t k = 0; k < TAKT_RNN_GATES; k++) {
        t->x[k] = at(s, x, k * n);
        t->r[k] = at(s, r, k * n);
        t->bias[k] = round & 1 ? at(s, bias, k * n) : NULL;
    }
    for (size_t k = 0; k < TAKT_RNN_PEEPHOLES; k++)
        t->peephole[k] = round & 2 ? at(s, peephole, k * n) : NULL;
    t->h = filled(s, H, rows * t->stride, true);
    t->c = filled(s, C, rows * t->stride, true);
    unsigned char *live = check_place(s->c, LIVE, rows * t->live_stride, s->where);
    check_fill_bytes(s->c, live, rows * t->live_stride);
    for (size_t i = 0; i < rows; i++)
        live[i * t->live_stride] &= 1;
    t->live = round & 4 ? live : NULL;
}

static size_t span(const takt_rnn_args *t)
{
    return t->rows * (t->stride > t->y_stride ? t->stride : t->y_stride);
}

static void same(const subject *s, const void *got, const void *want, const takt_rnn_args *t,
                 size_t stride)
{
    for (size_t i = 0; i < t->rows; i++) {
        const void *a = at(s, got, i * stride), *b = at(s, want, i * stride);
        if (s->size == sizeof(double))
            check_same_f64(s->c, a, b, t->n);
        else
            check_same_f32(s->c, a, b, t->n);
    }
}

static void compare(const subject *s, const void *got, const void *want, const takt_rnn_args *t,
                    size_t stride)
{
    same(s, got, want, t, stride);
    const unsigned char *bytes = got;
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = t->n * s->size; k < stride * s->size; k++)
            if (bytes[i * stride * s->size + k] != 0x11) {
                check_fail(s->c, "wrote between rows");
                return;
            }
}

/* Every value that the kind computes, in every other round; rows of each behind one another. */
static void set_keeps(const subject *s, takt_rnn_args *t, int slot, int round)
{
    static const unsigned all[] = {0x01, 0x1f, 0x27, 0x03, 0x04};
    const size_t bytes = t->rows * t->y_stride * s->size;
    char *to = check_place(s->c, slot, TAKT_RNN_KEEPS * bytes, s->where);
    const unsigned computed =
        all[t->form->kind] & ~(t->form->couples && t->form->kind == TAKT_RNN_LSTM ? 2u : 0u);
    memset(to, 0x11, TAKT_RNN_KEEPS * bytes);
    for (size_t k = 0; k < TAKT_RNN_KEEPS; k++) {
        t->keep[k] = round % 2 == 1 && computed >> k & 1 ? to + k * bytes : NULL;
        t->keep_stride[k] = t->y_stride;
    }
}

static void compare_keeps(const subject *s, const takt_rnn_args *t, const unsigned char *want)
{
    for (size_t k = 0; k < TAKT_RNN_KEEPS; k++)
        if (t->keep[k] != NULL)
            compare(s, t->keep[k], want + k * t->rows * t->y_stride * s->size, t, t->y_stride);
}

static void check_once(const subject *s, const takt_kernel *reference, takt_rnn_args *t, int round)
{
    takt_check *c = s->c;
    const bool has_cell = t->form->kind == TAKT_RNN_LSTM || t->form->kind == TAKT_RNN_GRU_RESET;
    const size_t bytes = span(t) * s->size;
    fill(s, t, round);
    check_case(c, "%s rows=%zu n=%zu rounding %d values %d round %d", names[t->form->kind], t->rows,
               t->n, (int)s->rounding, s->values, round);
    char *want = check_place(c, WANT, 3 * bytes, CHECK_AT_END);
    memset(want, 0x11, 3 * bytes);
    t->h_next = want;
    t->c_next = want + bytes;
    t->y = round & 1 ? NULL : want + 2 * bytes;
    set_keeps(s, t, WANT_KEEP, round);
    takt_kernel_as_rnn_f32(reference)(t);
    set_keeps(s, t, KEEP, round);
    t->h_next = check_place(c, H_NEXT, t->rows * t->stride * s->size, s->where);
    t->c_next = check_place(c, C_NEXT, t->rows * t->stride * s->size, s->where);
    char *y = check_place(c, Y, t->rows * t->y_stride * s->size, s->where);
    memset(t->h_next, 0x11, t->rows * t->stride * s->size);
    memset(t->c_next, 0x11, t->rows * t->stride * s->size);
    memset(y, 0x11, t->rows * t->y_stride * s->size);
    t->y = t->y == NULL ? NULL : y;
    CHECK_CALL(c, takt_kernel_as_rnn_f32(c->kernel)(t));
    compare(s, t->h_next, want, t, t->stride);
    if (has_cell)
        compare(s, t->c_next, want + bytes, t, t->stride);
    if (t->y != NULL && t->form->kind != TAKT_RNN_GRU_RESET)
        compare(s, t->y, want + 2 * bytes, t, t->y_stride);
    compare_keeps(s, t, c->placed[WANT_KEEP].p);
    for (int slot = 0; slot < WANT; slot++)
        check_intact(c, slot);
    memset(t->keep, 0, sizeof t->keep);
}

/* The same in place: what h and c were is what they become. */
static void check_in_place(const subject *s, takt_rnn_args *t, int round)
{
    const size_t bytes = t->rows * t->stride * s->size;
    fill(s, t, round);
    check_case(s->c, "%s in place, rows=%zu n=%zu", names[t->form->kind], t->rows, t->n);
    char *want = check_place(s->c, WANT, 2 * bytes, CHECK_AT_END);
    t->y = NULL;
    memcpy(want, t->h, bytes);
    memcpy(want + bytes, t->c, bytes);
    t->h_next = want;
    t->c_next = want + bytes;
    CHECK_CALL(s->c, takt_kernel_as_rnn_f32(s->c->kernel)(t));
    t->h_next = s->c->placed[H].p;
    t->c_next = s->c->placed[C].p;
    CHECK_CALL(s->c, takt_kernel_as_rnn_f32(s->c->kernel)(t));
    same(s, t->h_next, want, t, t->stride);
    same(s, t->c_next, want + bytes, t, t->stride);
}

static takt_rnn_form form_of(takt_check *c, takt_rnn_kind kind, takt_rnn_rounding rounding,
                             int round)
{
    static const takt_rnn_act usual[TAKT_RNN_ACTIVATIONS] = {
        TAKT_RNN_SIGMOID, TAKT_RNN_SIGMOID, TAKT_RNN_TANH, TAKT_RNN_SIGMOID, TAKT_RNN_TANH};
    takt_rnn_form f = {.kind = kind,
                       .rounding = rounding,
                       .clips = round % 3 == 1,
                       .couples = round % 5 == 2,
                       .clips_cell = round % 4 == 3,
                       .cell_lo = -0.75,
                       .cell_hi = 0.5,
                       .lo = -1.5,
                       .hi = 1.5};
    for (int i = 0; i < TAKT_RNN_ACTIVATIONS; i++)
        f.act[i] = round < 3 ? usual[i] : (takt_rnn_act)check_below(c, TAKT_RNN_ACTS);
    return f;
}

static void bench(const subject *s, takt_rnn_kind kind)
{
    const size_t rows = 8, n = 256;
    const takt_rnn_form form = form_of(s->c, kind, s->rounding, 0);
    takt_rnn_args t = {.form = &form,
                       .rows = rows,
                       .n = n,
                       .x_stride = TAKT_RNN_GATES * n,
                       .r_stride = TAKT_RNN_GATES * n,
                       .y_stride = n,
                       .stride = n,
                       .live_stride = 1};
    fill(s, &t, 1);
    t.h_next = check_place(s->c, H_NEXT, rows * n * s->size, CHECK_AT_START);
    t.c_next = check_place(s->c, C_NEXT, rows * n * s->size, CHECK_AT_START);
    CHECK_BENCH(s->c, names[kind], 12.0 * (double)(rows * n * s->size), 0,
                takt_kernel_as_rnn_f32(s->c->kernel)(&t));
}

void check_rnn(takt_check *c, const takt_kernel *reference, size_t size)
{
    const int roundings = size == sizeof(float) ? TAKT_RNN_ROUNDINGS : 1;
    for (int kind = 0; kind < TAKT_RNN_KINDS; kind++) {
        for (int rounding = 0; rounding < roundings; rounding++)
            for (int round = 0; round < ROUNDS; round++)
                for (size_t n = 0; n <= CHECK_TAILS; n += round < 3 ? 1 : 1 + check_below(c, 9)) {
                    const subject s = {c, size, (int)check_below(c, CHECK_VALUES),
                                       (int)check_below(c, CHECK_PLACES),
                                       (takt_rnn_rounding)rounding};
                    const takt_rnn_form form =
                        form_of(c, (takt_rnn_kind)kind, (takt_rnn_rounding)rounding, round);
                    takt_rnn_args t = {.form = &form,
                                       .rows = n % 4,
                                       .n = n,
                                       .x_stride = TAKT_RNN_GATES * n + n % 2,
                                       .r_stride = TAKT_RNN_GATES * n + n % 3,
                                       .y_stride = n + n % 5,
                                       .stride = n + n % 2,
                                       .live_stride = 1 + n % 2};
                    check_once(&s, reference, &t, round);
                    if (round == 1)
                        check_in_place(&s, &t, round);
                }
    }
    const subject plain = {.c = c, .size = size};
    for (int kind = 0; c->bench && kind < TAKT_RNN_KINDS; kind++)
        bench(&plain, (takt_rnn_kind)kind);
}
