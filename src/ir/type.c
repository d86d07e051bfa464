/* type.c - comparing, measuring, printing and broadcasting types. */
#include "ir/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/utf8.h"
#include "ir/dim_table.h"

bool takt_type_same(takt_dims *dims, const takt_type *a, const takt_type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!takt_dim_same(dims, a->dim[i], b->dim[i]))
            return false;
    return true;
}

bool takt_type_is_concrete(const takt_type *type)
{
    for (int i = 0; i < type->rank; i++)
        if (!takt_dim_is_number(type->dim[i]))
            return false;
    return true;
}

bool takt_type_count(const takt_type *type, size_t *count)
{
    size_t product = 1;
    bool is_empty = false, fits = true;
    for (int i = 0; i < type->rank; i++) {
        size_t size;
        if (!takt_size_from_i64(type->dim[i], &size))
            return false;
        is_empty = is_empty || size == 0;
        fits = fits && takt_size_mul(product, size, &product);
    }
    /* [huge, huge, 0] has no elements, though the rest would overflow. */
    if (!is_empty && !fits)
        return false;
    *count = is_empty ? 0 : product;
    return true;
}

bool takt_type_bytes(const takt_type *type, size_t *bytes)
{
    size_t count;
    return takt_type_count(type, &count) && takt_dtype_bytes(type->dtype, count, bytes);
}

void takt_type_print(takt_dims *dims, const takt_type *type, takt_text *text)
{
    const char *name = takt_dtype_name(type->dtype);
    takt_text_add(text, "%s[", name != NULL ? name : "?");
    for (int i = 0; i < type->rank; i++) {
        if (i > 0)
            takt_text_put(text, ", ", 2);
        takt_dim_print(dims, type->dim[i], text);
    }
    takt_text_put(text, "]", 1);
}

/* Adds to a fixed buffer; false once it is full. */
static bool add(char *buffer, size_t *length, const char *text)
{
    const size_t size = strlen(text);
    if (*length + size >= TAKT_TYPE_TEXT)
        return false;
    memcpy(buffer + *length, text, size + 1);
    *length += size;
    return true;
}

static bool add_dim(const takt_dims *dims, takt_dim d, char *buffer, size_t *length)
{
    char digits[24];
    if (!takt_dim_is_number(d))
        return add(buffer, length, takt_dim_text(dims, d));
    snprintf(digits, sizeof digits, "%" PRId64, d);
    return add(buffer, length, digits);
}

const char *takt_type_text(const takt_dims *dims, const takt_type *type,
                           char buffer[static TAKT_TYPE_TEXT])
{
    static const char cut[] = "...]";
    const char *name = takt_dtype_name(type->dtype);
    size_t length = 0;
    bool fits = add(buffer, &length, name != NULL ? name : "?") && add(buffer, &length, "[");
    for (int i = 0; fits && i < type->rank; i++)
        fits =
            (i == 0 || add(buffer, &length, ", ")) && add_dim(dims, type->dim[i], buffer, &length);
    if (!fits || !add(buffer, &length, "]")) {
        const size_t room = TAKT_TYPE_TEXT - sizeof cut;
        length = takt_utf8_cut(buffer, length < room ? length : room);
        memcpy(buffer + length, cut, sizeof cut);
    }
    return buffer;
}

/* One axis: `*a` becomes the broadcast size. */
static takt_status broadcast_dim(takt_dims *dims, takt_dim *a, takt_dim b, bool *fits)
{
    takt_dim x, y;
    TAKT_TRY(takt_dim_resolve(dims, *a, &x));
    TAKT_TRY(takt_dim_resolve(dims, b, &y));
    *fits = true;
    if (y == 1 || x == y)
        return TAKT_OK;
    if (x == 1) {
        *a = b;
        return TAKT_OK;
    }
    if (takt_dim_is_number(x) && takt_dim_is_number(y)) {
        *fits = false;
        return TAKT_OK;
    }
    const takt_status status = takt_dim_unify(dims, x, y);
    *fits = status == TAKT_OK;
    /* Prefer the number. */
    if (*fits && takt_dim_is_number(y))
        *a = y;
    return status == TAKT_ERR_SHAPE ? TAKT_OK : status;
}

takt_status takt_type_broadcast(takt_dims *dims, takt_type *a, const takt_type *b, bool *fits)
{
    takt_type wide = *a;
    if (b->rank > a->rank) {
        const int more = b->rank - a->rank;
        for (int i = b->rank - 1; i >= 0; i--)
            wide.dim[i] = i >= more ? a->dim[i - more] : 1;
        wide.rank = b->rank;
    }
    *fits = true;
    for (int i = 0; *fits && i < b->rank; i++) {
        takt_dim *at = &wide.dim[wide.rank - b->rank + i];
        TAKT_TRY(broadcast_dim(dims, at, b->dim[i], fits));
    }
    if (*fits)
        *a = wide;
    return TAKT_OK;
}
