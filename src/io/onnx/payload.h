/* payload.h - converts ONNX tensors to ours, copying bytes once, to their final place. */
#ifndef TAKT_IO_ONNX_PAYLOAD_H
#define TAKT_IO_ONNX_PAYLOAD_H

#include "io/onnx/proto.h"
#include "io/read.h"

/* TensorProto.DataType to ours; false for types that Takt lacks (strings, complex). */
bool takt_onnx_dtype(int64_t elem, takt_dtype *out);
/* " (strings)" and the like, for messages about types that Takt lacks. */
const char *takt_onnx_elem_note(int64_t elem);
int64_t takt_onnx_elem(takt_dtype dtype);
/* The caller releases it. `source`: where external data may be. */
TAKT_MUST_USE takt_status takt_onnx_tensor(const takt_source *source, const takt_pb_tensor *t,
                                           takt_tensor *out);
TAKT_MUST_USE takt_status takt_onnx_sparse(const takt_source *source, const takt_pb_sparse *t,
                                           takt_tensor *out);
/* skim.c: skips data that takt_onnx_tensor reads directly into place. */
TAKT_MUST_USE takt_status takt_onnx_skim(takt_skim *s);
/* external.c: the bytes of a tensor that is stored in another file. */
TAKT_MUST_USE takt_status takt_onnx_external(const takt_source *source, const takt_pb_tensor *t,
                                             void *to, size_t bytes);

#endif
