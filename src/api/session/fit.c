/* fit.c - sizes that go on changing: a session without a range gets one, whose end doubles. */
#include <inttypes.h>

#include "api/model.h"
#include "api/ranges.h"
#include "api/session/session.h"
#include "base/text.h"
#include "base/written.h"
#include "ir/dim.h"

/* A doubled end may be more than a memory limit or the model itself allows (a table of positions).
 * Then what was added is halved, this many times, before the range ends at the size itself. */
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

/* The end that holds `size`: twice the end before, less what `halvings` take back. */
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

/* The names of `sizes` with their ranges. */
static void write(const takt_session *s, const char *sizes, const takt_size_range *ranges,
                  takt_text *text)
{
    const takt_plan *plan = plan_of(s);
    const takt_dims *dims = plan->graph->dims;
    while (*sizes != '\0') {
        takt_span name, value;
        const size_t length = takt_written_length(sizes, ",");
        const bool is_pair = takt_written_pair((takt_span){sizes, length}, &name, &value);
        for (size_t i = 0; is_pair && i < plan->name_count; i++)
            if (takt_written_is(name, takt_span_of(takt_dims_name(dims, i))))
                takt_text_add(text, "%s%.*s=%" PRId64 "..%" PRId64,
                              takt_text_get(text)[0] != '\0' ? "," : "", (int)name.length, name.at,
                              ranges[i].low, ranges[i].high);
        sizes += length + (sizes[length] == ',');
    }
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

/* Gives the session a range with `sizes` in it, the largest that can be planned. */
static takt_status make_range(takt_session *s, const takt_model *model, const char *sizes,
                              takt_arena *arena)
{
    takt_status status = TAKT_ERR_SHAPE;
    for (int k = 0; k <= HALVINGS && status != TAKT_OK; k++) {
        takt_size_range *ranges;
        takt_text text;
        size_t count;
        const takt_plan *plan = plan_of(s);
        TAKT_TRY(takt_parse_ranges(arena, plan->graph->dims, sizes, &ranges, &count));
        widen(s, ranges, plan->name_count, k);
        takt_text_init(&text, s->ctx);
        write(s, sizes, ranges, &text);
        status = text.status;
        if (status == TAKT_OK)
            status = takt_session_reshape(s, model, takt_text_get(&text));
        takt_text_deinit(&text);
    }
    return status;
}

takt_status takt_session_fit(takt_session *s, const takt_model *model, const char *sizes)
{
    TAKT_NEED(NULL, s);
    takt_arena arena;
    takt_size_range *ranges;
    takt_status made = TAKT_OK;
    takt_arena_init(&arena, s->ctx);
    if (read(s, sizes, &arena, &ranges)) {
        const takt_error before = s->ctx->error, own = s->error;
        made = make_range(s, model, sizes, &arena);
        s->ctx->error = before;
        s->error = own;
    }
    takt_arena_deinit(&arena);
    const takt_status status = takt_session_reshape(s, model, sizes);
    /* A size that is refused alone, too, says nothing about ranges for others. */
    if (status == TAKT_OK && made != TAKT_OK && made != TAKT_ERR_MEMORY)
        s->has_no_range = true;
    return status;
}
