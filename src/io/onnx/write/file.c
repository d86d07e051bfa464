/* file.c - writes the model's message to a file, weights straight from memory. */
#include "io/onnx/write/file.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "os/os.h"

enum { ALIGN = 64, LEAST_OUTSIDE = 1024, IR = 10, IR_2BIT = 13, OPSET_2BIT = 25 };
#define INLINE_LIMIT ((UINT64_C(1) << 31) - (UINT64_C(1) << 26))

/* ---- weights ---- */

static bool lies_outside(const takt_onnx_writer *w, const takt_emit_weight *t)
{
    return w->is_outside && t->bytes >= LEAST_OUTSIDE;
}

/* The message of a tensor up to its data; `*head` becomes empty. */
static void put_weight_head(takt_onnx_writer *w, const takt_emit_weight *t, takt_text *head)
{
    char number[24];
    for (int i = 0; i < t->type.rank; i++)
        takt_pb_put_int(head, 1, t->type.dim[i]);
    takt_pb_put_int(head, 2, takt_onnx_elem(t->type.dtype));
    takt_pb_put_string(head, 8, t->name);
    if (!lies_outside(w, t)) {
        takt_pb_put_head(head, 9, t->bytes);
        return;
    }
    w->data_at = takt_round_up((size_t)w->data_at, ALIGN);
    takt_pb_put_entry(head, 13, "location", w->data_name);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)w->data_at);
    takt_pb_put_entry(head, 13, "offset", number);
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)t->bytes);
    takt_pb_put_entry(head, 13, "length", number);
    takt_pb_put_int(head, 14, 1);
    w->data_at += t->bytes;
}

/* ---- files ---- */

static takt_status put(takt_onnx_writer *w, takt_file *file, const char *path, const void *bytes,
                       size_t n)
{
    takt_ctx *ctx = w->e.ctx;
    char reason[128];
    const int error = n == 0 ? 0 : ctx->files.write(ctx->files.user, file, bytes, n);
    if (error == 0)
        return TAKT_OK;
    return takt_fail(ctx, TAKT_E_FILE_WRITE, "cannot write %s: %s", path,
                     takt_os_reason(error, reason, sizeof reason));
}

static takt_status put_text(takt_onnx_writer *w, takt_text *text)
{
    TAKT_TRY(text->status);
    return put(w, w->file, w->path, takt_text_get(text), text->length);
}

static takt_status put_outside(takt_onnx_writer *w, const takt_emit_weight *t, uint64_t *at)
{
    static const char zeros[ALIGN];
    const uint64_t from = takt_round_up((size_t)*at, ALIGN);
    TAKT_TRY(put(w, w->data, w->data_name, zeros, (size_t)(from - *at)));
    TAKT_TRY(put(w, w->data, w->data_name, t->data, t->bytes));
    *at = from + t->bytes;
    return TAKT_OK;
}

/* Bytes of the field of weight `t`, whose head is in `head`. */
static uint64_t weight_bytes(const takt_onnx_writer *w, const takt_emit_weight *t,
                             const takt_text *head)
{
    return head->length + (lies_outside(w, t) ? 0 : t->bytes);
}

/* First computes the length of the graph's message, then writes the message: `writes` says
 * which. */
static takt_status each_weight(takt_onnx_writer *w, bool writes, uint64_t *length)
{
    takt_text head, tag;
    takt_text_init(&head, w->e.ctx);
    takt_text_init(&tag, w->e.ctx);
    takt_status status = TAKT_OK;
    uint64_t outside = 0;
    w->data_at = 0;
    for (size_t i = 0; i < w->e.weight_count && status == TAKT_OK; i++) {
        const takt_emit_weight *t = &w->e.weights[i];
        head.length = tag.length = 0;
        put_weight_head(w, t, &head);
        takt_pb_put_head(&tag, 5, (size_t)weight_bytes(w, t, &head));
        *length += tag.length + weight_bytes(w, t, &head);
        status = head.status != TAKT_OK ? head.status : tag.status;
        if (!writes || status != TAKT_OK)
            continue;
        status = put_text(w, &tag);
        if (status == TAKT_OK)
            status = put_text(w, &head);
        if (status == TAKT_OK)
            status = lies_outside(w, t) ? put_outside(w, t, &outside)
                                        : put(w, w->file, w->path, t->data, t->bytes);
    }
    takt_text_deinit(&tag);
    takt_text_deinit(&head);
    return status;
}

