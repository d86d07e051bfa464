/* attention.c - attention as one step: the scores of a block of queries never leave the near
 * caches.
 *
 * Every task takes heads of k and v, packs them, and walks the queries that use them in blocks; if
 * heads are too few to be shared evenly, all are packed first and tasks take parts of the queries:
 * scores = q k' by the product kernel, scaled, masked, softmax over whole rows (exact maximum, no
 * rescaling), then the product with v. The order of arithmetic is that of the lowering.
 *
 * Keys beyond a query's causal limit are absent. A block of queries is multiplied with all keys at
 * once, the weights of absent ones being zero. That gives the bits of the shorter product except
 * where a result is NaN (0 * inf) or zero (-0 + 0 = +0): those rows are computed again without the
 * absent keys.
 */
#include <math.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/shorter.h"
#include "base/size.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/map/map.h"
#include "kernel/pack/pack.h"
#include "kernel/rows/rows.h"

/* Queries at a time: whole tiles of 6, 8, 12 and 16 rows. */
enum { BLOCK = 48, BLOCK_MOST = 1024 };

typedef struct facts {
    takt_gemm_f32_fn *gemm;
    takt_pack_fn *pack;
    takt_panels panels;
    takt_rows_fn *softmax;
    takt_map_fn *mul, *add;
    size_t batch, heads, shared, group; /* query heads, heads of k and v, query heads per such */
    size_t queries, keys, dim, value_dim;
    float scale;
    bool is_causal;
    int mask; /* index into step->in, or -1 */
    size_t mask_stride[4];
    size_t k_packed, v_packed, kernel_floats; /* floats */
    size_t block;                             /* queries at a time */
    size_t parts; /* of the queries of a head of k and v; 1: tasks pack for themselves */
    const takt_gemm_walk *walk; /* as the caller said, or NULL */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_attention && takt_type_of(g, n->in[0])->dtype == TAKT_F32;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* One head of one sequence. */
typedef struct head {
    const facts *f;
    const float *q, *mask;
    float *out;
    const float *k_packed, *v_packed;
    float *scores, *scratch;
} head;

static void add_mask(const head *h, size_t query, size_t limit, float *row)
{
    const facts *f = h->f;
    const float *mask = h->mask + query * f->mask_stride[2];
    const unsigned char is_scalar[2] = {0, f->mask_stride[3] == 0};
    f->add(row, (const void *[]){row, mask}, is_scalar, limit, NULL);
}

/* Keys that a query sees. */
static size_t limit_of(const facts *f, size_t query)
{
    return f->is_causal ? query + f->keys - f->queries + 1 : f->keys;
}

/* Scores to weights: scale, mask, softmax over the keys that each query sees. */
static void weigh(const head *h, size_t first, size_t count)
{
    const facts *f = h->f;
    f->mul(h->scores, (const void *[]){h->scores, &f->scale}, (const unsigned char[]){0, 1},
           count * f->keys, NULL);
    for (size_t i = 0; i < count; i++) {
        float *row = h->scores + i * f->keys;
        const size_t query = first + i;
        const size_t limit = limit_of(f, query);
        if (h->mask != NULL)
            add_mask(h, query, limit, row);
        const takt_rows_step softmax = {.op = TAKT_ROWS_SOFTMAX,
                                        .dst = row,
                                        .src = row,
                                        .rows = 1,
                                        .n = limit,
                                        .dst_stride = f->keys,
                                        .src_stride = f->keys};
        f->softmax(&softmax);
        memset(row + limit, 0, (f->keys - limit) * sizeof *row);
    }
}

/* Rows of the result that absent keys may have changed. */
static void exclude_absent(const head *h, size_t first, size_t count)
{
    const facts *f = h->f;
    const takt_shorter v = {.gemm = f->gemm,
                            .panels = f->panels,
                            .k = f->keys,
                            .n = f->value_dim,
                            .b = h->v_packed,
                            .scratch = h->scratch,
                            .part = h->scratch + f->kernel_floats,
                            .walk = f->walk};
    for (size_t i = 0; i < count; i++) {
        float *out = h->out + (first + i) * f->heads * f->value_dim;
        const size_t limit = limit_of(f, first + i);
        int is_doubtful = 0;
        for (size_t j = 0; j < f->value_dim; j++)
            is_doubtful |= !(out[j] < 0 || out[j] > 0);
        if (is_doubtful && limit < f->keys)
            takt_cpu_shorter(&v, h->scores + i * f->keys, limit, out);
    }
}

static void attend(const head *h, size_t first, size_t count)
{
    const facts *f = h->f;
    const takt_gemm_f32 scores = {.m = count,
                                  .n = f->keys,
                                  .k = f->dim,
                                  .a = h->q + first * f->heads * f->dim,
                                  .a_row = f->heads * f->dim,
                                  .a_col = 1,
                                  .b = h->k_packed,
                                  .b_n = f->keys,
                                  .c = h->scores,
                                  .ldc = f->keys,
                                  .scratch = h->scratch,
                                  .walk = f->walk};
    f->gemm(&scores);
    weigh(h, first, count);
    const takt_gemm_f32 values = {.m = count,
                                  .n = f->value_dim,
                                  .k = f->keys,
                                  .a = h->scores,
                                  .a_row = f->keys,
                                  .a_col = 1,
                                  .b = h->v_packed,
                                  .b_n = f->value_dim,
                                  .c = h->out + first * f->heads * f->value_dim,
                                  .ldc = f->heads * f->value_dim,
                                  .scratch = h->scratch,
                                  .walk = f->walk};
    f->gemm(&values);
    if (f->is_causal)
        exclude_absent(h, first, count);
}

static void pack_pair(const facts *f, const float *k, const float *v, float *to)
{
    const takt_pack keys = {.k = f->dim,
                            .n = f->keys,
                            .src = k,
                            .row = 1,
                            .col = f->shared * f->dim,
                            .dst = to,
                            .bytes = sizeof *k,
                            .panels = f->panels};
    const takt_pack values = {.k = f->keys,
                              .n = f->value_dim,
                              .src = v,
                              .row = f->shared * f->value_dim,
                              .col = 1,
                              .dst = to + f->k_packed,
                              .bytes = sizeof *v,
                              .panels = f->panels};
    f->pack(&keys);
    f->pack(&values);
}

/* Heads of k and v of all sequences. */
static size_t count_pairs(const facts *f)
{
    return f->batch * f->shared;
}

static void pack_at(const takt_step *s, const takt_task *t, size_t pair, float *to)
{
    const facts *f = s->data;
    const size_t at = pair / f->shared * f->keys * f->shared + pair % f->shared;
    const float *k = takt_view_data(t, &s->in[1]), *v = takt_view_data(t, &s->in[2]);
    pack_pair(f, k + at * f->dim, v + at * f->value_dim, to);
}

static void prepare(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(count_pairs(f), 1, t->index, s->prepare_count, &first, &end);
    for (size_t i = first; i < end; i++)
        pack_at(s, t, i, (float *)t->scratch + i * (f->k_packed + f->v_packed));
}

static head head_of(const takt_step *s, const takt_task *t, size_t b, size_t at)
{
    const facts *f = s->data;
    const size_t row = b * f->queries * f->heads + at;
    const float *q = takt_view_data(t, &s->in[0]);
    head h = {.f = f, .q = q + row * f->dim};
    h.out = (float *)takt_view_data(t, &s->out[0]) + row * f->value_dim;
    h.scores = (float *)t->scratch_own + (f->parts > 1 ? 0 : f->k_packed + f->v_packed);
    h.scratch = h.scores + f->block * ((f->keys + 15) & ~(size_t)15);
    if (f->mask >= 0)
        h.mask = (const float *)takt_view_data(t, &s->in[f->mask]) + b * f->mask_stride[0] +
                 at * f->mask_stride[1];
    return h;
}

/* Queries [row, end) of those that use a pair, head after head. */
static void run_pair(const takt_step *s, const takt_task *t, size_t pair, size_t row, size_t end)
{
    const facts *f = s->data;
    const float *packed = t->scratch_own;
    if (f->parts > 1)
        packed = (const float *)t->scratch + pair * (f->k_packed + f->v_packed);
    else
        pack_at(s, t, pair, t->scratch_own);
    while (row < end) {
        const size_t first = row % f->queries, at = row / f->queries, rest = f->queries - first;
        const size_t last = rest < end - row ? f->queries : first + (end - row);
        head h = head_of(s, t, pair / f->shared, pair % f->shared * f->group + at);
        h.k_packed = packed;
        h.v_packed = packed + f->k_packed;
        for (size_t i = first; i < last; i += f->block)
            attend(&h, i, last - i < f->block ? last - i : f->block);
        row += last - first;
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end, row, row_end;
    takt_cpu_share(count_pairs(f) * f->parts, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        takt_cpu_share(f->group * f->queries, 1, i % f->parts, f->parts, &row, &row_end);
        run_pair(s, t, i / f->parts, row, row_end);
    }
}

/* ---- compiling ---- */

/* To whole cache lines of floats. */
static size_t round_up(size_t floats)
{
    return (floats + 15) & ~(size_t)15;
}

static takt_status add_mask_input(takt_planner *p, const takt_node *n, facts *f)
{
    f->mask = -1;
    if (n->in_count < 4 || n->in[3] == TAKT_NONE)
        return TAKT_OK;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[3], &index));
    const takt_view *v = &p->step->in[index];
    f->mask = (int)index;
    for (int d = 0; d < v->rank; d++)
        f->mask_stride[4 - v->rank + d] = v->dim[d] == 1 ? 0 : (size_t)v->stride[d];
    return TAKT_OK;
}

