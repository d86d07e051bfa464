/* parse.c - from a text to a graph: reads it, picks the model, builds it, reports what is wrong. */
#include "lang/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/merge.h"
#include "lang/elab.h"
#include "lang/unit.h"
#include "logic/relation.h"

takt_status takt_unit_open(takt_unit *u, takt_ctx *ctx, const takt_source *source,
                           const takt_parse_options *options)
{
    static const takt_parse_options plain = {0};
    memset(u, 0, sizeof *u);
    takt_elab *e = &u->e;
    u->source = *source;
    e->ctx = ctx;
    e->text_length = source->length;
    e->options = options != NULL ? options : &plain;
    takt_arena_init(&e->arena, ctx);
    e->symbols.arena = &e->arena;
    takt_diagnostics_init(&u->own, ctx);
    e->diagnostics = e->options->diagnostics != NULL ? e->options->diagnostics : &u->own;
    e->syntax = (takt_syntax){
        .ctx = ctx, .arena = &e->arena, .symbols = &e->symbols, .diagnostics = e->diagnostics};
    if (source->length >= UINT32_MAX || source->length > ctx->limits.file_bytes)
        return takt_fail(ctx, TAKT_E_FILE_SIZE,
                         "%s: the text has %zu bytes, more than is read as a "
                         "model",
                         source->name, source->length);
    return TAKT_OK;
}

void takt_unit_close(takt_unit *u)
{
    takt_elab *e = &u->e;
    for (size_t i = 0; i < e->graph_count; i++)
        takt_graph_destroy(e->graphs[i]);
    takt_mem_put(e->ctx, e->graphs, e->graph_capacity * sizeof *e->graphs);
    takt_mem_put(e->ctx, e->layers, e->layer_capacity * sizeof *e->layers);
    takt_diagnostics_deinit(&u->own);
    takt_arena_deinit(&e->arena);
}

/* The first error as the context's: "mlp.takt:3:7: ... (and 2 more errors)". */
static takt_status report(const takt_unit *u)
{
    const takt_diagnostics *list = u->e.diagnostics;
    const takt_diagnostic *first = list->at;
    while (first->severity != TAKT_SEVERITY_ERROR)
        first++;
    char more[48] = "";
    if (list->error_count > 1)
        snprintf(more, sizeof more, " (and %zu more error%s)", list->error_count - 1,
                 list->error_count == 2 ? "" : "s");
    takt_fail(u->e.ctx, (takt_error_id)first->id, "%s:%d:%d: %s%s",
              first->file != NULL ? first->file : u->source.name, first->line, first->column,
              first->message, more);
    if (first->hint[0] != '\0')
        takt_fail_hint(u->e.ctx, "%s", first->hint);
    return takt_fail_place(u->e.ctx, first->line, first->column);
}

takt_status takt_unit_status(const takt_unit *u, takt_status status)
{
    if (status == TAKT_ERR_MEMORY)
        return u->e.ctx->error.status == TAKT_ERR_MEMORY
                   ? status
                   : takt_fail(u->e.ctx, TAKT_E_MEMORY, "out of memory while reading %s",
                               u->source.name);
    return u->e.diagnostics->error_count > 0 ? report(u) : status;
}

/* ---- layers of the text ---- */

static takt_status complain_at(takt_unit *u, const takt_source *source, const takt_ast *at,
                               takt_diagnostic what)
{
    const takt_place place = {source->text, source->length, at->at, at->length,
                              takt_source_file(source)};
    return takt_diagnostics_add(u->e.diagnostics, &place, what);
}

takt_status takt_unit_add_layers(takt_unit *u, const takt_function *layers)
{
    takt_elab *e = &u->e;
    for (const takt_function *l = layers; l != NULL; l = l->next) {
        uint32_t *index = takt_symbol_map_put(&e->layer_index, &e->arena, l->name);
        if (index == NULL)
            return TAKT_ERR_MEMORY;
        if (*index != UINT32_MAX) {
            TAKT_TRY(complain_at(u, l->source, l->place,
                                 (takt_diagnostic){.id = TAKT_E_DUPLICATE,
                                                   .message = "a layer of that name exists "
                                                              "already"}));
            continue;
        }
        void *array = e->layers;
        const takt_status status = takt_mem_grow(e->ctx, &array, &e->layer_capacity,
                                                 e->layer_count + 1, sizeof *e->layers);
        e->layers = array;
        TAKT_TRY(status);
        *index = (uint32_t)e->layer_count;
        e->layers[e->layer_count++] = l;
    }
    return TAKT_OK;
}

/* ---- the model ---- */

static takt_status pick(const takt_unit *u, const takt_function *models, const takt_function **out)
{
    const char *wanted = u->e.options->model;
    char names[256] = "";
    size_t at = 0, count = 0;
    *out = NULL;
    for (const takt_function *m = models; m != NULL; m = m->next, count++) {
        if (wanted != NULL && strcmp(m->name->text, wanted) == 0)
            *out = m;
        const int n =
            snprintf(names + at, sizeof names - at, "%s%s", count > 0 ? ", " : "", m->name->text);
        at += n > 0 && (size_t)n < sizeof names - at ? (size_t)n : 0;
    }
    if (count == 1 && wanted == NULL)
        *out = models;
    if (*out != NULL)
        return TAKT_OK;
    if (count == 0)
        return takt_fail(u->e.ctx, TAKT_E_SYNTAX, "%s: the text has no model", u->source.name);
    if (wanted != NULL)
        takt_fail(u->e.ctx, TAKT_E_NAME, "%s: there is no model called %s", u->source.name, wanted);
    else
        takt_fail(u->e.ctx, TAKT_E_NAME, "%s: the text has several models; say which one",
                  u->source.name);
    return takt_fail_hint(u->e.ctx, "it has %s", names);
}

