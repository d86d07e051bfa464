/* search_groups.c - the cases of a property, by their boxes. */
#include "base/mem.h"
#include "verify/search.h"

/* Cases with the same box, in the order of the property. */
takt_status takt_search_groups(takt_search *s, const takt_property *p)
{
    s->groups = takt_arena_array(&s->arena, p->case_count, sizeof *s->groups);
    uint32_t *cases = takt_arena_array(&s->arena, p->case_count, sizeof *cases);
    if (s->groups == NULL || cases == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0, at = 0; i < p->case_count; i++) {
        takt_group *g = s->group_count > 0 ? &s->groups[s->group_count - 1] : NULL;
        if (p->cases[i].is_empty)
            continue;
        if (g == NULL || g->box->lo != p->cases[i].lo) {
            g = &s->groups[s->group_count++];
            *g = (takt_group){.box = &p->cases[i], .cases = cases + at};
        }
        g->cases[g->count++] = (uint32_t)i;
        at++;
    }
    s->is_empty = s->group_count == 0;
    return TAKT_OK;
}

void takt_search_deinit(takt_search *s, takt_ctx *ctx)
{
    for (size_t i = 0; s->groups != NULL && i < s->group_count; i++)
        takt_mem_put(ctx, s->groups[i].splits,
                     s->groups[i].split_capacity * sizeof *s->groups[i].splits);
    if (s->arena.ctx != NULL)
        takt_arena_deinit(&s->arena);
    *s = (takt_search){0};
}
