/* step_attention.c - attention as products and rows: scores, weights, and their product with v;
 * with lengths, or k and v of fewer bits, as one kernel (rows_f32/rows_f32_cuda_attend.cu); long
 * ones as another (attention_panels.c).
 *
 * Heads are taken some at a time, so that their scores stay in the device's cache. The order of
 * arithmetic is that of the lowering (op/attention.c).
 */
#include <math.h>

#include "backend/cuda/attention.h"
#include "op/ops.h"

enum { MASK = 3, LENGTH = 4, KEYS_MOST = 48 << 10, SLICES_MOST = 512 };
enum {
    SCORES_NEAR = 48 << 20,  /* bytes that stay in the device's cache */
    SCORES_MOST = 256 << 20, /* of longer sequences, so that weights times v fills the device */
    TILES = 128,             /* of 128 x 128: one on each multiprocessor */
    TRANSPOSE_QUERIES = 64   /* this many read k often enough that it is transposed first */
};

typedef takt_cuda_attention facts;

static bool has_input(const takt_node *n, uint32_t input)
{
    return n->in_count > input && n->in[input] != TAKT_NONE;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* As many heads as have their scores in the cache, or more if their queries are too few tiles. */
static size_t planes_of(const facts *f)
{
    const size_t each = f->group * f->queries * f->keys * sizeof(float);
    const size_t tiles = f->group * ((f->queries + 127) / 128) * ((f->size + 127) / 128);
    if (each == 0)
        return least(1, f->batch * f->shared);
    size_t planes = SCORES_NEAR / each;
    const size_t full = least((TILES + tiles - 1) / tiles, SCORES_MOST / each);
    planes = f->is_transposed && planes < full ? full : planes;
    return least(planes < 1 ? 1 : planes, f->batch * f->shared);
}

static facts facts_of(const takt_graph *g, const takt_node *n)
{
    const takt_type *q = takt_type_of(g, n->in[0]), *k = takt_type_of(g, n->in[1]);
    const takt_type *v = takt_type_of(g, n->in[2]);
    const takt_attr *scale = takt_node_attr(n, "scale");
    facts f = {.batch = (size_t)q->dim[0],
               .heads = (size_t)takt_node_int(n, "heads"),
               .shared = (size_t)takt_node_int(n, "kv_heads"),
               .queries = (size_t)q->dim[1],
               .keys = (size_t)k->dim[1]};
    f.shared = f.shared == 0 ? f.heads : f.shared;
    f.group = f.heads / f.shared;
    f.dim = (size_t)q->dim[2] / f.heads;
    f.size = (v->dtype == TAKT_U8 ? (size_t)v->dim[2] / 34 * 32 : (size_t)v->dim[2]) / f.shared;
    const double factor = scale != NULL && scale->is_set ? scale->f64 : 1 / sqrt((double)f.dim);
    f.weigh = (takt_cuda_weigh){.heads = (uint32_t)f.heads,
                                .queries = (uint32_t)f.queries,
                                .keys = (uint32_t)f.keys,
                                .is_causal = takt_node_int(n, "causal") != 0,
                                .scale = (float)factor};
    f.is_transposed = f.queries >= TRANSPOSE_QUERIES;
    f.planes = planes_of(&f);
    /* Whole sequences, or some heads of one. */
    if (f.planes >= f.shared && f.shared > 0)
        f.planes = f.planes / f.shared * f.shared;
    else
        while (f.planes > 0 && f.shared % f.planes != 0)
            f.planes--;
    return f;
}

static size_t slices_of(const facts *f)
{
    return f->planes > 0 ? (f->batch * f->shared + f->planes - 1) / f->planes : 0;
}

/* Whether one kernel does it all. */
static bool is_direct(const takt_graph *g, const takt_node *n)
{
    return has_input(n, LENGTH) || takt_type_of(g, n->in[1])->dtype != TAKT_F32 ||
           takt_type_of(g, n->in[2])->dtype != TAKT_F32;
}

static bool is_taken(takt_dtype dtype)
{
    return dtype == TAKT_F32 || dtype == TAKT_F16 || dtype == TAKT_BF16 || dtype == TAKT_U8;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_attention || n->type->dtype != TAKT_F32 ||
        takt_type_of(g, n->in[0])->dtype != TAKT_F32 ||
        !is_taken(takt_type_of(g, n->in[1])->dtype) || !is_taken(takt_type_of(g, n->in[2])->dtype))
        return false;
    for (uint32_t k = 0; k < 3; k++)
        for (int d = 0; d < 3; d++)
            if (!takt_dim_is_number(takt_type_of(g, n->in[k])->dim[d]))
                return true; /* sizes come later: accepts looks at them */
    const facts f = facts_of(g, n);
    if (f.batch == 0 || f.queries == 0 || f.keys == 0 || f.dim == 0 || f.size == 0 ||
        f.keys > KEYS_MOST || f.batch * f.heads * f.queries >= INT32_MAX)
        return false;
    return is_direct(g, n) || (slices_of(&f) <= SLICES_MOST && f.planes * f.group < UINT16_MAX);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_attention)
        return "";
    const takt_dtype length =
        has_input(n, LENGTH) ? takt_type_of(g, n->in[LENGTH])->dtype : TAKT_I64;
    if (length != TAKT_I64 && length != TAKT_I32)
        return "device code reads lengths of i64 and i32 only";
    return keeps(g, n) ? NULL : "device code for attention takes queries of f32 and 49152 keys";
}

