/* adapt.c - attributes, inputs and results for adapters. */
#include "io/onnx/lengths.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

/* False after a refusal, including one by the graph: later errors follow from the first and must
 * not replace it. */
static bool is_good(takt_call *c)
{
    if (c->status == TAKT_OK)
        c->status = c->g->status;
    return c->status == TAKT_OK;
}

static takt_status refuse(takt_call *c, const char *hint, const char *format, va_list args)
{
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    if (is_good(c)) {
        (void)takt_fail(c->ctx, TAKT_E_ONNX_UNSUPPORTED, "%.*s: %s", (int)c->node->op.length,
                        c->node->op.at, text);
        if (hint != NULL)
            (void)takt_fail_hint(c->ctx, "%s", hint);
        c->status = takt_fail_offset(c->ctx, c->node->at);
    }
    return c->status;
}

takt_status takt_onnx_refuse(takt_call *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const takt_status status = refuse(c, NULL, format, args);
    va_end(args);
    return status;
}

takt_status takt_onnx_refuse_size(takt_call *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const takt_status status =
        refuse(c, "give numbers for named dimensions with --shape or -D", format, args);
    va_end(args);
    return status;
}

static void invalid(takt_call *c, uint64_t at, const char *name, const char *why)
{
    if (c->status == TAKT_OK)
        c->status = takt_wire_fail(c->ctx, at, "attribute %s of %.*s %s", name,
                                   (int)c->node->op.length, c->node->op.at, why);
}

void *takt_onnx_get(takt_call *c, size_t count, size_t size)
{
    size_t bytes = SIZE_MAX;
    if (count == SIZE_MAX || !takt_size_mul(count + 1, size, &bytes) || bytes > c->im->tables) {
        c->status =
            takt_fail_memory(c->ctx, "tables, which so small a file may not ask for", bytes);
        return NULL;
    }
    c->im->tables -= bytes;
    void *p = takt_arena_array(&c->im->arena, count + 1, size);
    if (p == NULL)
        c->status = TAKT_ERR_MEMORY;
    return p;
}

bool takt_onnx_affords(takt_call *c, double operations)
{
    if (operations > c->im->fold_work)
        (void)takt_onnx_refuse(c, "it would take too long while the model is loaded");
    else
        c->im->fold_work -= operations;
    return c->status == TAKT_OK;
}

/* ---- attributes ---- */

static const takt_pb_attr *among(const takt_pb_attr *attrs, size_t count, takt_span name)
{
    for (size_t i = 0; i < count; i++)
        if (takt_onnx_same(attrs[i].name, name))
            return &attrs[i];
    return NULL;
}

const takt_pb_attr *takt_onnx_attr(takt_call *c, const char *name)
{
    const takt_pb_attr *a = among(c->node->attrs, c->node->attr_count, takt_span_of(name));
    /* A node of a function may take it from the function's caller, or use the function's
     * default. */
    const takt_scope *s = c->scope;
    while (a != NULL && a->ref.length > 0) {
        while (s != NULL && s->function == NULL)
            s = s->parent;
        if (s == NULL) {
            invalid(c, a->at, name, "refers to an attribute outside a function");
            return NULL;
        }
        const takt_span ref = a->ref;
        a = among(s->caller->attrs, s->caller->attr_count, ref);
        if (a == NULL)
            return among(s->function->attrs, s->function->attr_count, ref);
        s = s->caller_scope;
    }
    return a;
}

static const takt_pb_attr *typed(takt_call *c, const char *name, takt_pb_attr_type type)
{
    const takt_pb_attr *a = takt_onnx_attr(c, name);
    if (a != NULL && a->type != (int64_t)type && a->type != TAKT_PB_UNDEFINED) {
        invalid(c, a->at, name, "has the wrong type");
        return NULL;
    }
    return a;
}

int64_t takt_onnx_i(takt_call *c, const char *name, int64_t fallback)
{
    const takt_pb_attr *a = typed(c, name, TAKT_PB_INT);
    return a != NULL ? a->i : fallback;
}

double takt_onnx_f(takt_call *c, const char *name, double fallback)
{
    const takt_pb_attr *a = typed(c, name, TAKT_PB_FLOAT);
    return a != NULL ? (double)a->f : fallback;
}

takt_ints takt_onnx_ints(takt_call *c, const char *name)
{
    const takt_pb_attr *a = typed(c, name, TAKT_PB_INTS);
    return a != NULL ? (takt_ints){a->ints, a->int_count, true} : (takt_ints){0};
}

