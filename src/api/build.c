/* build.c - a model built by a program: the graph's functions by names and texts. */
#include "api/build.h"

#include <string.h>

#include "api/model.h"
#include "api/session/session.h"
#include "base/mem.h"

takt_status takt_build_create(takt_ctx *ctx, const char *name, takt_build **build)
{
    void *block;
    if (build == NULL)
        return ctx != NULL ? takt_fail(ctx, TAKT_E_ARGUMENT, "takt_build_create: build is NULL")
                           : TAKT_ERR_ARGUMENT;
    *build = NULL;
    if (ctx == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_build), "builder", &block));
    takt_build *b = block;
    b->ctx = ctx;
    b->error.offset = -1;
    takt_status status = takt_graph_create(ctx, NULL, &b->graph);
    if (status == TAKT_OK) {
        name = name != NULL ? name : "model";
        b->graph->name = takt_arena_text(&b->graph->arena, name, strlen(name));
        status = b->graph->name != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    if (status == TAKT_OK)
        *build = b;
    else
        takt_build_destroy(b);
    return status;
}

void takt_build_destroy(takt_build *b)
{
    if (b == NULL)
        return;
    takt_graph_destroy(b->graph);
    takt_mem_put(b->ctx, b, sizeof *b);
}

/* ---- failing ---- */

/* The graph to add to; NULL if there is none, or it has failed before. */
static takt_graph *open_graph(takt_build *b)
{
    return b != NULL && b->graph != NULL && b->error.status == TAKT_OK ? b->graph : NULL;
}

/* Keeps the first failure, whatever the context is used for afterwards. */
static void note(takt_build *b, takt_status status)
{
    if (status == TAKT_OK || b->error.status != TAKT_OK)
        return;
    if (b->graph->status == TAKT_OK)
        takt_graph_fail(b->graph, status);
    takt_error_copy(b->ctx, &b->error);
    b->error.status = status;
}

static takt_value added(takt_build *b, takt_id id)
{
    note(b, b->graph->status);
    return b->error.status == TAKT_OK ? id : TAKT_NO_VALUE;
}

static takt_value failed(takt_build *b, takt_status status)
{
    note(b, status);
    return TAKT_NO_VALUE;
}

static takt_status fail_null(takt_ctx *ctx, const char *function, const char *what)
{
    return takt_fail(ctx, TAKT_E_ARGUMENT, "%s: %s is NULL", function, what);
}

/* ---- leaves ---- */

takt_value takt_build_input(takt_build *b, const char *name, const char *type)
{
    takt_graph *g = open_graph(b);
    takt_type made;
    if (g == NULL)
        return TAKT_NO_VALUE;
    if (name == NULL || type == NULL)
        return failed(b, fail_null(b->ctx, "takt_build_input", name == NULL ? "name" : "type"));
    const takt_status status = takt_build_type(g, type, &made);
    return status == TAKT_OK ? added(b, takt_graph_input(g, name, &made)) : failed(b, status);
}

/* A copy of the caller's numbers. */
static takt_status copy_view(takt_ctx *ctx, const takt_tensor_view *v, takt_tensor *out)
{
    takt_type type = {.dtype = v->dtype, .rank = v->rank};
    size_t bytes;
    if (v->device != 0)
        return takt_fail(ctx, TAKT_E_DEVICE, "the value lies in the memory of device %d",
                         (int)v->device);
    for (int d = 0; d < v->rank && d < TAKT_MAX_RANK; d++)
        type.dim[d] = v->dims[d];
    if (v->rank < 0 || v->rank > TAKT_MAX_RANK || (unsigned)v->dtype >= TAKT_DTYPE_COUNT ||
        !takt_type_bytes(&type, &bytes) || !takt_view_is_dense(v) || (v->data == NULL && bytes > 0))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a value is not a valid, dense view");
    if (bytes > ctx->limits.tensor_bytes)
        return takt_fail(ctx, TAKT_E_OVERFLOW, "a value has %zu bytes, the limit is %llu", bytes,
                         (unsigned long long)ctx->limits.tensor_bytes);
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    if (bytes > 0)
        memcpy(takt_tensor_data(out), v->data, bytes);
    return TAKT_OK;
}

