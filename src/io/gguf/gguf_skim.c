/* gguf_skim.c - the header of a file, however long it is. */
#include "io/gguf/gguf.h"

takt_status takt_gguf_skim(takt_skim *s)
{
    takt_gguf g = {.is_cut = true};
    takt_status status = TAKT_OK;
    for (size_t want = s->have; status == TAKT_OK && g.is_cut;) {
        takt_arena arena;
        takt_arena_init(&arena, s->ctx);
        status = takt_skim_need(s, want);
        if (status == TAKT_OK)
            status = takt_gguf_parse(&arena, s->path, s->bytes, s->have, s->length, &g);
        takt_arena_deinit(&arena);
        want = s->have < s->length / 2 ? 2 * s->have : s->length;
    }
    if (status == TAKT_OK && g.data > s->have)
        status = takt_skim_need(s, g.data < s->length ? (size_t)g.data : s->length);
    return status == TAKT_OK && g.data < s->length ? takt_skim_leave(s, (size_t)g.data, s->length)
                                                   : status;
}
