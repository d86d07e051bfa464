/* attention_dx.c - gradients of attention as one step: the scores of a block of queries at a time.
 *
 * A task takes heads of k and v, packs them, and processes the queries that use them
 * (backend/cpu/attention/dx.c).
 */
#include <string.h>

#include "backend/cpu/attention/dx.h"
#include "op/util/heads.h"

enum { BLOCK = TAKT_ATTENTION_DX_BLOCK, Q = 0, K, V, DY };

typedef takt_attention_dx facts;
typedef takt_attention_dx_job job;
typedef takt_attention_matrix matrix;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_attention_dx && takt_type_of(g, n->in[0])->dtype == TAKT_F32;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* ---- running ---- */

/* Sums over the heads that share a head of k and v, in the order of a reduction. */
static void sum_heads(const job *j, size_t from, size_t dim, float *to, size_t row)
{
    const facts *f = j->f;
    for (size_t i = 0; i < f->a.keys; i++) {
        const takt_reduce r = {.op = TAKT_REDUCE_SUM,
                               .dst = to + i * row,
                               .src = j->own + from + i * dim,
                               .count = dim,
                               .across = 1,
                               .n = f->a.group,
                               .run = f->a.group,
                               .step = f->a.keys * dim};
        f->reduce(&r);
    }
}

static void run_pair(const takt_step *s, const takt_task *t, size_t pair)
{
    const facts *f = s->data;
    const takt_attention *a = &f->a;
    const size_t b = pair / a->shared, at = pair % a->shared, each = a->keys * a->dim;
    const size_t k_row = a->shared * a->dim, v_row = a->shared * a->value_dim;
    const size_t k_at = b * a->keys * k_row + at * a->dim;
    const size_t v_at = b * a->keys * v_row + at * a->value_dim;
    const float *k = (const float *)takt_view_data(t, &s->in[K]) + k_at;
    const float *v = (const float *)takt_view_data(t, &s->in[V]) + v_at;
    float *own = t->scratch_own, *dk = (float *)takt_view_data(t, &s->out[K]) + k_at;
    float *dv = (float *)takt_view_data(t, &s->out[V]) + v_at;
    takt_attention_pack_rows(a, (matrix){k, a->dim, a->keys, 1, k_row}, 0, own + f->k_transposed);
    takt_attention_pack_rows(a, (matrix){v, a->value_dim, a->keys, 1, v_row}, 0,
                             own + f->v_transposed);
    takt_attention_pack_rows(a, (matrix){k, a->keys, a->dim, k_row, 1}, 0, own + f->k_packed);
    for (size_t g = 0; g < a->group; g++) {
        const size_t row = b * a->queries * a->heads + at * a->group + g;
        job j = {.f = f,
                 .own = own,
                 .q = (const float *)takt_view_data(t, &s->in[Q]) + row * a->dim,
                 .dy = (const float *)takt_view_data(t, &s->in[DY]) + row * a->value_dim,
                 .k = k,
                 .k_row = k_row,
                 .k_rows = a->keys,
                 .dq = (float *)takt_view_data(t, &s->out[Q]) + row * a->dim,
                 .q_row = a->heads * a->dim,
                 .dy_row = a->heads * a->value_dim,
                 .dk = dk,
                 .dv = dv,
                 .dk_row = k_row,
                 .dv_row = v_row,
                 .poll = t->poll};
        if (a->group > 1) {
            j.dk = own + f->heads + g * each;
            j.dk_row = a->dim;
            j.dv = own + f->heads + a->group * each + g * a->keys * a->value_dim;
            j.dv_row = a->value_dim;
        }
        takt_attention_dx_run(&j);
    }
    const job all = {.f = f, .own = own};
    if (a->group > 1) {
        sum_heads(&all, f->heads, a->dim, dk, k_row);
        sum_heads(&all, f->heads + a->group * each, a->value_dim, dv, v_row);
    }
}

static void clear(const takt_task *t, const takt_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dim[d];
    memset(takt_view_data(t, v), 0, count * sizeof(float));
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    if (f->a.queries == 0 || f->a.keys == 0) { /* sums over nothing */
        for (size_t k = 0; k < 3 && t->index == 0; k++)
            clear(t, &s->out[k]);
        return;
    }
    takt_cpu_share(f->a.batch * f->a.shared, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i++)
        run_pair(s, t, i);
}

