/* message.h - reading a message by a table of its fields. */
#ifndef TAKT_IO_ONNX_MESSAGE_H
#define TAKT_IO_ONNX_MESSAGE_H

#include "io/onnx/proto.h"

typedef enum takt_pb_kind {
    TAKT_PB_END,
    TAKT_PB_I64,     /* int64_t */
    TAKT_PB_F32,     /* float */
    TAKT_PB_TEXT,    /* takt_span */
    TAKT_PB_MESSAGE, /* pointer to a message */
    TAKT_PB_I64S,    /* array and count */
    TAKT_PB_F32S,
    TAKT_PB_TEXTS,
    TAKT_PB_MESSAGES,
} takt_pb_kind;

typedef struct takt_pb_def takt_pb_def;

typedef struct takt_pb_rule {
    uint32_t number;
    takt_pb_kind kind;
    size_t at, count_at; /* offsets in the description */
    const takt_pb_def *def;
    const char *name;
    size_t flag_at; /* offset of a bool set if the field was present; 0: none */
} takt_pb_rule;

struct takt_pb_def {
    const char *name;
    size_t size;
    size_t at;      /* where to store the offset of the message */
    size_t body_at; /* where to store its body, or 0 */
    bool nests;     /* counts against limits.depth */
    takt_pb_rule rules[16];
};

/* `out` is zeroed memory of def->size bytes. */
TAKT_MUST_USE takt_status takt_pb_read(takt_arena *arena, const takt_pb_def *def, takt_cursor body,
                                       uint64_t depth, void *out);

#endif
