/* values.c - a file of arrays as a model without inputs: its results are the arrays. */
#include <string.h>

#include <takt/verify.h>

#include "io/weights/weights.h"
#include "op/ops.h"
#include "verify/program.h"

/* A constant has no counterpart in another model, so a move of it carries the name. */
static takt_status add(void *user, const char *file, const char *name, const takt_type *type,
                       const void *bytes)
{
    takt_graph *g = user;
    takt_tensor t;
    (void)file;
    TAKT_TRY(takt_tensor_create(g->ctx, type, &t));
    if (takt_tensor_bytes(&t) > 0)
        memcpy(takt_tensor_data(&t), bytes, takt_tensor_bytes(&t));
    const takt_id constant = takt_graph_constant_apart(g, &t);
    takt_tensor_release(&t);
    takt_graph_set_origin(g, name, 0);
    g->next_name = takt_arena_text(&g->arena, name, strlen(name));
    if (g->next_name == NULL)
        return TAKT_ERR_MEMORY;
    const takt_named_attr shape = {"shape", takt_attr_shape(type->dim, (size_t)type->rank)};
    takt_graph_output(g, name, takt_graph_call(g, &takt_op_reshape, 1, &constant, 1, &shape));
    return g->status;
}

takt_status takt_values_load(takt_ctx *ctx, const char *path, takt_model **values)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, path);
    TAKT_NEED(ctx, values);
    takt_graph *g;
    *values = NULL;
    TAKT_TRY(takt_graph_create(ctx, NULL, &g));
    g->name = "values";
    const takt_status status = takt_weights_each(ctx, path, add, g);
    if (status != TAKT_OK) {
        takt_graph_destroy(g);
        return status;
    }
    return takt_program_model(g, values);
}
