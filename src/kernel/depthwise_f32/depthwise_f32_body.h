/* depthwise_f32_body.h - every variant of depthwise_f32 is this, compiled for its ISA.
 *
 * Four neighbouring outputs at a time share the loads of the weights, and with three taps those of
 * x too. Outputs near the border go one by one through pointers that may lead to zeros.
 */
#include "kernel/depthwise_f32/depthwise_f32.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* Outputs side by side; vectors of channels, where there are 32 registers for them. */
enum { ABREAST = 4, PAIR = VF == 8 ? 1 : 2 };

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

#define EACH(...)                                                                                  \
    for (size_t p = 0; p < count; p++) {                                                           \
        vf x = acc[p];                                                                             \
        __VA_ARGS__;                                                                               \
        acc[p] = x;                                                                                \
    }

/* The epilogue of `count` outputs: branches once for all of them, not per output. */
INLINE void finish(const takt_depthwise_f32 *d, vf *acc, size_t c, size_t n, const size_t count)
{
    if (d->bias != NULL)
        EACH(x = vf_add(x, load(d->bias + c, n)))
    if (d->relu)
        EACH(x = vf_relu(x))
    else if (d->clips)
        EACH(x = vf_raise(x, d->lo))
    else
        return;
    if (d->limit == 0)
        EACH(x = vf_limit(x, d->limit))
    else if (d->limit != INFINITY)
        EACH(x = vf_lower(x, d->limit))
}

INLINE void store(float *p, vf v, size_t n)
{
    if (n == VF)
        vf_store(p, v);
    else
        vf_store_n(p, v, n);
}

/* Where tap j of output column `q` reads row i. */
INLINE const float *source(const takt_depthwise_f32 *d, size_t i, size_t q, size_t j)
{
    const size_t padded = q * d->stride + j * d->dilation;
    if (d->x[i] == NULL || padded < d->before || padded - d->before >= d->width)
        return d->zeros;
    return d->x[i] + (padded - d->before) * d->channels;
}

/* One vector of channels of one output, whatever the geometry. */
static void one_vector(const takt_depthwise_f32 *d, size_t q, size_t c, size_t n)
{
    vf total = vf_zero(), acc = vf_zero();
    size_t in_chunk = 0;
    bool has_total = false;
    const float *w = d->w + c;
    for (size_t i = 0; i < d->rows; i++)
        for (size_t j = 0; j < d->taps; j++, w += d->channels) {
            acc = vf_fma(load(source(d, i, q, j) + c, n), load(w, n), acc);
            if (++in_chunk < TAKT_GEMM_CHUNK)
                continue;
            total = has_total ? vf_add(total, acc) : acc;
            has_total = true;
            acc = vf_zero();
            in_chunk = 0;
        }
    if (in_chunk > 0 || !has_total)
        total = has_total ? vf_add(total, acc) : acc;
    finish(d, &total, c, n, 1);
    store(d->y + q * d->channels + c, total, n);
}

static void long_columns(const takt_depthwise_f32 *d)
{
    for (size_t q = 0; q < d->columns; q++)
        for (size_t c = 0; c < d->channels; c += VF)
            one_vector(d, q, c, d->channels - c < VF ? d->channels - c : VF);
}

/* `count` vectors of channels of one output, from where its taps read. */
INLINE void tap_vectors(const takt_depthwise_f32 *d, const float *const *from, size_t q, size_t c,
                        size_t n, const size_t count)
{
    vf acc[ABREAST];
    const size_t taps = d->rows * d->taps;
    const float *w = d->w + c;
    for (size_t v = 0; v < count; v++)
        acc[v] = vf_zero();
    for (size_t t = 0; t < taps; t++, w += d->channels)
        for (size_t v = 0; v < count; v++)
            acc[v] = vf_fma(load(from[t] + c + v * VF, n), load(w + v * VF, n), acc[v]);
    for (size_t v = 0; v < count; v++) {
        finish(d, &acc[v], c + v * VF, n, 1);
        store(d->y + q * d->channels + c + v * VF, acc[v], n);
    }
}

