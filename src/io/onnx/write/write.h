/* write.h - a graph as an ONNX model. */
#ifndef TAKT_IO_ONNX_WRITE_WRITE_H
#define TAKT_IO_ONNX_WRITE_WRITE_H

#include "ir/graph.h"

typedef struct takt_onnx_options {
    const takt_tensor *slots;  /* values of the graph's slots, or NULL to use the graph's */
    const char *version;       /* of the producer */
    const char *const *keys;   /* of the metadata */
    const char *const *values; /* as many */
    size_t entry_count;
    uint64_t inline_limit; /* most bytes of weights without a data file; 0: 2 GiB - 64 MiB */
    size_t *lowered;       /* receives the number of nodes written as their lowering; or NULL */
} takt_onnx_options;

/* Writes `path`, and `path`.data if the weights are too large for one message. */
TAKT_MUST_USE takt_status takt_onnx_write(const takt_graph *g, const takt_onnx_options *options,
                                          const char *path);

/* unblock.c: whether the graph reads blocks of ggml, and a copy of it that reads floats instead.
 * Entries of `values` (of slots, or NULL) that the copy replaces become empty. */
bool takt_onnx_has_blocks(const takt_graph *g);
TAKT_MUST_USE takt_status takt_onnx_unblock(const takt_graph *in, takt_tensor *values,
                                            takt_graph **out);

/* channels.c: whether dequantised weights have channels last, and a copy of the graph in which they
 * come second. */
bool takt_onnx_has_last_channels(const takt_graph *g);
TAKT_MUST_USE takt_status takt_onnx_channels_second(const takt_graph *g, takt_graph **out);

#endif
