/* npz.c - the arrays of an .npz file. */
#include "base/mem.h"
#include "io/npy/npy.h"
#include "io/weights/format.h"

static bool recognises(const uint8_t *bytes, size_t length)
{
    return takt_weights_starts(bytes, length, "PK\x03\x04") ||
           takt_weights_starts(bytes, length, "PK\x05\x06");
}

static takt_status visit_member(void *user, takt_span name, takt_span member,
                                const takt_tensor_view *view)
{
    takt_weights_reader *r = user;
    if (r->skim != NULL)
        takt_skim_done(r->skim, (const uint8_t *)member.at, member.length);
    const char *text = takt_arena_text(&r->arena, name.at, name.length);
    return text != NULL ? takt_weights_visit(r, text, view) : TAKT_ERR_MEMORY;
}

/* Its directory and members are fetched. */
static takt_status skim(takt_skim *s)
{
    return takt_skim_leave(s, s->have, s->length);
}

/* Members are read in every pass: a checksum is over the bytes. */
static takt_status each(takt_weights_reader *r, const uint8_t *bytes, size_t length)
{
    const takt_npz from = {
        .ctx = r->ctx, .name = r->path, .bytes = bytes, .length = length, .skim = r->skim};
    return takt_npz_each(&from, visit_member, r);
}

static takt_status save(takt_ctx *ctx, const char *path, const takt_weights_set *set)
{
    takt_arena arena;
    takt_arena_init(&arena, ctx);
    const char **names = takt_arena_array(&arena, set->count + 1, sizeof *names);
    takt_tensor_view *views = takt_arena_array(&arena, set->count + 1, sizeof *views);
    takt_status status = names != NULL && views != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < set->count; i++) {
        names[i] = set->tensors[i].name;
        views[i] = takt_weights_view(set->tensors[i].tensor);
    }
    if (status == TAKT_OK)
        status = takt_npz_save(ctx, path, names, views, set->count);
    takt_arena_deinit(&arena);
    return status;
}

const takt_weights_format takt_weights_npz = {.name = "npz",
                                              .recognises = recognises,
                                              .skim = skim,
                                              .each = each,
                                              .ending = ".npz",
                                              .save = save};