/* One chunk of taps at most. */
static void any_columns(const takt_depthwise_f32 *d, size_t first, size_t end)
{
    const float *from[TAKT_GEMM_CHUNK];
    for (size_t q = first; q < end; q++) {
        for (size_t i = 0; i < d->rows; i++)
            for (size_t j = 0; j < d->taps; j++)
                from[i * d->taps + j] = source(d, i, q, j);
        size_t c = 0;
        for (; c + ABREAST * VF <= d->channels; c += ABREAST * VF)
            tap_vectors(d, from, q, c, VF, ABREAST);
        for (; c + VF <= d->channels; c += VF)
            tap_vectors(d, from, q, c, VF, 1);
        if (c < d->channels)
            tap_vectors(d, from, q, c, d->channels - c, 1);
    }
}

/* A row of the kernel: `from` is what output column q, tap 0 reads; step 0 for a row of zeros. */
typedef struct line {
    const float *from;
    size_t step;
} line;

INLINE line line_at(const takt_depthwise_f32 *d, size_t i, size_t q)
{
    if (d->x[i] == NULL)
        return (line){d->zeros, 0};
    return (line){d->x[i] + (q * d->stride - d->before) * d->channels, d->channels};
}

INLINE void finish_all(const takt_depthwise_f32 *d, size_t q, size_t c, size_t n, vf *acc,
                       const size_t count)
{
    finish(d, acc, c, n, count);
    for (size_t p = 0; p < count; p++)
        store(d->y + (q + p) * d->channels + c, acc[p], n);
}

/* The rows of a kernel of three, for outputs from column q. */
typedef struct trio {
    line line[3];
    size_t q;
} trio;

/* The next of several addresses, computed when it is needed: kept for a whole loop, the 27 that a
 * block reads from would not fit into registers. */
INLINE const float *next(const float *p, size_t step)
{
    p += step;
    __asm__("" : "+r"(p));
    return p;
}

/* Three by three taps without dilation, `count` outputs, `vectors` of channels: enough sums to hide
 * their latency. */
INLINE void three_vectors(const takt_depthwise_f32 *d, const trio *t, size_t c, size_t n,
                          const size_t stride, const size_t count, const size_t vectors)
{
    vf acc[PAIR][ABREAST];
    const float *w = d->w + c;
    for (size_t v = 0; v < vectors; v++)
        for (size_t p = 0; p < count; p++)
            acc[v][p] = vf_zero();
    for (size_t i = 0; i < 3; i++) {
        vf x[PAIR][2 * ABREAST + 1];
        const float *from = t->line[i].from + c;
        for (size_t p = 0; p < (count - 1) * stride + 3; p++, from = next(from, t->line[i].step))
            for (size_t v = 0; v < vectors; v++)
                x[v][p] = load(from + v * VF, n);
        for (size_t j = 0; j < 3; j++, w = next(w, d->channels))
            for (size_t v = 0; v < vectors; v++) {
                const vf weight = load(w + v * VF, n);
                for (size_t p = 0; p < count; p++)
                    acc[v][p] = vf_fma(x[v][p * stride + j], weight, acc[v][p]);
            }
    }
    for (size_t v = 0; v < vectors; v++)
        finish_all(d, t->q, c + v * VF, n, acc[v], count);
}

INLINE void three_columns(const takt_depthwise_f32 *d, size_t q, const size_t stride,
                          const size_t count)
{
    const trio t = {{line_at(d, 0, q), line_at(d, 1, q), line_at(d, 2, q)}, q};
    size_t c = 0;
    for (; PAIR > 1 && c + PAIR * VF <= d->channels; c += PAIR * VF)
        three_vectors(d, &t, c, VF, stride, count, PAIR);
    for (; c + VF <= d->channels; c += VF)
        three_vectors(d, &t, c, VF, stride, count, 1);
    if (c < d->channels)
        three_vectors(d, &t, c, d->channels - c, stride, count, 1);
}

/* ABREAST outputs of which some read the padding: where every column of every row lies. */
typedef struct table {
    const float *at[3][2 * ABREAST + 1];
    size_t q;
} table;

