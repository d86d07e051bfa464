/* import.c - from the description of a model to a graph: inputs, results, variables. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "io/tflite/adapt.h"

/* ---- scopes ---- */

takt_status takt_tfl_open(takt_tfl_import *im, takt_tfl_scope *outer, int64_t index, takt_graph *g,
                          takt_tfl_scope *s)
{
    if (index < 0 || (uint64_t)index >= im->model.graph_count)
        return takt_flat_fail(&im->model.flat, 0, "graph %lld is called, there are %zu",
                              (long long)index, im->model.graph_count);
    const takt_tfl_graph *graph = &im->model.graphs[index];
    for (const takt_tfl_scope *o = outer; o != NULL; o = o->outer)
        if (o->graph == graph)
            return takt_flat_fail(&im->model.flat, graph->at, "graph %lld calls itself",
                                  (long long)index);
    if ((uint64_t)im->depth >= im->ctx->limits.depth)
        return takt_flat_fail(&im->model.flat, graph->at, "graphs nest deeper than %llu",
                              (unsigned long long)im->ctx->limits.depth);
    im->depth++;
    *s = (takt_tfl_scope){.im = im, .outer = outer, .graph = graph, .g = g};
    s->values = takt_arena_array(&im->arena, graph->tensor_count + 1, sizeof *s->values);
    return s->values != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

void takt_tfl_close(takt_tfl_scope *s)
{
    for (size_t i = 0; i < s->fact_count; i++)
        for (uint32_t k = 0; !s->facts[i].is_borrowed && k < s->facts[i].count; k++)
            takt_array_release(s->im->ctx, &s->facts[i].known[k]);
    takt_mem_put(s->im->ctx, s->facts, s->fact_count * sizeof *s->facts);
    s->facts = NULL;
    s->fact_count = 0;
    s->im->depth--;
}

/* ---- names ---- */

static bool is_taken(const takt_port *ports, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(ports[i].name, name) == 0)
            return true;
    return false;
}

/* The tensor's name, or one made from its index; with a number appended if it is taken. */
static const char *port_name(takt_tfl_scope *s, const takt_tfl_tensor *t, bool is_input,
                             size_t place)
{
    takt_arena *arena = &s->im->arena;
    const takt_port *ports = is_input ? s->g->inputs : s->g->outputs;
    const size_t count = is_input ? s->g->input_count : s->g->output_count;
    const char *plain =
        t->name.length > 0
            ? takt_arena_text(arena, t->name.at, t->name.length)
            : takt_arena_format(arena, "%s_%zu", is_input ? "input" : "output", place);
    const char *name = plain;
    for (size_t i = 1; name != NULL && is_taken(ports, count, name); i++)
        name = takt_arena_format(arena, "%s_%zu", plain, i);
    return name;
}

/* ---- inputs and results ---- */

/* The caller's sizes of the input override the file's shape. */
static void reshape_input(const takt_tfl_import *im, const char *name, size_t place,
                          takt_type *type)
{
    const takt_source *source = im->source;
    for (size_t i = 0; i < source->fixed_count; i++) {
        const takt_fixed *f = &source->fixed[i];
        const bool is_it = f->name != NULL ? strcmp(f->name, name) == 0 : i == place;
        if (is_it && f->tensor.type.rank == type->rank && takt_type_is_concrete(&f->tensor.type))
            memcpy(type->dim, f->tensor.type.dim, sizeof type->dim);
    }
}

static takt_status add_input(takt_tfl_scope *s, size_t place)
{
    takt_tfl_import *im = s->im;
    const int32_t index = s->graph->inputs[place];
    const takt_tfl_tensor *t = &s->graph->tensors[index];
    takt_type type;
    if (s->values[index].state != TAKT_TFL_NEW)
        return takt_flat_fail(&im->model.flat, s->graph->at, "tensor %d is an input twice", index);
    TAKT_TRY(takt_tfl_type_of(im, t, &type));
    const char *name = port_name(s, t, true, place);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    reshape_input(im, name, place, &type);
    s->values[index] =
        (takt_tfl_value){.state = TAKT_TFL_READY, .id = takt_graph_input(s->g, name, &type)};
    return s->g->status;
}

static takt_status add_output(takt_tfl_scope *s, size_t place)
{
    takt_tfl_import *im = s->im;
    const int32_t index = s->graph->outputs[place];
    const takt_tfl_tensor *t = &s->graph->tensors[index];
    takt_tfl_value *v = &s->values[index];
    if (v->state == TAKT_TFL_POISON)
        return TAKT_OK;
    if (v->state == TAKT_TFL_NEW && (takt_tfl_is_constant(im, t) || t->is_variable)) {
        TAKT_TRY(takt_tfl_constant(s, t, &v->id));
        v->state = TAKT_TFL_READY;
    }
    if (v->state != TAKT_TFL_READY)
        return takt_flat_fail(&im->model.flat, s->graph->at, "result %zu (%.*s) is never made",
                              place, (int)t->name.length, t->name.at);
    const char *name = port_name(s, t, false, place);
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_output(s->g, name, v->id);
    return s->g->status;
}

/* ---- variables ---- */

