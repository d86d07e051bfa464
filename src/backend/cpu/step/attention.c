/* attention.c - attention as one step: the scores of a block of queries never leave the near
 * caches.
 *
 * Every task takes heads of k and v, packs them, and takes the queries that use them in blocks; if
 * heads are too few to be shared evenly, all are packed first and tasks take parts of the queries:
 * scores = q k' by the product kernel, scaled, masked, softmax over whole rows (exact maximum, no
 * rescaling), then the product with v. The order of arithmetic is that of the lowering.
 *
 * Keys beyond a query's causal limit are absent. A block of queries is multiplied with all keys
 * that its last one sees, the weights of absent ones being zero. That gives the bits of the shorter
 * product except where a result is NaN (0 * inf) or zero (-0 + 0 = +0): those rows are recomputed
 * without the absent keys. Keys beyond a sequence's length are neither packed nor multiplied.
 *
 * A single query reads k and v where they lie (backend/cpu/attention/one.c), and so do a few
 * queries of a few keys: packing would take longer than the products.
 */
#include <math.h>
#include <string.h>

#include "backend/cpu/attention/attention.h"
#include "backend/cpu/cut.h"
#include "base/size.h"

/* Queries at a time: whole tiles of 6, 8, 12 and 16 rows. */
enum { BLOCK = 48, BLOCK_MOST = 1024 };

typedef takt_attention facts;
typedef takt_attention_head head;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_attention && takt_type_of(g, n->in[0])->dtype == TAKT_F32;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* Keys that a block's products have: all that its last query sees. In packed values shared with
 * others, only whole chunks are where they are expected. */
static size_t block_keys(const head *h, size_t end)
{
    const size_t limit = takt_attention_limit(h->f, h->keys, end - 1);
    const size_t whole = (limit + TAKT_GEMM_CHUNK - 1) / TAKT_GEMM_CHUNK * TAKT_GEMM_CHUNK;
    const size_t seen = h->v_own != NULL ? limit : whole;
    return limit == 0 ? h->keys : seen < h->keys ? seen : h->keys;
}

static void attend(const head *h, size_t first, size_t count, size_t seen)
{
    const facts *f = h->f;
    const takt_gemm_f32 scores = {.m = count,
                                  .n = seen,
                                  .k = f->dim,
                                  .a = h->q + first * f->heads * f->dim,
                                  .a_row = f->heads * f->dim,
                                  .a_col = 1,
                                  .b = h->k_packed,
                                  .b_n = h->keys,
                                  .c = h->scores,
                                  .ldc = seen,
                                  .scratch = h->scratch,
                                  .blocking = f->blocking,
                                  .poll = h->poll};
    f->gemm(&scores);
    takt_attention_weigh(h, first, count, seen, seen);
    const takt_gemm_f32 values = {.m = count,
                                  .n = f->value_dim,
                                  .k = seen,
                                  .a = h->scores,
                                  .a_row = seen,
                                  .a_col = 1,
                                  .b = h->v_packed,
                                  .b_n = f->value_dim,
                                  .c = h->out + first * f->heads * f->value_dim,
                                  .ldc = f->heads * f->value_dim,
                                  .scratch = h->scratch,
                                  .blocking = f->blocking,
                                  .poll = h->poll};
    f->gemm(&values);
    if (f->is_causal)
        takt_attention_exclude(h, first, count, seen);
}

/* Heads of k and v of all sequences. */
static size_t count_pairs(const facts *f)
{
    return f->batch * f->shared;
}

static void prepare(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(count_pairs(f), 1, t->index, s->prepare_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        const takt_attention_pair p = takt_attention_pair_of(s, t, i);
        takt_attention_pack(f, &p, (float *)t->scratch + i * (f->k_packed + f->v_packed),
                            (float *)t->scratch_own + f->wide_at);
    }
}

/* Queries [first, last) by blocks. Values that a block does not see in its last chunk would lie
 * between the panels, so this chunk is packed for every block. */
static void attend_blocks(const head *h, size_t first, size_t last)
{
    const facts *f = h->f;
    size_t packed = h->keys;
    for (size_t i = first, n; i < last && !takt_poll_stops(h->poll); i += n) {
        n = last - i < f->block ? last - i : f->block;
        const size_t seen = block_keys(h, i + n);
        const size_t from = (seen < packed ? seen : packed) / TAKT_GEMM_CHUNK * TAKT_GEMM_CHUNK;
        if (h->v_own != NULL && seen != packed)
            takt_attention_pack_rows(
                f, (takt_attention_matrix){h->v, seen, f->value_dim, h->v_row, 1}, from, h->v_own);
        packed = seen;
        attend(h, i, n, seen);
    }
}

/* Queries [first, last) of head `at`, by blocks. */
static void run_head(const takt_step *s, const takt_task *t, head h, size_t first, size_t last)
{
    const facts *f = s->data;
    h.scores = (float *)t->scratch_own + (f->parts > 1 ? 0 : f->k_packed + f->v_packed);
    h.scratch = h.scores + f->block * takt_attention_aligned(f->keys);
    if (h.keys == 0 && f->keys > 0)
        for (size_t i = first; i < last; i++)
            memset(h.out + i * f->heads * f->value_dim, 0, f->value_dim * sizeof *h.out);
    else if (f->direct != NULL)
        takt_attention_few(&h, first, last - first);
    else
        attend_blocks(&h, first, last);
}

