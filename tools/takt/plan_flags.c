/* plan_flags.c - the flags that say how to plan, the same for every verb that plans or runs. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* ---- static inputs ---- */

static size_t static_count(const takt_tool *t)
{
    size_t count = 0;
    while (tool_item_of(t, TAKT_F_STATIC, count) != NULL)
        count++;
    return count;
}

bool tool_is_static(const takt_tool *t, const char *input)
{
    const char *item;
    for (size_t i = 0; (item = tool_item_of(t, TAKT_F_STATIC, i)) != NULL; i++)
        if (tool_after(item, '=', input) != NULL)
            return true;
    return false;
}

/* "x=x.npy"; the name is a copy. */
static int load_static(const takt_tool *t, const char *item, takt_known_input *known)
{
    char read[TOOL_NAME];
    const char *path = tool_after_name(item, '=', false, read);
    if (path == NULL || path[0] == '\0')
        return tool_usage_error(t, 1003, "write --static x=x.npy",
                                "--static %s is not of the form NAME=FILE", item);
    char *name = malloc(strlen(read) + 1);
    if (name == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    known->name = strcpy(name, read);
    return tool_finish(t, takt_npy_load(t->ctx, path, &known->view));
}

static void drop_static(takt_ctx *ctx, takt_known_input *known)
{
    if (known->view.data != NULL)
        takt_view_free(ctx, &known->view);
    free((void *)(uintptr_t)known->name);
}

bool tool_static_sizes(const takt_tool *t, const takt_model *m, tool_sizes *sizes)
{
    const char *item;
    bool good = true;
    for (size_t i = 0; good && (item = tool_item_of(t, TAKT_F_STATIC, i)) != NULL; i++) {
        takt_known_input known = {.name = NULL};
        good = load_static(t, item, &known) == TAKT_EXIT_OK;
        for (size_t k = 0; good && k < takt_model_input_count(m); k++) {
            const takt_desc *d = takt_model_input(m, k);
            if (strcmp(d->name, known.name) == 0)
                good = tool_sizes_from(t, sizes, d, known.view.rank, known.view.dims, item);
        }
        drop_static(t->ctx, &known);
    }
    return good;
}

static int load_all_static(takt_tool *t, tool_request *r)
{
    const size_t count = static_count(t);
    r->ctx = t->ctx;
    r->fixed = count > 0 ? calloc(count, sizeof *r->fixed) : NULL;
    if (count > 0 && r->fixed == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    r->options.fixed = r->fixed;
    r->options.fixed_count = count;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < count && code == TAKT_EXIT_OK; i++)
        code = load_static(t, tool_item_of(t, TAKT_F_STATIC, i), &r->fixed[i]);
    return code;
}

/* ---- requests ---- */

/* The words of a flag that may be given several times, joined; freed with the request. */
static const char *list_of(const takt_tool *t, tool_request *r, tool_flag_id id)
{
    char *joined = tool_joined(t, id);
    if (joined != NULL)
        r->lists[r->list_count++] = joined;
    return joined;
}

/* One function for each kind of field and of flag; rows of TAKT_PLAN_OPTIONS choose among them. */
static takt_status set_options(takt_tool *t, tool_request *r)
{
    takt_plan_options *o = &r->options;
    takt_status status = TAKT_OK;
#define TEXT_TEXT(field, id) o->field = tool_text_of(t, id);
#define TEXT_LIST(field, id) o->field = list_of(t, r, id);
#define INT_COUNT(field, id) o->field = (int)tool_number_of(t, id, 0);
#define U64_BYTES(field, id) o->field = tool_number_of(t, id, 0);
#define ASIDE_SWITCH(field, id) o->field = tool_on(t, id);
#define BOOL_SWITCH(field, id) o->field = tool_on(t, id);
#define INT_LEVEL(field, id)                                                                       \
    if (status == TAKT_OK)                                                                         \
        status = takt_opts_level(o, (int)tool_number_of(t, id, 2));
#define CAPS_LIST(field, id)                                                                       \
    if (status == TAKT_OK)                                                                         \
        status = takt_opts_simd_words(t->ctx, o, list_of(t, r, id));
#define FIXED_READS(field, id) /* load_all_static */
#define SET(kind, field, ID, name, letter, flag_kind, ...) kind##_##flag_kind(field, TAKT_F_##ID)
#define SKIP(kind, field, ...)
    TAKT_PLAN_OPTIONS(SET, SET, SKIP)
#undef SET
#undef SKIP
    if (status == TAKT_OK && tool_text_of(t, TAKT_F_TILE) != NULL)
        status = takt_opts_tile(t->ctx, o, tool_text_of(t, TAKT_F_TILE));
    o->cache.enable_prefetch = tool_number_of(t, TAKT_F_PREFETCH, 1) == 0 ? -1 : 0;
    o->cache.prefetch_distance = tool_number_of(t, TAKT_F_PREFETCH, 0);
    return status;
}

int tool_request_init(takt_tool *t, const char *sizes, tool_request *r)
{
    *r = (tool_request){.options = {.size = sizeof r->options, .sizes = sizes}};
    int code = tool_finish(t, set_options(t, r));
    uint64_t every;
    if (code == TAKT_EXIT_OK && !tool_checks(t, &r->options.checks, &every))
        code = TAKT_EXIT_USAGE;
    if (code == TAKT_EXIT_OK)
        code = load_all_static(t, r);
    if (code != TAKT_EXIT_OK)
        tool_request_free(r);
    return code;
}

void tool_request_free(tool_request *r)
{
    for (size_t i = 0; r->fixed != NULL && i < r->options.fixed_count; i++)
        drop_static(r->ctx, &r->fixed[i]);
    free(r->fixed);
    for (size_t i = 0; i < r->list_count; i++)
        free(r->lists[i]);
    *r = (tool_request){.list_count = 0};
}

takt_plan *tool_request_plan(takt_tool *t, const takt_model *m, tool_request *r, int *code)
{
    takt_plan *plan = NULL;
    const bool is_cached = r->options.static_shapes || tool_text_of(t, TAKT_F_PREPARE) != NULL;
    *code = tool_finish(t, (is_cached ? takt_plan_get : takt_plan_create)(m, &r->options, &plan));
    tool_request_free(r);
    return plan;
}

/* ---- sizes beforehand ---- */

static void say_prepared(void *user, const takt_prepared *one)
{
    const takt_tool *t = user;
    if (!tool_on(t, TAKT_F_QUIET))
        fprintf(stderr, "prepared %s: planned in %.3f ms, warm after %.3f ms, %llu bytes\n",
                one->sizes, (double)one->plan_ns / 1e6, (double)one->warmup_ns / 1e6,
                (unsigned long long)one->peak_bytes);
}

static takt_status prepare(takt_tool *t, const takt_model *m, const takt_plan_options *options)
{
    takt_status status = TAKT_OK;
    const char *list;
    for (size_t i = 0; (list = tool_item_of(t, TAKT_F_PREPARE, i)) != NULL && status == TAKT_OK;
         i++)
        status = takt_prepare(m, options, list, say_prepared, t);
    return status;
}

takt_plan *tool_make_plan(takt_tool *t, const takt_model *m, const tool_sizes *sizes, bool dry,
                          int *code)
{
    tool_request r;
    *code = tool_request_init(t, sizes->text, &r);
    if (*code != TAKT_EXIT_OK)
        return NULL;
    *code = tool_finish(t, prepare(t, m, &r.options));
    if (*code != TAKT_EXIT_OK) {
        tool_request_free(&r);
        return NULL;
    }
    r.options.dry = dry;
    return tool_request_plan(t, m, &r, code);
}
