/* freeze.c - inputs whose values were folded into the model: a run with other values is refused. */
#include <string.h>

#include "io/onnx/adapt.h"

/* Values as text: "x == [1, 3, 224]", truncated after the first few. */
static const char *clause(takt_import *im, const char *name, const takt_array *value)
{
    enum { MOST = 8 };
    takt_text text;
    takt_text_init(&text, im->ctx);
    takt_text_add(&text, "%s == %s", name, value->rank > 0 ? "[" : "");
    for (size_t i = 0; i < value->count && i < MOST; i++) {
        if (value->f != NULL)
            takt_text_add(&text, "%s%g", i > 0 ? ", " : "", value->f[i]);
        else
            takt_text_add(&text, "%s%lld", i > 0 ? ", " : "", (long long)value->i[i]);
    }
    takt_text_add(&text, "%s%s", value->count > MOST ? ", ..." : "", value->rank > 0 ? "]" : "");
    const char *kept = text.status == TAKT_OK
                           ? takt_arena_text(&im->arena, takt_text_get(&text), text.length)
                           : NULL;
    takt_text_deinit(&text);
    return kept;
}

static takt_status freeze(takt_room *room, const takt_port *port, const takt_fixed *fixed)
{
    takt_graph *g = room->g;
    const char *text = clause(room->im, port->name, room->facts[port->id].known);
    const char *message = takt_arena_format(
        &room->im->arena, "input %s is frozen: the model was read for this value", port->name);
    if (text == NULL || message == NULL)
        return TAKT_ERR_MEMORY;
    takt_tensor copy; /* the caller's values do not outlive the load */
    TAKT_TRY(takt_tensor_create(g->ctx, &fixed->tensor.type, &copy));
    memcpy(takt_tensor_data(&copy), takt_tensor_data(&fixed->tensor), takt_tensor_bytes(&copy));
    const takt_id value = takt_graph_constant(g, &copy);
    takt_tensor_release(&copy);
    takt_graph_check(g, (takt_check){.text = text,
                                     .message = message,
                                     .is_require = true,
                                     .id = takt_binary(g, &takt_op_eq, port->id, value)});
    return g->status;
}

takt_status takt_import_freeze(takt_room *room)
{
    const size_t count = room->g->input_count;
    TAKT_TRY(takt_fold_settle(room));
    for (size_t i = 0; i < count; i++) {
        const takt_port port = room->g->inputs[i];
        const takt_fixed *fixed = takt_import_fixed(room->im, takt_span_of(port.name));
        if (fixed != NULL && fixed->tensor.storage != NULL && room->facts[port.id].is_bound &&
            room->facts[port.id].known != NULL)
            TAKT_TRY(freeze(room, &port, fixed));
    }
    return TAKT_OK;
}
