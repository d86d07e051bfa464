/* attention.h - shared by all ways to compute attention: sizes, limits, scores to weights. */
#ifndef TAKT_BACKEND_CPU_ATTENTION_H
#define TAKT_BACKEND_CPU_ATTENTION_H

#include "backend/cpu/cpu.h"
#include "base/size.h"
#include "kernel/convert/convert.h"
#include "kernel/direct_f32/direct_f32.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/ggml_f32/ggml_f32.h"
#include "kernel/map/map.h"
#include "kernel/pack/pack.h"
#include "kernel/rows/rows.h"

typedef struct takt_attention {
    takt_gemm_f32_fn *gemm;
    takt_direct_f32_fn *direct; /* NULL: k and v are packed */
    takt_pack_fn *pack;
    takt_panels panels;
    takt_rows_fn *softmax;
    takt_map_fn *mul, *add;
    size_t batch, heads, shared, group; /* query heads, heads of k and v, query heads per such */
    size_t queries, keys, dim, value_dim;
    float scale;
    bool is_causal;
    int mask, length; /* index into step->in, or -1 */
    size_t mask_stride[4];
    size_t k_packed, v_packed, kernel_floats; /* floats */
    size_t block;                             /* queries at a time */
    size_t parts; /* of the queries that share a head of k and v; 1: each task packs its own */
    const takt_gemm_blocking *blocking; /* set by the caller, or NULL */
    takt_convert_fn *convert;
    takt_ggml_f32_fn *decode;
    takt_dtype k_type, v_type; /* f32, or 16 bits that are widened, or u8: blocks of q8_0 */
    size_t wide_at;            /* floats of a task's scratch before rows that are widened */
    size_t scores_at, sums_at; /* bytes of the scratch that tasks share, if they share keys */
} takt_attention;

/* One head of one sequence. */
typedef struct takt_attention_head {
    const takt_attention *f;
    size_t keys; /* keys present; the others are absent for all queries */
    const float *q, *mask;
    float *out;
    const float *k_packed, *v_packed;
    float *v_own;        /* the packed values if they are this task's own and v is f32; else NULL */
    const float *k, *v;  /* keys, where nothing is packed; values, there and where v_own is set */
    size_t k_row, v_row; /* floats from one to the next */
    float *scores, *scratch;
    const takt_poll *poll; /* of the task */
} takt_attention_head;

/* Where k and v of one head of one sequence lie. */
typedef struct takt_attention_pair {
    const void *k, *v;
    size_t k_row, v_row; /* elements from one key to the next */
    size_t keys;
} takt_attention_pair;

/* Bytes of an element of k or v. */
static inline size_t takt_attention_bytes(takt_dtype dtype)
{
    return dtype == TAKT_F32 ? sizeof(float) : dtype == TAKT_U8 ? 1 : sizeof(uint16_t);
}

/* Elements that hold `numbers` numbers of a row: bytes are blocks of q8_0. */
static inline size_t takt_attention_elements(takt_dtype dtype, size_t numbers)
{
    return dtype == TAKT_U8 ? numbers / 32 * 34 : numbers;
}

/* Rows of k or v of one head. */
typedef struct takt_attention_rows {
    const void *from;
    size_t row, size; /* elements from one to the next; numbers of one */
    takt_dtype type;
} takt_attention_rows;

/* Rows [first, first + count), which are not f32, converted to contiguous floats at `to`. */
void takt_attention_widen(const takt_attention *f, const takt_attention_rows *r, size_t first,
                          size_t count, float *to);

/* To whole cache lines of floats. */
static inline size_t takt_attention_aligned(size_t floats)
{
    return takt_round_up(floats, 16);
}

/* Keys that a query sees, of those that are there. */
static inline size_t takt_attention_limit(const takt_attention *f, size_t keys, size_t query)
{
    const size_t seen = query + 1 + keys;
    return !f->is_causal ? keys : seen > f->queries ? seen - f->queries : 0;
}

/* Keys of sequence `b` that are there. An impossible length is recorded as a fault and read as 0.
 */
size_t takt_attention_keys(const takt_step *s, const takt_task *t, size_t b);
/* Head `at` of sequence `b`, without packed keys and values. */
takt_attention_head takt_attention_head_of(const takt_step *s, const takt_task *t, size_t b,
                                           size_t at);
/* Head number `pair` of k and v of all sequences. */
takt_attention_pair takt_attention_pair_of(const takt_step *s, const takt_task *t, size_t pair);
/* Turns scores of queries [first, first + count) by the first `seen` keys, `stride` apart, into
 * weights: scale, mask, softmax over the keys that each sees, `seen` at most. */
void takt_attention_weigh(const takt_attention_head *h, size_t first, size_t count, size_t seen,
                          size_t stride);
/* Rows of the result of queries [first, first + count) that absent keys, of `seen` ones, may have
 * changed are computed again without them. */
void takt_attention_exclude(const takt_attention_head *h, size_t first, size_t count, size_t seen);
/* A matrix whose elements are `row` and `col` floats apart. */
typedef struct takt_attention_matrix {
    const float *at;
    size_t rows, columns, row, col;
} takt_attention_matrix;
/* Rows [from, m.rows) to where a packed matrix has them; `from` begins a chunk. */
void takt_attention_pack_rows(const takt_attention *f, takt_attention_matrix m, size_t from,
                              float *packed);

/* k and v, packed: k_packed floats at `to`, then v_packed. `wide` has room for as many floats as
 * takt_attention_wide_packed says: rows of 8 bits. */
void takt_attention_pack(const takt_attention *f, const takt_attention_pair *p, float *to,
                         float *wide);
size_t takt_attention_wide_packed(const takt_attention *f);
/* Scratch memory of the products. */
size_t takt_attention_kernel_bytes(const takt_attention *f, const takt_gemm_f32_info *info);

/* Query heads of one sequence that share a pair, with one query. */
typedef struct takt_attention_shared {
    const takt_attention *f;
    takt_attention_pair p;
    size_t count, stride; /* stride: of scores */
    const float *q;
    float *scores, *out;
    float *wide; /* [TAKT_GEMM_CHUNK][size], then [count][value_dim] sums */
    const takt_poll *poll;
} takt_attention_shared;

/* Scores of keys [first, end). */
void takt_attention_score(const takt_attention_shared *o, size_t first, size_t end);
/* All scores to weights; `head` is the number of the first head among those of all sequences. */
void takt_attention_weigh_shared(const takt_step *s, const takt_task *t,
                                 const takt_attention_shared *o, size_t head);
/* Weighted values of keys [first, first + count), at most a chunk of them unless v is f32. */
void takt_attention_sum(const takt_attention_shared *o, size_t first, size_t count, float *to);

/* One query: k and v are read in place. */
takt_step_run_fn takt_attention_run_one;
/* Whether keys are many, and tasks of whole heads of k and v would leave threads idle for an eighth
 * of the time. */
bool takt_attention_is_uneven(const takt_attention *f, size_t tasks);
/* The same by tasks that share the keys of a pair. False: scratch has no room. */
bool takt_attention_split(takt_planner *p, takt_attention *f, size_t tasks);
/* Few queries of few keys, none of them absent for some queries: nothing is packed. `count` queries
 * from `first` on. */
bool takt_attention_is_few(const takt_attention *f);
void takt_attention_few(const takt_attention_head *h, size_t first, size_t count);
/* Floats of scratch after the scores: rows of 16 bits, widened a chunk at a time. */
size_t takt_attention_wide(const takt_attention *f);
bool takt_attention_reads_view(const takt_step *s, size_t in, const int64_t *stride);

#endif
