/* load.h - bytes of each format loaded, over memory that is counted. */
#ifndef TAKT_TESTS_LOAD_H
#define TAKT_TESTS_LOAD_H

#include <stddef.h>

#include <takt/takt.h>

typedef takt_status load_fn(takt_ctx *ctx, const void *bytes, size_t length);

/* Each loads and lets go again. */
load_fn load_onnx, load_safetensors, load_npy, load_json;

/* Bytes in use by contexts over load_allocator, and the most since it was set to 0. */
extern size_t load_live, load_peak, load_asked;
extern const takt_allocator load_allocator;

#endif