static void set_sizes(const takt_planner *p, const takt_node *n, facts *f)
{
    const takt_type *q = takt_type_of(p->graph, n->in[0]), *k = takt_type_of(p->graph, n->in[1]);
    const takt_type *v = takt_type_of(p->graph, n->in[2]);
    const int64_t shared = takt_node_int(n, "kv_heads");
    const takt_attr *scale = takt_node_attr(n, "scale");
    f->batch = (size_t)q->dim[0];
    f->heads = (size_t)takt_node_int(n, "heads");
    f->shared = shared == 0 ? f->heads : (size_t)shared;
    f->group = f->heads / f->shared;
    f->queries = (size_t)q->dim[1];
    f->keys = (size_t)k->dim[1];
    f->dim = (size_t)q->dim[2] / f->heads;
    f->value_dim = (size_t)v->dim[2] / f->shared;
    f->scale = (float)(scale->is_set ? scale->f64 : 1 / sqrt((double)f->dim));
    f->is_causal = takt_node_int(n, "causal") != 0;
}

static size_t set_kernels(takt_planner *p, facts *f)
{
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_kernel *map = takt_planner_find(p, "map_f32");
    const takt_gemm_f32_info *info = gemm->info;
    f->gemm = takt_kernel_as_gemm_f32(gemm);
    f->panels = info->panels;
    f->k_packed = round_up(takt_panels_columns(f->panels, f->keys) * f->dim);
    f->v_packed = round_up(takt_panels_columns(f->panels, f->value_dim) * f->keys);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    f->softmax = takt_kernel_as_rows_f32(takt_planner_find(p, "rows_f32"));
    f->mul = takt_map_find(map, TAKT_MAP_MUL);
    f->add = takt_map_find(map, TAKT_MAP_ADD);
    const takt_gemm_f32 first = {.m = f->block,
                                 .n = f->keys,
                                 .k = f->dim,
                                 .a_row = f->heads * f->dim,
                                 .a_col = 1,
                                 .walk = f->walk};
    const takt_gemm_f32 second = {.m = f->block,
                                  .n = f->value_dim,
                                  .k = f->keys,
                                  .a_row = f->keys,
                                  .a_col = 1,
                                  .walk = f->walk};
    takt_gemm_f32 single = second; /* a row without absent keys, fewer than there are */
    single.m = 1;
    single.k = f->keys < TAKT_GEMM_CHUNK ? f->keys : TAKT_GEMM_CHUNK;
    const size_t a = info->scratch_bytes(&first), b = info->scratch_bytes(&second);
    const size_t c = f->is_causal ? info->scratch_bytes(&single) : 0;
    const size_t ab = a > b ? a : b;
    f->kernel_floats = ((ab > c ? ab : c) + 3) / 4;
    return info->rows;
}

