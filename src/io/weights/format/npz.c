/* npz.c - the arrays of an .npz file. */
#include "io/npy/npy.h"
#include "io/weights/format.h"

static bool recognises(const uint8_t *bytes, size_t length)
{
    return takt_weights_starts(bytes, length, "PK\x03\x04") ||
           takt_weights_starts(bytes, length, "PK\x05\x06");
}

static takt_status visit_member(void *user, takt_span name, const takt_tensor_view *view)
{
    takt_weights_reader *r = user;
    const char *text = takt_arena_text(&r->arena, name.at, name.length);
    return text != NULL ? takt_weights_visit(r, text, view) : TAKT_ERR_MEMORY;
}

static takt_status each(takt_weights_reader *r, const uint8_t *bytes, size_t length)
{
    return takt_npz_each(r->ctx, r->path, (takt_span){(const char *)bytes, length}, visit_member,
                         r);
}

const takt_weights_format takt_weights_npz = {
    .name = "npz", .recognises = recognises, .each = each};