const char *takt_onnx_s(takt_call *c, const char *name, const char *fallback)
{
    const takt_pb_attr *a = typed(c, name, TAKT_PB_STRING);
    const char *text = a != NULL ? takt_arena_text(&c->im->arena, a->s.at, a->s.length) : fallback;
    return text != NULL ? text : fallback;
}

bool takt_onnx_is(takt_call *c, const char *name, const char *fallback, const char *value)
{
    return strcmp(takt_onnx_s(c, name, fallback), value) == 0;
}

int takt_onnx_choice(takt_call *c, const char *name, const char *fallback,
                     const char *const *values)
{
    const char *s = takt_onnx_s(c, name, fallback);
    for (int i = 0; values[i] != NULL; i++)
        if (strcmp(values[i], s) == 0)
            return i;
    (void)takt_onnx_refuse(c, "%s is \"%s\"", name, s);
    return 0;
}

const takt_pb_graph *takt_onnx_graph(takt_call *c, const char *name)
{
    const takt_pb_attr *a = typed(c, name, TAKT_PB_GRAPH);
    if (a == NULL || a->g == NULL)
        invalid(c, c->node->at, name, "is missing");
    return a != NULL ? a->g : NULL;
}

takt_dtype takt_onnx_to(takt_call *c, const char *name, takt_dtype fallback)
{
    const int64_t elem = takt_onnx_i(c, name, 0);
    takt_dtype dtype = fallback;
    if (elem != 0 && !takt_onnx_dtype(elem, &dtype))
        (void)takt_onnx_refuse(c, "element type %lld", (long long)elem);
    return dtype;
}

/* ---- inputs ---- */

bool takt_onnx_has(const takt_call *c, size_t i)
{
    return i < c->in_count && c->in[i] != NULL && c->in[i]->kind != TAKT_ONNX_ABSENT;
}

takt_id takt_onnx_in(takt_call *c, size_t i)
{
    if (!takt_onnx_has(c, i))
        return TAKT_NONE;
    if (c->in[i]->kind != TAKT_ONNX_TENSOR)
        (void)takt_onnx_refuse(c, "input %zu is a sequence or an empty optional", i);
    return c->in[i]->id;
}

const takt_type *takt_onnx_type(takt_call *c, size_t i)
{
    static const takt_type none = {.dtype = TAKT_F32};
    const takt_id id = takt_onnx_in(c, i);
    if (id != TAKT_NONE && c->in[i]->kind == TAKT_ONNX_TENSOR)
        return takt_type_of(c->g, id);
    (void)takt_onnx_refuse(c, "input %zu is missing", i);
    return &none;
}

const takt_array *takt_onnx_peek(takt_call *c, size_t i)
{
    const takt_array *known = NULL;
    const takt_id id = takt_onnx_in(c, i);
    takt_status status = takt_fold_known(c->scope->room, id, &known);
    if (status == TAKT_OK && known != NULL)
        status = takt_fold_bind(c->scope->room, id);
    if (status != TAKT_OK && c->status == TAKT_OK)
        c->status = status;
    return known;
}

const takt_array *takt_onnx_known(takt_call *c, size_t i)
{
    const takt_array *known = takt_onnx_peek(c, i);
    if (known == NULL && is_good(c)) {
        (void)takt_fail(c->ctx, TAKT_E_ONNX_STATIC,
                        "%.*s: input %zu (%.*s) must be known when the model is loaded",
                        (int)c->node->op.length, c->node->op.at, i,
                        i < c->node->input_count ? (int)c->node->inputs[i].length : 0,
                        i < c->node->input_count ? c->node->inputs[i].at : "");
        c->status = takt_fail_offset(c->ctx, c->node->at);
    }
    return known;
}

const takt_array *takt_onnx_known_floats(takt_call *c, size_t i)
{
    const takt_array *known = takt_onnx_known(c, i);
    if (known == NULL || known->f != NULL)
        return known;
    (void)takt_onnx_refuse(c, "input %zu must hold floats", i);
    return NULL;
}

int64_t takt_onnx_known_i(takt_call *c, size_t i, int64_t fallback)
{
    const takt_ints list = takt_onnx_known_ints(c, i);
    if (list.is_set && list.count != 1)
        (void)takt_onnx_refuse(c, "input %zu must hold one number", i);
    return list.count == 1 ? list.at[0] : fallback;
}

