/* arena.c - the arena of a session: the caller's, the context's memory, or huge pages. */
#include <string.h>

#include "api/session/session.h"
#include "base/count.h"
#include "base/mem.h"
#include "base/size.h"
#include "os/cpu.h"

static takt_status take_given(takt_session *s, const takt_session_options *o)
{
    const bool is_odd = (uintptr_t)o->arena % TAKT_ALIGN != 0;
    if (o->arena_bytes < s->plan->arena_bytes || is_odd) {
        takt_fail(s->ctx, TAKT_E_BINDING, "the arena has %llu bytes%s; the plan needs %zu",
                  (unsigned long long)o->arena_bytes, is_odd ? " and is not 64-byte aligned" : "",
                  s->plan->arena_bytes);
        return takt_fail_hint(s->ctx, "takt_alloc gives aligned memory; takt_plan_query tells how "
                                      "much is needed");
    }
    s->arena = o->arena;
    s->arena_given = o->arena_bytes;
    return TAKT_OK;
}

/* Pages do not come from the context's allocator, but count against its limit all the same. */
static takt_status get_pages(takt_session *s, takt_huge_pages want)
{
    takt_cpu_facts facts;
    size_t bytes;
    uint64_t live;
    void *at;
    takt_cpu_read(&facts);
    const size_t page = facts.huge_page_bytes > 0 ? facts.huge_page_bytes : takt_page_size();
    if (!takt_size_align(s->plan->arena_bytes, page, &bytes) ||
        !takt_count_more(s->ctx, bytes, &live))
        return takt_fail_memory(s->ctx, "arena", s->plan->arena_bytes);
    if (takt_pages_get_huge(bytes, want, &at, &s->pages, s->pages_reason) != 0) {
        takt_count_less(s->ctx, bytes);
        return takt_fail_memory(s->ctx, "arena", bytes);
    }
    takt_count_peak(s->ctx, live);
    s->arena = at;
    s->arena_pages = bytes;
    if (s->pages_reason[0] != '\0')
        takt_log(s->ctx, TAKT_LOG_WARNING, "no huge pages as asked for: %s", s->pages_reason);
    return TAKT_OK;
}

takt_status takt_session_get_arena(takt_session *s, const takt_session_options *o)
{
    if ((unsigned)o->huge_pages > TAKT_HUGE_EXPLICIT)
        return takt_fail(s->ctx, TAKT_E_OPTION, "there is no kind %d of huge pages",
                         (int)o->huge_pages);
    if (o->arena != NULL)
        return take_given(s, o);
    if (s->plan->arena_bytes == 0) {
        s->arena = (unsigned char *)s; /* never read */
        return TAKT_OK;
    }
    if (o->huge_pages != TAKT_HUGE_AUTO)
        return get_pages(s, o->huge_pages);
    void *block;
    TAKT_TRY(takt_mem_get(s->ctx, s->plan->arena_bytes, "arena", &block));
    s->arena = block;
    s->arena_bytes = s->plan->arena_bytes;
    s->owns_arena = true;
    return TAKT_OK;
}

static void put(takt_session *s, void *arena)
{
    if (s->owns_arena)
        takt_mem_put(s->ctx, arena, s->arena_bytes);
    if (s->arena_pages == 0 || arena == NULL)
        return;
    takt_pages_put(arena, s->arena_pages);
    takt_count_less(s->ctx, s->arena_pages);
}

void takt_session_put_arena(takt_session *s)
{
    put(s, s->arena);
    put(s, s->first_arena);
}

/* Not through get_pages and takt_mem_get: other threads share the context's error. */
static void *get_second(takt_session *s)
{
    const takt_allocator *memory = &s->ctx->allocator;
    void *at;
    uint64_t live;
    if (s->owns_arena)
        return memory->get(memory->user, s->arena_bytes, TAKT_ALIGN);
    if (!takt_count_more(s->ctx, s->arena_pages, &live))
        return NULL;
    if (takt_pages_get_huge(s->arena_pages, s->wants_pages, &at, &s->pages, s->pages_reason) != 0) {
        takt_count_less(s->ctx, s->arena_pages);
        return NULL;
    }
    takt_count_peak(s->ctx, live);
    return at;
}

takt_status takt_session_part_arena(takt_session *s)
{
    const takt_plan *plan = s->plan;
    unsigned char *second = get_second(s);
    if (second == NULL)
        return takt_error_memory(&s->error, "a second arena", plan->arena_bytes);
    s->first_arena = s->arena;
    s->arena = second;
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].place == TAKT_PLACE_ARENA)
            s->base[i] = second + plan->buffers[i].offset;
    return TAKT_OK;
}

takt_huge_pages takt_session_huge_pages(const takt_session *s, const char **reason)
{
    if (s == NULL)
        return (takt_huge_pages)0;
    if (reason != NULL)
        *reason = s->pages_reason;
    return s->pages;
}
