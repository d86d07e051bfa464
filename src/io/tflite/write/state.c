/* state.c - state from run to run: a variable for each slot, which READ_VARIABLE reads and
 * ASSIGN_VARIABLE sets at the end. CALL_ONCE runs a second subgraph with the first values. */
#include "io/tflite/write/emit.h"

enum { CALL_ONCE = 103, VAR_HANDLE = 111, READ_VARIABLE = 112, ASSIGN_VARIABLE = 113 };

/* The value of a slot before the first run. */
static const void *first_value(takt_tflw *w, const takt_slot *slot)
{
    const takt_slot *from = takt_graph_find_slot(w->source, slot->name);
    const takt_tensor *given =
        from != NULL && w->slots != NULL ? &w->slots[from - w->source->slots] : NULL;
    if (given != NULL && given->storage != NULL)
        return takt_tensor_data(given);
    if (slot->init.kind == TAKT_INIT_TENSOR)
        return takt_tensor_data(slot->init.tensor);
    size_t count;
    if (slot->init.kind != TAKT_INIT_CONSTANT || !takt_type_count(&slot->type, &count)) {
        takt_tflw_fail(w, "the first value of its state is not known");
        return NULL;
    }
    void *data = takt_arena_array(&w->arena, count + 1, 8);
    if (data == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (takt_dtype_is_float(slot->type.dtype))
            takt_dtype_put_f(slot->type.dtype, data, i, slot->init.a);
        else
            takt_dtype_put_i(slot->type.dtype, data, i,
                             takt_dtype_from_double(slot->type.dtype, slot->init.a));
    return data;
}

static int32_t handle(takt_tflw *w, const takt_slot *slot)
{
    const int32_t at = takt_tflw_tensor_new(w, NULL, &(takt_type){.dtype = TAKT_I32}, NULL);
    if (at < 0)
        return -1;
    w->tensors[at].is_handle = true;
    takt_tflw_op *op = takt_tflw_call(w, "VAR_HANDLE", 0, NULL, at);
    takt_tflw_option_text(op, VAR_HANDLE, 0, "");
    takt_tflw_option_text(op, VAR_HANDLE, 1, slot->name);
    return at;
}

static void assign(takt_tflw *w, int32_t variable, int32_t value)
{
    takt_tflw_option(takt_tflw_2(w, "ASSIGN_VARIABLE", variable, value, -1), ASSIGN_VARIABLE, 0, 1,
                     0);
}

/* The second subgraph shares everything but tensors and operators. */
static takt_tflw *second(takt_tflw *w)
{
    takt_tflw *first = takt_arena_array(&w->arena, 1, sizeof *first);
    if (first == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return NULL;
    }
    *first = (takt_tflw){.ctx = w->ctx, .g = w->g, .id = w->id};
    takt_arena_init(&first->arena, w->ctx);
    return first;
}

/* Operators set their own variables to 0 before the first run, bytes to their zero point. */
static void check_first(takt_tflw *w, const takt_slot *slot)
{
    const takt_tflw_grid *grid = &w->grids[slot->value];
    const int64_t zero =
        slot->type.dtype == TAKT_I8 && grid->count > 0 && grid->zero != NULL ? grid->zero[0] : 0;
    const void *data = first_value(w, slot);
    size_t count = 0;
    bool is_good = data != NULL && takt_type_count(&slot->type, &count);
    for (size_t i = 0; is_good && i < count; i++)
        is_good = takt_dtype_is_float(slot->type.dtype)
                      ? takt_dtype_get_f(slot->type.dtype, data, i) == 0
                      : takt_dtype_get_i(slot->type.dtype, data, i) == zero;
    if (!is_good)
        takt_tflw_fail(w, "the state of an operator begins at 0 in TensorFlow Lite");
}

static void begin_slot(takt_tflw *w, size_t i)
{
    const takt_slot *slot = &w->g->slots[i];
    w->id = w->first->id = slot->value;
    const void *data = first_value(w, slot);
    w->handles[i] = handle(w, slot);
    const int32_t value = takt_tflw_data(w->first, &slot->type, data, &w->grids[slot->value]);
    assign(w->first, handle(w->first, slot), value);
    if (w->status == TAKT_OK)
        w->status = w->first->status;
}

void takt_tflw_state_begin(takt_tflw *w)
{
    const size_t count = w->g->slot_count;
    size_t kept = 0;
    for (size_t i = 0; i < count && w->status == TAKT_OK; i++) {
        w->id = w->g->slots[i].value;
        if (!takt_tflw_keeps_slot(w, &w->g->slots[i]))
            continue;
        check_first(w, &w->g->slots[i]);
        kept++;
    }
    if (kept == count || w->status != TAKT_OK)
        return;
    w->handles = takt_arena_array(&w->arena, count, sizeof *w->handles);
    w->first = w->handles != NULL ? second(w) : NULL;
    if (w->first == NULL) {
        w->status = TAKT_ERR_MEMORY;
        return;
    }
    takt_tflw_option(takt_tflw_call(w, "CALL_ONCE", 0, NULL, -1), CALL_ONCE, 0, 4, 1);
    for (size_t i = 0; i < count && w->status == TAKT_OK; i++)
        if (!takt_tflw_keeps_slot(w, &w->g->slots[i]))
            begin_slot(w, i);
}

void takt_tflw_state_read(takt_tflw *w, const takt_node *n)
{
    for (size_t i = 0; i < w->g->slot_count; i++) {
        if (w->g->slots[i].value != w->id)
            continue;
        const int32_t value = takt_tflw_result(w, w->id, NULL);
        if (takt_tflw_keeps_slot(w, &w->g->slots[i])) {
            if (value >= 0)
                w->tensors[value].is_variable = true;
            return;
        }
        takt_tflw_option(takt_tflw_1(w, "READ_VARIABLE", w->handles[i], value), READ_VARIABLE, 0, 1,
                         0);
        return;
    }
    takt_tflw_fail(w, "%s is not a slot of the model", n->attr[0].string);
}

void takt_tflw_state_end(takt_tflw *w)
{
    for (size_t i = 0; i < w->g->slot_count && w->status == TAKT_OK; i++) {
        const takt_slot *slot = &w->g->slots[i];
        w->id = slot->value;
        if (slot->next != TAKT_NONE && slot->next != slot->value && !takt_tflw_keeps_slot(w, slot))
            assign(w, w->handles[i], takt_tflw_value(w, slot->next));
    }
}