/* The strings with which the model begins, one per line. */
static takt_status keep_doc(takt_unit *u, const takt_function *model, takt_graph *graph)
{
    takt_text text;
    takt_text_init(&text, u->e.ctx);
    for (const takt_ast *d = model->doc; d != NULL && d->kind == TAKT_A_DOC; d = d->next) {
        if (d != model->doc)
            takt_text_put(&text, "\n", 1);
        takt_text_put(&text, d->text.at, d->text.length);
    }
    if (text.status == TAKT_OK && model->doc != NULL)
        graph->doc = takt_arena_text(&graph->arena, takt_text_get(&text), text.length);
    const bool is_kept = text.status == TAKT_OK && (graph->doc != NULL || model->doc == NULL);
    takt_text_deinit(&text);
    return is_kept ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status build(takt_unit *u, const takt_function *model, takt_graph **graph)
{
    takt_elab *e = &u->e;
    TAKT_TRY(takt_graph_create(e->ctx, NULL, graph));
    (*graph)->name = takt_arena_text(&(*graph)->arena, model->name->text, model->name->length);
    if ((*graph)->name == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(keep_doc(u, model, *graph));
    takt_frame frame;
    takt_frame_init(&frame, e, NULL, model);
    frame.graph = *graph;
    takt_eval_model(&frame);
    takt_frame_deinit(&frame);
    if (e->status != TAKT_OK)
        return e->status;
    return (*graph)->status != TAKT_OK ? (*graph)->status : TAKT_OK;
}

/* Settles the graph; relations then refer to nodes by their new ids. */
static takt_status settle(takt_unit *u, takt_graph *graph)
{
    const takt_relations *relations = graph->relations;
    takt_relation_info *r = relations != NULL ? relations->first : NULL;
    takt_id *map = r != NULL ? takt_arena_array(&u->e.arena, graph->count, sizeof *map) : NULL;
    const size_t count = graph->count;
    if (r != NULL && map == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_graph_settle(graph, map));
    for (; r != NULL; r = r->next)
        if (r->each < count)
            r->each = map[r->each];
    return TAKT_OK;
}

/* Applies sizes that became known late to the nodes that were made earlier. */
static takt_status verify(takt_unit *u, takt_graph *graph)
{
    enum { ROUNDS = 16 };
    size_t settled = 0;
    for (int i = 0; i < ROUNDS; i++) {
        TAKT_TRY(takt_graph_verify(graph));
        if (takt_dims_bound(graph->dims) == settled)
            return TAKT_OK;
        settled = takt_dims_bound(graph->dims);
        TAKT_TRY(settle(u, graph));
    }
    return TAKT_OK;
}

/* A dimension whose size became known late may contradict what was inferred from its name. */
static takt_status check_sizes(takt_unit *u, const takt_function *model, takt_graph *graph)
{
    if (u->e.diagnostics->error_count > 0)
        return TAKT_OK;
    const takt_status status = verify(u, graph);
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY)
        return status;
    char message[TAKT_ERROR_TEXT + 64];
    snprintf(message, sizeof message, "the model's named dimensions contradict each other: %s",
             takt_last_error(u->e.ctx));
    TAKT_TRY(complain_at(u, model->source, model->place,
                         (takt_diagnostic){.id = TAKT_E_DIM, .message = message}));
    return status;
}

takt_status takt_parse(takt_ctx *ctx, const char *file_name, const char *text, size_t length,
                       const takt_parse_options *options, takt_graph **graph)
{
    takt_unit u;
    takt_function *models = NULL, *layers = NULL;
    const takt_function *model = NULL;
    *graph = NULL;
    const takt_source source = {.name = file_name, .text = text, .length = length};
    takt_status status = takt_unit_open(&u, ctx, &source, options);
    if (status == TAKT_OK) {
        takt_syntax_begin(&u.e.syntax, &u.source);
        status = takt_syntax_file(&u.e.syntax, &models, &layers);
    }
    if (status == TAKT_OK)
        status = takt_unit_add_layers(&u, layers);
    if (status == TAKT_OK && u.e.diagnostics->error_count == 0)
        status = takt_unit_import(&u);
    if (status == TAKT_OK && u.e.diagnostics->error_count == 0) {
        status = pick(&u, models, &model);
        if (status == TAKT_OK)
            status = build(&u, model, graph);
        if (status == TAKT_OK)
            status = check_sizes(&u, model, *graph);
    }
    status = takt_unit_status(&u, status);
    takt_unit_close(&u);
    if (status != TAKT_OK) {
        takt_graph_destroy(*graph);
        *graph = NULL;
    }
    return status;
}