takt_value takt_build_constant(takt_build *b, const takt_tensor_view *value)
{
    takt_graph *g = open_graph(b);
    takt_tensor tensor = {.storage = NULL};
    if (g == NULL)
        return TAKT_NO_VALUE;
    if (value == NULL)
        return failed(b, fail_null(b->ctx, "takt_build_constant", "value"));
    const takt_status status = copy_view(b->ctx, value, &tensor);
    if (status != TAKT_OK)
        return failed(b, status);
    const takt_id id = takt_graph_constant(g, &tensor);
    takt_tensor_release(&tensor);
    return added(b, id);
}

static takt_init random_init(takt_graph *g, const takt_initial *i)
{
    takt_init init = {.kind = TAKT_INIT_CONSTANT};
    if (i == NULL)
        return init;
    init.a = i->a;
    init.b = i->b;
    if (i->kind != TAKT_INITIAL_CONSTANT) {
        init.kind = i->kind == TAKT_INITIAL_UNIFORM ? TAKT_INIT_UNIFORM : TAKT_INIT_NORMAL;
        init.stream = takt_graph_stream(g);
    }
    return init;
}

static takt_status check_type(takt_graph *g, const char *name, const takt_type *want,
                              const takt_type *got)
{
    char is[TAKT_TYPE_TEXT], declared[TAKT_TYPE_TEXT];
    if (takt_type_same(g->dims, want, got))
        return TAKT_OK;
    return takt_dims_blame(g->dims,
                           takt_fail(g->ctx, TAKT_E_SHAPE, "%s is declared %s, its value is %s",
                                     name, takt_type_text(g->dims, want, declared),
                                     takt_type_text(g->dims, got, is)));
}

static takt_value add_slot(takt_build *b, const char *name, const char *type,
                           const takt_initial *initial, bool is_trainable)
{
    takt_graph *g = open_graph(b);
    takt_tensor tensor = {.storage = NULL};
    takt_type made;
    if (g == NULL)
        return TAKT_NO_VALUE;
    const bool has_value = initial != NULL && initial->value != NULL;
    if (name == NULL || (type == NULL && !has_value))
        return failed(b,
                      fail_null(b->ctx, is_trainable ? "takt_build_parameter" : "takt_build_state",
                                name == NULL ? "name" : "type"));
    takt_status status = TAKT_OK;
    if (has_value)
        status = copy_view(b->ctx, initial->value, &tensor);
    if (status == TAKT_OK && type != NULL)
        status = takt_build_type(g, type, &made);
    if (status == TAKT_OK && type != NULL && has_value)
        status = check_type(g, name, &made, &tensor.type);
    takt_id id = TAKT_NONE;
    if (status == TAKT_OK) {
        takt_init init = random_init(g, has_value ? NULL : initial);
        if (has_value)
            init = (takt_init){.kind = TAKT_INIT_TENSOR, .tensor = &tensor};
        id = takt_graph_slot(g, name, has_value ? &tensor.type : &made, &init, is_trainable);
    }
    takt_tensor_release(&tensor);
    return status == TAKT_OK ? added(b, id) : failed(b, status);
}

takt_value takt_build_parameter(takt_build *b, const char *name, const char *type,
                                const takt_initial *initial)
{
    return add_slot(b, name, type, initial, true);
}

takt_value takt_build_state(takt_build *b, const char *name, const char *type,
                            const takt_initial *initial)
{
    return add_slot(b, name, type, initial, false);
}

void takt_build_next(takt_build *b, const char *name, takt_value value)
{
    takt_graph *g = open_graph(b);
    if (g == NULL)
        return;
    if (name == NULL)
        failed(b, fail_null(b->ctx, "takt_build_next", "name"));
    else
        takt_graph_set_next(g, name, value);
    note(b, g->status);
}

/* ---- operations ---- */

static const takt_op *find_op(takt_build *b, const char *name)
{
    const takt_op *op = takt_op_find(name, strlen(name));
    const char *nearest = op == NULL ? takt_op_nearest(name) : NULL;
    if (op != NULL && (op->traits & TAKT_LEAF) == 0)
        return op;
    if (op != NULL) {
        failed(b, takt_fail(b->ctx, TAKT_E_ARGUMENT, "%s has a function of its own here", name));
        return NULL;
    }
    takt_status status =
        takt_fail(b->ctx, TAKT_E_UNKNOWN_OP, "there is no operation called %.80s", name);
    if (nearest != NULL)
        status = takt_fail_hint(b->ctx, "did you mean %s?", nearest);
    failed(b, status);
    return NULL;
}

