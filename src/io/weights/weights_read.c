/* weights_read.c - reads tensors by name from a file of any format. */
#include "base/mem.h"
#include "io/map.h"
#include "io/read.h"
#include "io/weights/format.h"
#include "os/memory.h"

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

static takt_status fetch(takt_weights_reader *r, const takt_weight *w)
{
    return r->skim == NULL
               ? TAKT_OK
               : takt_skim_fetch(r->skim, (size_t)w->offset, (size_t)w->offset + w->bytes);
}

takt_status takt_weights_list(takt_weights_reader *r, const char *path, const uint8_t *file,
                              size_t length, takt_weight_list *list)
{
    TAKT_TRY(takt_safetensors_header(&r->arena, path, file, length, length, list));
    for (size_t i = 0; i < list->count; i++) {
        const takt_weight *w = &list->at[i];
        if (w->type.dtype != TAKT_BOOL)
            continue;
        TAKT_TRY(fetch(r, w));
        TAKT_TRY(takt_safetensors_check(r->ctx, path, file, w));
        if (r->skim != NULL)
            takt_skim_done(r->skim, file + w->offset, w->bytes);
    }
    return TAKT_OK;
}

takt_status takt_weights_visit_bytes(takt_weights_reader *r, const char *path, const takt_weight *w,
                                     const uint8_t *file)
{
    if (r->is_types_only)
        return r->visit(r->user, path, w->name, &w->type, NULL);
    TAKT_TRY(fetch(r, w));
    TAKT_TRY(r->visit(r->user, path, w->name, &w->type, file + w->offset));
    const size_t end = (size_t)w->offset + w->bytes;
    if (r->skim == NULL || end <= r->undone)
        return TAKT_OK;
    /* Small ones share a page, which is unmapped with the last of them. */
    const size_t page = takt_page_size();
    takt_skim_done(r->skim, file + r->undone, end - r->undone);
    r->undone = end - end % page;
    return TAKT_OK;
}

static takt_status recognise(takt_weights_file *f)
{
    takt_skim *s = &f->skim;
    f->format = format_of(f->bytes, f->mapping != NULL ? f->length : s->have);
    if (f->mapping != NULL)
        return TAKT_OK;
    if (f->format != NULL && f->format->skim != NULL)
        return f->format->skim(s);
    TAKT_TRY(takt_skim_need(s, s->length));
    f->format = format_of(f->bytes, f->length);
    return TAKT_OK;
}

takt_status takt_weights_open(takt_ctx *ctx, const char *path, bool maps, takt_weights_file *f)
{
    *f = (takt_weights_file){.ctx = ctx, .path = path};
    if (maps)
        TAKT_TRY(takt_map_file(ctx, path, &f->mapping, &f->length));
    if (f->mapping != NULL) {
        f->bytes = takt_storage_data(f->mapping);
    } else {
        TAKT_TRY(takt_skim_open(ctx, path, &f->skim));
        f->bytes = f->skim.bytes;
        f->length = f->skim.length;
    }
    const takt_status status = recognise(f);
    if (status != TAKT_OK)
        takt_weights_close(f);
    return status;
}

void takt_weights_close(takt_weights_file *f)
{
    if (f->mapping != NULL)
        takt_storage_release(f->mapping);
    else
        takt_skim_close(&f->skim);
}

static takt_status pass(takt_weights_file *f, takt_weights_reader *r)
{
    /* A file that no format recognises is refused by the reader of the most common format. */
    const takt_weights_format *format = f->format != NULL ? f->format : &takt_weights_safetensors;
    r->ctx = f->ctx;
    r->path = f->path;
    r->skim = f->mapping == NULL && f->skim.gap_count > 0 ? &f->skim : NULL;
    takt_arena_init(&r->arena, f->ctx);
    const takt_status status = format->each(r, f->bytes, f->length);
    takt_arena_deinit(&r->arena);
    return status;
}

takt_status takt_weights_pass(takt_weights_file *f, takt_weights_fn *visit, void *user)
{
    return pass(f, &(takt_weights_reader){.visit = visit, .user = user});
}

takt_status takt_weights_pass_types(takt_weights_file *f, takt_weights_fn *visit, void *user)
{
    return pass(f, &(takt_weights_reader){.visit = visit, .user = user, .is_types_only = true});
}

takt_status takt_weights_each(takt_ctx *ctx, const char *path, takt_weights_fn *visit, void *user)
{
    takt_weights_file file;
    TAKT_TRY(takt_weights_open(ctx, path, false, &file));
    const takt_status status = takt_weights_pass(&file, visit, user);
    takt_weights_close(&file);
    return status;
}
