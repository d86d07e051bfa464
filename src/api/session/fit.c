/* fit.c - sizes that keep changing: a session without a range gets one whose end doubles. */
#include <inttypes.h>

#include "api/model.h"
#include "api/ranges.h"
#include "api/session/session.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/written.h"
#include "ir/dim.h"

/* A doubled end may be more than a memory limit or the model itself allows (a table of positions).
 * Then the increase is halved, up to this many times, before the range ends at the size itself. */
enum { HALVINGS = 4 };

static const takt_plan *plan_of(const takt_session *s)
{
    return s->range != NULL ? s->range->top : s->plan;
}

/* The sizes of name `i` that the session takes now. */
static takt_size_range held(const takt_session *s, size_t i)
{
    const takt_plan *plan = plan_of(s);
    if (plan->ranges != NULL)
        return plan->ranges[i];
    return (takt_size_range){.low = plan->sizes[i], .high = plan->sizes[i]};
}

/* The end of the range for `size`: twice the previous end, reduced by `halvings`. */
static int64_t end_of(int64_t before, int64_t size, int halvings)
{
    if (size <= before)
        return before;
    const int64_t twice = before <= INT64_MAX / 2 ? 2 * before : size;
    if (twice <= size || halvings == HALVINGS)
        return size;
    return size + ((twice - size) >> halvings);
}

/* Ranges for names that are given one size each. A size that stays 0 or 1 stays a number, since
 * graphs are simpler then. */
static void widen(const takt_session *s, takt_size_range *ranges, size_t count, int halvings)
{
    for (size_t i = 0; i < count; i++) {
        const takt_size_range old = held(s, i);
        const int64_t size = ranges[i].high;
        if (size < 0 || old.is_length)
            continue;
        const int64_t low = old.low < old.high ? old.low : 1;
        ranges[i].high = end_of(old.high, size, halvings);
        ranges[i].low = low < size ? low : size;
    }
}

/* A name as sizes are written, of any length. */
static void write_name(const char *name, takt_text *text)
{
    enum { USUAL = 128 };
    char usual[USUAL];
    void *block;
    const size_t length = takt_name_write(name, usual, sizeof usual);
    if (length < USUAL) {
        takt_text_put(text, usual, length);
        return;
    }
    if (takt_mem_get(text->ctx, length + 1, "a name", &block) != TAKT_OK) {
        text->status = TAKT_ERR_MEMORY;
        return;
    }
    (void)takt_name_write(name, block, length + 1);
    takt_text_put(text, block, length);
    takt_mem_put(text->ctx, block, length + 1);
}

/* All names that have a size, with these ranges; those that were not given keep what they have. */
static void write(const takt_session *s, const takt_size_range *ranges, takt_text *text)
{
    const takt_plan *plan = plan_of(s);
    for (size_t i = 0; i < plan->name_count; i++) {
        const takt_size_range old = held(s, i), now = ranges[i].high >= 0 ? ranges[i] : old;
        if (old.is_length || now.high < 0)
            continue;
        if (takt_text_get(text)[0] != '\0')
            takt_text_put(text, ",", 1);
        write_name(takt_dims_name(plan->graph->dims, i), text);
        takt_text_add(text, "=%" PRId64, now.low);
        if (now.low < now.high)
            takt_text_add(text, "..%" PRId64, now.high);
    }
}

/* The sizes as numbers, those that were not given as they are now. */
static void write_exact(const takt_session *s, takt_size_range *ranges, takt_text *text)
{
    for (size_t i = 0; i < plan_of(s)->name_count; i++) {
        const int64_t size = ranges[i].high >= 0 ? ranges[i].high : s->plan->sizes[i];
        ranges[i] = (takt_size_range){.low = size, .high = size};
    }
    write(s, ranges, text);
}

/* Sizes as they are given, -1 where none is. False: they are for takt_session_reshape. */
static bool read(const takt_session *s, const char *sizes, takt_arena *arena,
                 takt_size_range **ranges)
{
    const takt_error before = s->ctx->error;
    const takt_plan *plan = plan_of(s);
    size_t count;
    if (s->static_shapes || s->has_no_range || sizes == NULL ||
        takt_parse_ranges(arena, plan->graph->dims, sizes, ranges, &count) != TAKT_OK ||
        count < plan->name_count) {
        s->ctx->error = before;
        return false;
    }
    bool is_held = true;
    for (size_t i = 0; i < plan->name_count; i++) {
        const takt_size_range old = held(s, i), *now = &(*ranges)[i];
        if (now->low < now->high)
            return false;
        is_held = is_held && (now->high < 0 || (now->high >= old.low && now->high <= old.high));
    }
    return !is_held;
}

static takt_status plan_for(const takt_session *s, const takt_model *model, const char *sizes,
                            takt_plan **plan)
{
    takt_plan_options options = {0};
    if (s->plan->options != NULL)
        options = *s->plan->options;
    options.sizes = sizes;
    return takt_plan_get(model, &options, plan);
}

/* A fit: the requested sizes, and all sizes as numbers. */
typedef struct fitting {
    takt_session *s;
    const takt_model *model;
    const char *sizes, *exact;
    takt_arena *arena;
} fitting;