/* Queries [row, end) of those that use a pair, head after head. */
static void run_pair(const takt_step *s, const takt_task *t, size_t pair, size_t row, size_t end)
{
    const facts *f = s->data;
    const takt_attention_pair p = takt_attention_pair_of(s, t, pair);
    const float *packed = t->scratch_own;
    if (f->parts > 1)
        packed = (const float *)t->scratch + pair * (f->k_packed + f->v_packed);
    else if (f->direct == NULL)
        takt_attention_pack(f, &p, t->scratch_own, (float *)t->scratch_own + f->wide_at);
    while (row < end) {
        const size_t first = row % f->queries, at = row / f->queries, rest = f->queries - first;
        const size_t last = rest < end - row ? f->queries : first + (end - row);
        head h = takt_attention_head_of(s, t, pair / f->shared, pair % f->shared * f->group + at);
        h.keys = p.keys;
        h.k_packed = packed;
        h.v_packed = packed + f->k_packed;
        if (f->parts == 1 && f->v_type == TAKT_F32) {
            h.v_own = (float *)t->scratch_own + f->k_packed;
            h.k = p.k;
            h.v = p.v;
            h.k_row = p.k_row;
            h.v_row = p.v_row;
        }
        run_head(s, t, h, first, last);
        row += last - first;
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end, row, row_end;
    takt_cpu_share(count_pairs(f) * f->parts, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++) {
        takt_cpu_share(f->group * f->queries, 1, i % f->parts, f->parts, &row, &row_end);
        run_pair(s, t, i / f->parts, row, row_end);
    }
}

/* ---- compiling ---- */

static takt_status add_mask_input(takt_planner *p, const takt_node *n, facts *f)
{
    enum { MASK = 3 };
    f->mask = -1;
    if (n->in_count <= MASK || n->in[MASK] == TAKT_NONE)
        return TAKT_OK;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[MASK], &index));
    const takt_view *v = &p->step->in[index];
    f->mask = (int)index;
    for (int d = 0; d < v->rank; d++)
        f->mask_stride[4 - v->rank + d] = v->dim[d] == 1 ? 0 : (size_t)v->stride[d];
    return TAKT_OK;
}

static takt_status add_length_input(takt_planner *p, const takt_node *n, facts *f)
{
    enum { LENGTH = 4 };
    f->length = -1;
    if (n->in_count <= LENGTH || n->in[LENGTH] == TAKT_NONE)
        return TAKT_OK;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[LENGTH], &index));
    f->length = (int)index;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    return TAKT_OK;
}

static void set_sizes(const takt_planner *p, const takt_node *n, facts *f)
{
    const takt_type *q = takt_type_of(p->graph, n->in[0]), *k = takt_type_of(p->graph, n->in[1]);
    const takt_type *v = takt_type_of(p->graph, n->in[2]);
    const int64_t shared = takt_node_int(n, "kv_heads");
    const takt_attr *scale = takt_node_attr(n, "scale");
    f->k_type = k->dtype;
    f->v_type = v->dtype;
    f->batch = (size_t)q->dim[0];
    f->heads = (size_t)takt_node_int(n, "heads");
    f->shared = shared == 0 ? f->heads : (size_t)shared;
    f->group = f->heads / f->shared;
    f->queries = (size_t)q->dim[1];
    f->keys = (size_t)k->dim[1];
    f->dim = (size_t)q->dim[2] / f->heads;
    f->value_dim = (size_t)n->type->dim[2] / f->heads;
    f->scale = (float)(scale->is_set ? scale->f64 : 1 / sqrt((double)f->dim));
    f->is_causal = takt_node_int(n, "causal") != 0;
}

static void set_row_kernels(takt_planner *p, facts *f)
{
    const takt_kernel *map = takt_planner_find(p, "map_f32");
    f->softmax = takt_kernel_as_rows_f32(takt_planner_find(p, "rows_f32"));
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    f->decode = takt_kernel_as_ggml_f32(takt_planner_find(p, "ggml_f32"));
    f->mul = takt_map_find(map, TAKT_MAP_MUL);
    f->add = takt_map_find(map, TAKT_MAP_ADD);
}

static size_t set_kernels(takt_planner *p, facts *f)
{
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_gemm_f32_info *info = gemm->info;
    f->gemm = takt_kernel_as_gemm_f32(gemm);
    f->panels = info->panels;
    f->k_packed = takt_attention_aligned(takt_panels_columns(f->panels, f->keys) * f->dim);
    f->v_packed = takt_attention_aligned(takt_panels_columns(f->panels, f->value_dim) * f->keys);
    f->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    set_row_kernels(p, f);
    f->kernel_floats = (takt_attention_kernel_bytes(f, info) + 3) / 4;
    return info->rows;
}

