/* load.h - bytes of each format loaded, over memory that is counted. */
#ifndef TAKT_TESTS_LOAD_H
#define TAKT_TESTS_LOAD_H

#include <stddef.h>

#include <takt/takt.h>

#include "util/meter.h"

typedef takt_status load_fn(takt_ctx *ctx, const void *bytes, size_t length);

/* Each loads and lets go again. */
load_fn load_onnx, load_safetensors, load_npy, load_json;

/* A block of exactly the file's size, so that a sanitizer detects reads beyond it; to be freed.
 * NULL if it has `most` bytes or more, or cannot be opened: then `length` is 0. */
unsigned char *load_file(const char *path, size_t most, size_t *length);

/* What contexts over load_allocator use. */
extern meter load_meter;
extern const takt_allocator load_allocator;

#endif
