/* basis.c - life of a basis, and the lists that know it. */
#include "plan/basis.h"

#include <string.h>

#include "base/mem.h"
#include "ir/held.h"
#include "plan/repeat.h"

static void lock(takt_ctx *ctx)
{
    while (atomic_exchange_explicit(&ctx->plans_busy, true, memory_order_acquire))
        ;
}

static void unlock(takt_ctx *ctx)
{
    atomic_store_explicit(&ctx->plans_busy, false, memory_order_release);
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

takt_status takt_basis_single(takt_ctx *ctx, takt_basis **basis)
{
    void *block;
    *basis = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **basis, "what plans share", &block));
    takt_basis *b = block;
    b->ctx = ctx;
    b->references = 1;
    *basis = b;
    return TAKT_OK;
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
    while (b != NULL && (b->key == NULL || strcmp(b->key, key) != 0))
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

/* ---- constants that no step reads ---- */

/* The graphs of bodies that steps interpret, or size, are read in every run; clauses that fail are
 * computed once more, from the first constant on. */
static void strip_plan(takt_plan *plan, const takt_graph *shared)
{
    takt_graph *g = plan->graph;
    for (takt_plan *child = plan->child; child != NULL; child = child->sibling)
        strip_plan(child, NULL); /* subgraphs are nested to a limited depth */
    if (g->check_count > 0 || plan->interprets || takt_repeat_of(plan) != NULL)
        return;
    if (shared == NULL) {
        takt_graph_strip(g);
        return;
    }
    for (size_t i = 0; i < g->child_count; i++)
        if (g->children[i] != shared &&
            __atomic_load_n(&g->children[i]->references, __ATOMIC_ACQUIRE) == 1)
            takt_graph_strip(g->children[i]);
}

/* The lock is held. Freed after it is given back: what is returned through the two. */
static void strip(takt_basis *b, takt_template **template, takt_packs **packs)
{
    takt_graph *shared = b->template != NULL ? b->template->graph : NULL;
    *template = NULL;
    *packs = NULL;
    if (b->is_bare || b->pins > 0 || b->previous != NULL)
        return;
    b->is_bare = true;
    for (takt_plan *plan = b->plans; plan != NULL; plan = plan->basis_next)
        strip_plan(plan, shared);
    if (shared != NULL && shared->check_count == 0)
        takt_graph_strip(shared);
    *template = b->template;
    *packs = b->packs;
    b->template = NULL;
    b->packs = NULL;
}

void takt_basis_forget(takt_ctx *ctx, takt_basis **list)
{
    for (;;) {
        takt_template *template = NULL;
        takt_packs *packs = NULL;
        lock(ctx);
        takt_basis *b = *list;
        if (b != NULL) {
            unlink(b);
            strip(b, &template, &packs);
        }
        unlock(ctx);
        takt_packs_destroy(packs);
        takt_template_destroy(template);
        if (b == NULL)
            return;
    }
}

bool takt_basis_pin(takt_basis *b)
{
    lock(b->ctx);
    const bool is_there = !b->is_bare;
    b->pins += is_there;
    unlock(b->ctx);
    return is_there;
}

void takt_basis_unpin(takt_basis *b)
{
    takt_template *template;
    takt_packs *packs;
    lock(b->ctx);
    b->pins--;
    strip(b, &template, &packs);
    unlock(b->ctx);
    takt_packs_destroy(packs);
    takt_template_destroy(template);
}

void takt_basis_join(takt_plan *plan)
{
    takt_basis *b = plan->basis;
    if (b == NULL)
        return;
    lock(b->ctx);
    plan->basis_next = b->plans;
    b->plans = plan;
    plan->has_joined = true;
    unlock(b->ctx);
}

void takt_basis_leave(takt_plan *plan)
{
    takt_basis *b = plan->basis;
    if (b == NULL || !plan->has_joined)
        return;
    lock(b->ctx);
    takt_plan **at = &b->plans;
    while (*at != plan)
        at = &(*at)->basis_next;
    *at = plan->basis_next;
    unlock(b->ctx);
}

bool takt_basis_is_single(takt_basis *b)
{
    lock(b->ctx);
    const bool is_single = b->references == 1 && b->plans == NULL && b->pins == 0;
    unlock(b->ctx);
    return is_single;
}
