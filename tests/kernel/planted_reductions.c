/* planted_reductions.c - broken reductions, row kernels, recurrent cells and conversions. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "kernel/block_f32/block_f32.h"
#include "kernel/block_i8/block_i8.h"
#include "kernel/block_panels/block_panels.h"
#include "kernel/convert/convert.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rnn/rnn.h"
#include "kernel/rows/rows.h"
#include "kernel/simd/half.h"
#include "planted.h"

static float element(const takt_reduce *r, size_t result, size_t i)
{
    return ((const float *)r->src)[takt_reduce_at(r, result, i)];
}

static void real_reduce(const takt_reduce *r)
{
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    takt_kernel_as_reduce_f32(takt_kernel_find("reduce_f32", scalar, NULL, 0, NULL))(r);
}

static void one_chain(const takt_reduce *r)
{
    if (r->op != TAKT_REDUCE_SUM) {
        real_reduce(r);
        return;
    }
    for (size_t k = 0; k < r->count; k++) {
        float sum = 0;
        for (size_t i = 0; i < r->n; i++)
            sum += element(r, k, i);
        ((float *)r->dst)[k] = sum;
    }
}

/* The right result, and a register lost that the caller still needs. */
static void loses_register(const takt_reduce *r)
{
    real_reduce(r);
#if defined __aarch64__
    __asm__ volatile("fmov d8, xzr");
#elif defined __x86_64__
    __asm__ volatile("xorl %r15d, %r15d");
#else
    ((float *)r->dst)[0] += 1; /* registers are not checked here */
#endif
}

/* Flushes denormals from now on. */
static void leaves_fp_state(const takt_reduce *r)
{
    real_reduce(r);
#if defined __aarch64__
    check_set_fp_state(check_fp_state() | UINT64_C(1) << 24);
#else
    check_set_fp_state(check_fp_state() | UINT64_C(1) << 15);
#endif
}

/* Sixteen lanes, but folded in the wrong order, or without chunks. */
static void lanes(const takt_reduce *r, size_t chunk, bool neighbours)
{
    for (size_t k = 0; k < r->count; k++) {
        float total = 0;
        for (size_t from = 0; from < r->n; from += chunk) {
            float lane[16] = {0};
            for (size_t i = from; i < r->n && i - from < chunk; i++)
                lane[i % 16] += element(r, k, i);
            for (size_t half = 8, step = 1; half > 0; half /= 2, step *= 2)
                for (size_t j = 0; j < half; j++) {
                    const size_t a = neighbours ? 2 * j * step : j;
                    lane[a] += lane[neighbours ? a + step : j + half];
                }
            total = from == 0 ? lane[0] : total + lane[0];
        }
        ((float *)r->dst)[k] = total;
    }
}

static void folds_neighbours(const takt_reduce *r)
{
    if (r->op == TAKT_REDUCE_SUM)
        lanes(r, TAKT_REDUCE_CHUNK, true);
    else
        real_reduce(r);
}

static void knows_no_chunks(const takt_reduce *r)
{
    if (r->op == TAKT_REDUCE_SUM)
        lanes(r, SIZE_MAX / 2, false);
    else
        real_reduce(r);
}

static void ties_to_last(const takt_reduce *r)
{
    takt_reduce other = *r;
    if (r->op == TAKT_REDUCE_ARGMAX)
        other.op = TAKT_REDUCE_ARGMAX_LAST;
    real_reduce(&other);
}

static void square_rounds_twice(const takt_reduce *r)
{
    if (r->op != TAKT_REDUCE_SUMSQ) {
        real_reduce(r);
        return;
    }
    for (size_t k = 0; k < r->count; k++) {
        float lane[16] = {0}, total = 0;
        for (size_t i = 0; i < r->n; i++)
            lane[i % 16] += element(r, k, i) * element(r, k, i);
        for (size_t j = 0; j < 16; j++)
            total += lane[j];
        ((float *)r->dst)[k] = total;
    }
}

static void real_rows(const takt_rows_step *r)
{
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    takt_kernel_as_rows_f32(takt_kernel_find("rows_f32", scalar, NULL, 0, NULL))(r);
}

static void softmax_without_maximum(const takt_rows_step *r)
{
    real_rows(r);
    for (size_t i = 0; i < r->rows && r->op == TAKT_ROWS_SOFTMAX; i++) {
        float *d = (float *)r->dst + i * r->dst_stride, sum = 0;
        for (size_t k = 0; k < r->n; k++)
            sum += d[k];
        for (size_t k = 0; k < r->n; k++)
            d[k] /= sum;
    }
}

static void writes_between_rows(const takt_rows_step *r)
{
    real_rows(r);
    if (r->rows > 1 && r->dst_stride > r->n)
        ((float *)r->dst)[r->n] = 1;
}

static void forgets_beta(const takt_rows_step *r)
{
    takt_rows_step other = *r;
    other.beta = NULL;
    real_rows(&other);
}

static void real_rnn(const takt_rnn_args *t)
{
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    takt_kernel_as_rnn_f32(takt_kernel_find("rnn_f32", scalar, NULL, 0, NULL))(t);
}

