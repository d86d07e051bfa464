/* schema.h - a TensorFlow Lite model in its file format: schema version 3, indices checked.
 *
 * Operators' options stay in the file; adapters read the fields that they know (adapt.h).
 */
#ifndef TAKT_IO_TFLITE_SCHEMA_H
#define TAKT_IO_TFLITE_SCHEMA_H

#include "base/arena.h"
#include "io/tflite/flat.h"
#include "ir/type.h"

/* TensorType of the schema. */
typedef enum takt_tfl_dtype {
    TAKT_TFL_FLOAT32,
    TAKT_TFL_FLOAT16,
    TAKT_TFL_INT32,
    TAKT_TFL_UINT8,
    TAKT_TFL_INT64,
    TAKT_TFL_STRING,
    TAKT_TFL_BOOL,
    TAKT_TFL_INT16,
    TAKT_TFL_COMPLEX64,
    TAKT_TFL_INT8,
    TAKT_TFL_FLOAT64,
    TAKT_TFL_COMPLEX128,
    TAKT_TFL_UINT64,
    TAKT_TFL_RESOURCE,
    TAKT_TFL_VARIANT,
    TAKT_TFL_UINT32,
    TAKT_TFL_UINT16,
    TAKT_TFL_INT4,
    TAKT_TFL_BFLOAT16,
    TAKT_TFL_INT2,
    TAKT_TFL_UINT4,
    TAKT_TFL_DTYPES
} takt_tfl_dtype;

typedef struct takt_tfl_tensor {
    takt_span name;
    takt_tfl_dtype type;
    int rank;
    int64_t dim[TAKT_MAX_RANK];
    uint32_t buffer;
    bool is_variable;
    const float *scale; /* of quantised tensors: one, or one per entry of `axis` */
    const int64_t *zero;
    size_t scale_count, zero_count;
    int axis;
    bool is_odd; /* quantised differently: by blocks */
    takt_flat_table sparsity;
    size_t at;
} takt_tfl_tensor;

typedef struct takt_tfl_code {
    int builtin, version;
    takt_span custom;
} takt_tfl_code;

typedef struct takt_tfl_op {
    const takt_tfl_code *code;
    const int32_t *inputs, *outputs, *between; /* tensors; -1: left out */
    size_t input_count, output_count, between_count;
    int options_type, options2_type;
    takt_flat_table options, options2;
    takt_span custom; /* options of a custom operator */
    size_t at;
} takt_tfl_op;

typedef struct takt_tfl_graph {
    takt_span name;
    takt_tfl_tensor *tensors;
    takt_tfl_op *ops;
    const int32_t *inputs, *outputs;
    size_t tensor_count, op_count, input_count, output_count;
    size_t at;
} takt_tfl_graph;

typedef struct takt_tfl_buffer {
    size_t at, length;
} takt_tfl_buffer;

typedef struct takt_tfl_model {
    takt_flat flat;
    takt_tfl_code *codes;
    takt_tfl_graph *graphs;
    takt_tfl_buffer *buffers;
    size_t code_count, graph_count, buffer_count;
    takt_span description;
} takt_tfl_model;

/* Everything in the model except the contents of buffers. */
TAKT_MUST_USE takt_status takt_tfl_parse(takt_arena *arena, const uint8_t *bytes, size_t length,
                                         const takt_skim *skim, takt_tfl_model *model);
/* "CONV_2D"; NULL beyond the list. */
const char *takt_tfl_builtin_name(int code);
/* TAKT_DTYPE_COUNT where Takt has no such type; complex numbers are pairs of f32. */
takt_dtype takt_tfl_dtype_of(takt_tfl_dtype type);
const char *takt_tfl_dtype_name(takt_tfl_dtype type);

#endif