takt_status takt_tfl_variable_of(takt_tfl_import *im, takt_span container, takt_span name,
                                 size_t *index)
{
    const char *text =
        takt_arena_format(&im->arena, "%.*s%s%.*s", (int)container.length, container.at,
                          container.length > 0 ? "/" : "", (int)name.length, name.at);
    if (text == NULL)
        return TAKT_ERR_MEMORY;
    for (*index = 0; *index < im->variable_count; ++*index)
        if (strcmp(im->variables[*index].name, text) == 0)
            return TAKT_OK;
    void *all = im->variables;
    const takt_status status = takt_mem_grow(im->ctx, &all, &im->variable_room,
                                             im->variable_count + 1, sizeof *im->variables);
    im->variables = all;
    if (status == TAKT_OK)
        im->variables[im->variable_count++] =
            (takt_tfl_variable){.name = text, .first = TAKT_NONE, .now = TAKT_NONE};
    return status;
}

/* Assigned variables keep their value in the next run. */
static void finish_variables(takt_tfl_import *im, takt_graph *g)
{
    for (size_t i = 0; i < im->variable_count; i++) {
        const takt_tfl_variable *v = &im->variables[i];
        if (v->slot != NULL && v->is_written)
            takt_graph_set_next(g, v->slot, v->now);
    }
}

/* ---- the model ---- */

static takt_status import_graph(takt_tfl_scope *s)
{
    takt_tfl_import *im = s->im;
    for (size_t i = 0; i < s->graph->input_count; i++)
        TAKT_TRY(add_input(s, i));
    TAKT_TRY(takt_tfl_operators(s));
    for (size_t i = 0; i < s->graph->output_count; i++)
        TAKT_TRY(add_output(s, i));
    if (im->has_failed) {
        if (im->source->complaints != NULL)
            takt_text_add(im->source->complaints, "hint: `takt ops %s` says what can be done\n",
                          im->source->name);
        im->ctx->error = im->first;
        return im->first.status;
    }
    if (s->graph->output_count == 0)
        return takt_flat_fail(&im->model.flat, s->graph->at, "the model has no results");
    finish_variables(im, s->g);
    const takt_span name = s->graph->name.length > 0 ? s->graph->name : takt_span_of("model");
    s->g->name = takt_arena_text(&s->g->arena, name.at, name.length);
    if (s->g->name == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(s->g->status);
    return takt_graph_verify(s->g);
}

static takt_status import_model(takt_tfl_import *im, takt_graph **graph)
{
    takt_tfl_scope scope;
    takt_graph *g;
    TAKT_TRY(takt_graph_create(im->ctx, NULL, &g));
    takt_status status = takt_tfl_open(im, NULL, 0, g, &scope);
    if (status == TAKT_OK) {
        status = import_graph(&scope);
        takt_tfl_close(&scope);
    }
    if (status == TAKT_OK)
        *graph = g;
    else
        takt_graph_destroy(g);
    return status;
}

static bool recognises(const uint8_t *bytes, size_t length)
{
    return length >= 8 && memcmp(bytes + 4, "TFL3", 4) == 0;
}

static void tell_lineage(takt_tfl_import *im, takt_text *text)
{
    const takt_span about = im->model.description;
    char *copy = takt_arena_text(&im->arena, about.at, about.length);
    takt_json_writer json;
    takt_json_begin(&json, text, false);
    takt_json_open(&json, '{');
    takt_json_put_string(&json, "format", "tflite");
    takt_json_key(&json, "schema");
    takt_json_integer(&json, 3);
    takt_json_key(&json, "operators");
    takt_json_integer(&json, (int64_t)im->model.graphs[0].op_count);
    if (copy == NULL)
        text->status = TAKT_ERR_MEMORY;
    else if (about.length > 0 && about.at[0] == '{') { /* what Takt writes there */
        takt_json_put_open(&json, "metadata", '{');
        takt_json_put_string(&json, "takt.lineage", copy);
        takt_json_close(&json, '}');
    } else if (about.length > 0)
        takt_json_put_string(&json, "description", copy);
    takt_json_close(&json, '}');
}

static takt_status read(const takt_source *source, takt_graph **graph)
{
    enum { TABLES = 1 << 26, WORK = 1 << 28 };
    takt_tfl_import im = {.ctx = source->ctx,
                          .source = source,
                          .budget = source->ctx->limits.nodes,
                          .tables = (size_t)TABLES + 64 * source->length,
                          .work = WORK};
    takt_arena_init(&im.arena, source->ctx);
    takt_status status =
        takt_tfl_parse(&im.arena, source->bytes, source->length, source->skim, &im.model);
    if (status == TAKT_OK && source->lineage != NULL) {
        tell_lineage(&im, source->lineage);
        status = source->lineage->status;
    }
    if (status == TAKT_OK)
        status = import_model(&im, graph);
    for (size_t i = 0; i < 2; i++)
        takt_tensor_release(&im.tables_16[i]);
    takt_mem_put(im.ctx, im.variables, im.variable_room * sizeof *im.variables);
    takt_arena_deinit(&im.arena);
    return status;
}

const takt_reader takt_reader_tflite = {
    .name = "tflite",
    .summary = "TensorFlow Lite models (.tflite)",
    .recognises = recognises,
    .read = read,
    .skim = takt_tfl_skim,
};