takt_value takt_build_op(takt_build *b, const char *name, const char *attributes,
                         const takt_value *in, size_t in_count, const char *label)
{
    takt_graph *g = open_graph(b);
    if (g == NULL)
        return TAKT_NO_VALUE;
    if (name == NULL || (in == NULL && in_count > 0))
        return failed(b, fail_null(b->ctx, "takt_build_op", name == NULL ? "op" : "in"));
    const takt_op *op = find_op(b, name);
    if (op == NULL)
        return TAKT_NO_VALUE;
    for (size_t i = 0; i < in_count; i++)
        if (in[i] != TAKT_NO_VALUE && in[i] >= g->count)
            return failed(b, takt_fail(b->ctx, TAKT_E_ARGUMENT,
                                       "%s: input %zu is not a value of this builder", name, i));
    takt_attr attrs[TAKT_MAX_ATTRS] = {0};
    takt_arena arena;
    takt_id id = TAKT_NONE;
    takt_arena_init(&arena, b->ctx);
    const takt_status status = takt_build_attrs(g, op, attributes, &arena, attrs);
    if (status == TAKT_OK) {
        takt_graph_set_origin(g, label != NULL ? label : op->name, 0);
        g->next_name = label != NULL ? takt_arena_text(&g->arena, label, strlen(label)) : NULL;
        id = takt_graph_append(g, op, in_count, in, attrs);
    }
    takt_arena_deinit(&arena);
    return status == TAKT_OK ? added(b, id) : failed(b, status);
}

takt_value takt_build_result(takt_build *b, takt_value value, size_t index)
{
    takt_graph *g = open_graph(b);
    if (g == NULL)
        return TAKT_NO_VALUE;
    if (value >= g->count || index >= g->nodes[value].out_count)
        return failed(b,
                      takt_fail(b->ctx, TAKT_E_ARGUMENT,
                                "takt_build_result: there is no such value, or no result %zu of it",
                                index));
    return added(b, takt_graph_get(g, value, index));
}

void takt_build_output(takt_build *b, const char *name, takt_value value)
{
    takt_graph *g = open_graph(b);
    if (g == NULL)
        return;
    if (name == NULL)
        failed(b, fail_null(b->ctx, "takt_build_output", "name"));
    else
        takt_graph_output(g, name, value);
    note(b, g->status);
}

/* ---- looking, and the end ---- */

takt_status takt_build_describe(takt_build *b, takt_value value, takt_desc *desc)
{
    if (b == NULL || desc == NULL)
        return TAKT_ERR_ARGUMENT;
    *desc = (takt_desc){.name = NULL};
    takt_graph *g = open_graph(b);
    if (g == NULL)
        return b->error.status != TAKT_OK
                   ? b->error.status
                   : takt_fail(b->ctx, TAKT_E_STATE, "the model is finished");
    if (value >= g->count)
        return takt_fail(b->ctx, TAKT_E_ARGUMENT, "takt_build_describe: there is no such value");
    const takt_port port = {.name = g->nodes[value].name != NULL ? g->nodes[value].name : "",
                            .id = value};
    takt_desc *made;
    TAKT_TRY(takt_describe_ports(&g->arena, g, &port, 1, &made));
    *desc = *made;
    return TAKT_OK;
}

takt_status takt_build_status(const takt_build *b)
{
    if (b == NULL)
        return TAKT_ERR_ARGUMENT;
    if (b->error.status != TAKT_OK)
        b->ctx->error = b->error;
    return b->error.status;
}

takt_status takt_build_finish(takt_build *b, uint64_t seed, takt_model **model)
{
    if (model != NULL)
        *model = NULL;
    if (b == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_build_status(b));
    if (model == NULL)
        return fail_null(b->ctx, "takt_build_finish", "model");
    if (b->graph == NULL)
        return takt_fail(b->ctx, TAKT_E_STATE, "the builder's model is finished");
    if (b->graph->output_count == 0)
        return takt_fail(b->ctx, TAKT_E_STATE,
                         "the model has no output: takt_build_output adds one");
    TAKT_TRY(takt_graph_verify(b->graph));
    takt_graph *graph = b->graph;
    b->graph = NULL;
    return takt_model_make(b->ctx, graph, seed, model);
}
