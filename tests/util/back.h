/* back.h - protobuf written from its end to its beginning, so that lengths are known: for messages
 * of any size and depth. */
#ifndef TAKT_TESTS_BACK_H
#define TAKT_TESTS_BACK_H

#include <stddef.h>
#include <stdint.h>

typedef struct back {
    uint8_t *at, *end; /* bytes written so far */
    uint8_t *block;
} back;

back back_open(size_t room);
void back_bytes(back *b, const void *bytes, size_t length);
void back_varint(back *b, uint64_t value);
/* Everything since `mark` becomes a field. */
void back_wrap(back *b, uint32_t field, const uint8_t *mark);
void back_text(back *b, uint32_t field, const char *text);
void back_int(back *b, uint32_t field, uint64_t value);
/* OperatorSetIdProto. */
void back_opset(back *b, uint32_t field, const char *domain, uint64_t version);
/* Copies the output to `to`, and frees the block. */
size_t back_take(back *b, char *to);

#endif
