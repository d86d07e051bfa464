/* cache.c - how a run uses the caches: measured, simulated or modelled. */
#include <stdio.h>

#include "measure/cache.h"
#include "measure/session/measure.h"

takt_status takt_profile_set_cache(takt_profile *p, const takt_cache_use *use)
{
    TAKT_NEED(NULL, p);
    const char *note = use->note != NULL ? use->note : "";
    TAKT_TRY(takt_cache_check(p->ctx, use, &p->cache));
    snprintf(p->cache_note, sizeof p->cache_note, "%s", note);
    p->cache.note = p->cache_note;
    return TAKT_OK;
}

static uint64_t last_cache(const takt_ceilings *c)
{
    int level = TAKT_LEVELS - 2; /* the last is memory */
    while (level > 0 && c->cache_bytes[level] == 0)
        level--;
    return c->cache_bytes[level];
}

takt_status takt_profile_model_cache(const takt_profile *p, takt_cache_use *use)
{
    TAKT_NEED(NULL, p);
    *use = (takt_cache_use){.source = "modelled"};
    if (!p->has_ceilings)
        return takt_fail(p->ctx, TAKT_E_ARGUMENT, "a profile without ceilings knows no caches");
    use->l1_bytes = p->ceilings.cache_bytes[0];
    use->ll_bytes = last_cache(&p->ceilings);
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_roof *roof = &p->rows[i].roof;
        use->accesses += roof->bytes;
        use->l1_misses += roof->level > 0 ? roof->bytes : 0;
        use->ll_misses += roof->level == TAKT_LEVELS - 1 ? roof->bytes : 0;
    }
    return TAKT_OK;
}

void takt_profile_cache(const takt_profile *p, takt_report *r)
{
    if (p->cache.source == NULL)
        return;
    if (r->is_json) {
        takt_cache_json(&r->json, &p->cache);
        return;
    }
    takt_text_add(&r->text, "\n");
    takt_cache_text(&r->text, "", &p->cache);
}
