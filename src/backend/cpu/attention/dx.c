/* dx.c - gradients of one head of attention.
 *
 * For every block of queries the weights are rematerialised and their gradients computed; from both
 * follows a part of the three gradients. A block is one chunk of the product's order of sums, so
 * that parts added in order have the bits of the whole. Everything else has the bits of the
 * lowering.
 *
 * Where a causal limit makes weights zero, a block is cut: a strip of queries reads the keys that
 * its last one sees, and a strip of keys the queries from the first one on that sees any of them.
 * The terms left out are 0 * x with a finite x and change a sum only from -0 to 0: strips of
 * queries with a -0 are multiplied again with all keys. If q, k or dy has an infinity or a NaN,
 * nothing is cut.
 */
#include "backend/cpu/attention/dx.h"

#include <string.h>

enum { BLOCK = TAKT_ATTENTION_DX_BLOCK, STRIP = TAKT_ATTENTION_DX_STRIP };

typedef takt_attention_dx facts;
typedef takt_attention_dx_job job;

/* C = A B; B is packed and has as many columns as C unless it says otherwise. */
static void multiply(const job *j, takt_gemm_f32 g)
{
    if (g.b_n == 0)
        g.b_n = g.n;
    g.scratch = j->own + j->f->scratch;
    g.blocking = j->f->a.blocking;
    g.poll = j->poll;
    j->f->a.gemm(&g);
}

/* A gradient of keys: keys x dim, `row` floats from one key to the next. It is A' B: A, queries x
 * keys, lies in the scratch, B has a row for every query. */
typedef struct target {
    float *at;
    size_t dim, row;
    const float *a, *b;
    size_t b_row;
} target;

/* Queries [from, end) of the block that begins at `first`. */
typedef struct span {
    size_t first, from, end;
} span;

/* Adds A' B for keys [key, key + keys). */
static void add_strip(const job *j, const target *to, size_t key, size_t keys, span of)
{
    const facts *f = j->f;
    const bool is_first = of.first == 0;
    const size_t count = of.end - of.from;
    float *sums = to->at + key * to->row, *packed = j->own + f->block_packed;
    float *part = is_first ? sums : j->own + f->part;
    const takt_attention_matrix b = {to->b + of.from * to->b_row, count, to->dim, to->b_row, 1};
    takt_attention_pack_rows(&f->a, b, 0, packed);
    multiply(j, (takt_gemm_f32){.m = keys,
                                .n = to->dim,
                                .k = count,
                                .a = to->a + (of.from - of.first) * f->a.keys + key,
                                .a_row = 1,
                                .a_col = f->a.keys,
                                .b = packed,
                                .c = part,
                                .ldc = is_first ? to->row : to->dim});
    for (size_t i = 0; !is_first && i < keys; i++) {
        float *sum = sums + i * to->row;
        f->a.add(sum, (const void *[]){sum, part + i * to->dim}, (const unsigned char[]){0, 0},
                 to->dim, NULL);
    }
}

/* Adds A' B for a block of queries. Those before `from` do not see a strip's keys. */
static void add_part(const job *j, const target *to, size_t first, size_t end)
{
    const takt_attention *a = &j->f->a;
    const size_t step = j->is_cut ? STRIP : a->keys;
    for (size_t key = 0, n; key < a->keys; key += n) {
        n = a->keys - key < step ? a->keys - key : step;
        size_t from = first;
        if (j->is_cut && key + a->queries > a->keys + first)
            from = key + a->queries - a->keys;
        if (from < end)
            add_strip(j, to, key, n, (span){first, from, end});
        for (size_t i = 0; from >= end && first == 0 && i < n; i++)
            memset(to->at + (key + i) * to->row, 0, to->dim * sizeof *to->at);
    }
}

/* Turns gradients of the weights into gradients of the products of q and k. */
static void slope(const job *j, float *weights, float *slopes, size_t first, size_t count,
                  size_t seen)
{
    const facts *f = j->f;
    const size_t keys = f->a.keys;
    for (size_t i = 0; i < count; i++, weights += keys, slopes += keys) {
        const size_t limit = takt_attention_limit(&f->a, keys, first + i);
        const takt_rows_dx_f32 r = {.op = TAKT_ROWS_DX_SOFTMAX,
                                    .rows = 1,
                                    .n = limit,
                                    .x = weights,
                                    .dy = slopes,
                                    .dx = slopes};
        f->softmax_dx(&r);
        memset(slopes + limit, 0, (seen - limit) * sizeof *slopes);
        f->a.mul(slopes, (const void *[]){slopes, &f->a.scale}, (const unsigned char[]){0, 1}, seen,
                 NULL);
    }
}

