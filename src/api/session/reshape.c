/* reshape.c - sessions from sessions: a clone, and the same session for other sizes. */
#include <stddef.h>
#include <string.h>

#include "api/model.h"
#include "api/ranges.h"
#include "api/session/session.h"
#include "base/error_record.h"
#include "base/mem.h"

/* The plan of `from`, or one for the same sizes where that is its own. */
static takt_status take_sizes(takt_session *s, const takt_session *from)
{
    takt_plan *plan;
    if (from->plan->widest == NULL)
        return takt_session_take(s, from->plan);
    TAKT_TRY(takt_plan_at(from->range->top, from->plan->sizes, true, &plan));
    const takt_status status = plan != s->plan ? takt_session_take(s, plan) : TAKT_OK;
    takt_plan_release_internal(plan);
    return status;
}

static takt_status copy_state(takt_session *to, const takt_session *from)
{
    const size_t bytes = takt_session_state_bytes(from);
    void *block;
    if (bytes == 0)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(from->ctx, bytes, "state", &block));
    takt_status status = takt_session_save_state(from, block);
    if (status == TAKT_OK)
        status = takt_session_restore_state(to, block);
    takt_mem_put(from->ctx, block, bytes);
    return status;
}

takt_status takt_session_clone(const takt_session *from, takt_session **clone)
{
    TAKT_NEED(NULL, from);
    TAKT_NEED(NULL, clone);
    const takt_session_options options = {.pool = from->owns_pool ? NULL : from->pool,
                                          .huge_pages = from->wants_pages,
                                          .static_shapes = from->static_shapes};
    TAKT_TRY(
        takt_session_create(from->range != NULL ? from->range->top : from->plan, &options, clone));
    takt_status status = TAKT_OK;
    if ((*clone)->plan != from->plan)
        status = take_sizes(*clone, from);
    if (status != TAKT_OK) {
        takt_session_destroy(*clone);
        *clone = NULL;
        return status;
    }
    status = copy_state(*clone, from);
    if (status != TAKT_OK) {
        takt_session_destroy(*clone);
        *clone = NULL;
    }
    return status;
}

/* The new plan has a slot that continues slot `i` of the old one. */
static takt_status match(const takt_session *s, const takt_plan *plan, size_t i)
{
    const takt_slot *old = &s->plan->graph->slots[i];
    const takt_slot *slot = takt_graph_find_slot(plan->graph, old->name);
    if (slot == NULL)
        return takt_fail(s->ctx, TAKT_E_RESHAPE, "the model has no state called %s", old->name);
    if (takt_type_same(plan->graph->dims, &slot->type, &old->type))
        return TAKT_OK;
    char was[TAKT_TYPE_TEXT], is[TAKT_TYPE_TEXT];
    return takt_fail(s->ctx, TAKT_E_RESHAPE, "state %s is %s and would be %s", old->name,
                     takt_type_text(s->plan->graph->dims, &old->type, was),
                     takt_type_text(plan->graph->dims, &slot->type, is));
}

static takt_status check_state(const takt_session *s, const takt_plan *plan)
{
    for (size_t i = 0; i < s->plan->graph->slot_count; i++)
        TAKT_TRY(match(s, plan, i));
    for (size_t i = 0; i < plan->graph->slot_count; i++)
        if (takt_graph_find_slot(s->plan->graph, plan->graph->slots[i].name) == NULL)
            return takt_fail(s->ctx, TAKT_E_RESHAPE,
                             "the session has no state called %s: the model is another one",
                             plan->graph->slots[i].name);
    return TAKT_OK;
}

/* Swaps the contents of two sessions; the session keeps its address and its error. */
static void swap(takt_session *a, takt_session *b)
{
    enum {
        FIRST = offsetof(takt_session, plan),
        BYTES = offsetof(takt_session, static_shapes) - FIRST
    };
    unsigned char held[BYTES];
    memcpy(held, (unsigned char *)a + FIRST, BYTES);
    memcpy((unsigned char *)a + FIRST, (unsigned char *)b + FIRST, BYTES);
    memcpy((unsigned char *)b + FIRST, held, BYTES);
}

/* Bytes that the session's arena has; 0: none that another plan could use. */
static uint64_t room_of(const takt_session *s)
{
    if (s->arena_given > 0)
        return s->arena_given;
    return s->owns_arena ? s->arena_bytes : s->arena_pages;
}

#define EXCHANGE(field)                                                                            \
    do {                                                                                           \
        const __typeof__(a->field) held = a->field;                                                \
        a->field = b->field;                                                                       \
        b->field = held;                                                                           \
    } while (false)

/* Restores the arenas after the swap: the same memory, but only one owns it. */
static void swap_arenas(takt_session *a, takt_session *b)
{
    char reason[TAKT_HUGE_REASON];
    EXCHANGE(arena_given);
    EXCHANGE(arena_bytes);
    EXCHANGE(arena_pages);
    EXCHANGE(pages);
    EXCHANGE(owns_arena);
    memcpy(reason, a->pages_reason, sizeof reason);
    memcpy(a->pages_reason, b->pages_reason, sizeof reason);
    memcpy(b->pages_reason, reason, sizeof reason);
}

