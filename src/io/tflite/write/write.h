/* write.h - a graph as a TensorFlow Lite model. */
#ifndef TAKT_IO_TFLITE_WRITE_WRITE_H
#define TAKT_IO_TFLITE_WRITE_WRITE_H

#include "base/text.h"
#include "ir/graph.h"

typedef struct takt_tflite_options {
    const takt_tensor *slots; /* values of the graph's slots, or NULL to use the graph's */
    const char *lineage;      /* JSON, kept in the file's metadata; or NULL */
} takt_tflite_options;

/* Writes `path`. Dimensions without a number are 1. Refuses unsupported nodes with
 * TAKT_E_TFLITE_WRITE and the node's name. */
TAKT_MUST_USE takt_status takt_tflite_write(const takt_graph *g, const takt_tflite_options *options,
                                            const char *path);

/* Same, into a buffer of bytes. */
TAKT_MUST_USE takt_status takt_tflite_bytes(const takt_graph *g, const takt_tflite_options *options,
                                            takt_text *to);

#endif