/* The output gate looks through the forget gate's peephole. */
static void peeps_elsewhere(const takt_rnn_args *t)
{
    takt_rnn_args other = *t;
    other.peephole[2] = t->form->kind == TAKT_RNN_LSTM ? other.peephole[1] : NULL;
    real_rnn(&other);
}

/* The state of a sequence that has ended is kept, but its result is not zero. */
static void repeats_the_last(const takt_rnn_args *t)
{
    real_rnn(t);
    for (size_t i = 0; t->live != NULL && t->y != NULL && i < t->rows; i++)
        if (t->live[i * t->live_stride] == 0)
            memcpy((float *)t->y + i * t->y_stride, (const float *)t->h + i * t->stride,
                   t->n * sizeof(float));
}

/* Right but for the last units of a row that is not a multiple of four. */
static void rnn_without_tail(const takt_rnn_args *t)
{
    takt_rnn_args other = *t;
    other.n = t->n / 4 * 4;
    real_rnn(&other);
}

static void bf16_truncates(const takt_convert *c, void *dst, const void *src, size_t n)
{
    if (c->to != TAKT_BF16 || c->from != TAKT_F32) {
        takt_convert_any(c, dst, src, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ((uint16_t *)dst)[i] = (uint16_t)(half_bits(((const float *)src)[i]) >> 16);
}

static void i8_wraps(const takt_convert *c, void *dst, const void *src, size_t n)
{
    takt_convert_any(c, dst, src, n);
    for (size_t i = 0; i < n && c->to == TAKT_I8 && c->from == TAKT_F32; i++) {
        const float x = ((const float *)src)[i];
        if (x > -1e6f && x < 1e6f)
            ((uint8_t *)dst)[i] = (uint8_t)(int)x;
    }
}

#define ROW(family, name, function)                                                                \
    {                                                                                              \
        name, #family, (takt_kernel_fn *)(function)                                                \
    }

static const takt_kernel *scalar(const char *family)
{
    return takt_kernel_find(family, UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
}

/* One zero point where there are many. */
static void block_without_zeros(const takt_block_i8 *g)
{
    takt_block_i8 other = *g;
    other.b.zero = NULL;
    takt_kernel_as_block_i8(scalar("block_i8"))(&other);
}

/* The scales of the first block for all. */
static void block_of_one_scale(const takt_block_i8 *g)
{
    takt_block_i8 other = *g;
    other.b.block = g->b.k > 16 ? (g->b.k + 15) / 16 * 16 : g->b.block;
    takt_kernel_as_block_i8(scalar("block_i8"))(g);
    if (g->m == 1 && g->b.n <= TAKT_BLOCKS_PANEL)
        takt_kernel_as_block_i8(scalar("block_i8"))(&other);
}

static void block_without_last_k(const takt_block_f32 *g)
{
    takt_block_f32 other = *g;
    takt_kernel_as_block_f32(scalar("block_f32"))(g);
    if (g->b.k % 16 != 1 || g->b.n > TAKT_BLOCKS_PANEL || g->b.k < 2 || g->b.k > g->b.block)
        return;
    other.b.k--;
    takt_kernel_as_block_f32(scalar("block_f32"))(&other);
}

static void panels_with_stale_rest(const takt_block_panels *g)
{
    takt_kernel_as_block_panels(scalar("block_panels"))(g);
    if (takt_panels_columns(g->panels, g->b.n) > g->b.n && g->k > 0)
        g->dst[takt_panels_columns(g->panels, g->b.n) * g->k - 1] = 1;
}

const planted_other planted_reductions[] = {
    ROW(block_i8, "one zero point for all blocks", block_without_zeros),
    ROW(block_i8, "one scale for all blocks", block_of_one_scale),
    ROW(block_f32, "the last row of weights is forgotten", block_without_last_k),
    ROW(block_panels, "columns beyond the last are not zero", panels_with_stale_rest),
    ROW(reduce_f32, "sums in one chain", one_chain),
    ROW(reduce_f32, "folds neighbours", folds_neighbours),
    ROW(reduce_f32, "knows no chunks", knows_no_chunks),
    ROW(reduce_f32, "argmax takes the last", ties_to_last),
    ROW(reduce_f32, "squares are rounded", square_rounds_twice),
    ROW(reduce_f32, "loses a register", loses_register),
    ROW(reduce_f32, "leaves the FP state changed", leaves_fp_state),
    ROW(rows_f32, "softmax divides again", softmax_without_maximum),
    ROW(rows_f32, "writes between rows", writes_between_rows),
    ROW(rows_f32, "forgets beta", forgets_beta),
    ROW(rnn_f32, "peephole of another gate", peeps_elsewhere),
    ROW(rnn_f32, "repeats what has ended", repeats_the_last),
    ROW(rnn_f32, "leaves the last units out", rnn_without_tail),
    ROW(convert, "bf16 truncates", bf16_truncates),
    ROW(convert, "i8 wraps", i8_wraps),
};

const size_t planted_other_count = sizeof planted_reductions / sizeof *planted_reductions;