static takt_status cut_tasks(takt_planner *p, facts *f, size_t tile)
{
    enum { SOFTMAX = 16 }; /* operations for a score */
    const size_t pairs = count_pairs(f), rows = f->group * f->queries;
    const size_t pair_bytes = (f->k_packed + f->v_packed) * sizeof(float);
    const double scores = (double)rows * (double)f->keys;
    const double flops = scores * 2 * (double)(f->dim + f->value_dim);
    const takt_cut_work work = {rows, takt_panels_count(f->panels, f->keys), tile, 2};
    const takt_cut_pace pace = {(size_t)(p->settings->threads < 1 ? 1 : p->settings->threads),
                                flops + scores * SOFTMAX, (double)pair_bytes};
    const size_t tasks = takt_cpu_tasks(p, flops * (double)pairs, 0, pairs);
    const bool is_shared = takt_cpu_tasks(p, flops * (double)pairs, 0, SIZE_MAX) > 1;
    f->parts = is_shared ? takt_cpu_cut_products(&work, pairs, &pace).rows : 1;
    p->step->task_count = f->parts > 1 ? pairs * f->parts : tasks;
    if (f->parts == 1)
        return TAKT_OK;
    if (!takt_size_mul(pairs, pair_bytes, &p->step->scratch_bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed keys and values are too large");
    p->step->prepare = prepare;
    p->step->prepare_count = takt_cpu_tasks(p, 0, 2.0 * (double)pairs * (double)pair_bytes, pairs);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(add_mask_input(p, n, f));
    TAKT_TRY(takt_planner_output(p, id, &index));
    set_sizes(p, n, f);
    TAKT_TRY(takt_cpu_walk(p, &f->walk));
    f->block = BLOCK;
    if (f->walk != NULL && f->walk->rows > 0)
        f->block = f->walk->rows < BLOCK_MOST ? f->walk->rows : BLOCK_MOST;
    const size_t tile = set_kernels(p, f);
    if (p->settings->is_fast && !takt_planner_in_prologue(p))
        takt_planner_lacks_fast(p, "numerics fast: attention as one step is computed in f32");
    p->step->run = run;
    p->step->data = f;
    TAKT_TRY(cut_tasks(p, f, tile));
    const size_t own = f->parts > 1 ? 0 : f->k_packed + f->v_packed;
    const size_t part = f->is_causal ? f->panels.wide : 0;
    p->step->scratch_each =
        (own + f->block * ((f->keys + 15) & ~(size_t)15) + f->kernel_floats + part) * sizeof(float);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_attention = {.name = "attention",
                                          .family = TAKT_FAMILY_ATTENTION,
                                          .accepts = accepts,
                                          .keeps = keeps,
                                          .compile = compile};
