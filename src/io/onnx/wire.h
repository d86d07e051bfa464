/* wire.h - protobuf's wire format: one field at a time over a bounded cursor. */
#ifndef TAKT_IO_ONNX_WIRE_H
#define TAKT_IO_ONNX_WIRE_H

#include "base/cursor.h"
#include "base/text.h"

typedef enum takt_wire {
    TAKT_WIRE_VARINT,
    TAKT_WIRE_64,
    TAKT_WIRE_BYTES,
    TAKT_WIRE_32 = 5
} takt_wire;

typedef struct takt_field {
    uint32_t number;
    takt_wire wire;
    uint64_t value;   /* of a number, its bits */
    takt_cursor body; /* of bytes: a text, packed numbers, or a message */
    uint64_t at;      /* offset of the field in the file */
} takt_field;

/* The next field of a message; `*more` is false at its end. Groups and malformed fields fail with
 * TAKT_E_ONNX and the offset. */
TAKT_MUST_USE takt_status takt_wire_next(takt_ctx *ctx, takt_cursor *c, takt_field *field,
                                         bool *more);
/* Fails unless the field has this wire type; `what` names it. */
TAKT_MUST_USE takt_status takt_wire_expect(takt_ctx *ctx, const takt_field *field, takt_wire wire,
                                           const char *what);
/* Number of entries in a repeated field: one, or those packed. `wire` is the type of one entry. */
TAKT_MUST_USE takt_status takt_wire_count(takt_ctx *ctx, const takt_field *field, takt_wire wire,
                                          const char *what, size_t *count);
/* Writes them to `out`. */
TAKT_MUST_USE takt_status takt_wire_numbers(takt_ctx *ctx, const takt_field *field, takt_wire wire,
                                            uint64_t *out);
/* The bytes of a field as text; not terminated. */
takt_span takt_wire_span(const takt_field *field);

/* TAKT_E_ONNX with the offset. */
takt_status takt_wire_fail(takt_ctx *ctx, uint64_t at, const char *format, ...) TAKT_PRINTF(3, 4);

#endif
