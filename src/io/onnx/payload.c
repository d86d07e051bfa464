/* payload.c - decodes the message of a tensor. */
#include "io/onnx/payload.h"

#include "base/size.h"
#include "ir/normal.h"

enum { STRING = 8, FLOAT_DATA = 4, INT32_DATA = 5, STRING_DATA = 6, INT64_DATA = 7, RAW_DATA = 9 };
enum { DOUBLE_DATA = 10, UINT64_DATA = 11, EXTERNAL = 1 };

static const takt_dtype dtypes[] = {
    [1] = TAKT_F32,         [2] = TAKT_U8,        [3] = TAKT_I8,          [4] = TAKT_U16,
    [5] = TAKT_I16,         [6] = TAKT_I32,       [7] = TAKT_I64,         [9] = TAKT_BOOL,
    [10] = TAKT_F16,        [11] = TAKT_F64,      [12] = TAKT_U32,        [13] = TAKT_U64,
    [16] = TAKT_BF16,       [17] = TAKT_F8E4M3FN, [18] = TAKT_F8E4M3FNUZ, [19] = TAKT_F8E5M2,
    [20] = TAKT_F8E5M2FNUZ, [21] = TAKT_U4,       [22] = TAKT_I4,         [23] = TAKT_F4E2M1,
    [24] = TAKT_F8E8M0,     [25] = TAKT_U2,       [26] = TAKT_I2,
};

bool takt_onnx_dtype(int64_t elem, takt_dtype *out)
{
    const int64_t count = (int64_t)(sizeof dtypes / sizeof *dtypes);
    if (elem < 1 || elem >= count || (dtypes[elem] == TAKT_F64 && elem != 11))
        return false; /* holes of the table are zero, which is f64 */
    *out = dtypes[elem];
    return true;
}

const char *takt_onnx_elem_note(int64_t elem)
{
    return elem == 8 ? " (strings)" : elem == 14 || elem == 15 ? " (complex numbers)" : "";
}

int64_t takt_onnx_elem(takt_dtype dtype)
{
    for (size_t i = 1; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i] == dtype && (dtype != TAKT_F64 || i == 11))
            return (int64_t)i;
    return 0;
}

/* The typed field that holds elements of `dtype`. */
static uint32_t field_of(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F32: return FLOAT_DATA;
    case TAKT_F64: return DOUBLE_DATA;
    case TAKT_I64: return INT64_DATA;
    case TAKT_U32:
    case TAKT_U64: return UINT64_DATA;
    default: return INT32_DATA;
    }
}

static takt_wire wire_of(uint32_t field)
{
    return field == FLOAT_DATA    ? TAKT_WIRE_32
           : field == DOUBLE_DATA ? TAKT_WIRE_64
                                  : TAKT_WIRE_VARINT;
}

static bool is_data(uint32_t field)
{
    return (field >= FLOAT_DATA && field <= INT64_DATA) ||
           (field >= RAW_DATA && field <= UINT64_DATA);
}

static takt_status type_of(takt_ctx *ctx, const takt_pb_tensor *t, takt_type *type, size_t *bytes)
{
    *type = (takt_type){.rank = (int)t->dim_count};
    if (!takt_onnx_dtype(t->data_type, &type->dtype))
        return takt_wire_fail(ctx, t->at, "tensor %.*s has element type %lld%s",
                              (int)t->name.length, t->name.at, (long long)t->data_type,
                              t->data_type == STRING ? " (strings), which Takt does not have"
                                                     : ", which Takt does not have");
    if (t->dim_count > TAKT_MAX_RANK)
        return takt_wire_fail(ctx, t->at, "tensor %.*s has %zu dimensions; %d are possible",
                              (int)t->name.length, t->name.at, t->dim_count, TAKT_MAX_RANK);
    for (size_t i = 0; i < t->dim_count; i++) {
        type->dim[i] = t->dims[i];
        if (t->dims[i] < 0)
            return takt_wire_fail(ctx, t->at, "dimension %zu of tensor %.*s is %lld", i,
                                  (int)t->name.length, t->name.at, (long long)t->dims[i]);
    }
    if (!takt_type_bytes(type, bytes) || *bytes > ctx->limits.tensor_bytes)
        return takt_wire_fail(ctx, t->at, "tensor %.*s is too large", (int)t->name.length,
                              t->name.at);
    return TAKT_OK;
}

/* ---- data ---- */

static takt_status put_raw(const takt_source *source, const takt_field *f, uint8_t *to,
                           size_t bytes)
{
    const takt_span raw = takt_wire_span(f);
    if (raw.length != bytes)
        return takt_wire_fail(source->ctx, f->at,
                              "raw_data has %zu bytes; its type and shape need %zu", raw.length,
                              bytes);
    return takt_source_copy(source, (const uint8_t *)raw.at, to, bytes);
}

