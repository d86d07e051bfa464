/* shape.c - shapes as tensors, computed from the model's inputs where dimensions have names. */
#include <string.h>

#include "base/mem.h"
#include "io/onnx/import.h"
#include "io/onnx/write/emit.h"
#include "ir/dim_table.h"

static const char *size_of(takt_emit *e, takt_dim d);

/* ---- where to get the value of a name ---- */

static const char *from_input(takt_emit *e, takt_dim d)
{
    const takt_graph *g = e->root;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_type *t = takt_type_of(g, g->inputs[i].id);
        for (int k = 0; k < t->rank; k++) {
            if (!takt_dim_same(g->dims, t->dim[k], d))
                continue;
            takt_emit_i(e, "start", k);
            takt_emit_i(e, "end", k + 1);
            return takt_emit_1(e, "Shape", takt_emit_unique(e, "size"), g->inputs[i].name);
        }
    }
    return NULL;
}

static const char *pair(takt_emit *e, const char *op, const char *a, const char *b)
{
    return takt_emit_2(e, op, takt_emit_unique(e, "size"), a, b);
}

static const char *one(takt_emit *e, int64_t value)
{
    return takt_emit_vector(e, &value, 1);
}

/* ---- expressions ---- */

static const char *operation(takt_emit *e, const dim_entry *entry)
{
    const char *a = size_of(e, entry->a), *b = size_of(e, entry->b);
    switch (entry->op) {
    case TAKT_DIM_ADD: return pair(e, "Add", a, b);
    case TAKT_DIM_SUB: return pair(e, "Sub", a, b);
    case TAKT_DIM_MUL: return pair(e, "Mul", a, b);
    case TAKT_DIM_FLOORDIV: return pair(e, "Div", a, b);
    case TAKT_DIM_CEILDIV:
        return pair(e, "Div", pair(e, "Sub", pair(e, "Add", a, b), one(e, 1)), b);
    case TAKT_DIM_MOD: return pair(e, "Mod", a, b);
    case TAKT_DIM_MIN: return pair(e, "Min", a, b);
    case TAKT_DIM_MAX: return pair(e, "Max", a, b);
    }
    return "";
}

/* A term without its sign. */
static const char *product_of(takt_emit *e, const dim_term *t)
{
    const int64_t factor = t->factor < 0 ? -t->factor : t->factor;
    const char *product = factor != 1 || t->count == 0 ? one(e, factor) : NULL;
    for (uint32_t k = 0; k < t->count; k++) {
        const char *atom = size_of(e, dim_of(t->atom[k]));
        product = product == NULL ? atom : pair(e, "Mul", product, atom);
    }
    return product;
}

/* Subtractions come last, so that no intermediate size is negative: readers, including Takt's, may
 * resolve names to sizes, but to none below 0. */
static const char *sum(takt_emit *e, const dim_entry *entry)
{
    const char *total = NULL;
    for (uint32_t i = 0; i < entry->count; i++) {
        if (entry->term[i].factor < 0)
            continue;
        const char *product = product_of(e, &entry->term[i]);
        total = total == NULL ? product : pair(e, "Add", total, product);
    }
    total = total != NULL ? total : one(e, 0);
    for (uint32_t i = 0; i < entry->count; i++)
        if (entry->term[i].factor < 0)
            total = pair(e, "Sub", total, product_of(e, &entry->term[i]));
    return total;
}

static void remember(takt_emit *e, takt_dim d, const char *name)
{
    void *at = e->sizes;
    const takt_status status =
        takt_mem_grow(e->ctx, &at, &e->size_capacity, e->size_count + 1, sizeof *e->sizes);
    e->sizes = at;
    if (status != TAKT_OK)
        e->status = status;
    else
        e->sizes[e->size_count++] = (takt_emit_size){d, name};
}

/* Entries refer only to older ones, and an expression's size is bounded, so this recursion is
 * too. */
static const char *size_of(takt_emit *e, takt_dim d)
{
    if (e->status != TAKT_OK)
        return "";
    if (takt_dim_is_number(d))
        return one(e, d);
    for (size_t i = 0; i < e->size_count; i++)
        if (e->sizes[i].dim == d)
            return e->sizes[i].name;
    const char *name = from_input(e, d);
    const dim_entry entry = takt_dim_entry(e->root->dims, d);
    if (name == NULL && entry.kind == DIM_OP)
        name = operation(e, &entry);
    else if (name == NULL && entry.kind == DIM_SUM)
        name = sum(e, &entry);
    if (name == NULL) {
        takt_emit_fail(e, "dimension %s is in the shape of no input", entry.name);
        return "";
    }
    remember(e, d, name);
    return name;
}

