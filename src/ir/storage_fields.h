/* storage_fields.h - the fields of a storage: for tensor.c and share.c only. */
#ifndef TAKT_IR_STORAGE_FIELDS_H
#define TAKT_IR_STORAGE_FIELDS_H

#include <stdatomic.h>

#include "ir/tensor.h"

struct takt_storage {
    takt_ctx *ctx;
    atomic_uint references;
    void *data;
    size_t bytes;
    _Atomic size_t room; /* of `data`, if the storage counts it; above `bytes` after a reuse */
    bool is_borrowed;
    atomic_bool is_late;            /* its bytes have not been read: late.h */
    bool is_shared;                 /* it is in the context's list */
    uint64_t hash;                  /* of some of its bytes, if it is shared */
    takt_storage *next, **previous; /* in that list */
    uint64_t counted;
    void (*done)(void *user);
    void *user;
};

#endif