takt_ints takt_onnx_known_ints(takt_call *c, size_t i)
{
    if (!takt_onnx_has(c, i))
        return (takt_ints){0};
    const takt_array *known = takt_onnx_known(c, i);
    if (known == NULL)
        return (takt_ints){0};
    if (known->i == NULL && known->count > 0) {
        (void)takt_onnx_refuse(c, "input %zu must hold integers", i);
        return (takt_ints){0};
    }
    return (takt_ints){known->i, known->count, true};
}

takt_ints takt_onnx_list(takt_call *c, const char *name, size_t input)
{
    const takt_ints attr = takt_onnx_ints(c, name);
    return attr.is_set ? attr : takt_onnx_known_ints(c, input);
}

double takt_onnx_known_f(takt_call *c, size_t i, double fallback)
{
    if (!takt_onnx_has(c, i))
        return fallback;
    const takt_array *known = takt_onnx_known(c, i);
    if (known == NULL || known->count == 0)
        return fallback;
    return known->f != NULL ? known->f[0] : takt_dtype_to_double(known->dtype, known->i[0]);
}

takt_syms takt_onnx_signed(takt_call *c, size_t i)
{
    takt_syms syms = {0};
    const takt_id id = takt_onnx_in(c, i);
    if (id == TAKT_NONE) {
        (void)takt_onnx_refuse(c, "input %zu is missing", i);
        return syms;
    }
    takt_status status = takt_fold_syms(c->scope->room, id, &syms);
    if (status == TAKT_OK && syms.at != NULL)
        status = takt_fold_bind(c->scope->room, id);
    if (status != TAKT_OK && c->status == TAKT_OK)
        c->status = status;
    if (takt_onnx_type(c, i)->rank > 1)
        syms = (takt_syms){0}; /* a table is not a list of sizes */
    if (syms.at == NULL)
        (void)takt_onnx_known(c, i); /* reports what is missing */
    return syms;
}

takt_syms takt_onnx_syms(takt_call *c, size_t i)
{
    takt_syms syms = takt_onnx_signed(c, i);
    for (size_t k = 0; syms.at != NULL && k < syms.count; k++)
        if (syms.at[k].is_minus)
            syms = (takt_syms){0};
    if (syms.at == NULL && c->status == TAKT_OK)
        (void)takt_onnx_known(c, i);
    return syms;
}

/* Number of elements found at run time; nothing in the model bounds it. */
static const takt_dim *found_dims(takt_call *c, size_t i, size_t *count)
{
    takt_onnx_bound bounds[2 * TAKT_MAX_RANK];
    const takt_syms syms = takt_onnx_peek_syms(c, i);
    const takt_id n = syms.at == NULL ? takt_onnx_vector(c, i, count) : TAKT_NONE;
    takt_dim *dims = n != TAKT_NONE ? takt_onnx_get(c, *count, sizeof *dims) : NULL;
    for (size_t k = 0; dims != NULL && k < *count; k++)
        bounds[k] = takt_onnx_at_most(TAKT_LENGTH_OPEN);
    if (dims != NULL && *count > 0)
        takt_onnx_lengths(c, n, bounds, *count, dims);
    return dims;
}

const takt_dim *takt_onnx_dims(takt_call *c, size_t i, size_t *count)
{
    const takt_dim *found = found_dims(c, i, count);
    if (found != NULL)
        return found;
    const takt_syms syms = takt_onnx_syms(c, i);
    takt_dim *dims = takt_onnx_get(c, syms.count, sizeof *dims);
    *count = 0;
    for (size_t k = 0; dims != NULL && syms.at != NULL && k < syms.count; k++) {
        if (!syms.at[k].is_dim && syms.at[k].number < 0) {
            (void)takt_onnx_refuse(c, "a size is %lld", (long long)syms.at[k].number);
            return dims;
        }
        dims[k] = syms.at[k].is_dim ? syms.at[k].dim : syms.at[k].number;
    }
    *count = syms.at != NULL ? syms.count : 0;
    return dims;
}

/* ---- results ---- */

void takt_onnx_set(takt_call *c, size_t i, takt_id id)
{
    if (i >= c->out_count)
        return;
    c->out[i].kind = TAKT_ONNX_TENSOR;
    c->out[i].id = id;
    if (id == TAKT_NONE && is_good(c))
        c->status = takt_fail(c->ctx, TAKT_E_ARITY, "%.*s: an input is missing",
                              (int)c->node->op.length, c->node->op.at);
}

int takt_onnx_axis(takt_call *c, int64_t axis, int rank)
{
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < rank)
        return (int)at;
    (void)takt_onnx_refuse(c, "axis is %lld, the rank %d", (long long)axis, rank);
    return 0;
}
