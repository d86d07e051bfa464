/* file.h - an ONNX model being written to a file. */
#ifndef TAKT_IO_ONNX_WRITE_FILE_H
#define TAKT_IO_ONNX_WRITE_FILE_H

#include "io/onnx/write/emit.h"
#include "io/onnx/write/write.h"

typedef struct takt_onnx_writer {
    takt_emit e;
    const takt_onnx_options *o;
    takt_text nodes, ports, model; /* fields of the graph, and those of the model after it */
    const char *path, *data_name;
    takt_file *file, *data;
    uint64_t data_at;
    bool is_outside; /* large weights go to the file data_name */
} takt_onnx_writer;

TAKT_MUST_USE takt_status takt_onnx_write_file(takt_onnx_writer *w);

#endif
