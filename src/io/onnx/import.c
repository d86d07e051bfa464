/* import.c - from the description of a model to a graph. */
#include <math.h>
#include <string.h>

#include "base/error_record.h"
#include "io/onnx/adapt.h"
#include "io/onnx/split.h"
#include "ir/edge_index.h"

/* ---- checks of the model as a whole ---- */

static takt_status check_opsets(takt_import *im)
{
    const takt_pb_model *m = &im->model;
    if (m->opset_count == 0)
        return takt_wire_fail(im->ctx, m->at, "the model imports no opset");
    if (m->opset_count > 1024)
        return takt_wire_fail(im->ctx, m->at, "the model imports %zu opsets", m->opset_count);
    for (size_t i = 0; i < m->opset_count; i++) {
        const takt_pb_opset *o = &m->opsets[i];
        if (o->version < 1 || o->version > 10000)
            return takt_wire_fail(im->ctx, o->at, "opset version %lld is impossible",
                                  (long long)o->version);
        for (size_t k = 0; k < i; k++) /* skl2onnx says the same twice */
            if (takt_onnx_same(m->opsets[k].domain, o->domain) &&
                m->opsets[k].version != o->version)
                return takt_wire_fail(im->ctx, o->at,
                                      "domain \"%.*s\" is imported twice, as opset %lld and %lld",
                                      (int)o->domain.length, o->domain.at,
                                      (long long)m->opsets[k].version, (long long)o->version);
    }
    return TAKT_OK;
}

/* ---- inputs ---- */

/* Values that were given by position get the name of that input. */
static takt_status name_fixed(takt_import *im, const takt_pb_graph *graph, takt_source *source)
{
    takt_fixed *fixed = takt_arena_array(&im->arena, source->fixed_count + 1, sizeof *fixed);
    size_t at = 0;
    if (fixed == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < source->fixed_count; i++)
        fixed[i] = source->fixed[i];
    for (size_t i = 0; i < graph->input_count && at < source->fixed_count; i++) {
        const takt_span name = graph->inputs[i].name;
        bool is_given = false;
        for (size_t k = 0; k < graph->initializer_count && !is_given; k++)
            is_given = takt_onnx_same(graph->initializers[k].name, name);
        if (is_given)
            continue;
        if (fixed[at].name == NULL)
            fixed[at].name = takt_arena_text(&im->arena, name.at, name.length);
        at++;
    }
    for (size_t i = 0; i < source->fixed_count; i++)
        if (fixed[i].name == NULL)
            fixed[i].name = "";
    source->fixed = source->fixed != NULL ? fixed : NULL;
    return TAKT_OK;
}

static takt_status add_input(takt_scope *s, const takt_pb_value *in)
{
    takt_onnx_value *v;
    takt_scope *owner;
    const takt_pb_type *t;
    const takt_onnx_value *given = takt_scope_find(s, in->name, &owner);
    if (given != NULL && given->kind == TAKT_ONNX_TENSOR &&
        takt_node_at(s->room->g, given->id)->op == &takt_op_input)
        return takt_wire_fail(s->im->ctx, in->at, "input %.*s is declared twice",
                              (int)in->name.length, in->name.at);
    if (given != NULL)
        return TAKT_OK; /* an initializer: its value is given */
    TAKT_TRY(takt_scope_add(s, in->name, in->at, &v));
    TAKT_TRY(takt_import_items(s, in, v, &t));
    if (v->kind == TAKT_ONNX_SEQUENCE || (v->kind == TAKT_ONNX_NOTHING && t == NULL))
        return TAKT_OK;
    takt_type type;
    takt_pb_value plain = *in;
    plain.type = (takt_pb_type *)(uintptr_t)t;
    TAKT_TRY(takt_import_type(s->im, &plain, &type));
    TAKT_TRY(takt_split_input(s->im, &plain, &type));
    const char *name = takt_arena_text(&s->im->arena, in->name.at, in->name.length);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    v->kind = TAKT_ONNX_TENSOR;
    v->id = takt_graph_input(s->room->g, name, &type);
    takt_split_done(s->im, v->id);
    return s->room->g->status;
}

takt_status takt_import_initializers(takt_scope *s, const takt_pb_graph *graph)
{
    takt_onnx_value *v;
    for (size_t i = 0; i < graph->initializer_count; i++) {
        const takt_pb_tensor *t = &graph->initializers[i];
        TAKT_TRY(takt_scope_add(s, t->name, t->at, &v));
        v->kind = TAKT_ONNX_INITIALIZER;
        v->initializer = t;
    }
    for (size_t i = 0; i < graph->sparse_count; i++) {
        const takt_pb_sparse *t = &graph->sparses[i];
        if (t->values == NULL)
            return takt_wire_fail(s->im->ctx, t->at, "a sparse tensor lacks values");
        TAKT_TRY(takt_scope_add(s, t->values->name, t->at, &v));
        v->kind = TAKT_ONNX_SPARSE;
        v->sparse = t;
    }
    return TAKT_OK;
}

