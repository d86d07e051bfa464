/* limit.c - a plan that exceeds its memory limit: the error, with options that would meet the
 * limit. */
#include "api/limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/written.h"

typedef struct advice {
    const takt_model *m;
    const takt_plan_options *asked;
    takt_text text; /* "--hint memory (1,024 bytes), ..." */
    size_t count;
    uint64_t least;      /* the smallest sum that was found */
    char least_how[160]; /* and how */
} advice;

/* A dry plan with these options; records them if they meet the limit. */
static bool consider(advice *a, const takt_plan_options *o, const char *how)
{
    takt_plan *plan;
    takt_plan_info info;
    takt_plan_options dry = *o;
    dry.dry = true;
    dry.memory_limit = 0;
    if (takt_plan_create(a->m, &dry, &plan) != TAKT_OK)
        return false;
    takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    if (info.peak < a->least) {
        a->least = info.peak;
        (void)snprintf(a->least_how, sizeof a->least_how, "%s", how);
    }
    if (info.peak > a->asked->memory_limit)
        return false;
    takt_text_add(&a->text, "%s%s (%" PRIu64 " bytes)", a->count++ > 0 ? ", " : "", how, info.peak);
    return true;
}

/* ---- smaller sizes ---- */

/* The first dimension of the first input, if it has a name: the batch dimension. */
static const char *batch_name(const takt_model *m)
{
    for (size_t i = 0; i < m->graph->input_count; i++)
        if (m->inputs[i].rank > 0 && m->inputs[i].dim_names[0] != NULL)
            return m->inputs[i].dim_names[0];
    return NULL;
}

/* Sizes with `name` = `size`, replacing an earlier entry. */
static const char *with_size(takt_text *text, const char *sizes, const char *name, int64_t size)
{
    while (sizes != NULL && *sizes != '\0') {
        const takt_span item = {sizes, takt_written_length(sizes, ",")};
        takt_span word, value;
        if (!takt_written_pair(item, &word, &value) ||
            !takt_written_same(word, takt_span_of(name))) {
            takt_text_put(text, sizes, item.length);
            takt_text_add(text, ",");
        }
        sizes += item.length + (sizes[item.length] == ',');
    }
    takt_text_add(text, "%s=%" PRId64, name, size);
    return takt_text_get(text);
}

static int64_t size_now(const char *sizes, const char *name)
{
    int64_t size = 1;
    while (sizes != NULL && *sizes != '\0') {
        const takt_span item = {sizes, takt_written_length(sizes, ",")};
        takt_span word, value;
        if (takt_written_pair(item, &word, &value) && takt_written_same(word, takt_span_of(name))) {
            size = 0;
            for (size_t i = 0; i < value.length && value.at[i] >= '0' && value.at[i] <= '9'; i++)
                size = size < INT32_MAX ? 10 * size + (value.at[i] - '0') : size;
        }
        sizes += item.length + (sizes[item.length] == ',');
    }
    return size;
}

/* Halves the batch until it fits. */
static bool smaller_batch(advice *a, takt_plan_options o, const char *also)
{
    const char *name = batch_name(a->m);
    bool fits = false;
    if (name == NULL || takt_written_length(name, " +-*/(,") < strlen(name))
        return false;
    for (int64_t size = size_now(o.sizes, name) / 2; size >= 1 && !fits; size /= 2) {
        char how[160];
        takt_text sizes;
        takt_text_init(&sizes, a->m->ctx);
        takt_plan_options own = o;
        own.sizes = with_size(&sizes, o.sizes, name, size);
        (void)snprintf(how, sizeof how, "-D %s=%" PRId64 "%s", name, size, also);
        fits = sizes.status == TAKT_OK && consider(a, &own, how);
        takt_text_deinit(&sizes);
    }
    return fits;
}

/* ---- the whole ---- */

static void try_all(advice *a, int threads)
{
    takt_plan_options memory = *a->asked, single = *a->asked, both = *a->asked;
    const bool has_hint = a->asked->hint != NULL && strcmp(a->asked->hint, "memory") == 0;
    memory.hint = both.hint = "memory";
    single.threads = both.threads = 1;
    bool fits = false;
    if (!has_hint)
        fits |= consider(a, &memory, "--hint memory");
    if (threads > 1)
        fits |= consider(a, &single, "--threads 1");
    if (!has_hint && threads > 1 && !fits)
        (void)consider(a, &both, "--hint memory --threads 1");
    if (!smaller_batch(a, *a->asked, "") && a->count == 0)
        (void)smaller_batch(a, both, " --hint memory --threads 1");
}

takt_status takt_limit_refuse(const takt_model *m, const takt_plan_options *o, int threads)
{
    const takt_error refusal = m->ctx->error;
    advice a = {.m = m, .asked = o, .least = UINT64_MAX};
    takt_text_init(&a.text, m->ctx);
    try_all(&a, threads);
    m->ctx->error = refusal;
    takt_status status;
    if (a.text.status != TAKT_OK)
        status = a.text.status;
    else if (a.count > 0)
        status = takt_fail_hint(m->ctx, "what would fit: %s", takt_text_get(&a.text));
    else if (a.least != UINT64_MAX)
        status = takt_fail_hint(m->ctx,
                                "nothing was found that fits; the least is %s (%" PRIu64 " bytes)",
                                a.least_how, a.least);
    else
        status = takt_fail_hint(m->ctx, "nothing was found that needs less");
    takt_text_deinit(&a.text);
    return status;
}