/* The range that ends where `halvings` say. `*may_end_earlier`: a smaller one could be planned. */
static takt_status try_range(const fitting *f, int halvings, bool *may_end_earlier)
{
    takt_session *s = f->s;
    takt_size_range *ranges;
    takt_plan *plan = NULL;
    takt_text text;
    size_t count;
    *may_end_earlier = false;
    TAKT_TRY(takt_parse_ranges(f->arena, plan_of(s)->graph->dims, f->sizes, &ranges, &count));
    widen(s, ranges, plan_of(s)->name_count, halvings);
    takt_text_init(&text, s->ctx);
    write(s, ranges, &text);
    takt_status status = text.status;
    if (status == TAKT_OK) {
        status = plan_for(s, f->model, takt_text_get(&text), &plan);
        *may_end_earlier = status != TAKT_OK && status != TAKT_ERR_MEMORY;
    }
    if (status == TAKT_OK)
        status = takt_session_reshape(s, f->model, takt_text_get(&text));
    takt_plan_destroy(plan);
    takt_text_deinit(&text);
    return status;
}

/* Gives the session a range with the sizes in it, the largest that can be planned. `*is_refused`:
 * there is no plan for the sizes alone. */
static takt_status make_range(const fitting *f, bool *is_refused)
{
    takt_plan *alone = NULL;
    bool may_end_earlier;
    takt_status status = try_range(f, 0, &may_end_earlier);
    if (status == TAKT_OK || !may_end_earlier)
        return status;
    status = plan_for(f->s, f->model, f->exact, &alone);
    takt_plan_destroy(alone);
    *is_refused = status != TAKT_OK;
    for (int k = 1; k <= HALVINGS && !*is_refused && may_end_earlier; k++)
        status = try_range(f, k, &may_end_earlier);
    return status;
}

/* The saved errors of the context and of the session. */
typedef struct errors {
    takt_error ctx, own;
} errors;

static errors *save(const fitting *f)
{
    errors *e = takt_arena_array(f->arena, 1, sizeof *e);
    if (e != NULL)
        *e = (errors){f->s->ctx->error, f->s->error};
    return e;
}

static void restore(takt_session *s, const errors *e)
{
    s->ctx->error = e->ctx;
    s->error = e->own;
}

/* Gives the session back the range and sizes that it had; a failure is reported by its caller. */
static void put_back(const fitting *f, const char *range, const char *sizes)
{
    const errors *e = save(f);
    if (takt_session_reshape(f->s, f->model, range) != TAKT_OK ||
        takt_session_reshape(f->s, f->model, sizes) != TAKT_OK)
        takt_log(f->s->ctx, TAKT_LOG_WARNING, "a session keeps a range for sizes that it refused");
    if (e != NULL)
        restore(f->s, e);
}

/* Sizes that are not held, of a session that can have a range. */
static takt_status grow(const fitting *f, const char *before, const char *now)
{
    takt_session *s = f->s;
    const errors *e = save(f);
    bool is_refused = false;
    if (e == NULL)
        return TAKT_ERR_MEMORY;
    const takt_status made = make_range(f, &is_refused);
    if (is_refused) { /* its error stays */
        s->error = s->ctx->error;
        return made;
    }
    restore(s, e);
    const takt_status status = takt_session_reshape(s, f->model, f->exact);
    /* If a size is refused by itself too, that says nothing about ranges of others. */
    if (status == TAKT_OK && made != TAKT_OK && made != TAKT_ERR_MEMORY)
        s->has_no_range = true;
    if (status != TAKT_OK && made == TAKT_OK)
        put_back(f, before, now);
    return status;
}

static takt_status fit(takt_session *s, const takt_model *model, const char *sizes,
                       takt_arena *arena)
{
    takt_size_range *ranges;
    takt_text exact, before, now;
    if (!read(s, sizes, arena, &ranges))
        return takt_session_reshape(s, model, sizes);
    takt_size_range *none = takt_arena_array(arena, plan_of(s)->name_count + 1, sizeof *none);
    if (none == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan_of(s)->name_count; i++)
        none[i].high = -1;
    takt_text_init(&exact, s->ctx);
    takt_text_init(&before, s->ctx);
    takt_text_init(&now, s->ctx);
    write_exact(s, ranges, &exact);
    write(s, none, &before);
    write_exact(s, none, &now);
    takt_status status = exact.status != TAKT_OK    ? exact.status
                         : before.status != TAKT_OK ? before.status
                                                    : now.status;
    if (status == TAKT_OK)
        status = grow(&(fitting){s, model, sizes, takt_text_get(&exact), arena},
                      takt_text_get(&before), takt_text_get(&now));
    takt_text_deinit(&exact);
    takt_text_deinit(&before);
    takt_text_deinit(&now);
    return status;
}

takt_status takt_session_fit(takt_session *s, const takt_model *model, const char *sizes)
{
    TAKT_NEED(NULL, s);
    takt_arena arena;
    takt_arena_init(&arena, s->ctx);
    const takt_status status = fit(s, model, sizes, &arena);
    takt_arena_deinit(&arena);
    return status;
}