/* dq of `count` queries from `first` on, over the first `seen` keys. */
static void multiply_keys(job *j, const float *slopes, size_t first, size_t count, size_t seen)
{
    const facts *f = j->f;
    const size_t fewer = seen < j->k_rows ? seen : j->k_rows;
    if (seen != j->k_rows && seen > 0)
        takt_attention_pack_rows(&f->a, (takt_attention_matrix){j->k, seen, f->a.dim, j->k_row, 1},
                                 fewer / BLOCK * BLOCK, j->own + f->k_packed);
    j->k_rows = seen;
    multiply(j, (takt_gemm_f32){.m = count,
                                .n = f->a.dim,
                                .k = seen,
                                .a = slopes,
                                .a_row = f->a.keys,
                                .a_col = 1,
                                .b = j->own + f->k_packed,
                                .c = j->dq + first * j->q_row,
                                .ldc = j->q_row});
}

/* Whether a result is -0, which a sum with the keys that were left out might not be. */
static bool has_negative_zero(const job *j, size_t first, size_t count)
{
    uint32_t found = 0; /* as wide as a float, so that compilers use vectors */
    for (size_t i = 0; i < count; i++) {
        const float *row = j->dq + (first + i) * j->q_row;
        for (size_t d = 0; d < j->f->a.dim; d++) {
            uint32_t bits;
            memcpy(&bits, row + d, sizeof bits);
            found |= bits == UINT32_C(0x80000000);
        }
    }
    return found != 0;
}

/* Weights and slopes of `count` queries from `first` on, by the first `seen` keys, and dq. */
static void run_strip(job *j, float *weights, float *slopes, size_t first, size_t count,
                      size_t seen)
{
    const facts *f = j->f;
    const takt_attention *a = &f->a;
    const takt_attention_head h = {.f = a, .keys = a->keys, .scores = weights};
    takt_gemm_f32 g = {.m = count,
                       .n = seen,
                       .k = a->dim,
                       .a = j->q + first * j->q_row,
                       .a_row = j->q_row,
                       .a_col = 1,
                       .b = j->own + f->k_transposed,
                       .b_n = a->keys,
                       .c = weights,
                       .ldc = a->keys};
    multiply(j, g);
    takt_attention_weigh(&h, first, count, seen, a->keys);
    g.k = a->value_dim;
    g.a = j->dy + first * j->dy_row;
    g.a_row = j->dy_row;
    g.b = j->own + f->v_transposed;
    g.c = slopes;
    multiply(j, g);
    slope(j, weights, slopes, first, count, seen);
    multiply_keys(j, slopes, first, count, seen);
    if (seen == a->keys || !has_negative_zero(j, first, count))
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t key = seen; key < a->keys; key++)
            slopes[i * a->keys + key] = 0 * a->scale;
    multiply_keys(j, slopes, first, count, a->keys);
}

/* Keys that queries before `end` are multiplied with. */
static size_t strip_keys(const job *j, size_t end)
{
    const size_t keys = j->f->a.keys, limit = takt_attention_limit(&j->f->a, keys, end - 1);
    const size_t whole = (limit + STRIP - 1) / STRIP * STRIP;
    return j->is_cut && whole < keys ? whole : keys;
}

static void run_block(job *j, size_t first, size_t end)
{
    const facts *f = j->f;
    const takt_attention *a = &f->a;
    float *weights = j->own + f->weights, *slopes = j->own + f->slopes;
    const size_t step = j->is_cut ? STRIP : BLOCK;
    for (size_t i = first, n; i < end; i += n) {
        n = end - i < step ? end - i : step;
        const size_t at = (i - first) * a->keys;
        run_strip(j, weights + at, slopes + at, i, n, strip_keys(j, i + n));
    }
    const target dv = {j->dv, a->value_dim, j->dv_row, weights, j->dy, j->dy_row};
    const target dk = {j->dk, a->dim, j->dk_row, slopes, j->q, j->q_row};
    add_part(j, &dv, first, end);
    add_part(j, &dk, first, end);
}