static void swap_ranges(takt_session *a, takt_session *b)
{
    EXCHANGE(range);
}

/* `is_variant`: keeps the bindings, the range and the arena, if possible. */
static takt_status take(takt_session *s, takt_plan *plan, bool is_variant)
{
    const bool fits = plan->arena_bytes > 0 && plan->arena_bytes <= room_of(s);
    const bool keeps_arena = is_variant && fits;
    const bool is_given = s->arena_given > 0 && !(s->may_outgrow && !fits);
    /* A pool of the session's own serves the new plan too: it has the same number of threads. */
    const takt_session_options own = {.pool = s->pool,
                                      .arena = keeps_arena || is_given ? s->arena : NULL,
                                      .arena_bytes = keeps_arena ? room_of(s) : s->arena_given,
                                      .huge_pages = s->wants_pages,
                                      .static_shapes = s->static_shapes,
                                      .state_of = s,
                                      .stream = s->stream};
    takt_session *fresh;
    TAKT_TRY(check_state(s, plan));
    TAKT_TRY(takt_session_finish(s));
    takt_status status = takt_session_create(plan, &own, &fresh);
    if (status == TAKT_OK) {
        swap(s, fresh);
        if (keeps_arena)
            swap_arenas(s, fresh);
        if (!is_variant) {
            takt_session_destroy(s->checker); /* of the old sizes */
            s->checker = NULL;
        }
        if (fresh->owns_pool) {
            s->owns_pool = true;
            fresh->owns_pool = false;
        }
    }
    if (status == TAKT_OK && is_variant)
        swap_ranges(s, fresh);
    takt_session_destroy(fresh);
    return status;
}

takt_status takt_session_take(takt_session *s, takt_plan *plan)
{
    return take(s, plan, true);
}

/* Sizes inside the session's ranges, others as they are; false: they are something else. */
static bool is_inside(const takt_session *s, const char *text, takt_arena *arena, int64_t **sizes)
{
    const takt_plan *top = s->range->top;
    takt_size_range *ranges;
    size_t count;
    takt_error before;
    takt_error_copy(s->ctx, &before);
    if (takt_parse_ranges(arena, top->graph->dims, text, &ranges, &count) != TAKT_OK ||
        count < top->name_count ||
        (*sizes = takt_arena_array(arena, top->name_count, sizeof **sizes)) == NULL)
        return false;
    for (size_t i = 0; i < top->name_count; i++) {
        if (ranges[i].low < ranges[i].high)
            return false;
        (*sizes)[i] = ranges[i].high >= 0 ? ranges[i].high : s->plan->sizes[i];
    }
    const bool is_held = takt_plan_holds(top, *sizes) == TAKT_OK;
    if (!is_held)
        takt_error_put_back(s->ctx, &before);
    return is_held;
}

/* In the range only the size changes; bindings are gone either way. */
static takt_status reshape_inside(takt_session *s, const char *sizes, bool *is_done)
{
    takt_arena arena;
    int64_t *numbers;
    takt_status status = TAKT_OK;
    takt_arena_init(&arena, s->ctx);
    *is_done = is_inside(s, sizes, &arena, &numbers);
    if (*is_done) {
        const size_t inputs = s->plan->graph->input_count;
        const size_t bytes = s->range->top->name_count * sizeof *numbers;
        memcpy(s->range->cells, numbers, bytes);
        takt_session_clamp(s, s->range->cells, 0);
        memcpy(numbers, s->range->cells, bytes);
        /* No input has a value then, so none is cleared: a cache may be many megabytes. */
        memset(s->range->is_own, 0, inputs);
        status = takt_session_change(s, numbers);
        for (size_t i = 0; i < s->range->ports; i++) {
            const bool is_input = i < inputs;
            const size_t index = is_input ? i : i - inputs;
            s->range->bound[i].data = NULL;
            if (status == TAKT_OK)
                status = takt_session_bind_port(s, is_input ? TAKT_PLACE_INPUT : TAKT_PLACE_OUTPUT,
                                                index, &s->range->bound[i]);
            (is_input ? s->inputs : s->outputs)[index].view.data = NULL;
        }
        s->range->is_new = false;
    }
    takt_arena_deinit(&arena);
    return status;
}

static takt_status reshape(takt_session *s, const takt_model *model, const char *sizes)
{
    takt_plan_options options = {0};
    bool is_done = false;
    if (s->range != NULL)
        TAKT_TRY(reshape_inside(s, sizes, &is_done));
    if (is_done)
        return TAKT_OK;
    if (s->plan->options != NULL)
        options = *s->plan->options;
    takt_plan *plan;
    options.sizes = sizes;
    options.static_shapes = s->static_shapes;
    TAKT_TRY(takt_plan_get(model, &options, &plan));
    const takt_status status = take(s, plan, false);
    takt_plan_destroy(plan);
    return status;
}

takt_status takt_session_reshape(takt_session *s, const takt_model *model, const char *sizes)
{
    TAKT_NEED(NULL, s);
    const takt_status status = reshape(s, model, sizes);
    if (status != TAKT_OK)
        s->error = s->ctx->error;
    return status;
}
