/* plan_options.c - the options of a plan as a table: their copy and their part of a plan's key. */
#include "api/plan_options.h"

#include <inttypes.h>
#include <string.h>

#include "api/fixed.h"

static const takt_option options[] = {
#define CACHE_ROW(kind, name)                                                                      \
    {"cache." #name, TAKT_OPTION_##kind, offsetof(takt_plan_options, cache.name)},
#define ROW_TEXT(name) {#name, TAKT_OPTION_TEXT, offsetof(takt_plan_options, name)},
#define ROW_SIZES(name) {#name, TAKT_OPTION_SIZES, offsetof(takt_plan_options, name)},
#define ROW_INT(name) {#name, TAKT_OPTION_INT, offsetof(takt_plan_options, name)},
#define ROW_U64(name) {#name, TAKT_OPTION_U64, offsetof(takt_plan_options, name)},
#define ROW_BOOL(name) {#name, TAKT_OPTION_BOOL, offsetof(takt_plan_options, name)},
#define ROW_ASIDE(name) {#name, TAKT_OPTION_ASIDE, offsetof(takt_plan_options, name)},
#define ROW_CAPS(name) {#name, TAKT_OPTION_CAPS, offsetof(takt_plan_options, name)},
#define ROW_FIXED(name) {#name, TAKT_OPTION_FIXED, offsetof(takt_plan_options, name)},
#define ROW_CACHE(name) TAKT_CACHE_CONFIG(CACHE_ROW)
#define ROW(kind, name, ...) ROW_##kind(name)
    TAKT_PLAN_OPTIONS(ROW, ROW, ROW)
#undef ROW
};

enum { OPTIONS = sizeof options / sizeof *options };

const takt_option *takt_option_at(size_t i)
{
    return i < OPTIONS ? &options[i] : NULL;
}

static bool keep_text(takt_arena *arena, const char **text)
{
    if (*text != NULL)
        *text = takt_arena_text(arena, *text, strlen(*text));
    return *text != NULL;
}

takt_status takt_plan_options_keep(takt_arena *arena, const takt_plan_options *o,
                                   const takt_plan_options **kept)
{
    takt_plan_options *copy = takt_arena_copy(arena, o, sizeof *o);
    *kept = copy;
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < OPTIONS; i++) {
        const takt_option_kind kind = options[i].kind;
        const char **text = (const char **)(void *)((char *)copy + options[i].offset);
        if ((kind == TAKT_OPTION_TEXT || kind == TAKT_OPTION_SIZES) && *text != NULL &&
            !keep_text(arena, text))
            return TAKT_ERR_MEMORY;
        if (kind == TAKT_OPTION_FIXED && copy->fixed_count > 0)
            TAKT_TRY(takt_keep_fixed(arena, copy));
    }
    return TAKT_OK;
}

/* ---- keys ---- */

static takt_status key_sizes(const takt_model *m, const char *given, takt_text *text)
{
    takt_arena arena;
    takt_size_range *ranges;
    size_t count;
    takt_arena_init(&arena, m->ctx);
    const takt_status status = takt_parse_ranges(&arena, m->graph->dims, given, &ranges, &count);
    for (size_t i = 0; status == TAKT_OK && i < count; i++) {
        takt_text_add(text, " %" PRId64, ranges[i].high < 0 ? 1 : ranges[i].high);
        if (ranges[i].low != ranges[i].high)
            takt_text_add(text, "-%" PRId64, ranges[i].low);
    }
    takt_arena_deinit(&arena);
    return status;
}

static void key_text(const char *value, takt_text *text)
{
    takt_text_add(text, " %zu:%s", value != NULL ? strlen(value) + 1 : 0,
                  value != NULL ? value : "");
}

static takt_status key_one(const takt_model *m, const takt_plan_options *o, const takt_option *p,
                           takt_text *text)
{
    const void *at = (const char *)o + p->offset;
    uint64_t hash = o->fixed_count;
    switch (p->kind) {
    case TAKT_OPTION_SIZE: takt_text_add(text, " %zu", *(const size_t *)at); break;
    case TAKT_OPTION_INT: takt_text_add(text, " %d", *(const int *)at); break;
    case TAKT_OPTION_U64: takt_text_add(text, " %" PRIu64, *(const uint64_t *)at); break;
    case TAKT_OPTION_BOOL: takt_text_add(text, " %d", *(const bool *)at); break;
    case TAKT_OPTION_TEXT: key_text(*(const char *const *)at, text); break;
    case TAKT_OPTION_SIZES: return key_sizes(m, *(const char *const *)at, text);
    case TAKT_OPTION_FIXED:
        TAKT_TRY(takt_hash_fixed(m->ctx, o, &hash));
        takt_text_add(text, " %" PRIx64, hash);
        break;
    case TAKT_OPTION_CAPS:
        for (size_t i = 0; i < sizeof o->simd; i++)
            takt_text_add(text, " %d", o->simd[i]);
        break;
    case TAKT_OPTION_ASIDE:
    case TAKT_OPTION_CACHE: /* its fields are separate rows */ break;
    }
    return TAKT_OK;
}

takt_status takt_plan_options_key(const takt_model *m, const takt_plan_options *o, takt_text *text)
{
    for (size_t i = 0; i < OPTIONS; i++)
        TAKT_TRY(key_one(m, o, &options[i], text));
    return text->status;
}
