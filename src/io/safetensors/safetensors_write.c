/* safetensors_write.c - writes weights by name: header padded with spaces to 8 bytes, then data. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/safetensors/safetensors.h"

static takt_status header_of(takt_ctx *ctx, const takt_named_tensor *t, size_t count,
                             takt_text *text, size_t *data)
{
    takt_json_writer w;
    *data = 0;
    takt_json_begin(&w, text, false);
    takt_json_open(&w, '{');
    for (size_t i = 0; i < count; i++) {
        const takt_type *type = &t[i].tensor->type;
        const char *dtype = takt_safetensors_dtype(type->dtype);
        const size_t start = *data;
        if (dtype == NULL)
            return takt_fail(ctx, TAKT_E_SAFETENSORS, "%s: safetensors has no element type %s",
                             t[i].name, takt_dtype_name(type->dtype));
        if (!takt_size_add(*data, takt_tensor_bytes(t[i].tensor), data))
            return takt_fail(ctx, TAKT_E_OVERFLOW, "the weights are too large for one file");
        takt_json_put_open(&w, t[i].name, '{');
        takt_json_put_string(&w, "dtype", dtype);
        takt_json_put_open(&w, "shape", '[');
        for (int d = 0; d < type->rank; d++)
            takt_json_integer(&w, type->dim[d]);
        takt_json_close(&w, ']');
        takt_json_put_open(&w, "data_offsets", '[');
        takt_json_unsigned(&w, start);
        takt_json_unsigned(&w, *data);
        takt_json_close(&w, ']');
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, '}');
    while (text->status == TAKT_OK && text->length % 8 != 0)
        takt_text_put(text, " ", 1);
    return text->status;
}

/* The contents of the file: its header, the number of tensors and their bytes. */
typedef struct content {
    const takt_text *header;
    size_t count, data;
} content;

static takt_status assemble(takt_ctx *ctx, const takt_named_tensor *t, const content *have,
                            void **bytes, size_t *length)
{
    const takt_text *header = have->header;
    if (!takt_size_add(8 + header->length, have->data, length))
        return takt_fail(ctx, TAKT_E_OVERFLOW, "the weights are too large for one file");
    TAKT_TRY(takt_mem_get(ctx, *length, "weights", bytes));
    uint8_t *to = *bytes;
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)((uint64_t)header->length >> (8 * i));
    memcpy(to + 8, header->at, header->length);
    to += 8 + header->length;
    for (size_t i = 0; i < have->count; i++) {
        const size_t size = takt_tensor_bytes(t[i].tensor);
        if (size > 0)
            memcpy(to, takt_tensor_data(t[i].tensor), size);
        to += size;
    }
    return TAKT_OK;
}

takt_status takt_safetensors_write(takt_ctx *ctx, const takt_named_tensor *t, size_t count,
                                   void **bytes, size_t *length)
{
    takt_text header;
    size_t data;
    *bytes = NULL;
    *length = 0;
    takt_text_init(&header, ctx);
    takt_status status = header_of(ctx, t, count, &header, &data);
    if (status == TAKT_OK)
        status = assemble(ctx, t, &(content){&header, count, data}, bytes, length);
    takt_text_deinit(&header);
    return status;
}
