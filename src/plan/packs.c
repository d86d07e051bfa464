/* packs.c - a list per node, under a lock that is held for a few instructions. */
#include "plan/packs.h"

#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "ir/held.h"

typedef struct entry {
    struct entry *next;
    takt_tensor tensor;
    size_t bytes, block; /* block: what the entry and its format take */
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
};

takt_status takt_packs_create(takt_ctx *ctx, const unsigned char *is_sized, size_t node_count,
                              takt_packs **packs)
{
    void *block, *lists = NULL, *flags = NULL;
    *packs = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **packs, "packed weights", &block));
    takt_packs *p = block;
    p->ctx = ctx;
    p->count = node_count;
    takt_status status =
        takt_mem_zero(ctx, node_count + 1, sizeof *p->first, "packed weights", &lists);
    p->first = lists;
    if (status == TAKT_OK)
        status = takt_mem_zero(ctx, node_count + 1, 1, "packed weights", &flags);
    p->is_sized = flags;
    if (status != TAKT_OK) {
        takt_packs_destroy(p);
        return status;
    }
    if (is_sized != NULL)
        memcpy(p->is_sized, is_sized, node_count);
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
    t->bytes += sizeof *p + (p->count + 1) * (sizeof *p->first + 1);
    takt_lock_take(&p->lock);
    for (size_t i = 0; i < p->count; i++)
        for (const entry *e = p->first[i]; e != NULL; e = e->next) {
            t->bytes += e->block;
            takt_tally_tensor(t, &e->tensor);
        }
    takt_lock_give(&p->lock);
}