/* ---- outputs ---- */

/* The name of output `index`. Some files list an output twice; names are unique in the graph, so
 * the second gets its index appended. */
static const char *output_name(takt_import *im, takt_span given, size_t index)
{
    const takt_graph *g = im->main->g;
    const char *name = takt_arena_text(&im->arena, given.at, given.length);
    while (name != NULL && takt_edge_find(g, TAKT_EDGE_OUTPUT, name) != SIZE_MAX)
        name = takt_arena_format(&im->arena, "%.*s_%zu", (int)given.length, given.at, ++index);
    return name;
}

static takt_status add_output(takt_scope *s, const takt_pb_value *out, size_t index)
{
    takt_import *im = s->im;
    takt_onnx_value *v;
    TAKT_TRY(takt_scope_use(s, out->name, &v));
    if (v == NULL)
        return takt_wire_fail(im->ctx, out->at, "output %.*s is never produced",
                              (int)out->name.length, out->name.at);
    if (v->kind == TAKT_ONNX_POISON)
        return TAKT_OK;
    const char *name = output_name(im, out->name, index);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    const char *slot = takt_import_state_of(im, out->name);
    if (slot != NULL && v->kind != TAKT_ONNX_TENSOR)
        return takt_wire_fail(im->ctx, out->at, "%s, the next value of state %s, is not a tensor",
                              name, slot);
    bool is_check = false;
    if (slot == NULL && v->kind == TAKT_ONNX_TENSOR)
        TAKT_TRY(takt_import_check(im, s->room->g, out->name, v->id, &is_check));
    if (slot != NULL)
        takt_graph_set_next(s->room->g, slot, v->id);
    else if (v->kind == TAKT_ONNX_TENSOR && !is_check)
        takt_graph_output(s->room->g, name, v->id);
    for (size_t i = 0; v->kind == TAKT_ONNX_SEQUENCE && i < v->item_count; i++)
        takt_graph_output(s->room->g, takt_arena_format(&im->arena, "%s.%zu", name, i),
                          v->items[i]);
    return s->room->g->status;
}

/* Functions that call functions multiply: a file of two kilobytes could expand to billions of
 * nodes. A model may become this much larger than its file, and no more. */
static void bound_inlining(takt_import *im)
{
    enum { ALWAYS = 10000, TIMES = 256 };
    uint64_t written = im->model.graph->node_count;
    for (size_t i = 0; i < im->model.function_count; i++)
        written += im->model.functions[i].node_count;
    if (im->model.function_count > 0 && im->budget > ALWAYS + TIMES * written)
        im->budget = ALWAYS + TIMES * written;
}

/* A dimension whose size became known late may contradict what was inferred from its name. */
static takt_status check_sizes(takt_import *im)
{
    const takt_status status = takt_graph_verify(im->main->g);
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY)
        return status;
    takt_error error;
    takt_error_copy(im->ctx, &error);
    (void)takt_fail(im->ctx, TAKT_E_DIM, "the model's named dimensions contradict each other: %s",
                    error.message);
    return error.node[0] != '\0' ? takt_fail_node(im->ctx, error.node) : TAKT_ERR_SHAPE;
}

static takt_status import_model(takt_import *im)
{
    const takt_pb_graph *graph = im->model.graph;
    if (graph == NULL)
        return takt_wire_fail(im->ctx, 0, "the model has no graph");
    bound_inlining(im);
    TAKT_TRY(check_opsets(im));
    TAKT_TRY(takt_room_create(im, NULL, &im->main));
    takt_scope scope = {.im = im,
                        .room = im->main,
                        .graph = graph,
                        .opsets = im->model.opsets,
                        .opset_count = im->model.opset_count};
    size_t names = graph->initializer_count + graph->sparse_count + graph->input_count;
    for (size_t i = 0; i < graph->node_count; i++)
        names += graph->nodes[i].output_count;
    TAKT_TRY(takt_scope_init(&scope, names));
    TAKT_TRY(takt_import_initializers(&scope, graph));
    TAKT_TRY(takt_import_states(&scope));
    for (size_t i = 0; i < graph->input_count; i++)
        TAKT_TRY(add_input(&scope, &graph->inputs[i]));
    TAKT_TRY(takt_import_nodes(&scope, graph->nodes, graph->node_count));
    for (size_t i = 0; i < graph->output_count; i++)
        TAKT_TRY(add_output(&scope, &graph->outputs[i], i));
    if (im->has_failed) {
        if (im->source->complaints != NULL)
            takt_text_add(im->source->complaints, "hint: `takt ops %s` says what can be done\n",
                          im->source->name);
        im->ctx->error = im->first;
        return im->first.status;
    }
    const takt_span name = graph->name.length > 0 ? graph->name : takt_span_of("model");
    im->main->g->name = takt_arena_text(&im->main->g->arena, name.at, name.length);
    if (im->main->g->name == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_import_labels(im));
    TAKT_TRY(takt_import_bounds(im));
    TAKT_TRY(takt_import_freeze(im->main));
    TAKT_TRY(check_sizes(im));
    return takt_import_parameters(&scope);
}

