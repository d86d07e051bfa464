/* write.c - a graph as an ONNX model: ports, weights, and the file.
 *
 * Parameters are initializers. State is an input with a first value and an output NAME.next; the
 * metadata says which belong together, so that Takt restores the state. The condition of a clause
 * is an output, too; the metadata tells it from the model's outputs.
 */
#include "io/onnx/write/write.h"

#include <string.h>

#include "base/mem.h"
#include "io/onnx/write/file.h"
#include "pass/pass.h"

enum { OPSET = 21, OPSET_BF16 = 22, OPSET_F4 = 23, OPSET_2BIT = 25 };
/* ---- which opset ---- */

static int opset_of(const takt_graph *g)
{
    int opset = OPSET;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i].out_count; k++) {
            const takt_dtype d = g->nodes[i].type[k].dtype;
            const int need = d == TAKT_I2 || d == TAKT_U2 ? OPSET_2BIT
                             : d == TAKT_F4E2M1           ? OPSET_F4
                             : d == TAKT_BF16             ? OPSET_BF16
                                                          : OPSET;
            opset = need > opset ? need : opset;
        }
    for (size_t i = 0; i < g->child_count; i++) {
        const int inner = opset_of(g->children[i]);
        opset = inner > opset ? inner : opset;
    }
    return opset;
}

/* ---- ports ---- */

static const char *next_name(takt_emit *e, const takt_slot *s)
{
    const char *name = takt_arena_format(&e->arena, "%s.next", s->name);
    if (name == NULL)
        e->status = TAKT_ERR_MEMORY;
    return name != NULL ? takt_emit_unique(e, name) : "";
}

static void put_slot(takt_onnx_writer *w, const takt_graph *g, size_t i, const char *next)
{
    const takt_slot *s = &g->slots[i];
    takt_emit *e = &w->e;
    const takt_tensor *value = w->o->slots != NULL ? &w->o->slots[i] : NULL;
    if ((value == NULL || value->storage == NULL) && s->init.kind == TAKT_INIT_TENSOR)
        value = s->init.tensor;
    if (s->next != TAKT_NONE) {
        takt_emit_value(e, &w->ports, 11, s->name, &s->type);
        takt_emit_value(e, &w->ports, 12, next, &s->type);
        const char *key = takt_arena_format(&e->arena, "takt.state.%s", s->name);
        if (key == NULL)
            e->status = TAKT_ERR_MEMORY;
        else
            takt_pb_put_entry(&w->model, 14, key, next);
    }
    if (value == NULL || value->storage == NULL)
        takt_emit_fail(e, "%s has no value", s->name);
    else
        takt_emit_weigh(e, s->name, &s->type, takt_tensor_data(value));
}

static void reserve_names(takt_emit *e, const takt_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++)
        (void)takt_emit_unique(e, g->inputs[i].name);
    for (size_t i = 0; i < g->slot_count; i++)
        (void)takt_emit_unique(e, g->slots[i].name);
}

/* In our graphs an output may have the name of an input; in ONNX it gets another. */
static void write_graph(takt_onnx_writer *w, const takt_graph *g)
{
    takt_emit *e = &w->e;
    const size_t room = g->input_count + g->output_count + g->slot_count + 1;
    const char **in = takt_arena_array(&e->arena, room, sizeof *in);
    const char **want = takt_arena_array(&e->arena, room, sizeof *want);
    const char **out = takt_arena_array(&e->arena, room, sizeof *out);
    if (in == NULL || want == NULL || out == NULL) {
        e->status = TAKT_ERR_MEMORY;
        return;
    }
    reserve_names(e, g);
    for (size_t i = 0; i < g->input_count; i++) {
        in[i] = g->inputs[i].name;
        takt_emit_value(e, &w->ports, 11, in[i], takt_type_of(g, g->inputs[i].id));
    }
    for (size_t i = 0; i < g->output_count; i++) {
        want[i] = takt_emit_unique(e, g->outputs[i].name);
        takt_emit_value(e, &w->ports, 12, want[i], takt_type_of(g, g->outputs[i].id));
    }
    const char **next = want + g->output_count;
    for (size_t i = 0; i < g->slot_count; i++)
        next[i] = g->slots[i].next != TAKT_NONE ? next_name(e, &g->slots[i]) : NULL;
    takt_emit_graph(e, g, in, want, out);
    for (size_t i = 0; i < g->slot_count && e->status == TAKT_OK; i++)
        put_slot(w, g, i, next[i]);
    takt_pb_put_string(&w->ports, 2, g->name != NULL ? g->name : "model");
}

static void write_opset(takt_onnx_writer *w, const char *domain, int version)
{
    takt_text body;
    takt_text_init(&body, w->e.ctx);
    takt_pb_put_string(&body, 1, domain);
    takt_pb_put_int(&body, 2, version);
    takt_pb_put_message(&w->model, 8, &body);
    takt_text_deinit(&body);
}

