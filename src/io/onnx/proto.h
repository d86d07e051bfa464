/* proto.h - an ONNX model as stored in the file: plain descriptions in one arena.
 *
 * Texts are views of the file's bytes and live as long as those; numbers are copied. Tensors keep
 * only the position of their message: payload.c decodes them once, into their final place.
 */
#ifndef TAKT_IO_ONNX_PROTO_H
#define TAKT_IO_ONNX_PROTO_H

#include "base/arena.h"
#include "io/onnx/wire.h"

typedef struct takt_pb_entry {
    takt_span key, value;
    uint64_t at;
} takt_pb_entry;

typedef struct takt_pb_tensor {
    takt_span name;
    int64_t *dims;
    size_t dim_count;
    int64_t data_type, data_location;
    takt_pb_entry *external;
    size_t external_count;
    takt_span *strings;
    size_t string_count;
    takt_cursor body; /* the whole message */
    uint64_t at;
} takt_pb_tensor;

typedef struct takt_pb_sparse {
    takt_pb_tensor *values, *indices;
    int64_t *dims;
    size_t dim_count;
    uint64_t at;
} takt_pb_sparse;

typedef struct takt_pb_dim {
    int64_t value;
    bool has_value;
    takt_span param;
    uint64_t at;
} takt_pb_dim;

typedef struct takt_pb_shape {
    takt_pb_dim *dims;
    size_t dim_count;
    uint64_t at;
} takt_pb_shape;

/* TypeProto.Tensor, and .Sequence and .Optional, which hold a type. */
typedef struct takt_pb_type takt_pb_type;
typedef struct takt_pb_tensor_type {
    int64_t elem;
    takt_pb_shape *shape;
    uint64_t at;
} takt_pb_tensor_type;
typedef struct takt_pb_wrapper {
    takt_pb_type *elem;
    uint64_t at;
} takt_pb_wrapper;
struct takt_pb_type {
    takt_pb_tensor_type *tensor, *sparse;
    takt_pb_wrapper *sequence, *optional, *map;
    uint64_t at;
};

typedef struct takt_pb_value {
    takt_span name;
    takt_pb_type *type;
    uint64_t at;
} takt_pb_value;

typedef struct takt_pb_graph takt_pb_graph;

typedef enum takt_pb_attr_type {
    TAKT_PB_UNDEFINED,
    TAKT_PB_FLOAT,
    TAKT_PB_INT,
    TAKT_PB_STRING,
    TAKT_PB_TENSOR,
    TAKT_PB_GRAPH,
    TAKT_PB_FLOATS,
    TAKT_PB_INTS,
    TAKT_PB_STRINGS,
    TAKT_PB_TENSORS,
    TAKT_PB_GRAPHS,
    TAKT_PB_SPARSE,
    TAKT_PB_SPARSES,
    TAKT_PB_TYPE,
    TAKT_PB_TYPES,
} takt_pb_attr_type;

typedef struct takt_pb_attr {
    takt_span name, ref;
    int64_t type;
    float f;
    int64_t i;
    takt_span s;
    takt_pb_tensor *t;
    takt_pb_graph *g;
    takt_pb_sparse *sparse;
    takt_pb_type *tp;
    float *floats;
    size_t float_count;
    int64_t *ints;
    size_t int_count;
    takt_span *strings;
    size_t string_count;
    takt_pb_tensor *tensors;
    size_t tensor_count;
    uint64_t at;
} takt_pb_attr;

typedef struct takt_pb_node {
    takt_span name, op, domain, overload;
    takt_span *inputs, *outputs;
    size_t input_count, output_count;
    takt_pb_attr *attrs;
    size_t attr_count;
    uint64_t at;
    bool is_sunk; /* an If whose branches contain the nodes after it (sink.c) */
} takt_pb_node;

struct takt_pb_graph {
    takt_span name;
    takt_pb_node *nodes;
    size_t node_count;
    takt_pb_tensor *initializers;
    size_t initializer_count;
    takt_pb_sparse *sparses;
    size_t sparse_count;
    takt_pb_value *inputs, *outputs, *values;
    size_t input_count, output_count, value_count;
    uint64_t at;
};

typedef struct takt_pb_opset {
    takt_span domain;
    int64_t version;
    uint64_t at;
} takt_pb_opset;

typedef struct takt_pb_function {
    takt_span name, domain, overload;
    takt_span *inputs, *outputs, *attr_names;
    size_t input_count, output_count, attr_name_count;
    takt_pb_attr *attrs;
    size_t attr_count;
    takt_pb_node *nodes;
    size_t node_count;
    takt_pb_opset *opsets;
    size_t opset_count;
    uint64_t at;
} takt_pb_function;

typedef struct takt_pb_model {
    int64_t ir_version;
    takt_span producer, producer_version, domain, doc;
    takt_pb_graph *graph;
    takt_pb_opset *opsets;
    size_t opset_count;
    takt_pb_function *functions;
    size_t function_count;
    takt_pb_entry *metadata;
    size_t metadata_count;
    uint64_t at;
} takt_pb_model;

/* SequenceProto and OptionalProto, which test data uses. */
typedef struct takt_pb_sequence takt_pb_sequence;
typedef struct takt_pb_optional {
    takt_span name;
    int64_t elem;
    takt_pb_tensor *tensor;
    takt_pb_sequence *sequence;
    struct takt_pb_optional *optional;
    uint64_t at;
} takt_pb_optional;
struct takt_pb_sequence {
    takt_span name;
    int64_t elem;
    takt_pb_tensor *tensors;
    size_t tensor_count;
    takt_pb_sequence *sequences;
    size_t sequence_count;
    takt_pb_optional *optionals;
    size_t optional_count;
    uint64_t at;
};

/* The whole file. Everything is in `arena`; texts point into `bytes`. */
TAKT_MUST_USE takt_status takt_pb_read_model(takt_arena *arena, const uint8_t *bytes, size_t length,
                                             takt_pb_model *model);
TAKT_MUST_USE takt_status takt_pb_read_tensor(takt_arena *arena, const uint8_t *bytes,
                                              size_t length, takt_pb_tensor *tensor);
TAKT_MUST_USE takt_status takt_pb_read_sequence(takt_arena *arena, const uint8_t *bytes,
                                                size_t length, takt_pb_sequence *sequence);
TAKT_MUST_USE takt_status takt_pb_read_optional(takt_arena *arena, const uint8_t *bytes,
                                                size_t length, takt_pb_optional *optional);

#endif
