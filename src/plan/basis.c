/* basis.c - life of a basis, and the lists that contain it. */
#include "plan/basis.h"

#include <string.h>

#include "base/mem.h"
#include "ir/held.h"
#include "plan/bodies.h"

static void destroy(takt_basis *b)
{
    takt_bodies_destroy(b);
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
        status = takt_packs_create(graph, b->template->is_sized, &b->packs);
    if (status == TAKT_OK)
        status = takt_bodies_create(b);
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
    takt_lock_take(&b->ctx->plans_lock);
    b->references++;
    takt_lock_give(&b->ctx->plans_lock);
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
    takt_lock_take(&b->ctx->plans_lock);
    const bool is_last = --b->references == 0;
    if (is_last)
        unlink(b);
    takt_lock_give(&b->ctx->plans_lock);
    if (is_last)
        destroy(b);
}

takt_basis *takt_basis_find(takt_ctx *ctx, takt_basis **list, const char *key)
{
    takt_lock_take(&ctx->plans_lock);
    takt_basis *b = *list;
    while (b != NULL && (b->key == NULL || strcmp(b->key, key) != 0))
        b = b->next;
    if (b != NULL)
        b->references++;
    takt_lock_give(&ctx->plans_lock);
    return b;
}

void takt_basis_list(takt_basis *b, takt_basis **list)
{
    takt_lock_take(&b->ctx->plans_lock);
    b->next = *list;
    b->previous = list;
    b->list = list;
    if (b->next != NULL)
        b->next->previous = &b->next;
    *list = b;
    takt_lock_give(&b->ctx->plans_lock);
}

/* Whether two keys differ only in sizes, which follow the last bar. */
static bool same_options(const char *a, const char *b)
{
    const char *end = a != NULL ? strrchr(a, '|') : NULL;
    return end != NULL && b != NULL && strncmp(a, b, (size_t)(end - a) + 1) == 0 &&
           strrchr(b, '|') == b + (end - a);
}

bool takt_basis_find_pack(takt_basis *b, const takt_pack_name *name, takt_tensor *tensor)
{
    if (takt_packs_find(b->packs, name, tensor))
        return true;
    bool is_found = false;
    takt_lock_take(&b->ctx->plans_lock);
    takt_basis *other = b->previous != NULL ? *b->list : NULL;
    for (; other != NULL && !is_found; other = other->next)
        is_found = other != b && same_options(b->key, other->key) &&
                   takt_packs_find_in(other->packs, b->packs, name, tensor);
    takt_lock_give(&b->ctx->plans_lock);
    return is_found;
}

takt_basis *takt_basis_publish(takt_basis **at, takt_basis *b)
{
    takt_lock_take(&b->ctx->plans_lock);
    takt_basis *there = *at;
    if (there == NULL)
        *at = b;
    takt_lock_give(&b->ctx->plans_lock);
    if (there != NULL)
        takt_basis_release(b);
    return there != NULL ? there : b;
}

takt_basis *takt_basis_peek(takt_ctx *ctx, takt_basis *const *at)
{
    takt_lock_take(&ctx->plans_lock);
    takt_basis *there = *at;
    takt_lock_give(&ctx->plans_lock);
    return there;
}

/* ---- constants that no step reads ---- */

/* A basis's data for plans of other sizes; freed when the lock is released. */
typedef struct spoils {
    takt_template *template;
    takt_packs *packs;
    takt_body *bodies;
    size_t body_count, body_capacity;
} spoils;

/* The graphs of bodies that steps interpret, or size, are read in every run; clauses that fail are
 * computed again, from the first constant on. */
static void strip_plan(takt_plan *plan, const takt_graph *shared)
{
    takt_graph *g = plan->graph;
    for (takt_plan *child = plan->child; child != NULL && plan->body == NULL;
         child = child->sibling) { /* subgraphs are nested to a limited depth */
        const takt_template *t = child->basis != NULL ? child->basis->template : NULL;
        strip_plan(child, t != NULL ? t->graph : NULL);
    }
    if (g->check_count > 0 || plan->interprets || plan->body != NULL)
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

/* The lock is held. */
static spoils take(takt_basis *b)
{
    const spoils all = {b->template, b->packs, b->bodies, b->body_count, b->body_capacity};
    b->is_bare = true;
    if (b->template != NULL && b->template->graph->check_count == 0)
        takt_graph_strip(b->template->graph);
    b->template = NULL;
    b->packs = NULL;
    b->bodies = NULL;
    b->body_count = b->body_capacity = 0;
    return all;
}

static spoils strip(takt_basis *b)
{
    if (b->is_bare || b->pins > 0 || b->previous != NULL)
        return (spoils){0};
    for (takt_plan *plan = b->plans; plan != NULL; plan = plan->basis_next)
        strip_plan(plan, b->template != NULL ? b->template->graph : NULL);
    return take(b);
}

/* Subgraphs whose sizes are found by runs keep their data, and so do those inside them. */
static void discard(takt_ctx *ctx, spoils all)
{
    for (size_t i = 0; i < all.body_count; i++) {
        takt_basis *b = all.bodies[i].basis;
        spoils inner = {0};
        if (b == NULL)
            continue;
        takt_lock_take(&ctx->plans_lock);
        if (!b->is_body && !b->is_bare)
            inner = take(b);
        takt_lock_give(&ctx->plans_lock);
        discard(ctx, inner); /* depth is limited */
        takt_basis_release(b);
    }
    takt_mem_put(ctx, all.bodies, all.body_capacity * sizeof *all.bodies);
    takt_packs_destroy(all.packs);
    takt_template_destroy(all.template);
}

void takt_basis_forget(takt_ctx *ctx, takt_basis **list)
{
    for (;;) {
        spoils all = {0};
        takt_lock_take(&ctx->plans_lock);
        takt_basis *b = *list;
        if (b != NULL) {
            unlink(b);
            all = strip(b);
        }
        takt_lock_give(&ctx->plans_lock);
        discard(ctx, all);
        if (b == NULL)
            return;
    }
}

bool takt_basis_pin(takt_basis *b)
{
    takt_lock_take(&b->ctx->plans_lock);
    const bool is_there = !b->is_bare;
    b->pins += is_there;
    takt_lock_give(&b->ctx->plans_lock);
    return is_there;
}

void takt_basis_unpin(takt_basis *b)
{
    takt_lock_take(&b->ctx->plans_lock);
    b->pins--;
    const spoils all = strip(b);
    takt_lock_give(&b->ctx->plans_lock);
    discard(b->ctx, all);
}

void takt_basis_join(takt_plan *plan)
{
    takt_basis *b = plan->basis;
    if (b == NULL)
        return;
    takt_lock_take(&b->ctx->plans_lock);
    plan->basis_next = b->plans;
    b->plans = plan;
    plan->has_joined = true;
    takt_lock_give(&b->ctx->plans_lock);
}

void takt_basis_leave(takt_plan *plan)
{
    takt_basis *b = plan->basis;
    if (b == NULL || !plan->has_joined)
        return;
    takt_lock_take(&b->ctx->plans_lock);
    takt_plan **at = &b->plans;
    while (*at != plan)
        at = &(*at)->basis_next;
    *at = plan->basis_next;
    takt_lock_give(&b->ctx->plans_lock);
}

bool takt_basis_is_single(takt_basis *b)
{
    takt_lock_take(&b->ctx->plans_lock);
    const bool is_single = b->references == 1 && b->plans == NULL && b->pins == 0;
    takt_lock_give(&b->ctx->plans_lock);
    return is_single;
}