static takt_status write_parts(takt_onnx_writer *w)
{
    takt_text head;
    uint64_t length = w->nodes.length + w->ports.length, again = 0;
    TAKT_TRY(each_weight(w, false, &length));
    takt_text_init(&head, w->e.ctx);
    takt_pb_put_int(&head, 1, w->e.opset >= OPSET_2BIT ? IR_2BIT : IR);
    takt_pb_put_string(&head, 2, "takt");
    takt_pb_put_string(&head, 3, w->o->version != NULL ? w->o->version : "");
    takt_pb_put_head(&head, 7, (size_t)length);
    takt_status status = put_text(w, &head);
    takt_text_deinit(&head);
    TAKT_TRY(status);
    TAKT_TRY(put_text(w, &w->nodes));
    TAKT_TRY(each_weight(w, true, &again));
    TAKT_TRY(put_text(w, &w->ports));
    return put_text(w, &w->model);
}

static takt_status create(takt_onnx_writer *w, const char *path, takt_file **file)
{
    takt_ctx *ctx = w->e.ctx;
    char reason[128];
    const int error = ctx->files.create(ctx->files.user, path, file);
    return error == 0 ? TAKT_OK
                      : takt_fail(ctx, TAKT_E_FILE_WRITE, "cannot write %s: %s", path,
                                  takt_os_reason(error, reason, sizeof reason));
}

static takt_status commit(takt_onnx_writer *w, takt_file *file, const char *path)
{
    takt_ctx *ctx = w->e.ctx;
    char reason[128];
    const int error = file == NULL ? 0 : ctx->files.commit(ctx->files.user, file);
    return error == 0 ? TAKT_OK
                      : takt_fail(ctx, TAKT_E_FILE_WRITE, "cannot write %s: %s", path,
                                  takt_os_reason(error, reason, sizeof reason));
}

/* The data come first: a model without its data is worse than data without a model. */
static takt_status write_files(takt_onnx_writer *w)
{
    takt_ctx *ctx = w->e.ctx;
    takt_text data_path;
    takt_text_init(&data_path, ctx);
    takt_text_add(&data_path, "%s.data", w->path);
    takt_status status = data_path.status;
    if (status == TAKT_OK && w->is_outside)
        status = create(w, takt_text_get(&data_path), &w->data);
    if (status == TAKT_OK)
        status = create(w, w->path, &w->file);
    if (status == TAKT_OK)
        status = write_parts(w);
    if (status == TAKT_OK)
        status = commit(w, w->data, takt_text_get(&data_path));
    if (status == TAKT_OK)
        status = commit(w, w->file, w->path);
    if (w->data != NULL)
        ctx->files.close(ctx->files.user, w->data);
    if (w->file != NULL)
        ctx->files.close(ctx->files.user, w->file);
    takt_text_deinit(&data_path);
    return status;
}

/* Protobuf messages are limited to 2 GiB. */
takt_status takt_onnx_write_file(takt_onnx_writer *w)
{
    const uint64_t limit = w->o->inline_limit != 0 ? w->o->inline_limit : INLINE_LIMIT;
    uint64_t total = w->nodes.length + w->ports.length;
    if (total > INLINE_LIMIT)
        return takt_fail(w->e.ctx, TAKT_E_ONNX_WRITE, "the graph alone has %llu bytes",
                         (unsigned long long)total);
    for (size_t i = 0; i < w->e.weight_count; i++)
        total += w->e.weights[i].bytes;
    w->is_outside = total > limit;
    const char *slash = strrchr(w->path, '/');
    w->data_name = takt_arena_format(&w->e.arena, "%s.data", slash != NULL ? slash + 1 : w->path);
    return w->data_name != NULL ? write_files(w) : TAKT_ERR_MEMORY;
}