/* three_vectors, but from a table. */
INLINE void table_vectors(const takt_depthwise_f32 *d, const table *t, size_t c, size_t n,
                          const size_t stride, const size_t vectors)
{
    vf acc[PAIR][ABREAST];
    const float *w = d->w + c;
    for (size_t v = 0; v < vectors; v++)
        for (size_t p = 0; p < ABREAST; p++)
            acc[v][p] = vf_zero();
    for (size_t i = 0; i < 3; i++) {
        vf x[PAIR][2 * ABREAST + 1];
        for (size_t p = 0; p < (ABREAST - 1) * stride + 3; p++)
            for (size_t v = 0; v < vectors; v++)
                x[v][p] = load(t->at[i][p] + c + v * VF, n);
        for (size_t j = 0; j < 3; j++, w = next(w, d->channels))
            for (size_t v = 0; v < vectors; v++) {
                const vf weight = load(w + v * VF, n);
                for (size_t p = 0; p < ABREAST; p++)
                    acc[v][p] = vf_fma(x[v][p * stride + j], weight, acc[v][p]);
            }
    }
    for (size_t v = 0; v < vectors; v++)
        finish_all(d, t->q, c + v * VF, n, acc[v], ABREAST);
}

INLINE void table_columns(const takt_depthwise_f32 *d, size_t q, const size_t stride)
{
    table t = {.q = q};
    for (size_t i = 0; i < 3; i++)
        for (size_t p = 0; p < (ABREAST - 1) * stride + 3; p++)
            t.at[i][p] = source(d, i, q, p);
    size_t c = 0;
    for (; PAIR > 1 && c + PAIR * VF <= d->channels; c += PAIR * VF)
        table_vectors(d, &t, c, VF, stride, PAIR);
    for (; c + VF <= d->channels; c += VF)
        table_vectors(d, &t, c, VF, stride, 1);
    if (c < d->channels)
        table_vectors(d, &t, c, d->channels - c, stride, 1);
}

/* A line of at least ABREAST outputs, three by three taps without dilation. The last block may
 * begin within the one before, and recomputes the same values. [first, end) read no padding. */
INLINE void three_line(const takt_depthwise_f32 *d, size_t first, size_t end, const size_t stride)
{
    const size_t last = d->columns - ABREAST;
    for (size_t q = 0;; q = q + ABREAST < last ? q + ABREAST : last) {
        if (q >= first && q + ABREAST <= end)
            three_columns(d, q, stride, ABREAST);
        else
            table_columns(d, q, stride);
        if (q == last)
            return;
    }
}

/* Few channels: a vector holds those of several neighbouring outputs. Three by three taps, stride
 * 1, all rows inside. Returns the first of the columns that are left. */
static size_t folded_columns(const takt_depthwise_f32 *d, size_t q, size_t end)
{
    const size_t fold = VF / d->channels;
    float w[9 * VF], bias[VF];
    takt_depthwise_f32 one = *d;
    one.bias = d->bias != NULL ? bias : NULL;
    for (size_t i = 0; i < VF; i += d->channels)
        for (size_t c = 0; c < d->channels; c++) {
            bias[i + c] = d->bias != NULL ? d->bias[c] : 0;
            for (size_t t = 0; t < 9; t++)
                w[t * VF + i + c] = d->w[t * d->channels + c];
        }
    for (; q + ABREAST * fold <= end; q += ABREAST * fold) {
        vf acc[ABREAST];
        for (size_t p = 0; p < ABREAST; p++)
            acc[p] = vf_zero();
        for (size_t t = 0; t < 9; t++) {
            const vf weight = vf_load(w + t * VF);
            const float *from = line_at(d, t / 3, q + t % 3).from;
            for (size_t p = 0; p < ABREAST; p++)
                acc[p] = vf_fma(vf_load(from + p * VF), weight, acc[p]);
        }
        finish(&one, acc, 0, VF, ABREAST);
        for (size_t p = 0; p < ABREAST; p++)
            vf_store(d->y + q * d->channels + p * VF, acc[p]);
    }
    return q;
}

