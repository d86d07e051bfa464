/* node.c - one node: by its own evaluation, its scalar function, or its lowering. */
#include "base/mem.h"
#include "interp/run.h"
#include "ir/leaves.h"

/* Control flow calls back with a subgraph. */
static takt_status run_graph(takt_eval *e, takt_graph *g, const takt_array *in, size_t count,
                             takt_array *out)
{
    if (count != g->input_count)
        return takt_fail(e->ctx, TAKT_E_INTERNAL, "%s: a subgraph of %zu inputs is given %zu",
                         e->node->op->name, g->input_count, count);
    interp *it = e->interp;
    it->depth++;
    const takt_status status = takt_interp_run(it, g, in, NULL, out, NULL);
    it->depth--;
    return status;
}

static takt_status make_outputs(const interp *it, const takt_graph *g, const takt_node *n,
                                takt_array *out)
{
    for (uint32_t i = 0; i < n->out_count; i++) {
        takt_type type;
        TAKT_TRY(takt_interp_type(it, g, &n->type[i], &type));
        TAKT_TRY(takt_array_create(it->ctx, &type, &out[i]));
    }
    return TAKT_OK;
}

static takt_status by_lowering(interp *it, const takt_graph *g, const takt_node *n,
                               const takt_array *in, takt_array *out)
{
    takt_graph *lowered;
    void *block;
    size_t count = 0;
    TAKT_TRY(takt_interp_lower(it, g, n, &lowered));
    takt_status status =
        takt_mem_get(it->ctx, n->in_count * sizeof *in, "inputs of a lowering", &block);
    if (status == TAKT_OK) {
        takt_array *present = block;
        for (uint32_t i = 0; i < n->in_count; i++)
            if (n->in[i] != TAKT_NONE)
                present[count++] = in[i];
        status = takt_interp_run(it, lowered, present, NULL, out, NULL);
        takt_mem_put(it->ctx, block, n->in_count * sizeof *in);
    }
    takt_graph_destroy(lowered);
    return status;
}

/* A lowering must return the types of the record. */
static takt_status check_lowering(interp *it, const takt_graph *g, const takt_node *n,
                                  const takt_array *out)
{
    for (uint32_t i = 0; i < n->out_count; i++) {
        takt_type want;
        const takt_type got = takt_array_type(&out[i]);
        char left[TAKT_TYPE_TEXT], right[TAKT_TYPE_TEXT];
        TAKT_TRY(takt_interp_type(it, g, &n->type[i], &want));
        if (!takt_type_same(g->dims, &want, &got))
            return takt_fail(it->ctx, TAKT_E_INTERNAL, "%s: the lowering gives %s instead of %s",
                             n->op->name, takt_type_text(g->dims, &got, left),
                             takt_type_text(g->dims, &want, right));
    }
    return TAKT_OK;
}

/* Whether the record can evaluate these input types itself. */
static bool is_direct(const takt_graph *g, const takt_node *n)
{
    if (n->op->eval != NULL)
        return true;
    return n->in_count > 0 && n->in[0] != TAKT_NONE && n->out_count == 1 &&
           takt_interp_has_scalar(n->op, takt_type_of(g, n->in[0])->dtype, n->type[0].dtype);
}

static takt_status by_record(interp *it, const takt_graph *g, const takt_node *n,
                             const takt_array *in, takt_array *out)
{
    takt_arena scratch;
    takt_arena_init(&scratch, it->ctx);
    takt_node now = *n;
    takt_eval e = {.ctx = it->ctx,
                   .scratch = &scratch,
                   .node = &now,
                   .in_count = n->in_count,
                   .in = in,
                   .out_count = n->out_count,
                   .out = out,
                   .run_graph = run_graph,
                   .interp = it};
    takt_status status = takt_interp_attrs(it, g, n, &scratch, &now.attr);
    e.attr = now.attr;
    if (status == TAKT_OK)
        status = make_outputs(it, g, n, out);
    if (status == TAKT_OK)
        status = n->op->eval != NULL ? n->op->eval(&e) : takt_interp_elementwise(&e);
    takt_arena_deinit(&scratch);
    return status;
}

static takt_status evaluate(interp *it, const takt_graph *g, const takt_node *n,
                            takt_interp_way way, const takt_array *in, takt_array *out)
{
    const bool lower = n->op->lower != NULL && (way == TAKT_INTERP_LOWER || !is_direct(g, n));
    if (lower) {
        TAKT_TRY(by_lowering(it, g, n, in, out));
        return check_lowering(it, g, n, out);
    }
    if (!is_direct(g, n))
        return takt_fail(it->ctx, TAKT_E_INTERNAL, "%s: has no evaluation for these types",
                         n->op->name);
    return by_record(it, g, n, in, out);
}

takt_status takt_interp_node(interp *it, const takt_graph *g, const takt_node *n,
                             takt_interp_way way, const takt_array *in, takt_array *out)
{
    for (uint32_t i = 0; i < n->out_count; i++)
        out[i] = (takt_array){0};
    const takt_status status = evaluate(it, g, n, way, in, out);
    for (uint32_t i = 0; i < n->out_count; i++) {
        if (status != TAKT_OK)
            takt_array_release(it->ctx, &out[i]);
        else
            takt_array_round(&out[i]);
    }
    return status;
}
