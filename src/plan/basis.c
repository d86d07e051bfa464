/* basis.c - life of a basis, and the lists that know it. */
#include "plan/basis.h"

#include <string.h>

#include "base/mem.h"

static void lock(takt_ctx *ctx)
{
    while (atomic_exchange_explicit(&ctx->shares_busy, true, memory_order_acquire))
        ;
}

static void unlock(takt_ctx *ctx)
{
    atomic_store_explicit(&ctx->shares_busy, false, memory_order_release);
}

static void destroy(takt_basis *b)
{
    takt_packs_destroy(b->packs);
    takt_template_destroy(b->template);
    takt_mem_put(b->ctx, b->key, b->key_bytes);
    takt_mem_put(b->ctx, b, sizeof *b);
}

takt_status takt_basis_create(takt_graph *graph, const char *key, takt_basis **basis)
{
    void *block, *text;
    takt_ctx *ctx = graph->ctx;
    *basis = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **basis, "what plans share", &block));
    takt_basis *b = block;
    b->ctx = ctx;
    b->references = 1;
    takt_status status = takt_mem_get(ctx, strlen(key) + 1, "what plans share", &text);
    if (status == TAKT_OK) {
        b->key = text;
        b->key_bytes = strlen(key) + 1;
        memcpy(b->key, key, b->key_bytes);
        status = takt_template_create(graph, &b->template);
    }
    if (status == TAKT_OK)
        status = takt_packs_create(ctx, b->template->is_sized, graph->count, &b->packs);
    if (status == TAKT_OK)
        *basis = b;
    else
        destroy(b);
    return status;
}

void takt_basis_retain(takt_basis *b)
{
    lock(b->ctx);
    b->references++;
    unlock(b->ctx);
}

static void unlink(takt_basis *b)
{
    if (b->previous == NULL)
        return;
    *b->previous = b->next;
    if (b->next != NULL)
        b->next->previous = b->previous;
    b->previous = NULL;
}

void takt_basis_release(takt_basis *b)
{
    if (b == NULL)
        return;
    lock(b->ctx);
    const bool is_last = --b->references == 0;
    if (is_last)
        unlink(b);
    unlock(b->ctx);
    if (is_last)
        destroy(b);
}

takt_basis *takt_basis_find(takt_ctx *ctx, takt_basis **list, const char *key)
{
    lock(ctx);
    takt_basis *b = *list;
    while (b != NULL && strcmp(b->key, key) != 0)
        b = b->next;
    if (b != NULL)
        b->references++;
    unlock(ctx);
    return b;
}

void takt_basis_list(takt_basis *b, takt_basis **list)
{
    lock(b->ctx);
    b->next = *list;
    b->previous = list;
    if (b->next != NULL)
        b->next->previous = &b->next;
    *list = b;
    unlock(b->ctx);
}

void takt_basis_forget(takt_ctx *ctx, takt_basis **list)
{
    lock(ctx);
    while (*list != NULL)
        unlink(*list);
    unlock(ctx);
}