static bool is_finite(const float *x, size_t rows, size_t dim, size_t row)
{
    const uint32_t most = UINT32_C(0x7f800000);
    uint32_t found = 0;
    for (size_t i = 0; i < rows; i++, x += row)
        for (size_t d = 0; d < dim; d++) {
            uint32_t bits;
            memcpy(&bits, x + d, sizeof bits);
            found |= (bits & most) == most;
        }
    return found == 0;
}

static bool may_cut(const job *j)
{
    const takt_attention *a = &j->f->a;
    return a->is_causal && a->keys > STRIP && is_finite(j->k, a->keys, a->dim, j->k_row) &&
           is_finite(j->q, a->queries, a->dim, j->q_row) &&
           is_finite(j->dy, a->queries, a->value_dim, j->dy_row);
}

void takt_attention_dx_run(job *j)
{
    const size_t queries = j->f->a.queries;
    j->is_cut = may_cut(j);
    for (size_t i = 0; i < queries && !takt_poll_stops(j->poll); i += BLOCK)
        run_block(j, i, queries - i < BLOCK ? queries : i + BLOCK);
}

/* ---- scratch memory ---- */

static size_t most_of(const takt_gemm_f32_info *info, takt_gemm_f32 g, size_t most)
{
    const size_t bytes = info->scratch_bytes(&g);
    return bytes > most ? bytes : most;
}

/* Products of `rows` queries with the first `seen` keys. */
static size_t with_queries(const facts *f, const takt_gemm_f32_info *info, size_t rows, size_t seen,
                           size_t most)
{
    const takt_attention *a = &f->a;
    takt_gemm_f32 g = {.m = rows, .n = seen, .a_col = 1, .blocking = a->blocking};
    g.k = a->dim;
    g.a_row = a->heads * a->dim;
    most = most_of(info, g, most);
    g.k = a->value_dim;
    g.a_row = a->heads * a->value_dim;
    most = most_of(info, g, most);
    g.n = a->dim;
    g.k = seen;
    g.a_row = a->keys;
    return most_of(info, g, most);
}

/* Sums over `rows` queries for some keys. */
static size_t with_keys(const facts *f, const takt_gemm_f32_info *info, size_t keys, size_t rows,
                        size_t most)
{
    const takt_attention *a = &f->a;
    takt_gemm_f32 g = {.m = keys, .k = rows, .a_row = 1, .a_col = a->keys, .blocking = a->blocking};
    g.n = a->dim;
    most = most_of(info, g, most);
    g.n = a->value_dim;
    return most_of(info, g, most);
}

/* Any number of queries may be left of a strip; kernels round it up to four. */
static size_t cut_scratch(const facts *f, const takt_gemm_f32_info *info, size_t most)
{
    const takt_attention *a = &f->a;
    const size_t rest = a->queries % BLOCK % STRIP, last = a->keys % STRIP;
    const size_t tall = a->queries < STRIP ? a->queries : STRIP;
    for (size_t seen = STRIP; seen < a->keys + STRIP; seen += STRIP) {
        const size_t n = seen < a->keys ? seen : a->keys;
        most = with_queries(f, info, tall, n, most);
        most = rest > 0 ? with_queries(f, info, rest, n, most) : most;
    }
    for (size_t rows = 1; rows <= a->block; rows++) {
        most = with_keys(f, info, STRIP, rows, most);
        most = last > 0 ? with_keys(f, info, last, rows, most) : most;
    }
    return most;
}

size_t takt_attention_dx_scratch(const facts *f, const takt_gemm_f32_info *info)
{
    const takt_attention *a = &f->a;
    const size_t rest = a->queries % BLOCK; /* of the last block; it may need more */
    size_t most = with_queries(f, info, a->block, a->keys, 0);
    most = with_keys(f, info, a->keys, a->block, most);
    if (rest > 0) {
        most = with_queries(f, info, rest, a->keys, most);
        most = with_keys(f, info, a->keys, rest, most);
    }
    if (a->is_causal && a->keys > STRIP)
        most = cut_scratch(f, info, most);
    return (most + 3) / 4;
}