/* A clause becomes a separate output, and an entry of the metadata with its text. */
static void write_checks(takt_onnx_writer *w, const takt_graph *g)
{
    takt_emit *e = &w->e;
    for (size_t i = 0; i < g->check_count && e->status == TAKT_OK; i++) {
        const takt_check *c = &g->checks[i];
        const char *key =
            takt_arena_format(&e->arena, "takt.check.%s", g->outputs[takt_graph_shown(g) + i].name);
        const char *value =
            takt_arena_format(&e->arena, "%s\n%d\n%s\n%s", c->is_require ? "require" : "ensure",
                              c->line, c->message != NULL ? c->message : "", c->text);
        if (key == NULL || value == NULL)
            e->status = TAKT_ERR_MEMORY;
        else
            takt_pb_put_entry(&w->model, 14, key, value);
    }
}

static takt_status write_model(takt_onnx_writer *w, const takt_graph *g)
{
    takt_emit *e = &w->e;
    write_graph(w, g);
    write_checks(w, g);
    TAKT_TRY(e->status);
    write_opset(w, "", e->opset);
    if (e->uses_own)
        write_opset(w, "takt", 1);
    if (e->uses_ml)
        write_opset(w, "ai.onnx.ml", 3);
    for (size_t i = 0; i < w->o->entry_count; i++)
        takt_pb_put_entry(&w->model, 14, w->o->keys[i], w->o->values[i]);
    const takt_text *all[] = {&w->nodes, &w->ports, &w->model, &e->body, &e->item};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TAKT_TRY(all[i]->status);
    return takt_onnx_write_file(w);
}

static takt_status write_whole(const takt_graph *g, const takt_onnx_options *options,
                               const char *path)
{
    takt_onnx_writer w = {.o = options, .path = path};
    takt_emit *e = &w.e;
    takt_text *const texts[] = {&w.nodes, &w.ports, &w.model, &e->attrs, &e->body, &e->item};
    e->ctx = g->ctx;
    e->root = g;
    e->slots = options->slots;
    e->opset = opset_of(g);
    e->nodes = e->main = &w.nodes;
    e->values = &w.ports;
    takt_arena_init(&e->arena, g->ctx);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        takt_text_init(texts[i], g->ctx);
    const takt_status status = write_model(&w, g);
    if (options->lowered != NULL)
        *options->lowered = e->lowered;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        takt_text_deinit(texts[i]);
    for (size_t i = 0; i < e->kept_count; i++)
        takt_graph_destroy(e->kept[i]);
    takt_mem_put(g->ctx, e->kept, e->kept_capacity * sizeof(takt_graph *));
    takt_mem_put(g->ctx, e->weights, e->weight_capacity * sizeof *e->weights);
    takt_mem_put(g->ctx, e->sizes, e->size_capacity * sizeof *e->sizes);
    takt_arena_deinit(&e->arena);
    return status;
}

/* Converts ggml blocks to floats, then writes everything. */
static takt_status write_plain(const takt_graph *g, const takt_onnx_options *options,
                               const char *path)
{
    if (!takt_onnx_has_blocks(g))
        return write_whole(g, options, path);
    takt_onnx_options own = *options;
    takt_graph *floats = NULL;
    takt_arena arena;
    takt_arena_init(&arena, g->ctx);
    takt_tensor *values = options->slots != NULL ? takt_arena_copy(&arena, options->slots,
                                                                   g->slot_count * sizeof *values)
                                                 : NULL;
    own.slots = values;
    takt_status status = options->slots == NULL || g->slot_count == 0 || values != NULL
                             ? takt_onnx_unblock(g, values, &floats)
                             : TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = write_whole(floats, &own, path);
    takt_graph_destroy(floats);
    takt_arena_deinit(&arena);
    return status;
}

static takt_status write_ordered(const takt_graph *g, const takt_onnx_options *options,
                                 const char *path)
{
    takt_graph *ordered;
    if (!takt_onnx_has_last_channels(g))
        return write_plain(g, options, path);
    TAKT_TRY(takt_onnx_channels_second(g, &ordered));
    const takt_status status = write_plain(ordered, options, path);
    takt_graph_destroy(ordered);
    return status;
}

takt_status takt_onnx_write(const takt_graph *g, const takt_onnx_options *options, const char *path)
{
    takt_graph *with_checks;
    if (g->check_count == 0)
        return write_ordered(g, options, path);
    TAKT_TRY(takt_graph_checks(g, true, &with_checks));
    const takt_status status = write_ordered(with_checks, options, path);
    takt_graph_destroy(with_checks);
    return status;
}
