/* tensor.h - constant data: reference-counted bytes, and a typed, dense view of them. */
#ifndef TAKT_IR_TENSOR_H
#define TAKT_IR_TENSOR_H

#include "ir/type.h"

typedef struct takt_storage takt_storage;

/* `bytes` uninitialised bytes, aligned to 64. */
TAKT_MUST_USE takt_status takt_storage_create(takt_ctx *ctx, size_t bytes, takt_storage **storage);
/* Borrows the caller's memory until the last release, then calls done(user) if given. */
TAKT_MUST_USE takt_status takt_storage_borrow(takt_ctx *ctx, void *data, size_t bytes,
                                              void (*done)(void *user), void *user,
                                              takt_storage **storage);
takt_storage *takt_storage_retain(takt_storage *storage);
void takt_storage_release(takt_storage *storage); /* accepts NULL */
void *takt_storage_data(takt_storage *storage);

/* Dense, row-major, concrete. Holding one means holding a reference to its storage. */
typedef struct takt_tensor {
    takt_type type;
    takt_storage *storage;
    size_t offset; /* bytes */
} takt_tensor;

/* A new tensor with room for `type`, uninitialised. */
TAKT_MUST_USE takt_status takt_tensor_create(takt_ctx *ctx, const takt_type *type,
                                             takt_tensor *out);
void takt_tensor_release(takt_tensor *tensor); /* accepts one whose storage is NULL */
void *takt_tensor_data(const takt_tensor *tensor);
size_t takt_tensor_bytes(const takt_tensor *tensor);
size_t takt_tensor_count(const takt_tensor *tensor);

#endif
