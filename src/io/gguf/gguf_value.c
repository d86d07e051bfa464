/* gguf_value.c - metadata by key. */
#include <string.h>

#include "io/gguf/gguf.h"

const takt_gguf_value *takt_gguf_find(const takt_gguf *g, const char *key)
{
    const uint32_t i = takt_spans_find(&g->keys, takt_span_of(key));
    return i != UINT32_MAX ? &g->values[i] : NULL;
}

const takt_gguf_tensor *takt_gguf_tensor_find(const takt_gguf *g, const char *name)
{
    const uint32_t i = takt_spans_find(&g->names, takt_span_of(name));
    return i != UINT32_MAX ? &g->tensors[i] : NULL;
}

/* The little-endian bits of an element. */
static uint64_t bits_of(const takt_gguf_value *v, size_t i, size_t width)
{
    uint64_t bits = 0;
    for (size_t b = 0; b < width; b++)
        bits |= (uint64_t)v->bytes[i * width + b] << (8 * b);
    return bits;
}

bool takt_gguf_is_number(const takt_gguf_value *v)
{
    return v->kind != TAKT_GGUF_STRING && v->kind != TAKT_GGUF_ARRAY && v->kind != TAKT_GGUF_BOOL;
}

double takt_gguf_number(const takt_gguf_value *v, size_t i)
{
    float narrow;
    double wide;
    int64_t whole = 0;
    if (v->kind == TAKT_GGUF_F32) {
        const uint32_t bits = (uint32_t)bits_of(v, i, 4);
        memcpy(&narrow, &bits, sizeof narrow);
        return (double)narrow;
    }
    if (v->kind == TAKT_GGUF_F64) {
        const uint64_t bits = bits_of(v, i, 8);
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    if (v->kind == TAKT_GGUF_U64)
        return (double)bits_of(v, i, 8);
    (void)takt_gguf_integer(v, i, &whole);
    return (double)whole;
}

bool takt_gguf_integer(const takt_gguf_value *v, size_t i, int64_t *out)
{
    switch (v->kind) {
    case TAKT_GGUF_BOOL:
    case TAKT_GGUF_U8: *out = v->bytes[i]; return true;
    case TAKT_GGUF_I8: *out = (int8_t)v->bytes[i]; return true;
    case TAKT_GGUF_U16: *out = (int64_t)bits_of(v, i, 2); return true;
    case TAKT_GGUF_I16: *out = (int16_t)bits_of(v, i, 2); return true;
    case TAKT_GGUF_U32: *out = (int64_t)bits_of(v, i, 4); return true;
    case TAKT_GGUF_I32: *out = (int32_t)bits_of(v, i, 4); return true;
    case TAKT_GGUF_U64:
    case TAKT_GGUF_I64: *out = (int64_t)bits_of(v, i, 8); break;
    default: return false;
    }
    return v->kind == TAKT_GGUF_I64 || *out >= 0;
}

static takt_status wrong(const takt_gguf *g, const takt_gguf_value *v, const char *wanted)
{
    return takt_gguf_fail(g, TAKT_E_GGUF_MODEL, v->offset, "%s is not %s", v->key, wanted);
}

takt_status takt_gguf_get_integer(const takt_gguf *g, const char *key, int64_t *out)
{
    const takt_gguf_value *v = takt_gguf_find(g, key);
    if (v == NULL)
        return TAKT_OK;
    if (v->is_array || v->kind == TAKT_GGUF_BOOL || !takt_gguf_integer(v, 0, out))
        return wrong(g, v, "a whole number");
    return TAKT_OK;
}

takt_status takt_gguf_get_bool(const takt_gguf *g, const char *key, bool *out)
{
    const takt_gguf_value *v = takt_gguf_find(g, key);
    if (v == NULL)
        return TAKT_OK;
    if (v->is_array || v->kind != TAKT_GGUF_BOOL)
        return wrong(g, v, "true or false");
    *out = v->bytes[0] != 0;
    return TAKT_OK;
}

takt_status takt_gguf_get_text(const takt_gguf *g, const char *key, takt_span *out)
{
    const takt_gguf_value *v = takt_gguf_find(g, key);
    if (v == NULL)
        return TAKT_OK;
    if (v->is_array || v->kind != TAKT_GGUF_STRING)
        return wrong(g, v, "a text");
    *out = v->texts[0];
    return TAKT_OK;
}