static bool folds(const takt_depthwise_f32 *d)
{
    return d->channels > 0 && d->channels < VF && VF % d->channels == 0 && d->stride == 1 &&
           d->x[0] != NULL && d->x[1] != NULL && d->x[2] != NULL;
}

/* Any taps, ABREAST outputs, one vector of channels. */
INLINE void wide_vector(const takt_depthwise_f32 *d, size_t q, size_t c, size_t n)
{
    vf acc[ABREAST];
    for (size_t p = 0; p < ABREAST; p++)
        acc[p] = vf_zero();
    const float *w = d->w + c;
    for (size_t i = 0; i < d->rows; i++) {
        const line l = line_at(d, i, q);
        for (size_t j = 0; j < d->taps; j++, w += d->channels) {
            const vf weight = load(w, n);
            for (size_t p = 0; p < ABREAST; p++)
                acc[p] = vf_fma(load(l.from + (p * d->stride + j * d->dilation) * l.step + c, n),
                                weight, acc[p]);
        }
    }
    finish_all(d, q, c, n, acc, ABREAST);
}

static void wide_columns(const takt_depthwise_f32 *d, size_t q)
{
    size_t c = 0;
    for (; c + VF <= d->channels; c += VF)
        wide_vector(d, q, c, VF);
    if (c < d->channels)
        wide_vector(d, q, c, d->channels - c);
}

/* Outputs [*first, *end) read nothing left or right of x. */
static void inner_columns(const takt_depthwise_f32 *d, size_t *first, size_t *end)
{
    const size_t reach = (d->taps - 1) * d->dilation;
    *first = (d->before + d->stride - 1) / d->stride;
    *end = d->width + d->before > reach ? (d->width + d->before - reach - 1) / d->stride + 1 : 0;
    *end = *end < d->columns ? *end : d->columns;
    *first = *first < *end ? *first : *end;
}

/* Works on a constant copy of the job: stores cannot change its fields. */
static void one_line(const takt_depthwise_f32 *given)
{
    const takt_depthwise_f32 copy = *given, *d = &copy;
    size_t q, end;
    if (d->rows * d->taps == 0 || d->rows * d->taps > TAKT_GEMM_CHUNK) {
        long_columns(d);
        return;
    }
    inner_columns(d, &q, &end);
    const bool three = d->rows == 3 && d->taps == 3 && d->dilation == 1;
    const bool is_even = (end - q) % ABREAST == 0; /* then only the border is left */
    if (three && d->columns >= ABREAST && d->stride <= 2 && !is_even && !folds(d)) {
        if (d->stride == 1)
            three_line(d, q, end, 1);
        else
            three_line(d, q, end, 2);
        return;
    }
    any_columns(d, 0, q);
    if (three && folds(d))
        q = folded_columns(d, q, end);
    for (; three && d->stride == 1 && q + ABREAST <= end; q += ABREAST)
        three_columns(d, q, 1, ABREAST);
    for (; three && d->stride == 2 && q + ABREAST <= end; q += ABREAST)
        three_columns(d, q, 2, ABREAST);
    for (; q + ABREAST <= end; q += ABREAST)
        wide_columns(d, q);
    any_columns(d, q, d->columns);
}

static void all_lines(const takt_depthwise_f32 *given)
{
    takt_depthwise_f32 d = *given;
    for (size_t l = 0; l < given->lines; l++, d.x += d.x_step, d.y += d.columns * d.channels)
        one_line(&d);
}

#ifndef DEPTHWISE_RUN
#define DEPTHWISE_RUN all_lines
#define DEPTHWISE_LINES 1
#endif
static void DEPTHWISE_RUN(const takt_depthwise_f32 *given);

static const takt_depthwise_f32_info info = {DEPTHWISE_LINES};

TAKT_KERNELS(depthwise_f32, TAKT_KERNEL(depthwise_f32, SIMD_NAME, SIMD_RANK, DEPTHWISE_RUN, &info));
