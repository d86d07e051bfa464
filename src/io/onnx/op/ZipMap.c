/* ZipMap.c - ai.onnx.ml ZipMap: scores of each row as a dictionary by label. Takt has no
 * dictionaries, so the matrix passes through unchanged: column k is the entry of label k. */
#include "io/onnx/ml.h"

static takt_status adapt(takt_call *c)
{
    const takt_pb_attr *ints = takt_onnx_attr(c, "classlabels_int64s"),
                       *strings = takt_onnx_attr(c, "classlabels_strings");
    const size_t labels = ints != NULL && ints->int_count > 0 ? ints->int_count
                          : strings != NULL                   ? strings->string_count
                                                              : 0;
    const takt_id x = takt_ml_rows(c, takt_onnx_type(c, 0)->dtype);
    if (c->status != TAKT_OK)
        return c->status;
    const takt_dim width = takt_type_of(c->g, x)->dim[1];
    if (width != (takt_dim)labels)
        return takt_onnx_refuse(c, "%zu labels for %lld columns", labels, (long long)width);
    return takt_onnx_done(c, x);
}

const takt_onnx_op takt_onnx_ZipMap = {.names = {"ZipMap"}, .domain = "ai.onnx.ml", .adapt = adapt};
