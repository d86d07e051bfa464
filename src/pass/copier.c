/* copier.c - the frame of passes that treat every live node alike. */
#include "pass/copier.h"

takt_status takt_copier_init(takt_copier *c, const takt_graph *in)
{
    *c = (takt_copier){.in = in};
    takt_arena_init(&c->arena, in->ctx);
    size_t most = 1;
    for (size_t i = 0; i < in->count; i++)
        most = in->nodes[i].in_count > most ? in->nodes[i].in_count : most;
    c->live = takt_arena_array(&c->arena, in->count, 1);
    c->map = takt_arena_array(&c->arena, in->count, sizeof *c->map);
    c->inputs = takt_arena_array(&c->arena, most, sizeof *c->inputs);
    if (c->live == NULL || c->map == NULL || c->inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < in->count; i++)
        c->map[i] = TAKT_NONE;
    takt_graph_live(in, c->live);
    return takt_graph_create(in->ctx, in, &c->out);
}

takt_node takt_copier_node(takt_copier *c, takt_id id)
{
    takt_node n = c->in->nodes[id];
    for (uint32_t k = 0; k < n.in_count; k++)
        c->inputs[k] = n.in[k] == TAKT_NONE ? TAKT_NONE : c->map[n.in[k]];
    n.in = c->inputs;
    takt_graph_inherit(c->out, &n);
    return n;
}

takt_status takt_copier_done(takt_copier *c, takt_status status, takt_graph **out)
{
    if (status == TAKT_OK)
        status = takt_graph_end_copy(c->in, c->out, c->map);
    takt_arena_deinit(&c->arena);
    if (status != TAKT_OK) {
        takt_graph_destroy(c->out);
        c->out = NULL;
    }
    *out = c->out;
    return status;
}
