/* branch.c - branches that are impossible at some sizes: they fail when taken. */
#include "pass/branch.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/util/demand.h"
#include "op/util/length.h"

static takt_status sized_type(takt_dims *dims, const takt_type *from, const int64_t *sizes,
                              size_t count, takt_type *to)
{
    *to = *from;
    for (int d = 0; d < from->rank; d++) {
        TAKT_TRY(takt_dim_resolve(dims, from->dim[d], &to->dim[d]));
        TAKT_TRY(takt_dim_substitute(dims, to->dim[d], sizes, count, &to->dim[d]));
    }
    return TAKT_OK;
}

/* The result of an input is not used, but it prevents constant folding of the failure. */
static takt_id any_value(takt_graph *g, takt_id from, const takt_type *type)
{
    const takt_id sum =
        takt_reduce_over(g, &takt_op_reduce_sum, takt_cast(g, from, TAKT_F32), NULL, 0, false);
    return takt_broadcast(g, takt_cast(g, sum, type->dtype), type->dim, (size_t)type->rank);
}

/* Inputs of `bad`, results of `good`, and a failure with `what`. */
static takt_status fail_instead(const takt_graph *bad, const takt_graph *good, const char *what,
                                const int64_t *sizes, size_t count, takt_graph **out)
{
    takt_graph *g;
    takt_id first = TAKT_NONE;
    TAKT_TRY(takt_graph_create(bad->ctx, bad, &g));
    *out = g;
    for (size_t i = 0; i < bad->input_count; i++) {
        takt_type type;
        TAKT_TRY(sized_type(bad->dims, takt_type_of(bad, bad->inputs[i].id), sizes, count, &type));
        const takt_id id = takt_graph_input(g, bad->inputs[i].name, &type);
        first = i == 0 ? id : first;
    }
    const takt_id never = takt_cast(g, takt_scalar_i64(g, 0), TAKT_BOOL);
    for (size_t i = 0; i < good->output_count; i++) {
        takt_id y = any_value(g, first, takt_type_of(good, good->outputs[i].id));
        if (i == 0 && y != TAKT_NONE)
            y = takt_demand(g, y, never, TAKT_DEMAND_BRANCH, what);
        takt_graph_output(g, bad->outputs[i].name, y);
    }
    return g->status;
}

static takt_status replace_branch(takt_ctx *ctx, const takt_node *n, const int64_t *sizes,
                                  size_t count, takt_graph **children)
{
    const int bad = children[0] == NULL ? 0 : 1;
    const takt_graph *from = n->attr[bad].graph;
    char what[TAKT_DEMAND_TEXT];
    takt_error error;
    takt_error_copy(ctx, &error);
    if (children[!bad] == NULL || from->input_count == 0)
        return error.status;
    const char *node = error.node[0] != '\0' ? error.node : n->name != NULL ? n->name : "if";
    snprintf(what, sizeof what, "%.60s: branch '%s' cannot run at these sizes: %.150s", node,
             n->op->attrs[bad].name, error.message);
    return fail_instead(from, children[!bad], what, sizes, count, &children[bad]);
}

/* ---- sizes that a subgraph finds itself ---- */

/* Entries of names that values decide in `g` become -1: they differ in every iteration of a
 * loop. */
static bool open_lengths(const takt_graph *g, int64_t *sizes, size_t count)
{
    bool some = false;
    size_t name;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count; k++)
            if (takt_length_names(g, n, k, &name) && name < count) {
                if (sizes != NULL)
                    sizes[name] = -1;
                some = true;
            }
    }
    return some;
}

static takt_status specialize(const takt_graph *g, const int64_t *sizes, size_t count,
                              takt_graph **out)
{
    void *block;
    if (!open_lengths(g, NULL, count))
        return takt_graph_specialize(g, sizes, count, out); /* depth is limited */
    TAKT_TRY(takt_mem_get(g->ctx, count * sizeof *sizes, "sizes", &block));
    memcpy(block, sizes, count * sizeof *sizes);
    (void)open_lengths(g, block, count);
    const takt_status status = takt_graph_specialize_body(g, block, sizes, count, out);
    takt_mem_put(g->ctx, block, count * sizeof *sizes);
    return status;
}

takt_status takt_specialize_children(const takt_graph *g, const takt_node *n, const int64_t *sizes,
                                     size_t count, takt_graph *children[static TAKT_MAX_ATTRS])
{
    const takt_error before = g->ctx->error;
    takt_status bad = TAKT_OK;
    for (size_t i = 0; i < TAKT_MAX_ATTRS; i++)
        children[i] = NULL;
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++) {
        if (!n->attr[i].is_set || n->op->attrs[i].type != TAKT_ATTR_GRAPH)
            continue;
        const takt_status status = specialize(n->attr[i].graph, sizes, count, &children[i]);
        if (status != TAKT_OK && (status != TAKT_ERR_SHAPE || n->op != &takt_op_if))
            return status;
        if (bad != TAKT_OK && status != TAKT_OK)
            return status;
        bad = status != TAKT_OK ? status : bad;
    }
    if (bad != TAKT_OK)
        TAKT_TRY(replace_branch(g->ctx, n, sizes, count, children));
    if (bad != TAKT_OK)
        g->ctx->error = before;
    return TAKT_OK;
}
