/* state.c - state, which ONNX does not have: an input with a first value, an output with the next
 * one, and an entry "takt.state.INPUT" = OUTPUT in the metadata. */
#include <string.h>

#include "io/onnx/adapt.h"

static const char prefix[] = "takt.state.";

static bool is_state(const takt_pb_entry *e, takt_span *input)
{
    const size_t length = sizeof prefix - 1;
    if (e->key.length <= length || memcmp(e->key.at, prefix, length) != 0)
        return false;
    *input = (takt_span){e->key.at + length, e->key.length - length};
    return true;
}

static takt_status add_state(takt_scope *s, takt_span input, uint64_t at)
{
    takt_import *im = s->im;
    takt_scope *owner;
    takt_onnx_value *v = takt_scope_find(s, input, &owner);
    if (v == NULL || v->kind != TAKT_ONNX_INITIALIZER)
        return takt_wire_fail(im->ctx, at, "state %.*s has no first value", (int)input.length,
                              input.at);
    const char *name = takt_arena_text(&im->arena, input.at, input.length);
    takt_tensor first;
    if (name == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_onnx_tensor(im->source, v->initializer, &first));
    const takt_init init = {.kind = TAKT_INIT_TENSOR, .tensor = &first};
    v->kind = TAKT_ONNX_TENSOR;
    v->id = takt_graph_slot(s->room->g, name, &first.type, &init, false);
    takt_tensor_release(&first);
    return s->room->g->status;
}

takt_status takt_import_states(takt_scope *scope)
{
    const takt_pb_model *m = &scope->im->model;
    takt_span input;
    for (size_t i = 0; i < m->metadata_count; i++)
        if (is_state(&m->metadata[i], &input))
            TAKT_TRY(add_state(scope, input, m->metadata[i].at));
    return TAKT_OK;
}

const char *takt_import_state_of(takt_import *im, takt_span name)
{
    takt_span input;
    for (size_t i = 0; i < im->model.metadata_count; i++)
        if (is_state(&im->model.metadata[i], &input) &&
            takt_onnx_same(im->model.metadata[i].value, name))
            return takt_arena_text(&im->arena, input.at, input.length);
    return NULL;
}
