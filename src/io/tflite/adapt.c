/* adapt.c - options, inputs and results for adapters. */
#include "io/tflite/adapt.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "io/tflite/whole.h"

bool takt_tfl_good(takt_tfl_call *c)
{
    if (c->status == TAKT_OK)
        c->status = c->flat->status;
    if (c->status == TAKT_OK)
        c->status = c->g->status;
    return c->status == TAKT_OK;
}

takt_status takt_tfl_refuse(takt_tfl_call *c, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (takt_tfl_good(c)) {
        (void)takt_fail(c->ctx, TAKT_E_TFLITE_UNSUPPORTED, "%s: %s", c->name, text);
        c->status = takt_fail_offset(c->ctx, c->op->at);
    }
    return c->status;
}

void *takt_tfl_get(takt_tfl_call *c, size_t count, size_t size)
{
    size_t bytes = SIZE_MAX;
    if (count == SIZE_MAX || !takt_size_mul(count + 1, size, &bytes) || bytes > c->im->tables) {
        if (c->status == TAKT_OK)
            c->status =
                takt_fail_memory(c->ctx, "tables, which so small a file may not ask for", bytes);
        return NULL;
    }
    c->im->tables -= bytes;
    void *p = takt_arena_array(&c->im->arena, count + 1, size);
    if (p == NULL && c->status == TAKT_OK)
        c->status = TAKT_ERR_MEMORY;
    return p;
}

/* ---- options ---- */

static const takt_flat_table *options(const takt_tfl_call *c)
{
    return c->op->options.at != 0 ? &c->op->options : &c->op->options2;
}

/* Records an option of an operator that is kept whole, for the writer. */
static void note(takt_tfl_call *c, int field, int bytes, uint32_t bits)
{
    struct takt_tfl_whole *w = c->whole;
    for (size_t i = 0; w != NULL && i < w->option_count; i++)
        if (w->option[i].field == field)
            return;
    if (w != NULL && w->option_count < TAKT_TFL_OPTIONS)
        w->option[w->option_count++] = (takt_tfl_option){field, bytes, bits};
}

int32_t takt_tfl_i32(takt_tfl_call *c, int field, int32_t fallback)
{
    const int32_t value = takt_flat_i32(c->flat, options(c), field, fallback);
    note(c, field, 4, (uint32_t)value);
    return value;
}

uint8_t takt_tfl_u8(takt_tfl_call *c, int field, uint8_t fallback)
{
    const uint8_t value = takt_flat_u8(c->flat, options(c), field, fallback);
    note(c, field, 1, value);
    return value;
}

float takt_tfl_f32(takt_tfl_call *c, int field, float fallback)
{
    const float value = takt_flat_f32(c->flat, options(c), field, fallback);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    note(c, field, 4, bits);
    return value;
}

takt_tfl_ints takt_tfl_list(takt_tfl_call *c, int field)
{
    const takt_flat_vector v = takt_flat_list(c->flat, options(c), field, 4);
    int64_t *at = takt_tfl_get(c, v.count, sizeof *at);
    for (size_t i = 0; at != NULL && i < v.count; i++)
        at[i] = takt_flat_i32_at(c->flat, v, i);
    return (takt_tfl_ints){at, at != NULL ? v.count : 0};
}

bool takt_tfl_is(const takt_tfl_call *c, const char *name)
{
    return strcmp(c->name, name) == 0;
}

/* ---- inputs ---- */

bool takt_tfl_has(const takt_tfl_call *c, size_t i)
{
    return i < c->op->input_count && c->op->inputs[i] >= 0;
}

static const takt_tfl_tensor *tensors(const takt_tfl_call *c)
{
    return c->floats != NULL ? c->floats : c->scope->graph->tensors;
}

const takt_tfl_tensor *takt_tfl_tensor_in(const takt_tfl_call *c, size_t i)
{
    static const takt_tfl_tensor nothing;
    return takt_tfl_has(c, i) ? &tensors(c)[c->op->inputs[i]] : &nothing;
}

const takt_tfl_tensor *takt_tfl_tensor_out(const takt_tfl_call *c, size_t i)
{
    static const takt_tfl_tensor nothing;
    return i < c->op->output_count ? &tensors(c)[c->op->outputs[i]] : &nothing;
}