/* ---- the reader ---- */

/* The first field of a model is its IR version, a small number; graph, opset or producer follow. */
static bool recognises(const uint8_t *bytes, size_t length)
{
    if (length < 4 || bytes[0] != 0x08 || bytes[1] > 64)
        return false;
    const uint8_t tag = bytes[2];
    return tag == 0x08 || tag == 0x12 || tag == 0x1A || tag == 0x22 || tag == 0x28 || tag == 0x32 ||
           tag == 0x3A || tag == 0x42;
}

/* The budget of constant folding: in proportion to the file, and less where the context's limits
 * are low. By default that is 128 MiB of tables and seconds of the interpreter's time. */
static void set_budgets(takt_import *im)
{
    enum { TABLES = 1 << 27, WORK = 1 << 29, WORK_OF_A_TURN = 1024 };
    const takt_limits *limits = &im->ctx->limits;
    const size_t length = im->source->length;
    im->budget = limits->nodes;
    im->repeats = (1 << 14) + 16 * (uint64_t)length;
    im->tables = limits->tensor_bytes < TABLES ? (size_t)limits->tensor_bytes : TABLES;
    im->tables += 64 * length;
    im->fold_work = fmin(WORK, WORK_OF_A_TURN * (double)limits->trip_count);
    im->fold_elements = (1 << 16) + 2 * (double)length;
}

/* With the dimension names that turned out to differ (`known`, or NULL); returns those found in
 * this pass. */
static takt_status read_with(const takt_source *given, const takt_onnx_aliases *known,
                             takt_onnx_aliases *found, takt_graph **graph)
{
    takt_source source = *given;
    takt_import im = {.ctx = source.ctx, .source = &source, .aliases = known};
    set_budgets(&im);
    takt_arena_init(&im.arena, source.ctx);
    takt_status status = takt_pb_read_model(&im.arena, source.bytes, source.length, &im.model);
    if (status == TAKT_OK && im.model.graph != NULL && source.fixed != NULL)
        status = name_fixed(&im, im.model.graph, &source);
    if (status == TAKT_OK && source.lineage != NULL) {
        takt_import_lineage(&im, source.lineage);
        status = source.lineage->status;
    }
    if (status == TAKT_OK)
        status = takt_import_functions(&im);
    if (status == TAKT_OK)
        status = takt_import_order(&im);
    if (status == TAKT_OK)
        status = import_model(&im);
    if (status == TAKT_OK)
        status = takt_split_find(&im, found);
    if (im.main != NULL) {
        takt_room_close(im.main);
        if (status == TAKT_OK)
            *graph = im.main->g;
        else
            takt_graph_destroy(im.main->g);
    }
    takt_arena_deinit(&im.arena);
    return status;
}

/* Whether an error can come from the new names of dimensions: then the first reading is kept. Other
 * errors concern memory, or weight files that have disappeared. */
static bool is_of_names(takt_status status)
{
    return status == TAKT_ERR_SHAPE || status == TAKT_ERR_UNSUPPORTED || status == TAKT_ERR_LIMIT;
}

static takt_status read(const takt_source *given, takt_graph **graph)
{
    takt_onnx_aliases found = {0}, none;
    TAKT_TRY(read_with(given, NULL, &found, graph));
    if (found.count == 0)
        return TAKT_OK;
    takt_source again = *given;
    again.lineage = NULL; /* the first reading has noted it, and counted the nodes */
    again.refusals = NULL;
    again.complaints = NULL;
    takt_graph *better = NULL;
    takt_error before;
    takt_error_copy(given->ctx, &before);
    const takt_status status = read_with(&again, &found, &none, &better);
    if (is_of_names(status)) { /* the first reading of it is usable */
        takt_error_put_back(given->ctx, &before);
        return TAKT_OK;
    }
    takt_graph_destroy(*graph);
    *graph = better;
    return status;
}

const takt_reader takt_reader_onnx = {
    .name = "onnx",
    .summary = "ONNX models (.onnx)",
    .recognises = recognises,
    .read = read,
    .skim = takt_onnx_skim,
};
