/* attention_dx.c - gradients of attention as one step: the scores of a block of queries at a time.
 *
 * A task takes heads of k and v. It packs them once, and for every block of queries computes the
 * weights again, what arrives at them, and from both a part of the three gradients. A block is one
 * chunk of the product's order of sums, so that parts added in order have the bits of the whole; so
 * has everything else those of the lowering.
 */
#include <string.h>

#include "backend/cpu/attention/attention.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rows_dx_f32/rows_dx_f32.h"
#include "op/util/heads.h"

enum { BLOCK = TAKT_GEMM_CHUNK, Q = 0, K, V, DY };

typedef struct facts {
    takt_attention a; /* sizes and kernels; `block`: queries at a time */
    takt_rows_dx_f32_fn *softmax_dx;
    takt_reduce_fn *reduce;
    /* Floats from the start of a worker's scratch. */
    size_t k_turned, v_turned, k_packed; /* k', v' and k as right factors */
    size_t block_packed;                 /* a block of q or dy as one */
    size_t weights, slopes;              /* P and D of a block */
    size_t part;                         /* of dk or dv, of one block */
    size_t heads;                        /* dk and dv of every head that shares them */
    size_t scratch, end;
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_attention_dx && takt_type_of(g, n->in[0])->dtype == TAKT_F32;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* ---- running ---- */

/* A head of k and v and what one of q's adds to it. */
typedef struct job {
    const facts *f;
    float *own; /* the worker's scratch */
    const float *q, *dy;
    float *dq;
    size_t q_row, dy_row; /* floats from one query to the next */
    float *dk, *dv;
    size_t dk_row, dv_row; /* floats from one key to the next */
    const takt_poll *poll;
} job;

/* A matrix whose elements are `row` and `col` floats apart. */
typedef struct matrix {
    const float *at;
    size_t rows, columns, row, col;
} matrix;

/* As a right factor. */
static void pack(const facts *f, matrix m, float *to)
{
    const takt_pack p = {.k = m.rows,
                         .n = m.columns,
                         .src = m.at,
                         .row = m.row,
                         .col = m.col,
                         .dst = to,
                         .bytes = sizeof *to,
                         .panels = f->a.panels};
    f->a.pack(&p);
}

/* C = A B; B is packed and has as many columns as C. */
static void multiply(const job *j, takt_gemm_f32 g)
{
    g.b_n = g.n;
    g.scratch = j->own + j->f->scratch;
    g.walk = j->f->a.walk;
    g.poll = j->poll;
    j->f->a.gemm(&g);
}

/* A gradient of keys, keys x dim, `row` floats from one key to the next. */
typedef struct target {
    float *at;
    size_t dim, row;
} target;

/* Adds A' B for a block of `count` queries from `first` on: A is count x keys. */
static void add_part(const job *j, const float *a, target to, size_t first, size_t count)
{
    const facts *f = j->f;
    const bool is_first = first == 0;
    float *part = is_first ? to.at : j->own + f->part;
    multiply(j, (takt_gemm_f32){.m = f->a.keys,
                                .n = to.dim,
                                .k = count,
                                .a = a,
                                .a_row = 1,
                                .a_col = f->a.keys,
                                .b = j->own + f->block_packed,
                                .c = part,
                                .ldc = is_first ? to.row : to.dim});
    for (size_t i = 0; !is_first && i < f->a.keys; i++) {
        float *sum = to.at + i * to.row;
        f->a.add(sum, (const void *[]){sum, part + i * to.dim}, (const unsigned char[]){0, 0},
                 to.dim, NULL);
    }
}

/* What arrives at the weights becomes what arrives at the products of q and k. */
static void slope(const job *j, size_t first, size_t count)
{
    const facts *f = j->f;
    const size_t keys = f->a.keys;
    float *weights = j->own + f->weights, *slopes = j->own + f->slopes;
    for (size_t i = 0; i < count; i++) {
        const size_t limit = takt_attention_limit(&f->a, keys, first + i);
        const takt_rows_dx_f32 r = {.op = TAKT_ROWS_DX_SOFTMAX,
                                    .rows = 1,
                                    .n = limit,
                                    .x = weights + i * keys,
                                    .dy = slopes + i * keys,
                                    .dx = slopes + i * keys};
        f->softmax_dx(&r);
        memset(slopes + i * keys + limit, 0, (keys - limit) * sizeof *slopes);
    }
    f->a.mul(slopes, (const void *[]){slopes, &f->a.scale}, (const unsigned char[]){0, 1},
             count * keys, NULL);
}

static void run_block(const job *j, size_t first, size_t count)
{
    const facts *f = j->f;
    const takt_attention *a = &f->a;
    const float *q = j->q + first * j->q_row, *dy = j->dy + first * j->dy_row;
    float *own = j->own, *packed = own + f->block_packed;
    const takt_attention_head h = {.f = a, .keys = a->keys, .scores = own + f->weights};
    multiply(j, (takt_gemm_f32){.m = count,
                                .n = a->keys,
                                .k = a->dim,
                                .a = q,
                                .a_row = j->q_row,
                                .a_col = 1,
                                .b = own + f->k_turned,
                                .c = own + f->weights,
                                .ldc = a->keys});
    takt_attention_weigh(&h, first, count, a->keys);
    multiply(j, (takt_gemm_f32){.m = count,
                                .n = a->keys,
                                .k = a->value_dim,
                                .a = dy,
                                .a_row = j->dy_row,
                                .a_col = 1,
                                .b = own + f->v_turned,
                                .c = own + f->slopes,
                                .ldc = a->keys});
    slope(j, first, count);
    pack(f, (matrix){dy, count, a->value_dim, j->dy_row, 1}, packed);
    add_part(j, own + f->weights, (target){j->dv, a->value_dim, j->dv_row}, first, count);
    pack(f, (matrix){q, count, a->dim, j->q_row, 1}, packed);
    add_part(j, own + f->slopes, (target){j->dk, a->dim, j->dk_row}, first, count);
    multiply(j, (takt_gemm_f32){.m = count,
                                .n = a->dim,
                                .k = a->keys,
                                .a = own + f->slopes,
                                .a_row = a->keys,
                                .a_col = 1,
                                .b = own + f->k_packed,
                                .c = j->dq + first * j->q_row,
                                .ldc = j->q_row});
}

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
    pack(f, (matrix){k, a->dim, a->keys, 1, k_row}, own + f->k_turned);
    pack(f, (matrix){v, a->value_dim, a->keys, 1, v_row}, own + f->v_turned);
    pack(f, (matrix){k, a->keys, a->dim, k_row, 1}, own + f->k_packed);
    for (size_t g = 0; g < a->group; g++) {
        const size_t row = b * a->queries * a->heads + at * a->group + g;
        job j = {.f = f,
                 .own = own,
                 .q = (const float *)takt_view_data(t, &s->in[Q]) + row * a->dim,
                 .dy = (const float *)takt_view_data(t, &s->in[DY]) + row * a->value_dim,
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
        for (size_t i = 0; i < a->queries && !takt_poll_stops(t->poll); i += BLOCK)
            run_block(&j, i, a->queries - i < BLOCK ? a->queries - i : BLOCK);
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

static size_t most_scratch(const facts *f, const takt_gemm_f32_info *info)
{
    const takt_attention *a = &f->a;
    const size_t block = a->block, q_row = a->heads * a->dim, dy_row = a->heads * a->value_dim;
    const takt_gemm_f32 products[] = {
        {.m = block, .n = a->keys, .k = a->dim, .a_row = q_row, .a_col = 1},
        {.m = block, .n = a->keys, .k = a->value_dim, .a_row = dy_row, .a_col = 1},
        {.m = a->keys, .n = a->value_dim, .k = block, .a_row = 1, .a_col = a->keys},
        {.m = a->keys, .n = a->dim, .k = block, .a_row = 1, .a_col = a->keys},
        {.m = block, .n = a->dim, .k = a->keys, .a_row = a->keys, .a_col = 1}};
    const size_t rest = a->queries % BLOCK; /* of the last block; it may need more */
    size_t most = 0;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        takt_gemm_f32 g = products[i];
        g.walk = a->walk;
        size_t bytes = info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
        if (rest == 0 || block < BLOCK)
            continue;
        *(g.a_row == 1 && g.a_col == a->keys && i >= 2 && i <= 3 ? &g.k : &g.m) = rest;
        bytes = info->scratch_bytes(&g);
        most = bytes > most ? bytes : most;
    }
    return (most + 3) / 4;
}

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
    f->k_turned = place(&f->end, takt_panels_columns(p, a->keys) * a->dim);
    f->v_turned = place(&f->end, takt_panels_columns(p, a->keys) * a->value_dim);
    f->k_packed = place(&f->end, takt_panels_columns(p, a->dim) * a->keys);
    f->block_packed = place(&f->end, takt_panels_columns(p, wide) * a->block);
    f->weights = place(&f->end, a->block * a->keys);
    f->slopes = place(&f->end, a->block * a->keys);
    f->part = place(&f->end, has_parts ? a->keys * wide : 0);
    f->heads = place(&f->end, a->group > 1 ? a->group * a->keys * (a->dim + a->value_dim) : 0);
    f->scratch = place(&f->end, most_scratch(f, info));
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
    TAKT_TRY(takt_cpu_walk(p, &a->walk));
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