/* ---- compiling ---- */

static size_t place(size_t *end, size_t floats)
{
    const size_t at = *end;
    *end += takt_attention_aligned(floats);
    return at;
}

static void lay_out(facts *f, const takt_gemm_f32_info *info)
{
    const takt_attention *a = &f->a;
    const takt_panels p = a->panels;
    const size_t wide = a->dim > a->value_dim ? a->dim : a->value_dim;
    const bool has_parts = a->queries > BLOCK;
    f->k_transposed = place(&f->end, takt_panels_columns(p, a->keys) * a->dim);
    f->v_transposed = place(&f->end, takt_panels_columns(p, a->keys) * a->value_dim);
    f->k_packed = place(&f->end, takt_panels_columns(p, a->dim) * a->keys);
    f->block_packed = place(&f->end, takt_panels_columns(p, wide) * a->block);
    f->weights = place(&f->end, a->block * a->keys);
    f->slopes = place(&f->end, a->block * a->keys);
    f->part = place(&f->end, has_parts ? a->keys * wide : 0);
    f->heads = place(&f->end, a->group > 1 ? a->group * a->keys * (a->dim + a->value_dim) : 0);
    f->scratch = place(&f->end, takt_attention_dx_scratch(f, info));
}

static void set_sizes(const takt_planner *p, const takt_node *n, takt_attention *a)
{
    const takt_type *q = takt_type_of(p->graph, n->in[Q]), *k = takt_type_of(p->graph, n->in[K]);
    const takt_type *v = takt_type_of(p->graph, n->in[V]);
    const int64_t shared = takt_node_int(n, "kv_heads");
    a->batch = (size_t)q->dim[0];
    a->heads = (size_t)takt_node_int(n, "heads");
    a->shared = shared == 0 ? a->heads : (size_t)shared;
    a->group = a->heads / a->shared;
    a->queries = (size_t)q->dim[1];
    a->keys = (size_t)k->dim[1];
    a->dim = (size_t)q->dim[2] / a->heads;
    a->value_dim = (size_t)v->dim[2] / a->shared;
    a->scale = (float)takt_attention_scale(p->graph, n);
    a->is_causal = takt_node_int(n, "causal") != 0;
    a->mask = a->length = -1;
    a->block = a->queries < BLOCK ? a->queries : BLOCK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    takt_attention *a = &f->a;
    TAKT_TRY(takt_planner_inputs(p, n));
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_result(p, id, k, &index));
    set_sizes(p, n, a);
    TAKT_TRY(takt_cpu_blocking(p, &a->blocking));
    const takt_kernel *gemm = takt_planner_kernel(p, "gemm_f32");
    const takt_kernel *map = takt_planner_find(p, "map_f32");
    const takt_gemm_f32_info *info = gemm->info;
    a->gemm = takt_kernel_as_gemm_f32(gemm);
    a->panels = info->panels;
    a->pack = takt_kernel_as_pack(takt_planner_find(p, "pack"));
    a->softmax = takt_kernel_as_rows_f32(takt_planner_find(p, "rows_f32"));
    a->mul = takt_map_find(map, TAKT_MAP_MUL);
    a->add = takt_map_find(map, TAKT_MAP_ADD);
    f->softmax_dx = takt_kernel_as_rows_dx_f32(takt_planner_find(p, "rows_dx_f32"));
    f->reduce = takt_kernel_as_reduce_f32(takt_planner_find(p, "reduce_f32"));
    lay_out(f, info);
    const double scores = (double)(a->batch * a->heads * a->queries) * (double)a->keys;
    const double flops = scores * (double)(6 * a->dim + 4 * a->value_dim);
    p->step->run = run;
    p->step->data = f;
    p->step->scratch_each = f->end * sizeof(float);
    p->step->task_count = takt_cpu_tasks(p, flops, 0, a->batch * a->shared);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_attention_dx = {.is_steady = true,
                                             .name = "attention_dx",
                                             .family = TAKT_FAMILY_ATTENTION,
                                             .accepts = accepts,
                                             .keeps = keeps,
                                             .compile = compile};