/* Strides of a mask along [batch, heads, queries, keys]. */
static void set_mask(const takt_view *v, int64_t stride[4])
{
    for (int d = 0; d < v->rank; d++)
        stride[4 - v->rank + d] = v->dim[d] == 1 ? 0 : v->stride[d];
}

/* Heads of k and v [first, first + count) of all sequences. */
typedef struct slice {
    takt_planner *p;
    const facts *f;
    takt_cuda_step *s;
    size_t first, count;
    size_t member; /* of the query heads that share one of k and v */
} slice;

static void *placed(size_t index, size_t floats)
{
    return takt_cuda_named(TAKT_CUDA_VIEW + 2 * (uint32_t)index, floats * sizeof(float));
}

static void *placed_scores(size_t floats)
{
    return takt_cuda_named(TAKT_CUDA_SCRATCH, floats * sizeof(float));
}

/* Bytes of all scores of a slice, and of the transposed k after them. */
static uint64_t scores_bytes(const facts *f)
{
    return takt_cuda_attention_bytes((uint64_t)f->planes * f->group * f->queries * f->keys);
}

static uint64_t keys_bytes(const facts *f)
{
    return f->is_transposed ? takt_cuda_attention_bytes((uint64_t)f->planes * f->keys * f->dim) : 0;
}

/* Heads of the slice, in one sequence or in several. */
static uint32_t inner_of(const slice *c)
{
    return (uint32_t)least(c->count, c->f->shared);
}

static void add_product(const slice *c, takt_cuda_gemm g)
{
    const takt_cuda_block_room has = takt_cuda_room(c->p);
    g.inner = inner_of(c);
    const takt_cuda_gemm_plan plan =
        takt_cuda_gemm_plan_of(&g, (uint32_t)c->count, &has, TAKT_CUDA_GEMM_ANY);
    const uint64_t bytes = scores_bytes(c->f) + keys_bytes(c->f);
    if (c->p->step->scratch_bytes < bytes + plan.scratch_bytes)
        c->p->step->scratch_bytes = bytes + plan.scratch_bytes;
    takt_cuda_launch_gemm(&g, (uint32_t)c->count, &plan, takt_cuda_named(TAKT_CUDA_SCRATCH, bytes),
                          takt_cuda_named(TAKT_CUDA_TICKETS, 0), &c->s->launches[c->s->count++]);
}

