/* measure_cache.c - how a run uses the caches: measured, simulated or modelled. */
#include <stdio.h>
#include <string.h>

#include "api/measure.h"

static const char *const sources[] = {"measured", "simulated", "modelled"};

/* The constant of that name, so that nothing of the caller's is kept. */
static const char *find_source(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i], name) == 0)
            return sources[i];
    return NULL;
}

takt_status takt_profile_set_cache(takt_profile *p, const takt_cache_use *use)
{
    const char *source = find_source(use->source);
    if (source == NULL)
        return takt_fail(p->ctx, TAKT_E_ARGUMENT,
                         "the source of cache figures is %s; there are measured, simulated and "
                         "modelled",
                         use->source != NULL ? use->source : "NULL");
    if (!(use->accesses > 0) || !(use->l1_misses >= 0 && use->l1_misses <= use->accesses) ||
        !(use->ll_misses <= use->accesses))
        return takt_fail(p->ctx, TAKT_E_ARGUMENT,
                         "%g cache accesses with %g misses of L1 and %g of the last level",
                         use->accesses, use->l1_misses, use->ll_misses);
    p->cache = *use;
    p->cache.source = source;
    p->cache.note = NULL;
    snprintf(p->cache_note, sizeof p->cache_note, "%s", use->note != NULL ? use->note : "");
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
    *use = (takt_cache_use){.source = sources[2]};
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

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

static void size(takt_json_writer *w, const char *key, uint64_t bytes)
{
    takt_json_key(w, key);
    takt_json_unsigned(w, bytes);
}

static void write_json(const takt_profile *p, takt_json_writer *w)
{
    const takt_cache_use *c = &p->cache;
    takt_json_key(w, "cache");
    takt_json_open(w, '{');
    takt_json_key(w, "source");
    takt_json_string(w, c->source);
    takt_json_key(w, "unit");
    takt_json_string(w, c->source == sources[2] ? "bytes" : "accesses");
    number(w, "per_run", c->accesses);
    number(w, "hit_rate", 1 - c->l1_misses / c->accesses);
    number(w, "l1_misses", c->l1_misses);
    if (c->ll_misses >= 0) {
        number(w, "ll_hit_rate", 1 - c->ll_misses / c->accesses);
        number(w, "ll_misses", c->ll_misses);
    }
    if (c->l1_bytes > 0)
        size(w, "l1_bytes", c->l1_bytes);
    if (c->ll_bytes > 0)
        size(w, "ll_bytes", c->ll_bytes);
    if (p->cache_note[0] != '\0') {
        takt_json_key(w, "note");
        takt_json_string(w, p->cache_note);
    }
    takt_json_close(w, '}');
}

void takt_profile_cache(const takt_profile *p, takt_report *r)
{
    const takt_cache_use *c = &p->cache;
    char figure[TAKT_FIGURE_TEXT];
    if (c->source == NULL)
        return;
    if (r->is_json) {
        write_json(p, &r->json);
        return;
    }
    if (c->source == sources[2])
        takt_figure_scaled(c->accesses, "B", figure);
    else
        snprintf(figure, sizeof figure, "%.0f accesses", c->accesses);
    takt_text_add(&r->text, "\ncache (%s): %.4g %% of %s a run hit L1", c->source,
                  100 * (1 - c->l1_misses / c->accesses), figure);
    if (c->ll_misses >= 0)
        takt_text_add(&r->text, ", %.4g %% need no memory", 100 * (1 - c->ll_misses / c->accesses));
    takt_text_add(&r->text, "\n");
    if (p->cache_note[0] != '\0')
        takt_text_add(&r->text, "  %s\n", p->cache_note);
}