/* Number `index` in memory of `dtype`; below one byte an entry is a whole byte of the packing. */
static void put_number(takt_dtype dtype, uint64_t bits, uint8_t *to, size_t index)
{
    const int width = takt_dtype_bits(dtype);
    const size_t bytes = width < 8 ? 1 : (size_t)width / 8;
    if (dtype == TAKT_BOOL && bits > 1)
        bits = 2; /* whatever its low byte is, it is refused */
    for (size_t i = 0; i < bytes; i++)
        to[index * bytes + i] = (uint8_t)(bits >> (8 * i));
}

static takt_status put_typed(takt_ctx *ctx, const takt_field *f, takt_dtype dtype, uint8_t *to,
                             size_t room, size_t *count)
{
    const takt_wire wire = wire_of(f->number);
    size_t fresh = 0;
    TAKT_TRY(takt_wire_count(ctx, f, wire, "data", &fresh));
    if (fresh > room - *count)
        return takt_wire_fail(ctx, f->at, "the data has more than the %zu numbers of its shape",
                              room);
    if (f->wire != TAKT_WIRE_BYTES) {
        put_number(dtype, f->value, to, (*count)++);
        return TAKT_OK;
    }
    takt_cursor c = f->body;
    for (size_t i = 0; i < fresh; i++) {
        const uint64_t v = wire == TAKT_WIRE_VARINT ? takt_cursor_varint(&c)
                           : wire == TAKT_WIRE_32   ? takt_cursor_u32le(&c)
                                                    : takt_cursor_u64le(&c);
        put_number(dtype, v, to, (*count)++);
    }
    if (c.failed || takt_cursor_left(&c) != 0)
        return takt_wire_fail(ctx, takt_cursor_offset(&c), "a packed number is malformed");
    return TAKT_OK;
}

static takt_status put_data(const takt_source *source, const takt_pb_tensor *t, takt_dtype dtype,
                            uint8_t *to, size_t bytes)
{
    takt_ctx *ctx = source->ctx;
    const int bits = takt_dtype_bits(dtype);
    const size_t room = bits < 8 ? bytes : bytes / ((size_t)bits / 8);
    size_t count = 0;
    uint32_t seen = 0;
    takt_cursor c = t->body;
    for (;;) {
        takt_field f;
        bool more;
        TAKT_TRY(takt_wire_next(ctx, &c, &f, &more));
        if (!more)
            break;
        if (!is_data(f.number))
            continue;
        if (f.wire == TAKT_WIRE_BYTES && takt_cursor_left(&f.body) == 0 && room > 0)
            continue; /* an empty list is ignored */
        if ((seen != 0 && (seen != f.number || f.number == RAW_DATA)))
            return takt_wire_fail(ctx, f.at, "a tensor holds two kinds of data");
        if (f.number != RAW_DATA && f.number != field_of(dtype))
            return takt_wire_fail(ctx, f.at, "%s data is stored in field %u instead of %u",
                                  takt_dtype_name(dtype), f.number, field_of(dtype));
        seen = f.number;
        if (f.number == RAW_DATA) {
            TAKT_TRY(takt_wire_expect(ctx, &f, TAKT_WIRE_BYTES, "raw_data"));
            TAKT_TRY(put_raw(source, &f, to, bytes));
            count = room;
        } else {
            TAKT_TRY(put_typed(ctx, &f, dtype, to, room, &count));
        }
    }
    if (count != room)
        return takt_wire_fail(ctx, t->at, "tensor %.*s has %zu numbers; its shape needs %zu",
                              (int)t->name.length, t->name.at, count, room);
    return TAKT_OK;
}

takt_status takt_onnx_tensor(const takt_source *source, const takt_pb_tensor *t, takt_tensor *out)
{
    takt_ctx *ctx = source->ctx;
    takt_type type;
    size_t bytes;
    *out = (takt_tensor){0};
    TAKT_TRY(type_of(ctx, t, &type, &bytes));
    /* Checked before allocating: never allocates more than the message can hold. */
    if (t->data_location != EXTERNAL && bytes / 8 > takt_cursor_left(&t->body))
        return takt_wire_fail(ctx, t->at, "tensor %.*s needs %zu bytes; its message has %zu",
                              (int)t->name.length, t->name.at, bytes, takt_cursor_left(&t->body));
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    uint8_t *to = takt_tensor_data(out);
    takt_status status = t->data_location == EXTERNAL ? takt_onnx_external(source, t, to, bytes)
                                                      : put_data(source, t, type.dtype, to, bytes);
    if (status == TAKT_OK && takt_normal_check(&type, to, bytes) < bytes)
        status = takt_wire_fail(ctx, t->at, "tensor %.*s: a bool is neither 0 nor 1",
                                (int)t->name.length, t->name.at);
    if (status != TAKT_OK)
        takt_tensor_release(out);
    return status;
}
