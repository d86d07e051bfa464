/* pb.h - protobuf's wire format, written: fields appended to a growing text of bytes. */
#ifndef TAKT_IO_ONNX_WRITE_PB_H
#define TAKT_IO_ONNX_WRITE_PB_H

#include "base/text.h"

void takt_pb_put_varint(takt_text *to, uint64_t value);
/* A number under its field; negative ones take ten bytes, as protobuf specifies. */
void takt_pb_put_int(takt_text *to, uint32_t field, int64_t value);
void takt_pb_put_float(takt_text *to, uint32_t field, float value);
/* Tag and length of a field of bytes; the bytes follow. */
void takt_pb_put_head(takt_text *to, uint32_t field, size_t length);
void takt_pb_put_bytes(takt_text *to, uint32_t field, const void *bytes, size_t length);
void takt_pb_put_string(takt_text *to, uint32_t field, const char *text);
/* A message assembled in `body`, which becomes empty. */
void takt_pb_put_message(takt_text *to, uint32_t field, takt_text *body);
/* StringStringEntryProto. */
void takt_pb_put_entry(takt_text *to, uint32_t field, const char *key, const char *value);

#endif
