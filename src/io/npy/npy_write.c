/* npy_write.c - a dense tensor to an .npy file. */
#include <string.h>

#include "io/npy/npy.h"
#include "io/read.h"

takt_status takt_npy_head(takt_ctx *ctx, const takt_tensor_view *v, takt_text *text)
{
    enum { ALIGN = 64, PREFIX = 10 };
    size_t bytes;
    if (!takt_npy_bytes(v, &bytes))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "only dense tensors can be written as .npy");
    const char *descr = takt_npy_descr(v->dtype);
    if (descr == NULL) {
        takt_fail(ctx, TAKT_E_DTYPE, "%s has no .npy form", takt_dtype_name(v->dtype));
        return takt_fail_hint(ctx, "let the model return cast(x, dtype=f32)");
    }
    takt_text dict;
    takt_text_init(&dict, ctx);
    takt_text_add(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < v->rank; d++)
        takt_text_add(&dict,
                      d + 1 < v->rank ? "%lld, "
                      : v->rank == 1  ? "%lld,"
                                      : "%lld",
                      (long long)v->dims[d]);
    takt_text_add(&dict, "), }");
    while ((PREFIX + dict.length + 1) % ALIGN != 0 && dict.status == TAKT_OK)
        takt_text_put(&dict, " ", 1);
    takt_text_put(&dict, "\n", 1);
    const char prefix[PREFIX] = {'\x93',
                                 'N',
                                 'U',
                                 'M',
                                 'P',
                                 'Y',
                                 1,
                                 0,
                                 (char)(dict.length & 0xFF),
                                 (char)(dict.length >> 8)};
    takt_text_put(text, prefix, sizeof prefix);
    takt_text_put(text, takt_text_get(&dict), dict.length);
    const takt_status status = dict.status != TAKT_OK ? dict.status : text->status;
    takt_text_deinit(&dict);
    return status;
}

static takt_status whole(takt_ctx *ctx, const takt_tensor_view *view, takt_text *text)
{
    size_t bytes = 0;
    takt_text_init(text, ctx);
    TAKT_TRY(takt_npy_head(ctx, view, text));
    if (takt_npy_bytes(view, &bytes) && bytes > 0 && view->data == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a tensor without data cannot be written as .npy");
    takt_text_put(text, view->data, bytes);
    return text->status;
}

takt_status takt_npy_save(takt_ctx *ctx, const char *path, const takt_tensor_view *view)
{
    takt_text text;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, path);
    TAKT_NEED(ctx, view);
    takt_status status = whole(ctx, view, &text);
    if (status == TAKT_OK)
        status = takt_write_text(ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}

takt_status takt_npy_write(takt_ctx *ctx, const takt_tensor_view *view, takt_sink_fn *sink,
                           void *user)
{
    takt_text text;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, view);
    TAKT_NEED(ctx, sink);
    takt_status status = whole(ctx, view, &text);
    if (status == TAKT_OK && sink(user, takt_text_get(&text), text.length) != 0)
        status =
            takt_fail(ctx, TAKT_E_FILE_WRITE, "an array cannot be written: its sink takes no more");
    takt_text_deinit(&text);
    return status;
}
