/* pb.c - writes protobuf messages for tests. */
#include "util/pb.h"

#include <stdlib.h>
#include <string.h>

void pb_raw(pb *m, const void *bytes, size_t length)
{
    if (length > PB_ROOM - m->length)
        abort();
    memcpy(m->at + m->length, bytes, length);
    m->length += length;
}

void pb_varint(pb *m, uint64_t value)
{
    do {
        const uint8_t byte = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        pb_raw(m, &byte, 1);
        value >>= 7;
    } while (value != 0);
}

void pb_int(pb *m, uint32_t field, uint64_t value)
{
    pb_varint(m, (uint64_t)field << 3);
    pb_varint(m, value);
}

void pb_float(pb *m, uint32_t field, float value)
{
    pb_varint(m, (uint64_t)field << 3 | 5);
    pb_raw(m, &value, sizeof value);
}

void pb_bytes(pb *m, uint32_t field, const void *bytes, size_t length)
{
    pb_varint(m, (uint64_t)field << 3 | 2);
    pb_varint(m, length);
    pb_raw(m, bytes, length);
}

void pb_text(pb *m, uint32_t field, const char *text)
{
    pb_bytes(m, field, text, strlen(text));
}

void pb_message(pb *m, uint32_t field, const pb *message)
{
    pb_bytes(m, field, message->at, message->length);
}

void pb_value(pb *m, const char *name, int elem, size_t rank, const int64_t *dims)
{
    static _Thread_local pb shape, tensor, type, dim;
    shape.length = tensor.length = type.length = m->length = 0;
    for (size_t i = 0; i < rank; i++) {
        dim.length = 0;
        pb_int(&dim, 1, (uint64_t)dims[i]);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, (uint64_t)elem);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(m, 1, name);
    pb_message(m, 2, &type);
}

void pb_tensor(pb *m, const char *name, int elem, const pb_shape *shape, const void *raw,
               size_t length)
{
    m->length = 0;
    for (size_t i = 0; i < shape->rank; i++)
        pb_int(m, 1, (uint64_t)shape->dim[i]);
    pb_int(m, 2, (uint64_t)elem);
    pb_text(m, 8, name);
    if (raw != NULL)
        pb_bytes(m, 9, raw, length);
}

void pb_node(pb *m, const char *op, const char *a, const char *b, const char *out)
{
    m->length = 0;
    if (a != NULL)
        pb_text(m, 1, a);
    if (b != NULL)
        pb_text(m, 1, b);
    pb_text(m, 2, out);
    pb_text(m, 4, op);
}

void pb_model(pb *m, const pb *graph, int64_t opset)
{
    static _Thread_local pb import;
    import.length = m->length = 0;
    pb_int(&import, 2, (uint64_t)opset);
    pb_int(m, 1, 8);
    pb_message(m, 7, graph);
    pb_message(m, 8, &import);
}