/* Parts of the rows of a pair, whose packed keys and values all threads share if there are several;
 * else each of `tasks` packs its own. At some sizes the one takes more scratch, at others the
 * other.
 */
static takt_status set_parts(takt_planner *p, facts *f, size_t parts, size_t tasks)
{
    takt_step *s = p->step;
    const size_t pairs = count_pairs(f), pair_bytes = (f->k_packed + f->v_packed) * sizeof(float);
    const size_t own = parts > 1 ? 0 : f->k_packed + f->v_packed;
    const size_t part = f->is_causal ? f->panels.wide : 0;
    f->parts = parts;
    f->wide_at = own + f->block * takt_attention_aligned(f->keys) + f->kernel_floats + part;
    s->scratch_each = (f->wide_at + takt_attention_wide_packed(f)) * sizeof(float);
    s->scratch_bytes = 0;
    s->task_count = parts > 1 ? pairs * parts : tasks;
    s->prepare = NULL;
    if (parts == 1)
        return TAKT_OK;
    if (!takt_size_mul(pairs, pair_bytes, &s->scratch_bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed keys and values are too large");
    s->prepare = prepare;
    s->prepare_count = takt_cpu_tasks(p, 0, 2.0 * (double)pairs * (double)pair_bytes, pairs);
    return TAKT_OK;
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
    const size_t best = is_shared ? takt_cpu_cut_products(&work, pairs, &pace).rows : 1;
    TAKT_TRY(set_parts(p, f, best, tasks));
    if (takt_planner_has_room(p))
        return TAKT_OK;
    TAKT_TRY(set_parts(p, f, best > 1 ? 1 : 2, tasks));
    return takt_planner_has_room(p) ? TAKT_OK : set_parts(p, f, best, tasks);
}

static void by_heads(takt_planner *p, facts *f, size_t tasks)
{
    p->step->run = takt_attention_run_one;
    f->wide_at = f->group * takt_attention_aligned(f->keys);
    p->step->scratch_each = (f->wide_at + takt_attention_wide(f)) * sizeof(float);
    p->step->task_count = tasks;
}

static takt_status compile_one(takt_planner *p, facts *f)
{
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const size_t pairs = count_pairs(f), most = pairs > 0 ? (threads + pairs - 1) / pairs : 1;
    const double pair = (double)f->keys * (double)(f->dim + f->value_dim);
    const double flops = 2 * pair * (double)(f->heads * f->batch);
    const double bytes = sizeof(float) * pair * (double)pairs;
    f->direct = takt_kernel_as_direct_f32(takt_planner_kernel(p, "direct_f32"));
    f->parts = most < f->group ? most : f->group;
    set_row_kernels(p, f);
    const size_t tasks = takt_cpu_tasks(p, flops, bytes, threads);
    if (takt_attention_is_uneven(f, tasks) && takt_attention_split(p, f, tasks))
        return TAKT_OK;
    by_heads(p, f, takt_cpu_tasks(p, flops, bytes, pairs * f->parts));
    /* The largest size may share keys, which takes less memory than scores of every worker. */
    if (!takt_planner_has_room(p) && !takt_attention_split(p, f, tasks))
        by_heads(p, f, 1);
    return TAKT_OK;
}

/* Nothing is packed: scratch holds the scores. */
static takt_status compile_few(takt_planner *p, facts *f)
{
    const double flops = 2.0 * (double)(f->queries * f->keys) * (double)(f->dim + f->value_dim);
    f->direct = takt_kernel_as_direct_f32(takt_planner_kernel(p, "direct_f32"));
    set_row_kernels(p, f);
    f->block = f->queries;
    p->step->run = run;
    return set_parts(p, f, 1,
                     takt_cpu_tasks(p, flops * (double)(f->heads * f->batch), 0, count_pairs(f)));
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    p->step->data = f;
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    TAKT_TRY(add_mask_input(p, n, f));
    TAKT_TRY(add_length_input(p, n, f));
    TAKT_TRY(takt_planner_output(p, id, &index));
    set_sizes(p, n, f);
    TAKT_TRY(takt_cpu_blocking(p, &f->blocking));
    if (p->settings->is_fast && !takt_planner_in_prologue(p))
        takt_planner_lacks_fast(p, "numerics fast: attention as one step is computed in f32");
    p->step->reads_view = takt_attention_reads_view;
    if (f->queries == 1 && f->keys > 0)
        return compile_one(p, f);
    if (takt_attention_is_few(f))
        return compile_few(p, f);
    f->block = BLOCK;
    if (f->blocking != NULL && f->blocking->rows > 0)
        f->block = f->blocking->rows < BLOCK_MOST ? f->blocking->rows : BLOCK_MOST;
    const size_t tile = set_kernels(p, f);
    p->step->run = run;
    return cut_tasks(p, f, tile);
}

const takt_cpu_kind takt_cpu_attention = {.is_steady = true,
                                          .name = "attention",
                                          .family = TAKT_FAMILY_ATTENTION,
                                          .accepts = accepts,
                                          .keeps = keeps,
                                          .compile = compile};
