/* bytes.c - recurrent weights of bytes: the state is quantised in every iteration.
 *
 * Its scale comes from all rows together, so threads share units, never rows. Every part of an
 * iteration quantises the whole state by itself: that is a small fraction of its product.
 */
#include "backend/cpu/rnn/bytes.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/child.h"
#include "base/size.h"

/* Scale and zero point of the state in an iteration. */
typedef struct levels {
    float scale;
    int32_t zero;
} levels;

/* What a run finds out about the weights, in the step's scratch; their scales and zero points lie
 * next to it, in the order of packed columns. */
typedef struct weights {
    bool has_zeros; /* some zero point of what was packed is not 0 */
} weights;

/* ---- compiling ---- */

void takt_rnn_bytes_choose(takt_planner *p, takt_rnn_facts *f)
{
    const takt_kernel *gemm = takt_planner_find(p, "gemm_i8");
    takt_rnn_bytes *b = &f->bytes;
    b->gemm = takt_kernel_as_gemm_i8(gemm);
    b->info = gemm->info;
    b->reduce = takt_kernel_as_reduce_f32(takt_planner_find(p, "reduce_f32"));
    b->quantise = takt_kernel_as_affine_f32(takt_planner_find(p, "affine_f32"));
    b->deep = (f->m.units + b->info->group - 1) / b->info->group * b->info->group;
}

static size_t panels_bytes(const takt_rnn_facts *f, size_t columns)
{
    return takt_cpu_aligned((columns + 15) / 16 * 16 * f->bytes.deep);
}

bool takt_rnn_bytes_block(const takt_rnn_facts *f, size_t columns, size_t *bytes)
{
    size_t product;
    if (!takt_size_mul(columns + 16, f->bytes.deep + sizeof(int32_t), &product) ||
        product > SIZE_MAX / 4)
        return false;
    *bytes = panels_bytes(f, columns) + takt_cpu_aligned(columns * sizeof(int32_t));
    return true;
}

size_t takt_rnn_bytes_scratch(const takt_rnn_facts *f, size_t rows)
{
    size_t most = 0;
    for (size_t m = 1; m <= rows; m++)
        for (size_t last = 0; last < 2; last++) {
            const size_t n = last ? f->m.units - (f->blocks - 1) * f->block : f->block;
            const takt_gemm_i8 g = {.m = m, .n = f->product[0].count * n, .k = f->m.units};
            const size_t bytes = f->bytes.info->scratch_bytes(&g);
            most = bytes > most ? bytes : most;
        }
    return most;
}

static size_t own(takt_step *s, size_t bytes)
{
    const size_t at = takt_cpu_aligned(s->scratch_each);
    s->scratch_each = takt_cpu_aligned(at + bytes);
    return at;
}

takt_status takt_rnn_bytes_rooms(takt_planner *p, takt_rnn_facts *f)
{
    takt_rnn_bytes *b = &f->bytes;
    const size_t all = f->m.gates * f->m.units;
    TAKT_TRY(takt_scratch_add(p, sizeof(weights), &b->weights_at));
    TAKT_TRY(takt_scratch_add(p, all * sizeof(float), &b->scales_at));
    TAKT_TRY(takt_scratch_add(p, all * sizeof(int32_t), &b->zeros_at));
    b->levels_at = own(p->step, sizeof(levels));
    b->state_at = own(p->step, f->m.batch * f->m.units + TAKT_I8_OPEN);
    b->products_at = own(p->step, f->product[0].count * f->block * sizeof(float));
    b->has_scales = p->step->in[f->m.r_scale].rank > 0;
    return TAKT_OK;
}

/* ---- weights ---- */

static size_t units_of(const takt_rnn_facts *f, size_t block)
{
    const size_t left = f->m.units - block * f->block;
    return left < f->block ? left : f->block;
}

/* The column of r for unit 0 of the block in its `k`-th gate. */
static size_t column_of(const takt_rnn_facts *f, size_t block, size_t k)
{
    return (size_t)f->m.gate[f->product[0].gates[k]] * f->m.units + block * f->block;
}

void takt_rnn_bytes_pack(const takt_rnn_facts *f, const void *r, void *ordered, void *to)
{
    const takt_rnn_product *p = &f->product[0];
    const size_t units = f->m.units, all = f->m.gates * units;
    for (size_t b = 0; b < f->blocks; b++) {
        const size_t n = units_of(f, b), wide = p->count * n;
        char *dst = (char *)to + b * p->block;
        for (size_t i = 0; i < units; i++)
            for (size_t k = 0; k < p->count; k++)
                memcpy((char *)ordered + i * wide + k * n,
                       (const char *)r + i * all + column_of(f, b, k), n);
        memset(dst, 0, p->block); /* padding has a defined value */
        const takt_pack_i8_job job = {.k = units,
                                      .n = wide,
                                      .group = f->bytes.info->group,
                                      .src = ordered,
                                      .row = wide,
                                      .col = 1,
                                      .is_unsigned = f->bytes.is_unsigned,
                                      .dst = (int8_t *)dst,
                                      .sums = (int32_t *)(void *)(dst + panels_bytes(f, wide))};
        takt_pack_i8(&job);
    }
}