/* k[key][d] of the slice's heads as [d][key]. */
static void add_transpose(const slice *c)
{
    const facts *f = c->f;
    const size_t b = c->first / f->shared, h = c->first % f->shared, kv = f->shared * f->dim;
    const takt_cuda_transpose t = {.dst = takt_cuda_named(TAKT_CUDA_SCRATCH, scores_bytes(f)),
                                   .src = placed(1, b * f->keys * kv + h * f->dim),
                                   .src_row = (int64_t)kv,
                                   .src_outer = (int64_t)(f->keys * kv),
                                   .src_inner = (int64_t)f->dim,
                                   .rows = (uint32_t)f->keys,
                                   .cols = (uint32_t)f->dim,
                                   .inner = inner_of(c)};
    takt_cuda_launch_transpose(&t, (uint32_t)c->count, &c->s->launches[c->s->count++]);
}

static takt_cuda_gemm scores_of(const slice *c)
{
    const facts *f = c->f;
    const size_t b = c->first / f->shared, h = c->first % f->shared;
    const size_t plane = f->queries * f->keys, wide = f->heads * f->dim, kv = f->shared * f->dim;
    takt_cuda_gemm g = {.a = placed(0, b * f->queries * wide + (h * f->group + c->member) * f->dim),
                        .b = placed(1, b * f->keys * kv + h * f->dim),
                        .c = placed_scores(c->member * plane),
                        .m = (uint32_t)f->queries,
                        .n = (uint32_t)f->keys,
                        .k = (uint32_t)f->dim,
                        .a_row = (int64_t)wide,
                        .a_col = 1,
                        .b_row = 1,
                        .b_col = (int64_t)kv,
                        .c_row = (int64_t)f->keys,
                        .a_outer = (int64_t)(f->queries * wide),
                        .a_inner = (int64_t)(f->group * f->dim),
                        .b_outer = (int64_t)(f->keys * kv),
                        .b_inner = (int64_t)f->dim,
                        .c_outer = (int64_t)(f->heads * plane),
                        .c_inner = (int64_t)(f->group * plane)};
    if (f->is_transposed) {
        g.b = takt_cuda_named(TAKT_CUDA_SCRATCH, scores_bytes(f));
        g.b_row = (int64_t)f->keys;
        g.b_col = 1;
        g.b_inner = (int64_t)(f->keys * f->dim);
        g.b_outer = (int64_t)inner_of(c) * g.b_inner;
    }
    return g;
}

static takt_cuda_gemm values_of(const slice *c)
{
    const facts *f = c->f;
    const size_t b = c->first / f->shared, h = c->first % f->shared;
    const size_t plane = f->queries * f->keys, wide = f->heads * f->size, kv = f->shared * f->size;
    return (takt_cuda_gemm){
        .a = placed_scores(c->member * plane),
        .b = placed(2, b * f->keys * kv + h * f->size),
        .c = takt_cuda_named(TAKT_CUDA_VIEW + 1,
                             (b * f->queries * wide + (h * f->group + c->member) * f->size) *
                                 sizeof(float)),
        .m = (uint32_t)f->queries,
        .n = (uint32_t)f->size,
        .k = (uint32_t)f->keys,
        .a_row = (int64_t)f->keys,
        .a_col = 1,
        .b_row = (int64_t)kv,
        .b_col = 1,
        .c_row = (int64_t)wide,
        .a_outer = (int64_t)(f->heads * plane),
        .a_inner = (int64_t)(f->group * plane),
        .b_outer = (int64_t)(f->keys * kv),
        .b_inner = (int64_t)f->size,
        .c_outer = (int64_t)(f->queries * wide),
        .c_inner = (int64_t)(f->group * f->size)};
}

