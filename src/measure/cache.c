/* cache.c - how a run uses the caches: measured, simulated or modelled, as text and JSON. */
#include "measure/cache.h"

#include <string.h>

static const char *const sources[] = {"measured", "simulated", "modelled"};

/* The constant of that name, so that no pointer of the caller is kept. */
static const char *find_source(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i], name) == 0)
            return sources[i];
    return NULL;
}

takt_status takt_cache_check(takt_ctx *ctx, const takt_cache_use *use, takt_cache_use *kept)
{
    const char *source = find_source(use->source);
    if (source == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "the source of cache figures is %s; there are measured, simulated and "
                         "modelled",
                         use->source != NULL ? use->source : "NULL");
    if (!(use->accesses > 0) || !(use->l1_misses >= 0 && use->l1_misses <= use->accesses) ||
        !(use->ll_misses <= use->accesses))
        return takt_fail(ctx, TAKT_E_ARGUMENT,
                         "%g cache accesses with %g misses of L1 and %g of the last level",
                         use->accesses, use->l1_misses, use->ll_misses);
    *kept = *use;
    kept->source = source;
    kept->note = NULL;
    return TAKT_OK;
}

static bool is_modelled(const takt_cache_use *c)
{
    return strcmp(c->source, sources[2]) == 0;
}

void takt_cache_json(takt_json_writer *w, const takt_cache_use *c)
{
    takt_json_put_open(w, "cache", '{');
    takt_json_put_string(w, "source", c->source);
    takt_json_put_string(w, "unit", is_modelled(c) ? "bytes" : "accesses");
    takt_json_put_number(w, "per_run", c->accesses);
    takt_json_put_number(w, "hit_rate", 1 - c->l1_misses / c->accesses);
    takt_json_put_number(w, "l1_misses", c->l1_misses);
    if (c->ll_misses >= 0) {
        takt_json_put_number(w, "ll_hit_rate", 1 - c->ll_misses / c->accesses);
        takt_json_put_number(w, "ll_misses", c->ll_misses);
    }
    if (c->l1_bytes > 0)
        takt_json_put_unsigned(w, "l1_bytes", c->l1_bytes);
    if (c->ll_bytes > 0)
        takt_json_put_unsigned(w, "ll_bytes", c->ll_bytes);
    if (c->note != NULL && c->note[0] != '\0') {
        takt_json_put_string(w, "note", c->note);
    }
    takt_json_close(w, '}');
}

void takt_cache_text(takt_text *text, const char *before, const takt_cache_use *c)
{
    const double scale = c->accesses >= 1e6 ? 1e-6 : 1e-3;
    takt_text_add(text, "%scache (%s): %.4g %% of ", before, c->source,
                  100 * (1 - c->l1_misses / c->accesses));
    if (is_modelled(c))
        takt_text_add(text, "%.4g %s", c->accesses * scale, scale < 1e-4 ? "MB" : "kB");
    else
        takt_text_add(text, "%.0f accesses", c->accesses);
    takt_text_add(text, " a run hit L1");
    if (c->ll_misses >= 0)
        takt_text_add(text, ", %.4g %% need no memory", 100 * (1 - c->ll_misses / c->accesses));
    takt_text_add(text, "\n");
    if (c->note != NULL && c->note[0] != '\0')
        takt_text_add(text, "%s  %s\n", before, c->note);
}
