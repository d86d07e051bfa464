/* scope.c - resolves names, and passes values into subgraphs. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "io/onnx/import.h"
#include "io/onnx/split.h"
#include "ir/leaves.h"

bool takt_onnx_same(takt_span a, takt_span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

takt_status takt_scope_init(takt_scope *s, size_t names)
{
    s->value_capacity = names;
    s->table_size = 16;
    while (s->table_size < 2 * names)
        s->table_size *= 2;
    s->values = takt_arena_array(&s->im->arena, names, sizeof *s->values);
    s->table = takt_arena_array(&s->im->arena, s->table_size, sizeof *s->table);
    return s->values != NULL && s->table != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static uint32_t *slot_of(const takt_scope *s, takt_span name)
{
    size_t at = (size_t)takt_hash_bytes(1, name.at, name.length) & (s->table_size - 1);
    while (s->table[at] != 0 && !takt_onnx_same(s->values[s->table[at] - 1].name, name))
        at = (at + 1) & (s->table_size - 1);
    return &s->table[at];
}

takt_status takt_scope_add(takt_scope *s, takt_span name, uint64_t at, takt_onnx_value **value)
{
    uint32_t *slot = slot_of(s, name);
    if (name.length > s->im->ctx->limits.name_bytes)
        return takt_wire_fail(s->im->ctx, at, "a name has %zu bytes", name.length);
    if (*slot != 0)
        return takt_wire_fail(s->im->ctx, at, "the value %.*s is produced twice", (int)name.length,
                              name.at);
    if (s->value_count == s->value_capacity)
        return takt_fail(s->im->ctx, TAKT_E_INTERNAL, "ONNX scope: room for %zu names",
                         s->value_capacity);
    *value = &s->values[s->value_count++];
    *slot = (uint32_t)s->value_count;
    (*value)->name = name;
    (*value)->id = TAKT_NONE;
    return TAKT_OK;
}

takt_onnx_value *takt_scope_find(takt_scope *s, takt_span name, takt_scope **owner)
{
    for (; s != NULL; s = s->parent) {
        const uint32_t at = *slot_of(s, name);
        *owner = s;
        if (at != 0)
            return &s->values[at - 1];
    }
    return NULL;
}

/* ---- rooms ---- */

takt_status takt_room_create(takt_import *im, takt_room *outer, takt_room **out)
{
    takt_room *room = takt_arena_array(&im->arena, 1, sizeof *room);
    if (room == NULL)
        return TAKT_ERR_MEMORY;
    *room = (takt_room){.im = im, .outer = outer, .may_find = outer == NULL};
    *out = room;
    return takt_graph_create(im->ctx, outer != NULL ? outer->g : NULL, &room->g);
}

void takt_room_close(takt_room *room)
{
    takt_ctx *ctx = room->im->ctx;
    for (size_t i = 0; i < room->fact_count; i++) {
        takt_fact *f = &room->facts[i];
        for (uint32_t o = 0; f->known != NULL && !f->is_borrowed && o < f->out_count; o++)
            takt_array_release(ctx, &f->known[o]);
    }
    takt_mem_put(ctx, room->facts, room->fact_count * sizeof *room->facts);
    takt_mem_put(ctx, room->captures, room->capture_capacity * sizeof *room->captures);
    room->facts = NULL;
    room->captures = NULL;
    room->fact_count = room->capture_count = room->capture_capacity = 0;
}

takt_id takt_room_capture(takt_room *room, takt_id outer)
{
    takt_graph *g = room->g;
    const takt_node *n = takt_node_at(room->outer->g, outer);
    if (n->op == &takt_op_constant) {
        takt_graph_fail_if(g, takt_fold_bind(room->outer, outer));
        return takt_graph_constant(g, n->attr[0].tensor);
    }
    for (size_t i = 0; i < room->capture_count; i++)
        if (room->captures[i].outer == outer)
            return room->captures[i].inner;
    void *list = room->captures;
    takt_status status = takt_mem_grow(g->ctx, &list, &room->capture_capacity,
                                       room->capture_count + 1, sizeof *room->captures);
    room->captures = list;
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    const char *name = takt_arena_format(&g->arena, "capture_%u", outer);
    if (name == NULL)
        return takt_graph_fail(g, TAKT_ERR_MEMORY);
    const takt_type type = takt_split_type(room->outer, outer);
    const takt_id inner = takt_graph_input(g, name, &type);
    if (inner != TAKT_NONE)
        room->captures[room->capture_count++] = (takt_capture){inner, outer};
    return inner;
}

/* ---- use ---- */

static takt_status materialize(takt_scope *owner, takt_onnx_value *v)
{
    takt_tensor tensor;
    const takt_source *source = owner->im->source;
    if (v->kind == TAKT_ONNX_SPARSE)
        TAKT_TRY(takt_onnx_sparse(source, v->sparse, &tensor));
    else
        TAKT_TRY(takt_onnx_tensor(source, v->initializer, &tensor));
    takt_graph *g = owner->room->g;
    g->next_name = takt_arena_text(&g->arena, v->name.at, v->name.length);
    const takt_id id = takt_graph_constant_apart(g, &tensor);
    takt_tensor_release(&tensor);
    if (id == TAKT_NONE) /* unchanged: nodes that are refused later may use it again */
        return g->status;
    v->id = id;
    v->kind = TAKT_ONNX_TENSOR;
    return TAKT_OK;
}

/* Makes `id` of scope `from` visible in the inner scope `to`. */
static takt_id bring(takt_room *to, const takt_room *from, takt_id id)
{
    size_t count = 0;
    for (const takt_room *r = to; r != from; r = r->outer)
        count++;
    for (; count > 0 && id != TAKT_NONE; count--) { /* the outermost of those between first */
        takt_room *r = to;
        for (size_t i = 1; i < count; i++)
            r = r->outer;
        id = takt_room_capture(r, id);
    }
    return id;
}

takt_status takt_scope_use(takt_scope *s, takt_span name, takt_onnx_value **value)
{
    takt_scope *owner = NULL;
    takt_onnx_value *v = takt_scope_find(s, name, &owner);
    *value = v;
    if (v == NULL)
        return TAKT_OK;
    if (v->kind == TAKT_ONNX_INITIALIZER || v->kind == TAKT_ONNX_SPARSE)
        TAKT_TRY(materialize(owner, v));
    if (owner->room == s->room || v->kind == TAKT_ONNX_POISON)
        return TAKT_OK;
    takt_onnx_value *copy = takt_arena_array(&s->im->arena, 1, sizeof *copy);
    takt_id *items = takt_arena_array(&s->im->arena, v->item_count, sizeof *items);
    if (copy == NULL || items == NULL)
        return TAKT_ERR_MEMORY;
    *copy = *v;
    if (v->kind == TAKT_ONNX_TENSOR)
        copy->id = bring(s->room, owner->room, v->id);
    for (size_t i = 0; i < v->item_count; i++)
        items[i] = bring(s->room, owner->room, v->items[i]);
    copy->items = items;
    *value = copy;
    return s->room->g->status;
}

int takt_scope_opset(const takt_scope *s, takt_span domain)
{
    const bool is_own = domain.length == 0 || takt_span_is(domain, "ai.onnx");
    for (size_t i = 0; i < s->opset_count; i++) {
        const takt_span d = s->opsets[i].domain;
        const bool own = d.length == 0 || takt_span_is(d, "ai.onnx");
        if ((is_own && own) || (!is_own && takt_onnx_same(d, domain)))
            return (int)s->opsets[i].version;
    }
    return 0;
}
