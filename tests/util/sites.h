/* sites.h - every call of an allocator in a piece of the library as a site that can be made to
 * fail.
 *
 * A piece is compiled a second time with this file in front of each source
 * (cmake/test_sites.cmake). Each call of a function below is then a site: known by file and line
 * whether it is ever reached or not. The k-th call can be made to fail, also where an arena or a
 * buffer still has room, which hides most sites from an allocator that fails.
 */
#ifndef TAKT_TESTS_UTIL_SITES_H
#define TAKT_TESTS_UTIL_SITES_H

#include "base/arena.h"
#include "base/mem.h"
#include "base/text.h"
#include "ir/graph.h"

typedef struct takt_site {
    const char *file;
    int line;
    unsigned reached, failed; /* how often */
} takt_site;

/* The call that is under way. */
typedef struct takt_site_call {
    takt_site *site;
    takt_arena *arena; /* whose room was hidden, or NULL */
    takt_arena_block *newest;
} takt_site_call;

takt_site_call takt_site_enter(takt_site *site, takt_arena *arena);
void takt_site_leave(takt_site_call *call);

#define TAKT_SITE_JOIN_(a, b) a##b
#define TAKT_SITE_NAME_(a, b) TAKT_SITE_JOIN_(a, b)
#define TAKT_SITE_IN_(arena, call, n)                                                              \
    __extension__({                                                                                \
        static takt_site TAKT_SITE_NAME_(takt_site_, n) = {__FILE__, __LINE__, 0, 0};              \
        static takt_site *const TAKT_SITE_NAME_(takt_site_at_, n)                                  \
            __attribute__((section("takt_sites"), used)) = &TAKT_SITE_NAME_(takt_site_, n);        \
        __attribute__((cleanup(takt_site_leave), unused))                                          \
        takt_site_call TAKT_SITE_NAME_(takt_site_call_, n) =                                       \
            takt_site_enter(&TAKT_SITE_NAME_(takt_site_, n), arena);                               \
        call;                                                                                      \
    })
#define TAKT_SITE(arena, call) TAKT_SITE_IN_(arena, call, __COUNTER__)

#define takt_mem_get(...) TAKT_SITE(NULL, takt_mem_get(__VA_ARGS__))
#define takt_mem_zero(...) TAKT_SITE(NULL, takt_mem_zero(__VA_ARGS__))
#define takt_mem_grow(...) TAKT_SITE(NULL, takt_mem_grow(__VA_ARGS__))
#define takt_arena_get(arena, ...) TAKT_SITE(arena, takt_arena_get(arena, __VA_ARGS__))
#define takt_arena_array(arena, ...) TAKT_SITE(arena, takt_arena_array(arena, __VA_ARGS__))
#define takt_arena_copy(arena, ...) TAKT_SITE(arena, takt_arena_copy(arena, __VA_ARGS__))
#define takt_arena_text(arena, ...) TAKT_SITE(arena, takt_arena_text(arena, __VA_ARGS__))
#define takt_arena_format(arena, ...) TAKT_SITE(arena, takt_arena_format(arena, __VA_ARGS__))
#define takt_graph_create(...) TAKT_SITE(NULL, takt_graph_create(__VA_ARGS__))

#endif
