/* pb.h - writes protobuf messages, so that tests can make models of any kind, also broken ones. */
#ifndef TAKT_TESTS_PB_H
#define TAKT_TESTS_PB_H

#include <stddef.h>
#include <stdint.h>

enum { PB_ROOM = 1 << 16 };

typedef struct pb {
    uint8_t at[PB_ROOM];
    size_t length;
} pb;

void pb_raw(pb *m, const void *bytes, size_t length);
void pb_varint(pb *m, uint64_t value);
void pb_int(pb *m, uint32_t field, uint64_t value);
void pb_float(pb *m, uint32_t field, float value);
void pb_bytes(pb *m, uint32_t field, const void *bytes, size_t length);
void pb_text(pb *m, uint32_t field, const char *text);
void pb_message(pb *m, uint32_t field, const pb *message);

typedef struct pb_shape {
    size_t rank;
    int64_t dim[4];
} pb_shape;

/* ValueInfoProto of a tensor. */
void pb_value(pb *m, const char *name, int elem, size_t rank, const int64_t *dims);
/* TensorProto with raw_data. */
void pb_tensor(pb *m, const char *name, int elem, const pb_shape *shape, const void *raw,
               size_t length);
/* NodeProto with up to two inputs (NULL: none) and one output. */
void pb_node(pb *m, const char *op, const char *a, const char *b, const char *out);
/* ModelProto around a graph. */
void pb_model(pb *m, const pb *graph, int64_t opset);

#endif
