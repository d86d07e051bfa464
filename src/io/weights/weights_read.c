/* weights_read.c - reads tensors by name from a file of any format. */
#include "base/mem.h"
#include "io/map.h"
#include "io/read.h"
#include "io/weights/format.h"

#define TAKT_WEIGHTS(name) extern const takt_weights_format takt_weights_##name;
#include "weights_list.inc"
#undef TAKT_WEIGHTS

#define TAKT_WEIGHTS(name) &takt_weights_##name,
const takt_weights_format *const takt_weights_formats[] = {
#include "weights_list.inc"
};
#undef TAKT_WEIGHTS

enum { FORMATS = sizeof takt_weights_formats / sizeof *takt_weights_formats };
const size_t takt_weights_format_count = FORMATS;

/* NULL: none of them. */
static const takt_weights_format *format_of(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (takt_weights_formats[i]->recognises(bytes, length))
            return takt_weights_formats[i];
    return NULL;
}

bool takt_weights_recognises(const uint8_t *bytes, size_t length)
{
    return format_of(bytes, length) != NULL;
}

takt_status takt_weights_visit(takt_weights_reader *r, const char *name, const takt_tensor_view *v)
{
    takt_type type = {.dtype = v->dtype, .rank = v->rank};
    for (int d = 0; d < v->rank; d++)
        type.dim[d] = v->dims[d];
    return r->visit(r->user, r->path, name, &type, v->data);
}

takt_status takt_weights_visit_bytes(takt_weights_reader *r, const char *path, const takt_weight *w,
                                     const uint8_t *file)
{
    TAKT_TRY(r->visit(r->user, path, w->name, &w->type, file + w->offset));
    if (r->skim != NULL)
        takt_skim_done(r->skim, file + w->offset, w->bytes);
    return TAKT_OK;
}

static takt_status each(takt_weights_reader *r, const void *bytes, size_t length)
{
    takt_arena_init(&r->arena, r->ctx);
    const takt_weights_format *format = format_of(bytes, length);
    /* A file that no format recognises is refused by the reader of the most common format. */
    const takt_status status =
        (format != NULL ? format : &takt_weights_safetensors)->each(r, bytes, length);
    takt_arena_deinit(&r->arena);
    return status;
}

takt_status takt_weights_each(takt_ctx *ctx, const char *path, takt_weights_fn *visit, void *user)
{
    takt_skim skim;
    takt_weights_reader r = {.ctx = ctx, .path = path, .visit = visit, .user = user, .skim = &skim};
    TAKT_TRY(takt_skim_open(ctx, path, &skim));
    takt_status status = takt_skim_need(&skim, skim.length);
    if (status == TAKT_OK)
        status = each(&r, skim.bytes, skim.length);
    takt_skim_close(&skim);
    return status;
}

takt_status takt_weights_each_mapped(takt_ctx *ctx, const char *path, takt_weights_fn *visit,
                                     void *user, takt_storage **mapping, size_t *length)
{
    takt_weights_reader r = {.ctx = ctx, .path = path, .visit = visit, .user = user};
    TAKT_TRY(takt_map_file(ctx, path, mapping, length));
    if (*mapping == NULL)
        return takt_weights_each(ctx, path, visit, user);
    const takt_status status = each(&r, takt_storage_data(*mapping), *length);
    takt_storage_release(*mapping);
    *mapping = NULL;
    return status;
}