static void *shared(const takt_task *t, size_t at)
{
    return (char *)t->scratch + at;
}

static void *owned(const takt_task *t, size_t at)
{
    return (char *)t->scratch_own + at;
}

static int32_t zero_of(const takt_rnn_facts *f, const takt_view *v, const void *data, size_t column)
{
    const size_t at = v->rank > 0 ? column : 0;
    const int32_t taken = f->bytes.is_unsigned ? 128 : 0; /* by packing */
    return (f->bytes.is_unsigned ? ((const uint8_t *)data)[at] : ((const int8_t *)data)[at]) -
           taken;
}

void takt_rnn_bytes_open(const takt_rnn_facts *f, const takt_step *s, const takt_task *t)
{
    const takt_rnn_bytes *b = &f->bytes;
    const float *scale = takt_view_data(t, &s->in[f->m.r_scale]);
    const takt_view *v = f->m.r_zero >= 0 ? &s->in[f->m.r_zero] : NULL;
    const void *zero = v != NULL ? takt_view_data(t, v) : NULL;
    float *scales = shared(t, b->scales_at);
    int32_t *zeros = shared(t, b->zeros_at);
    weights *c = shared(t, b->weights_at);
    size_t to = 0;
    c->has_zeros = false;
    for (size_t block = 0; block < f->blocks; block++)
        for (size_t k = 0; k < f->product[0].count; k++)
            for (size_t i = 0; i < units_of(f, block); i++, to++) {
                const size_t column = column_of(f, block, k) + i;
                scales[to] = scale[b->has_scales ? column : 0];
                zeros[to] = v != NULL              ? zero_of(f, v, zero, column)
                            : f->bytes.is_unsigned ? -128
                                                   : 0;
                c->has_zeros |= zeros[to] != 0;
            }
}

/* ---- one iteration ---- */

/* As minimum and maximum of IEEE 754-2019 with 0. The sign of a zero changes nothing. */
static levels levels_of(float low, float high)
{
    low = low > 0 ? 0 : low;
    high = high < 0 ? 0 : high;
    const float scale = (high - low) / 255;
    const float point = rintf(-(low / scale));
    const float kept = point < 0 ? 0 : point > 255 ? 255 : point;
    return (levels){scale, isnan(kept) ? 0 : (int32_t)kept};
}

static float extreme(const takt_rnn_facts *f, takt_reduce_op op, const float *x)
{
    const size_t n = f->m.batch * f->m.units;
    float y;
    f->bytes.reduce(&(takt_reduce){
        .op = op, .dst = &y, .src = x, .count = 1, .across = n, .n = n, .run = n, .step = 1});
    return y;
}

void takt_rnn_bytes_quantise(const takt_rnn_facts *f, const takt_task *t, const float *state)
{
    levels *l = owned(t, f->bytes.levels_at);
    *l = levels_of(extreme(f, TAKT_REDUCE_MIN, state), extreme(f, TAKT_REDUCE_MAX, state));
    f->bytes.quantise(&(takt_affine_f32){.kind = TAKT_AFFINE_QUANTISE,
                                         .is_unsigned = true,
                                         .x = state,
                                         .y = owned(t, f->bytes.state_at),
                                         .n = f->m.batch * f->m.units,
                                         .scale = l->scale,
                                         .zero = l->zero});
}

/* The scales of the block's columns in this iteration. */
static const float *scales_of(const takt_rnn_facts *f, const takt_task *t, size_t first,
                              size_t count)
{
    const float by = ((const levels *)owned(t, f->bytes.levels_at))->scale;
    const float *from = (const float *)shared(t, f->bytes.scales_at) + first;
    float *to = owned(t, f->bytes.products_at);
    for (size_t i = 0; i < (f->bytes.has_scales ? count : 1); i++)
        to[i] = by * from[i];
    return to;
}

void takt_rnn_bytes_multiply(const takt_rnn_facts *f, const takt_task *t,
                             const takt_rnn_bytes_product *p)
{
    const takt_rnn_bytes *b = &f->bytes;
    const size_t first = f->product[0].count * p->block * f->block;
    const takt_requant to_floats = {.to = TAKT_REQUANT_F32,
                                    .scale = scales_of(f, t, first, p->columns),
                                    .scale_per_column = b->has_scales};
    const takt_gemm_i8 g = {
        .m = p->rows,
        .n = p->columns,
        .k = f->m.units,
        .a = (const char *)owned(t, b->state_at) + p->row * f->m.units,
        .a_row = f->m.units,
        .a_open = true,
        .a_unsigned = true,
        .a_zero = ((const levels *)owned(t, b->levels_at))->zero,
        .b = (const int8_t *)p->packed,
        .b_panel = 16 * b->deep,
        .b_sum = (const int32_t *)(const void *)(p->packed + panels_bytes(f, p->columns)),
        .b_zero = ((const weights *)shared(t, b->weights_at))->has_zeros
                      ? (const int32_t *)shared(t, b->zeros_at) + first
                      : NULL,
        .c = p->result,
        .ldc = p->columns,
        .requant = &to_floats,
        .scratch = t->scratch_own,
        .poll = t->poll};
    b->gemm(&g);
}
