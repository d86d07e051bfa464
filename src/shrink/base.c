/* base.c - the graph that is shrunk, and sessions of graphs made from it. */
#include "shrink/base.h"

#include "api/session/session.h"
#include "base/mem.h"
#include "op/ops.h"
#include "op/util/conv.h"
#include "pass/pass.h"
#include "pass/passes.h"

/* ---- parameters that are not rounded ---- */

/* What reads its parameters as floats in the model of integers, too. */
static bool reads_floats(const takt_op *op)
{
    return op == &takt_op_layer_norm || op == &takt_op_rms_norm || op == &takt_op_group_norm ||
           op == &takt_op_instance_norm || op == &takt_op_gather || op == &takt_op_prelu ||
           op == &takt_op_scan;
}

static size_t slot_at(const takt_graph *g, takt_id id)
{
    size_t i = 0;
    while (i < g->slot_count && g->slots[i].value != id)
        i++;
    return i;
}

/* The model's values, except those of norms, embeddings and recurrent cells: these stay slots,
 * since nothing folds them into a layer. */
static const takt_tensor *without_floats(takt_arena *arena, const takt_graph *g,
                                         const takt_tensor *values)
{
    takt_tensor *kept = takt_arena_array(arena, g->slot_count + 1, sizeof *kept);
    bool *is_read = takt_arena_array(arena, g->slot_count + 1, sizeof *is_read);
    bool *is_other = takt_arena_array(arena, g->slot_count + 1, sizeof *is_other);
    if (kept == NULL || is_read == NULL || is_other == NULL)
        return NULL;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++) {
            const takt_id from = g->nodes[i].in[k];
            if (from == TAKT_NONE || g->nodes[from].op != &takt_op_state)
                continue;
            bool *to = reads_floats(g->nodes[i].op) ? is_read : is_other;
            to[slot_at(g, from)] = true;
        }
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *s = &g->slots[i];
        if (!s->is_trainable || !takt_dtype_is_float(s->type.dtype) || !is_read[i] || is_other[i])
            kept[i] = values[i];
    }
    return kept;
}

/* ---- the graph ---- */

static bool is_no_einsum(void *user, const takt_graph *g, const takt_node *n)
{
    (void)user;
    (void)g;
    return n->op != &takt_op_einsum;
}

static takt_status advance(takt_graph **g, takt_status status, takt_graph *const *next)
{
    takt_graph_destroy(*g);
    *g = *next;
    return status;
}

static bool is_channels_first(const takt_node *n)
{
    return n->op == &takt_op_conv && n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC;
}

/* Whether a transpose turns a convolution of a transpose, perhaps with its bias and activation. */
static bool transposes_back(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_transpose)
        return false;
    n = &g->nodes[n->in[0]];
    for (int i = 0; i < 4 && (n->op->traits & TAKT_ELEMENTWISE) != 0; i++)
        n = &g->nodes[n->in[0]];
    return is_channels_first(n) && g->nodes[n->in[0]].op == &takt_op_transpose;
}

/* Whether most convolutions have their channels first only between transposes, as in files that
 * were converted from a format with channels last: then layers are separated from their
 * activations. */
static bool is_transposed(const takt_graph *g)
{
    size_t convs = 0, transposed = 0;
    for (size_t i = 0; i < g->count; i++) {
        convs += is_channels_first(&g->nodes[i]);
        transposed += transposes_back(g, &g->nodes[i]);
    }
    return transposed > convs / 2;
}

/* Only the passes that move scales next to weights and normalise the graph: the plan runs the
 * others on the result. */
static takt_status stages(const takt_model *m, takt_arena *arena, bool is_trained, takt_graph **g)
{
    takt_pipeline_options pipeline = {0};
    takt_graph *next = NULL;
    TAKT_TRY(takt_graph_lower(m->graph, is_no_einsum, NULL, g));
    const takt_tensor *values = is_trained ? without_floats(arena, *g, m->slots) : m->slots;
    if (values == NULL && (*g)->slot_count > 0)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(advance(g, takt_graph_freeze(*g, values, &next), &next));
    const bool transposes = is_transposed(*g);
    TAKT_TRY(takt_pass_choose(
        m->ctx,
        transposes ? "-recognise,-join-attention,-tiny-weights,-padded-taps,-winograd,-siblings,"
                     "-bytes,-quantized,-reduce-strength,-widen-late,-narrow-activations"
                   : "-recognise,-join-attention,-tiny-weights,-layout,-padded-taps,-winograd,"
                     "-siblings,-bytes,-quantized,-reduce-strength,-widen-late,-narrow-activations",
        &pipeline.choice));
    const int passes = transposes ? 2 : 1; /* the second is for what is between the new layouts */
    for (int i = 0; i < passes; i++)
        TAKT_TRY(advance(g, takt_pipeline_run(m->ctx, *g, &pipeline, &next), &next));
    return advance(g, takt_pass_apply(&takt_pass_fold_constants, *g, NULL, &next), &next);
}

