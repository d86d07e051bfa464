/* variants.c - plans of a loop's body for sizes that its own plan cannot be given. */
#include "plan/variants.h"

#include <string.h>

#include "base/mem.h"
#include "plan/basis.h"
#include "plan/finish.h"

static size_t pointers(const takt_plan *plan)
{
    return plan->buffer_count + 1;
}

static size_t size_bytes(const takt_variants *all)
{
    return all->top->name_count * sizeof(int64_t);
}

static void drop(takt_variants *all, takt_variant *v)
{
    takt_ctx *ctx = all->top->ctx;
    if (v->plan != NULL) {
        takt_mem_put(ctx, v->base, pointers(v->plan) * sizeof *v->base);
        takt_mem_put(ctx, v->sizes, size_bytes(all));
        takt_plan_release_internal(v->plan);
    }
    *v = (takt_variant){0};
}

static void drop_spare(takt_variants *all)
{
    takt_mem_put(all->top->ctx, all->spare, all->spare_bytes);
    all->spare = NULL;
    all->spare_bytes = 0;
}

void takt_variants_deinit(takt_variants *all)
{
    for (size_t i = 0; i < TAKT_VARIANTS; i++)
        drop(all, &all->kept[i]);
    drop_spare(all);
}

static takt_status fill(takt_variants *all, const int64_t *names, takt_variant *v)
{
    const takt_plan *top = all->top;
    takt_plan_settings settings = top->settings;
    takt_graph *g;
    void *base, *sizes;
    settings.basis = top->basis;
    settings.rooms = top;
    settings.sizes = names;
    settings.size_count = top->name_count;
    TAKT_TRY(takt_template_size(top->basis->template, names, top->name_count, &g));
    const takt_status status = takt_plan_build(top->ctx, g, &settings, &v->plan);
    takt_graph_destroy(g);
    TAKT_TRY(status);
    v->plan->name_count = top->name_count;
    TAKT_TRY(takt_mem_get(top->ctx, size_bytes(all), "a body", &sizes));
    v->sizes = sizes;
    memcpy(v->sizes, names, size_bytes(all));
    v->plan->sizes = v->sizes;
    TAKT_TRY(takt_mem_get(top->ctx, pointers(v->plan) * sizeof *v->base, "a body", &base));
    v->base = base;
    return TAKT_OK;
}

takt_status takt_variants_get(takt_variants *all, const int64_t *sizes, const takt_variant **out)
{
    for (size_t i = 0; i < TAKT_VARIANTS; i++) {
        *out = &all->kept[i];
        if ((*out)->plan != NULL && memcmp((*out)->sizes, sizes, size_bytes(all)) == 0)
            return TAKT_OK;
    }
    takt_variant *v = &all->kept[all->next++ % TAKT_VARIANTS];
    drop(all, v);
    const takt_status status = fill(all, sizes, v);
    if (status != TAKT_OK)
        drop(all, v);
    *out = status == TAKT_OK ? v : NULL;
    return status;
}

takt_status takt_variants_arena(takt_variants *all, const takt_variant *v, unsigned char *own,
                                unsigned char **arena)
{
    const size_t bytes = v->plan->arena_bytes + TAKT_ALIGN;
    *arena = own;
    if (v->plan->arena_bytes <= all->top->arena_bytes)
        return TAKT_OK;
    if (all->is_limited)
        return takt_fail(all->top->ctx, TAKT_E_PLAN_LIMIT,
                         "sizes that values decide in a loop need an arena of %zu bytes, the limit "
                         "leaves the %zu of the largest sizes",
                         v->plan->arena_bytes, all->top->arena_bytes);
    if (bytes > all->spare_bytes) {
        void *block;
        drop_spare(all);
        TAKT_TRY(takt_mem_get(all->top->ctx, bytes, "a body", &block));
        all->spare = block;
        all->spare_bytes = bytes;
    }
    *arena = all->spare + (TAKT_ALIGN - (uintptr_t)all->spare % TAKT_ALIGN) % TAKT_ALIGN;
    return TAKT_OK;
}