takt_id takt_tfl_in(takt_tfl_call *c, size_t i)
{
    if (!takt_tfl_has(c, i) || !takt_tfl_good(c))
        return TAKT_NONE;
    takt_tfl_value *v = &c->scope->values[c->op->inputs[i]];
    const takt_tfl_tensor *t = &c->scope->graph->tensors[c->op->inputs[i]];
    if (v->state == TAKT_TFL_READY)
        return takt_tfl_kept_in(c, i, v->id);
    if (v->state == TAKT_TFL_NEW && (takt_tfl_is_constant(c->im, t) || t->is_variable)) {
        c->status = takt_tfl_constant(c->scope, t, &v->id);
        v->state = TAKT_TFL_READY;
        return c->status == TAKT_OK ? takt_tfl_kept_in(c, i, v->id) : TAKT_NONE;
    }
    if (v->state == TAKT_TFL_HANDLE)
        (void)takt_tfl_refuse(c, "input %zu is a handle, not a tensor", i);
    else if (v->state == TAKT_TFL_PART)
        (void)takt_tfl_refuse(c, "the size of input %zu depends on values", i);
    else
        c->status = takt_flat_fail(c->flat, c->op->at,
                                   "%s reads tensor %d (%.*s), which nothing made before", c->name,
                                   c->op->inputs[i], (int)t->name.length, t->name.at);
    return TAKT_NONE;
}

takt_id takt_tfl_need(takt_tfl_call *c, size_t i)
{
    if (!takt_tfl_has(c, i))
        (void)takt_tfl_refuse(c, "input %zu is missing", i);
    return takt_tfl_in(c, i);
}

takt_type takt_tfl_type(takt_tfl_call *c, size_t i)
{
    const takt_id id = takt_tfl_in(c, i);
    return *takt_type_of(c->g, id);
}

const takt_array *takt_tfl_peek(takt_tfl_call *c, size_t i)
{
    const takt_id id = takt_tfl_in(c, i);
    const takt_array *known = NULL;
    if (id == TAKT_NONE)
        return NULL;
    const takt_status status = takt_tfl_study(c->scope, id, &known);
    if (status != TAKT_OK && c->status == TAKT_OK)
        c->status = status;
    return status == TAKT_OK ? known : NULL;
}

takt_tfl_ints takt_tfl_known(takt_tfl_call *c, size_t i)
{
    (void)takt_tfl_need(c, i);
    const takt_array *known = takt_tfl_peek(c, i);
    if (known != NULL && known->i != NULL)
        return (takt_tfl_ints){known->i, known->count};
    (void)takt_tfl_refuse(c, "input %zu must be whole numbers that are known before the run", i);
    return (takt_tfl_ints){0};
}

int64_t takt_tfl_known_one(takt_tfl_call *c, size_t i)
{
    const takt_tfl_ints v = takt_tfl_known(c, i);
    if (v.count == 1)
        return v.at[0];
    (void)takt_tfl_refuse(c, "input %zu must be one number, not %zu", i, v.count);
    return 0;
}

double takt_tfl_known_f(takt_tfl_call *c, size_t i)
{
    (void)takt_tfl_need(c, i);
    const takt_array *known = takt_tfl_peek(c, i);
    if (known != NULL && known->count == 1)
        return known->f != NULL ? known->f[0] : (double)known->i[0];
    (void)takt_tfl_refuse(c, "input %zu must be one number that is known before the run", i);
    return 0;
}

int takt_tfl_axis(takt_tfl_call *c, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank)
        return (int)(axis < 0 ? axis + rank : axis);
    (void)takt_tfl_refuse(c, "axis %lld of a tensor with %d axes", (long long)axis, rank);
    return 0;
}

/* ---- results ---- */

void takt_tfl_set(takt_tfl_call *c, size_t i, takt_id id)
{
    if (!takt_tfl_good(c) || i >= c->op->output_count)
        return;
    takt_tfl_value *v = &c->scope->values[c->op->outputs[i]];
    if (id == TAKT_NONE)
        (void)takt_tfl_refuse(c, "result %zu cannot be made", i);
    else if (v->state != TAKT_TFL_NEW)
        c->status =
            takt_flat_fail(c->flat, c->op->at, "tensor %d is made twice", c->op->outputs[i]);
    *v = (takt_tfl_value){.state = TAKT_TFL_READY, .id = takt_tfl_kept_out(c, i, id)};
}

takt_status takt_tfl_done(takt_tfl_call *c, takt_id id)
{
    if (c->op->output_count != 1)
        return takt_tfl_refuse(c, "it has %zu results, not 1", c->op->output_count);
    takt_tfl_set(c, 0, id);
    return c->status;
}

void takt_tfl_next(takt_tfl_call *c, size_t i, takt_id id)
{
    const takt_id state = takt_tfl_in(c, i);
    if (state == TAKT_NONE || id == TAKT_NONE)
        return;
    if (c->whole != NULL) {
        c->whole->next[i] = id;
        return;
    }
    const takt_node *n = takt_node_at(c->g, state);
    for (size_t k = 0; k < c->g->slot_count; k++)
        if (n->op == &takt_op_state && c->g->slots[k].value == state) {
            takt_graph_set_next(c->g, c->g->slots[k].name, id);
            return;
        }
    (void)takt_tfl_refuse(c, "input %zu is not a variable of its own", i);
}
