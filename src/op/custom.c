/* custom.c - a named operation whose meaning is a subgraph.
 *
 * A backend may have a kernel for the name; others compute the body, which is also what is
 * differentiated.
 */
#include "base/mem.h"
#include "ir/leaves.h"
#include "op/util/control.h"

enum { NAME, BODY };

static takt_status infer(takt_infer *in)
{
    const takt_graph *g = in->attr[BODY].graph;
    if (in->attr[NAME].string[0] == '\0')
        return takt_fail(in->ctx, TAKT_E_ATTR, "custom: the name is empty");
    TAKT_TRY(takt_control_check(in, BODY, in->in_count));
    TAKT_TRY(takt_control_feeds(in, g, 0, 0, in->in_count));
    in->out_count = g->output_count;
    for (size_t i = 0; i < in->out_count; i++)
        in->out[i] = *takt_control_output(g, i);
    return TAKT_OK;
}

static void copy_nodes(takt_graph *g, const takt_graph *body, takt_id *map)
{
    for (size_t i = 0; i < body->count && g->status == TAKT_OK; i++) {
        const takt_node *n = takt_node_at(body, (takt_id)i);
        if (n->op == &takt_op_input)
            continue;
        takt_id *in = takt_arena_array(&g->arena, n->in_count, sizeof *in);
        if (in == NULL) {
            takt_graph_fail(g, TAKT_ERR_MEMORY);
            return;
        }
        for (uint32_t k = 0; k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        map[i] = takt_graph_copy_node(g, n, in);
    }
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_graph *body = n->attr[BODY].graph;
    takt_id *map = takt_arena_array(&g->arena, body->count, sizeof *map);
    if (map == NULL) {
        takt_graph_fail(g, TAKT_ERR_MEMORY);
        return;
    }
    for (size_t i = 0; i < body->input_count; i++)
        map[body->inputs[i].id] = n->in[i];
    copy_nodes(g, body, map);
    for (size_t i = 0; i < body->output_count && g->status == TAKT_OK; i++)
        out[i] = map[body->outputs[i].id];
}

const takt_op takt_op_custom = {
    .name = "custom",
    .summary = "a named operation whose meaning is a subgraph",
    .in_min = 0,
    .in_max = TAKT_VARIADIC,
    .attrs = {[NAME] = {.name = "name",
                        .type = TAKT_ATTR_STRING,
                        .is_required = true,
                        .summary = "what kernels for it are called"},
              [BODY] = {.name = "body",
                        .type = TAKT_ATTR_GRAPH,
                        .is_required = true,
                        .summary = "what it computes"}},
    .traits = TAKT_CONTROL,
    .dtypes = TAKT_ANY,
    .is_mixed = true,
    .infer = infer,
    .lower = lower,
    .no_bound = "its meaning is that of another program",
    .samples = {"custom(f32[2, 3], f32[3], name=\"scaled_relu\", "
                "body=graph(x: f32[2, 3], s: f32[3]) { return mul(relu(x), s) })"},
};
