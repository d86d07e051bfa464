/* packs.c - a list per node, under a lock that is held for a few instructions. */
#include "plan/packs.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "ir/held.h"

typedef struct entry {
    struct entry *next;
    takt_tensor tensor;
    size_t bytes, block; /* block: memory for the entry and its format */
    takt_fill_fn *fill;
    takt_space space;
    char format[];
} entry;

struct takt_packs {
    takt_ctx *ctx;
    takt_lock lock;
    size_t count;
    unsigned char *is_sized; /* per node */
    entry **first;           /* per node */
    takt_sign *signs;        /* per node */
    takt_id *table;          /* nodes by sign: open addressing, TAKT_NONE is free */
    size_t table_size;       /* a power of two */
};

/* The node's place in the table, used or free. */
static size_t slot_of(const takt_packs *p, takt_sign sign)
{
    size_t at = sign.a & (p->table_size - 1);
    while (p->table[at] != TAKT_NONE && !takt_sign_same(p->signs[p->table[at]], sign))
        at = (at + 1) & (p->table_size - 1);
    return at;
}

/* Equal nodes of one graph are merged, so the first entry with a sign is the right one. */
static takt_status sign_all(takt_packs *p, const takt_graph *g)
{
    void *signs, *table;
    size_t size = 16;
    while (size < 2 * p->count)
        size *= 2;
    TAKT_TRY(takt_mem_get(p->ctx, (p->count + 1) * sizeof *p->signs, "packed weights", &signs));
    p->signs = signs;
    TAKT_TRY(takt_mem_get(p->ctx, size * sizeof *p->table, "packed weights", &table));
    p->table = table;
    p->table_size = size;
    memset(table, 0xff, size * sizeof *p->table);
    takt_signs_of(g, p->is_sized, p->signs);
    for (size_t i = p->count; i-- > 0;)
        if (!takt_sign_is_none(p->signs[i]))
            p->table[slot_of(p, p->signs[i])] = (takt_id)i;
    return TAKT_OK;
}

takt_status takt_packs_create(const takt_graph *graph, const unsigned char *is_sized,
                              takt_packs **packs)
{
    void *block, *lists = NULL, *flags = NULL;
    takt_ctx *ctx = graph->ctx;
    *packs = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **packs, "packed weights", &block));
    takt_packs *p = block;
    p->ctx = ctx;
    p->count = graph->count;
    takt_status status =
        takt_mem_zero(ctx, p->count + 1, sizeof *p->first, "packed weights", &lists);
    p->first = lists;
    if (status == TAKT_OK)
        status = takt_mem_zero(ctx, p->count + 1, 1, "packed weights", &flags);
    p->is_sized = flags;
    if (status == TAKT_OK) {
        memcpy(p->is_sized, is_sized, p->count);
        status = sign_all(p, graph);
    }
    if (status != TAKT_OK) {
        takt_packs_destroy(p);
        return status;
    }
    *packs = p;
    return TAKT_OK;
}

static void free_list(takt_ctx *ctx, entry *e)
{
    while (e != NULL) {
        entry *next = e->next;
        takt_tensor_release(&e->tensor);
        takt_mem_put(ctx, e, e->block);
        e = next;
    }
}

void takt_packs_destroy(takt_packs *p)
{
    if (p == NULL)
        return;
    takt_ctx *ctx = p->ctx;
    for (size_t i = 0; p->first != NULL && i < p->count; i++)
        free_list(ctx, p->first[i]);
    takt_mem_put(ctx, p->first, (p->count + 1) * sizeof *p->first);
    takt_mem_put(ctx, p->is_sized, p->count + 1);
    takt_mem_put(ctx, p->signs, (p->count + 1) * sizeof *p->signs);
    takt_mem_put(ctx, p->table, p->table_size * sizeof *p->table);
    takt_mem_put(ctx, p, sizeof *p);
}

static const entry *look(const takt_packs *p, const takt_pack_name *name)
{
    for (const entry *e = p->first[name->node]; e != NULL; e = e->next)
        if (e->bytes == name->bytes && e->fill == name->fill && e->space == name->space &&
            strcmp(e->format, name->format) == 0)
            return e;
    return NULL;
}

bool takt_packs_find(takt_packs *p, const takt_pack_name *name, takt_tensor *tensor)
{
    if (p == NULL || name->node >= p->count)
        return false;
    takt_lock_take(&p->lock);
    const entry *e = look(p, name);
    if (e != NULL) {
        *tensor = e->tensor;
        takt_storage_retain(tensor->storage);
    }
    takt_lock_give(&p->lock);
    return e != NULL;
}

bool takt_packs_find_in(takt_packs *other, const takt_packs *p, const takt_pack_name *name,
                        takt_tensor *tensor)
{
    if (p == NULL || other == NULL || name->node >= p->count ||
        takt_sign_is_none(p->signs[name->node]))
        return false;
    takt_pack_name there = *name;
    there.node = other->table[slot_of(other, p->signs[name->node])];
    return takt_packs_find(other, &there, tensor);
}

takt_status takt_packs_keep(takt_packs *p, const takt_pack_name *name, const takt_tensor *tensor)
{
    if (p == NULL || name->node >= p->count || p->is_sized[name->node])
        return TAKT_OK;
    const size_t length = strlen(name->format) + 1, bytes = sizeof(entry) + length;
    void *block;
    TAKT_TRY(takt_mem_get(p->ctx, bytes, "packed weights", &block));
    entry *e = block;
    *e = (entry){.tensor = *tensor,
                 .bytes = name->bytes,
                 .block = bytes,
                 .fill = name->fill,
                 .space = name->space};
    memcpy(e->format, name->format, length);
    takt_storage_retain(tensor->storage);
    takt_lock_take(&p->lock);
    const bool is_new = look(p, name) == NULL;
    if (is_new) {
        e->next = p->first[name->node];
        p->first[name->node] = e;
    }
    takt_lock_give(&p->lock);
    if (!is_new)
        free_list(p->ctx, e);
    return TAKT_OK;
}

void takt_tally_packs(takt_tally *t, takt_packs *p)
{
    if (p == NULL)
        return;
    t->bytes += sizeof *p + (p->count + 1) * (sizeof *p->first + 1 + sizeof *p->signs) +
                p->table_size * sizeof *p->table;
    takt_lock_take(&p->lock);
    for (size_t i = 0; i < p->count; i++)
        for (const entry *e = p->first[i]; e != NULL; e = e->next) {
            t->bytes += e->block;
            takt_tally_tensor(t, &e->tensor);
        }
    takt_lock_give(&p->lock);
}
