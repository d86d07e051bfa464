/* frame.c - names and values of one evaluation of a model or layer. */
#include <string.h>

#include "lang/elab.h"

void takt_frame_init(takt_frame *f, takt_elab *e, takt_frame *caller, const takt_function *function)
{
    *f = (takt_frame){.e = e, .caller = caller, .function = function, .scope = ""};
    if (caller != NULL) {
        f->graph = caller->graph;
        f->scope = caller->scope;
        f->is_subgraph = caller->is_subgraph;
    } else {
        memset(e->origins, 0, sizeof e->origins); /* those of another graph */
    }
    takt_arena_init(&f->arena, e->ctx);
}

void takt_frame_deinit(takt_frame *f)
{
    takt_arena_deinit(&f->arena);
}

/* Whether the value is independent of the outer graph, so that a graph literal can use it. */
static bool is_free(const takt_value *v)
{
    return v->kind != TAKT_V_TENSOR && v->kind != TAKT_V_RESULTS && v->kind != TAKT_V_TUPLE &&
           v->kind != TAKT_V_GRAPH;
}

takt_value *takt_frame_find(const takt_frame *f, const takt_symbol *name)
{
    const uint32_t *index = takt_symbol_map_get(&f->names, name);
    if (index != NULL)
        return &f->values[*index];
    while (f->function->name == NULL && f->caller != NULL) {
        f = f->caller;
        index = takt_symbol_map_get(&f->names, name);
        if (index != NULL)
            return is_free(&f->values[*index]) ? &f->values[*index] : NULL;
    }
    return NULL;
}

static bool grow(takt_frame *f)
{
    if (f->value_count < f->value_capacity)
        return true;
    const size_t capacity = f->value_capacity > 0 ? 2 * f->value_capacity : 16;
    takt_value *values = takt_arena_array(&f->arena, capacity, sizeof *values);
    if (values == NULL)
        return false;
    if (f->value_count > 0)
        memcpy(values, f->values, f->value_count * sizeof *values);
    f->values = values;
    f->value_capacity = capacity;
    return true;
}

void takt_frame_set(takt_frame *f, const takt_symbol *name, takt_value value)
{
    uint32_t *index = grow(f) ? takt_symbol_map_put(&f->names, &f->arena, name) : NULL;
    if (index == NULL) {
        takt_out_of_memory(f);
        return;
    }
    if (*index == UINT32_MAX)
        *index = (uint32_t)f->value_count++;
    f->values[*index] = value;
}

takt_value *takt_frame_items(takt_frame *f, size_t count)
{
    takt_value *items = takt_arena_array(&f->arena, count, sizeof *items);
    if (items == NULL)
        takt_out_of_memory(f);
    return items;
}

takt_value takt_frame_list(takt_frame *f, const takt_value *items, size_t count)
{
    f->e->list_items += count;
    takt_value *copy = takt_frame_items(f, count);
    if (copy == NULL)
        return takt_value_poison();
    takt_value list = {.kind = TAKT_V_LIST, .count = (uint32_t)count, .depth = 1, .items = copy};
    for (size_t i = 0; i < count; i++) {
        copy[i] = items[i];
        if (items[i].kind == TAKT_V_POISON)
            return takt_value_poison();
        if (items[i].kind == TAKT_V_LIST && items[i].depth >= list.depth)
            list.depth = (uint8_t)(items[i].depth + 1);
    }
    return list;
}

/* Lists nest no deeper than TAKT_MAX_RANK (expr.c), so this recursion is bounded. */
takt_value takt_frame_keep(takt_frame *f, takt_value value)
{
    if (value.kind == TAKT_V_TYPE) {
        value.type = takt_arena_copy(&f->arena, value.type, sizeof *value.type);
        return value.type != NULL ? value : takt_out_of_memory(f);
    }
    if (value.kind == TAKT_V_STRING) {
        f->e->list_items += TAKT_STRING_ITEMS(value.text.length);
        value.text.at = takt_arena_text(&f->arena, value.text.at, value.text.length);
        return value.text.at != NULL ? value : takt_out_of_memory(f);
    }
    if (value.kind != TAKT_V_LIST && value.kind != TAKT_V_TUPLE)
        return value;
    f->e->list_items += value.count;
    takt_value *items = takt_frame_items(f, value.count);
    if (items == NULL)
        return takt_value_poison();
    for (uint32_t i = 0; i < value.count; i++)
        items[i] = takt_frame_keep(f, value.items[i]);
    value.items = items;
    return value;
}