const char *takt_emit_dim(takt_emit *e, takt_dim d, bool as_vector)
{
    takt_dim known;
    if (e->status != TAKT_OK || (e->status = takt_dim_resolve(e->root->dims, d, &known)) != TAKT_OK)
        return "";
    if (takt_dim_is_number(known))
        return as_vector ? one(e, known) : takt_emit_number(e, known);
    takt_text *nodes = e->nodes;
    e->nodes = e->main; /* a subgraph sees the enclosing graph */
    const char *name = size_of(e, known);
    e->nodes = nodes;
    return as_vector ? name
                     : takt_emit_2(e, "Squeeze", takt_emit_fresh(e), name,
                                   takt_emit_vector(e, (int64_t[]){0}, 1));
}

const char *takt_emit_shape(takt_emit *e, const takt_dim *dims, size_t count)
{
    const char *parts[TAKT_MAX_RANK * 2];
    int64_t numbers[TAKT_MAX_RANK * 2];
    size_t part_count = 0, number_count = 0;
    for (size_t i = 0; i < count && i < TAKT_MAX_RANK * 2 && e->status == TAKT_OK; i++) {
        takt_dim d;
        e->status = takt_dim_resolve(e->root->dims, dims[i], &d);
        if (e->status == TAKT_OK && takt_dim_is_number(d)) {
            numbers[number_count++] = d;
            continue;
        }
        if (number_count > 0)
            parts[part_count++] = takt_emit_vector(e, numbers, number_count);
        number_count = 0;
        parts[part_count++] = takt_emit_dim(e, d, true);
    }
    if (part_count == 0)
        return takt_emit_vector(e, numbers, number_count);
    if (number_count > 0)
        parts[part_count++] = takt_emit_vector(e, numbers, number_count);
    if (part_count == 1)
        return parts[0];
    takt_emit_i(e, "axis", 0);
    return takt_emit_call(e, "Concat", takt_emit_fresh(e), part_count, parts);
}

/* ---- types ---- */

/* A name is written without the quotes of the text form; in brackets and quotes if it would be read
 * as an expression. */
static void print_param(takt_emit *e, takt_dim d, takt_text *text)
{
    const dim_entry entry = takt_dim_entry(e->root->dims, d);
    const bool is_name = entry.kind == DIM_NAME;
    if (is_name && !takt_onnx_dim_is_expression(takt_span_of(entry.name))) {
        takt_text_add(text, "%s", entry.name);
        return;
    }
    takt_text_add(text, "%s", is_name ? "(" : "");
    takt_dim_print(e->root->dims, d, text);
    takt_text_add(text, "%s", is_name ? ")" : "");
}

static void put_dim(takt_emit *e, takt_text *shape, takt_text *body, takt_dim d)
{
    takt_dim known;
    takt_text text;
    takt_text_init(&text, e->ctx);
    if (takt_dim_resolve(e->root->dims, d, &known) != TAKT_OK)
        known = d;
    if (takt_dim_is_number(known)) {
        takt_pb_put_int(body, 1, known);
    } else {
        print_param(e, known, &text);
        takt_pb_put_string(body, 2, takt_text_get(&text));
    }
    takt_pb_put_message(shape, 1, body);
    takt_text_deinit(&text);
}

void takt_emit_value(takt_emit *e, takt_text *to, uint32_t field, const char *name,
                     const takt_type *type)
{
    takt_text tensor, shape, body;
    takt_text_init(&tensor, e->ctx);
    takt_text_init(&shape, e->ctx);
    takt_text_init(&body, e->ctx);
    for (int i = 0; i < type->rank; i++)
        put_dim(e, &shape, &body, type->dim[i]);
    takt_pb_put_int(&tensor, 1, takt_onnx_elem(type->dtype));
    takt_pb_put_message(&tensor, 2, &shape);
    takt_pb_put_message(&body, 1, &tensor);
    takt_pb_put_string(&shape, 1, name);
    takt_pb_put_message(&shape, 2, &body);
    takt_pb_put_message(to, field, &shape);
    takt_text_deinit(&body);
    takt_text_deinit(&shape);
    takt_text_deinit(&tensor);
}