static takt_status make(const takt_model *m, bool is_trained, takt_graph **base)
{
    takt_arena arena;
    *base = NULL;
    takt_arena_init(&arena, m->ctx);
    const takt_status status = stages(m, &arena, is_trained, base);
    takt_arena_deinit(&arena);
    if (status != TAKT_OK) {
        takt_graph_destroy(*base);
        *base = NULL;
    }
    return status;
}

takt_status takt_shrink_base(const takt_model *m, takt_graph **base)
{
    return make(m, false, base);
}

takt_status takt_shrink_trained_base(const takt_model *m, takt_graph **base)
{
    return make(m, true, base);
}

/* ---- sessions ---- */

takt_status takt_shrink_run_init(takt_shrink_run *r, const takt_model *from, takt_graph *graph,
                                 const char *sizes, int threads)
{
    const takt_plan_options options = {.sizes = sizes, .threads = threads, .checks = "off"};
    *r = (takt_shrink_run){0};
    takt_status status = graph->status;
    if (status == TAKT_OK)
        status = takt_model_derive(from, graph, &r->model);
    else
        takt_graph_destroy(graph);
    if (status == TAKT_OK)
        status = takt_plan_create(r->model, &options, &r->plan);
    if (status == TAKT_OK)
        status = takt_session_create(r->plan, NULL, &r->session);
    if (status != TAKT_OK)
        takt_shrink_run_deinit(r);
    return status;
}

void takt_shrink_run_deinit(takt_shrink_run *r)
{
    takt_session_destroy(r->session);
    takt_plan_destroy(r->plan);
    takt_model_destroy(r->model);
    *r = (takt_shrink_run){0};
}

takt_status takt_shrink_run_once(takt_shrink_run *r)
{
    const takt_status status = takt_session_run(r->session);
    if (status != TAKT_OK)
        r->session->ctx->error = r->session->error;
    return status;
}

/* ---- constants ---- */

takt_status takt_shrink_tensor(takt_ctx *ctx, const takt_type *type, const double *values,
                               takt_tensor *t)
{
    TAKT_TRY(takt_tensor_create(ctx, type, t));
    const size_t count = takt_tensor_count(t);
    for (size_t i = 0; i < count; i++)
        if (takt_dtype_is_float(type->dtype))
            takt_dtype_put_f(type->dtype, takt_tensor_data(t), i,
                             takt_dtype_round(type->dtype, values[i]));
        else
            takt_dtype_put_i(type->dtype, takt_tensor_data(t), i, (int64_t)values[i]);
    return TAKT_OK;
}

takt_id takt_shrink_constant(takt_graph *g, const takt_type *type, const double *values)
{
    takt_tensor t;
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    const takt_status status = takt_shrink_tensor(g->ctx, type, values, &t);
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    const takt_id id = takt_graph_constant(g, &t);
    takt_tensor_release(&t);
    return id;
}

static uint64_t count_all(const takt_graph *g, bool in_bytes)
{
    uint64_t sum = 0;
    void *live;
    if (takt_mem_zero(g->ctx, g->count, 1, "live nodes", &live) != TAKT_OK)
        return 0;
    takt_graph_live(g, live);
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        size_t size;
        if (((unsigned char *)live)[i] == 0 ||
            (n->op != &takt_op_constant && n->op != &takt_op_state))
            continue;
        if (in_bytes ? takt_type_bytes(n->type, &size) : takt_type_count(n->type, &size))
            sum += size;
    }
    takt_mem_put(g->ctx, live, g->count);
    return sum;
}

uint64_t takt_shrink_bytes(const takt_graph *g)
{
    return count_all(g, true);
}

uint64_t takt_shrink_parameters(const takt_graph *g)
{
    return count_all(g, false);
}