static void add_slice(slice *c)
{
    const facts *f = c->f;
    const uint32_t planes = (uint32_t)(c->count * f->group);
    if (f->is_transposed)
        add_transpose(c);
    for (c->member = 0; c->member < f->group; c->member++)
        add_product(c, scores_of(c));
    takt_cuda_weigh w = f->weigh;
    w.first = (uint32_t)(c->first * f->group);
    w.scores = placed_scores(0);
    takt_cuda_launch_weigh(&w, planes, &c->s->launches[c->s->count++]);
    for (c->member = 0; c->member < f->group; c->member++)
        add_product(c, values_of(c));
    if (!w.is_causal || f->queries == 1)
        return;
    const takt_cuda_recompute a = {.out = takt_cuda_out(0),
                                   .weights = placed_scores(0),
                                   .v = takt_cuda_in(2),
                                   .first = w.first,
                                   .heads = w.heads,
                                   .group = (uint32_t)f->group,
                                   .queries = w.queries,
                                   .keys = w.keys,
                                   .size = (uint32_t)f->size};
    takt_cuda_launch_recompute(&a, planes, &c->s->launches[c->s->count++]);
}

static takt_status compile_direct(takt_planner *p, const takt_node *n)
{
    const facts f = facts_of(p->graph, n);
    takt_cuda_step *s;
    size_t index;
    takt_cuda_attend a = {.out = takt_cuda_out(0),
                          .q = takt_cuda_in(0),
                          .k = takt_cuda_in(1),
                          .v = takt_cuda_in(2),
                          .heads = (uint32_t)f.heads,
                          .group = (uint32_t)f.group,
                          .queries = (uint32_t)f.queries,
                          .keys = (uint32_t)f.keys,
                          .dim = (uint32_t)f.dim,
                          .size = (uint32_t)f.size,
                          .is_causal = f.weigh.is_causal,
                          .scale = f.weigh.scale};
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    a.k_dtype = (uint32_t)p->step->in[1].dtype;
    a.v_dtype = (uint32_t)p->step->in[2].dtype;
    if (has_input(n, MASK)) {
        TAKT_TRY(takt_planner_input(p, n->in[MASK], &index));
        a.mask = takt_cuda_in(index);
        set_mask(&p->step->in[index], a.mask_stride);
    }
    if (has_input(n, LENGTH)) {
        TAKT_TRY(takt_planner_input(p, n->in[LENGTH], &index));
        a.length = takt_cuda_in(index);
        a.is_narrow = p->step->in[index].dtype == TAKT_I32;
        a.fault = takt_cuda_named(TAKT_CUDA_FAULT, 0);
        s->index_in = index;
        p->step->can_fault = true;
        p->step->fault_id = TAKT_E_INDEX;
    }
    TAKT_TRY(takt_planner_output(p, p->group->nodes[0], &index));
    p->step->facts.work = TAKT_WORK_PRODUCT;
    takt_cuda_launch_attend(&a, (uint32_t)f.batch, &s->launches[0]);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts f = facts_of(p->graph, n);
    takt_cuda_step *s;
    size_t index;
    if (is_direct(p->graph, n))
        return compile_direct(p, n);
    TAKT_TRY(takt_cuda_step_get(p, slices_of(&f) * (2 * f.group + 3), &s));
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    if (has_input(n, MASK)) {
        TAKT_TRY(takt_planner_input(p, n->in[MASK], &index));
        f.weigh.mask = takt_cuda_in(index);
        set_mask(&p->step->in[index], f.weigh.mask_stride);
    }
    TAKT_TRY(takt_planner_output(p, id, &index));
    p->step->facts.work = TAKT_WORK_PRODUCT;
    s->count = 0;
    slice c = {.p = p, .f = &f, .s = s};
    if (takt_cuda_attention_panels(p, &f, scores_bytes(&f) + keys_bytes(&f), s))
        return TAKT_OK;
    for (c.first = 0; c.first < f.batch * f.shared; c.first += c.count) {
        c.count = f.batch * f.shared - c.first < f.planes ? f.batch * f.shared - c.first : f.planes;
        add_slice(&c);
    }
    return TAKT_OK;
}

const takt_cuda_kind takt_cuda_attention_kind = {
    .name = "attention", .accepts = accepts, .keeps = keeps, .compile = compile};
