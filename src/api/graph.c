/* graph.c - the graph of a plan: passes run once per model and options, not once per size.
 *
 * Sizes of 0 or 1 are substituted before the passes, because that simplifies a lot: there is a
 * basis for each set of names that are 0 or 1. All others stay names until the passes are done.
 * Where that does not work, all sizes are substituted first.
 */
#include <inttypes.h>
#include <string.h>

#include "api/opts.h"
#include "base/mem.h"
#include "pass/passes.h"
#include "plan/basis.h"

/* ---- keys ---- */

static void add_word(takt_text *text, const char *word)
{
    takt_text_add(text, " %zu:%s", word != NULL ? strlen(word) + 1 : 0, word != NULL ? word : "");
}

/* Everything that the graph, a constant's bits or a packed form may depend on: options, then sizes
 * after a bar. What is packed from the same weights depends on the options alone. */
static void write_key(const takt_plan_options *o, const takt_plan_settings *s, const int64_t *first,
                      size_t count, takt_text *text)
{
    takt_text_add(text, "%d %" PRIx64, s->threads, (uint64_t)s->isas);
    for (int i = 0; i < TAKT_FAMILIES; i++)
        takt_text_add(text, " %" PRIx64, (uint64_t)s->family_isas[i]);
    takt_text_add(text, " %p %" PRIx64 " %d %d %d %d", (const void *)s->backend, s->passes_off,
                  (int)s->lower_all, (int)s->is_fast,
                  (int)s->narrows_activations | (int)s->widens_activations << 1, (int)s->precision);
    takt_text_add(text, " %d", (int)s->is_blocked);
    const unsigned char *blocking = (const unsigned char *)&s->blocking;
    for (size_t i = 0; s->is_blocked && i < sizeof s->blocking; i++)
        takt_text_add(text, "%02x", blocking[i]);
    add_word(text, o->outputs);
    add_word(text, o->checks);
    add_word(text, s->library);
    takt_text_add(text, " |");
    for (size_t i = 0; i < count; i++)
        takt_text_add(text, " %" PRId64, first[i]);
}

/* ---- the graph ---- */

static takt_status make(const takt_plan_request *r, const int64_t *first, size_t count,
                        const char *key, takt_basis **basis)
{
    takt_graph *g;
    *basis = NULL;
    TAKT_TRY(takt_plan_stages(r, first, count, &g));
    const takt_status status = takt_basis_create(g, key, basis);
    takt_graph_destroy(g);
    return status;
}

/* One that a plan of other sizes uses, or a new one. For a report all passes have to run. */
static takt_status get(const takt_plan_request *r, const int64_t *first, size_t count,
                       takt_basis **basis)
{
    takt_model *m = (takt_model *)(uintptr_t)r->model; /* its cache is not part of its value */
    takt_text key;
    takt_text_init(&key, m->ctx);
    write_key(r->options, r->settings, first, count, &key);
    takt_status status = key.status;
    *basis = NULL;
    if (status == TAKT_OK && r->report == NULL)
        *basis = takt_basis_find(m->ctx, &m->bases, takt_text_get(&key));
    if (status == TAKT_OK && *basis == NULL) {
        status = make(r, first, count, takt_text_get(&key), basis);
        if (status == TAKT_OK)
            takt_basis_list(*basis, &m->bases);
    }
    takt_text_deinit(&key);
    return status;
}

typedef struct wanted {
    int64_t *sizes; /* by index of names */
    int64_t *first; /* sizes substituted before the passes; -1: after */
    size_t count;
    bool is_ranged;
} wanted;

/* Sizes of 0 and 1 are substituted before the passes unless they are part of a range. */
static takt_status read_wanted(const takt_plan_request *r, takt_arena *arena, wanted *w)
{
    takt_size_range *ranges;
    TAKT_TRY(takt_plan_ranges(r->model, r->options, arena, &ranges, &w->count));
    w->sizes = takt_arena_array(arena, w->count, sizeof *w->sizes);
    w->first = takt_arena_array(arena, w->count, sizeof *w->first);
    if (w->sizes == NULL || w->first == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < w->count; i++) {
        const bool is_range = ranges[i].low < ranges[i].high;
        w->sizes[i] = ranges[i].top;
        w->first[i] = !is_range && ranges[i].high <= 1 ? ranges[i].high : -1;
        w->is_ranged = w->is_ranged || is_range;
    }
    return takt_padded_taps_spare(r->model->graph, w->first, w->count);
}

static takt_status by_names(const takt_plan_request *r, const wanted *w, takt_graph **g,
                            takt_basis **basis)
{
    TAKT_TRY(get(r, w->first, w->count, basis));
    const takt_status status = takt_template_size((*basis)->template, w->sizes, w->count, g);
    if (status != TAKT_OK || r->report != NULL) {
        takt_basis_release(*basis);
        *basis = NULL;
    }
    return status;
}

static takt_status make_graph(const takt_plan_request *r, const wanted *w, takt_graph **g,
                              takt_basis **basis)
{
    takt_ctx *ctx = r->model->ctx;
    if (r->options->fixed_count > 0 && w->is_ranged)
        return takt_fail(ctx, TAKT_E_OPTION, "inputs with fixed values leave no range of sizes");
    if (r->options->fixed_count > 0)
        return takt_plan_stages(r, w->sizes, w->count, g);
    const takt_error before = ctx->error;
    const takt_status status = by_names(r, w, g, basis);
    if (status == TAKT_OK || status == TAKT_ERR_MEMORY || status == TAKT_ERR_LIMIT || w->is_ranged)
        return status;
    ctx->error = before; /* numbers are put in first, but errors refer to the text as written */
    return takt_plan_stages(r, w->sizes, w->count, g);
}

takt_status takt_plan_graph(const takt_plan_request *r, takt_graph **g, takt_basis **basis)
{
    takt_arena arena;
    wanted w = {0};
    *g = NULL;
    *basis = NULL;
    takt_arena_init(&arena, r->model->ctx);
    takt_status status = read_wanted(r, &arena, &w);
    if (status == TAKT_OK)
        status = make_graph(r, &w, g, basis);
    takt_arena_deinit(&arena);
    return status;
}
