/* ref.c - the reference backend: every node is a step that the interpreter evaluates.
 *
 * It is slow, allocates while it runs, and is right by definition. A step that cannot be evaluated
 * (an index out of range, no memory) reports a fault like any other.
 */
#include "backend/list.h"
#include "base/mem.h"
#include "interp/interp.h"
#include "ir/array.h"
#include "plan/backend.h"
#include "plan/execute.h"

typedef struct facts {
    takt_ctx *ctx;
    const takt_graph *graph;
    takt_id node;
    int *input; /* per input of the node: index into step->in, or -1 */
} facts;

static takt_type type_of(const takt_view *v)
{
    takt_type type = {.dtype = v->dtype, .rank = v->rank};
    for (int d = 0; d < v->rank; d++)
        type.dim[d] = v->dim[d];
    return type;
}

/* Every 2^15 elements. */
static bool stops(const takt_task *t, size_t i)
{
    return (i & 0x7fff) == 0 && takt_poll_stops(t->poll);
}

static takt_status load(takt_ctx *ctx, const facts *f, const takt_step *s, const takt_task *t,
                        takt_array *in)
{
    const takt_node *n = &f->graph->nodes[f->node];
    for (uint32_t k = 0; k < n->in_count; k++) {
        in[k] = (takt_array){.rank = -1};
        if (f->input[k] < 0)
            continue;
        const takt_view *v = &s->in[f->input[k]];
        const takt_type type = type_of(v);
        TAKT_TRY(takt_array_create(ctx, &type, &in[k]));
        const void *data = takt_view_data(t, v);
        for (size_t i = 0; i < in[k].count && !stops(t, i); i++)
            if (in[k].f != NULL)
                in[k].f[i] = takt_dtype_get_f(v->dtype, data, i);
            else
                in[k].i[i] = takt_dtype_get_i(v->dtype, data, i);
    }
    return TAKT_OK;
}

static void store(const takt_step *s, const takt_task *t, const takt_array *out)
{
    for (size_t k = 0; k < s->out_count; k++) {
        void *data = takt_view_data(t, &s->out[k]);
        for (size_t i = 0; i < out[k].count && !stops(t, i); i++)
            if (out[k].f != NULL)
                takt_dtype_put_f(out[k].dtype, data, i, out[k].f[i]);
            else
                takt_dtype_put_i(out[k].dtype, data, i, out[k].i[i]);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_node *n = &f->graph->nodes[f->node];
    takt_ctx own; /* sessions of one plan may run this at once */
    takt_ctx_shadow(f->ctx, &own);
    void *block;
    const size_t count = n->in_count + n->out_count;
    takt_status status = takt_mem_zero(&own, count, sizeof(takt_array), "reference step", &block);
    if (status == TAKT_OK) {
        takt_array *in = block, *out = in + n->in_count;
        status = load(&own, f, s, t, in);
        if (status == TAKT_OK)
            status = takt_interpret_node_polled(&own, f->graph, n, t->poll, in, out);
        if (status == TAKT_OK)
            store(s, t, out);
        for (size_t i = 0; i < count; i++)
            takt_array_release(&own, &in[i]);
        takt_mem_put(&own, block, count * sizeof(takt_array));
    }
    if (status == TAKT_OK || t->fault == NULL)
        return;
    /* The run's own error: which node, which element, or no memory. */
    *(t->execution != NULL ? t->execution->error : &f->ctx->error) = own.error;
    takt_fault_merge(t->fault, &(takt_fault){.index = 0});
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    int *input = takt_planner_get(p, (n->in_count + 1) * sizeof *input);
    if (f == NULL || input == NULL)
        return TAKT_ERR_MEMORY;
    if ((n->op->traits & TAKT_CONTROL) != 0)
        takt_planner_rigid(p); /* it reads a subgraph in every run */
    *f = (facts){.ctx = p->ctx, .graph = p->graph, .node = id, .input = input};
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++) {
        input[k] = -1;
        if (n->in[k] == TAKT_NONE)
            continue;
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
        input[k] = (int)index;
    }
    TAKT_TRY(takt_planner_outputs(p, id));
    p->step->kind = "ref";
    p->step->kernel = "interpreter";
    p->step->run = run;
    p->step->data = f;
    p->step->can_fault = true;
    p->step->fault_id = 0; /* recorded by the step itself */
    return TAKT_OK;
}

static const char *supports(const takt_graph *g, takt_id node)
{
    (void)g;
    (void)node;
    return NULL;
}

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    (void)n;
    return true;
}

const takt_backend takt_backend_ref = {
    .name = "ref",
    .summary = "the interpreter: slow, and right by definition",
    .good_for = "checking other backends; small models",
    .supports = supports,
    .keeps = keeps,
    .is_reference = true,
    .compile = compile,
};
