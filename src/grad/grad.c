/* grad.c - gradients by id in a graph being built, or by name in a copy of one. */
#include "grad/grad.h"

#include <string.h>

#include "base/mem.h"
#include "grad/reverse.h"
#include "op/ops.h"

static takt_status check(const takt_graph *g, const char *what, size_t count, const takt_id *ids)
{
    char text[TAKT_TYPE_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= g->count || g->nodes[ids[i]].out_count != 1)
            return takt_fail(g->ctx, TAKT_E_ARGUMENT, "%s %zu of a gradient is not a single value",
                             what, i);
        if (!takt_dtype_is_float(takt_type_of(g, ids[i])->dtype))
            return takt_fail(g->ctx, TAKT_E_DTYPE, "%s %zu of a gradient is %s, not a float", what,
                             i, takt_type_text(g->dims, takt_type_of(g, ids[i]), text));
    }
    return TAKT_OK;
}

takt_status takt_grad_append(takt_graph *g, const takt_grad_request *request)
{
    TAKT_TRY(g->status);
    TAKT_TRY(check(g, "output", request->out_count, request->out));
    TAKT_TRY(check(g, "input", request->in_count, request->in));
    takt_status status = takt_grad_reverse(g, request, 0);
    for (size_t i = 0; i < request->in_count && status == TAKT_OK; i++) {
        const takt_id x = request->in[i];
        if (request->result[i] == TAKT_NONE)
            request->result[i] = takt_broadcast_like(g, takt_scalar_like(g, x, 0), x);
        status = g->status;
    }
    return status;
}

static takt_id find(const takt_port *ports, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(ports[i].name, name) == 0)
            return ports[i].id;
    return TAKT_NONE;
}

/* The values to differentiate with respect to: the names, or every trainable slot. */
typedef struct wrt {
    size_t count;
    const char **name;
    takt_id *id, *gradient;
} wrt;

static takt_status find_all(takt_graph *g, const char *const *names, size_t count, wrt *w)
{
    w->name = takt_arena_array(&g->arena, count + g->slot_count, sizeof *w->name);
    w->id = takt_arena_array(&g->arena, count + g->slot_count, sizeof *w->id);
    w->gradient = takt_arena_array(&g->arena, count + g->slot_count, sizeof *w->gradient);
    if (w->name == NULL || w->id == NULL || w->gradient == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const takt_slot *slot = takt_graph_find_slot(g, names[i]);
        w->name[i] = names[i];
        w->id[i] = slot != NULL ? slot->value : find(g->inputs, g->input_count, names[i]);
        if (w->id[i] == TAKT_NONE)
            return takt_fail(g->ctx, TAKT_E_NAME, "there is no input or state called %s", names[i]);
    }
    w->count = count;
    for (size_t i = 0; names == NULL && i < g->slot_count; i++)
        if (g->slots[i].is_trainable) {
            w->name[w->count] = g->slots[i].name;
            w->id[w->count++] = g->slots[i].value;
        }
    return TAKT_OK;
}

static takt_status add_gradients(takt_graph *g, const char *output, const char *const *names,
                                 size_t count)
{
    wrt w = {0};
    const takt_id y = find(g->outputs, g->output_count, output);
    if (y == TAKT_NONE)
        return takt_fail(g->ctx, TAKT_E_NAME, "there is no output called %s", output);
    TAKT_TRY(find_all(g, names, names != NULL ? count : 0, &w));
    const takt_grad_request request = {
        .out_count = 1, .out = &y, .in_count = w.count, .in = w.id, .result = w.gradient};
    TAKT_TRY(takt_grad_append(g, &request));
    for (size_t i = 0; i < w.count; i++) {
        char *name = takt_arena_format(&g->arena, "grad.%s", w.name[i]);
        if (name == NULL)
            return TAKT_ERR_MEMORY;
        takt_graph_output(g, name, w.gradient[i]);
    }
    return g->status;
}

takt_status takt_grad(takt_ctx *ctx, const takt_graph *g, const char *output,
                      const char *const *names, size_t name_count, takt_graph **out)
{
    void *map;
    *out = NULL;
    TAKT_TRY(takt_mem_zero(ctx, g->count, sizeof(takt_id), "a map of nodes", &map));
    takt_status status = takt_graph_create(ctx, g, out);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(g, *out, map);
    if (status == TAKT_OK)
        status = takt_grad_copy(g, *out, map);
    if (status == TAKT_OK)
        status = takt_graph_end_copy(g, *out, map);
    takt_mem_put(ctx, map, g->count * sizeof(takt_id));
    if (status == TAKT_OK)
        status = add_gradients(*out, output, names, name_count);
    if (status != TAKT_OK) {
        takt_graph_destroy(*out);
        *out = NULL;
    }
    return status;
}
