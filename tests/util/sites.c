/* sites.c - the sites of sites.h: counting, failing, reporting. One thread. */
#include <stdio.h>
#include <string.h>

#include "util/site_list.h"
#include "util/sites.h"

enum { REMEMBERED = 1 << 16 };

static struct {
    takt_site *now; /* fails; NULL: none does */
    uint64_t calls, fail_at;
    bool ever;
    const takt_site *order[REMEMBERED];
} state;

takt_site_call takt_site_enter(takt_site *site, takt_arena *arena)
{
    takt_site_call call = {site, NULL, NULL};
    site->reached++;
    if (state.fail_at == 0 && state.calls < REMEMBERED)
        state.order[state.calls] = site;
    state.calls++;
    const bool strikes = state.fail_at != 0 &&
                         (state.ever ? state.calls >= state.fail_at : state.calls == state.fail_at);
    if (!strikes)
        return call;
    state.now = site;
    if (arena != NULL) { /* spare room must not help */
        call.arena = arena;
        call.newest = arena->newest;
        arena->newest = NULL;
    }
    return call;
}

void takt_site_leave(takt_site_call *call)
{
    state.now = NULL;
    if (call->arena != NULL)
        call->arena->newest = call->newest;
}

void takt_sites_plan(uint64_t fail_at, bool ever)
{
    state.now = NULL;
    state.calls = 0;
    state.fail_at = fail_at;
    state.ever = ever;
    if (fail_at == 0)
        memset(state.order, 0, sizeof state.order);
}

uint64_t takt_sites_calls(void)
{
    return state.calls;
}

bool takt_sites_strike(void *user)
{
    (void)user;
    if (state.now != NULL)
        state.now->failed++;
    return state.now != NULL;
}

const takt_site *takt_sites_at(uint64_t k)
{
    return k > 0 && k <= REMEMBERED ? state.order[k - 1] : NULL;
}

unsigned takt_site_failures(const takt_site *site)
{
    return site->failed;
}

/* Section bounds set by the linker; weak, since most programs have none. */
extern takt_site *const __start_takt_sites[] __attribute__((weak));
extern takt_site *const __stop_takt_sites[] __attribute__((weak));

static size_t missed_in(const char *file)
{
    size_t missed = 0;
    for (takt_site *const *s = __start_takt_sites; s < __stop_takt_sites; s++)
        missed += (*s)->failed == 0 && strstr((*s)->file, file) != NULL;
    return missed;
}

size_t takt_sites_report(const char *what, const takt_site_excuse *excuses)
{
    size_t known = 0, hit = 0, excused = 0;
    for (takt_site *const *s = __start_takt_sites; s < __stop_takt_sites; s++) {
        known++;
        hit += (*s)->failed > 0;
    }
    printf("%s: %zu allocation sites hit of %zu known\n", what, hit, known);
    for (takt_site *const *s = __start_takt_sites; s < __stop_takt_sites; s++)
        if ((*s)->failed == 0)
            printf("  never hit: %s:%d (reached %u times)\n", (*s)->file, (*s)->line,
                   (*s)->reached);
    for (const takt_site_excuse *e = excuses; e->file != NULL; e++) {
        const size_t missed = missed_in(e->file);
        printf("  %zu of %s excused: %s\n", e->count, e->file, e->why);
        excused += missed < e->count ? missed : e->count;
    }
    return known > 0 ? known - hit - excused : 1;
}
