/* proto.c - the messages of ONNX and their fields. */
#include "io/onnx/proto.h"

#include <stddef.h>

#include "io/onnx/message.h"

#define AT(type, field) offsetof(takt_pb_##type, field)
/* One field: its number, kind, member and, for messages, their table. */
#define ONE(type, n, k, field, d)                                                                  \
    {                                                                                              \
        .number = (n), .kind = TAKT_PB_##k, .at = AT(type, field), .name = #field, .def = (d)      \
    }
#define MANY(type, n, k, field, counter, d)                                                        \
    {                                                                                              \
        .number = (n), .kind = TAKT_PB_##k, .at = AT(type, field), .count_at = AT(type, counter),  \
        .name = #field, .def = (d)                                                                 \
    }

/* Common to all messages: the name in errors, the size of the struct, where its offset is kept. */
#define DEF(type, text) .name = (text), .size = sizeof(takt_pb_##type), .at = AT(type, at)

static const takt_pb_def graph_def, type_def, sequence_def, optional_def;

static const takt_pb_def entry_def = {
    DEF(entry, "StringStringEntry"),
    .rules =
        {
            ONE(entry, 1, TEXT, key, NULL),
            ONE(entry, 2, TEXT, value, NULL),
        },
};

static const takt_pb_def tensor_def = {
    DEF(tensor, "tensor"),
    .body_at = AT(tensor, body),
    .rules =
        {
            MANY(tensor, 1, I64S, dims, dim_count, NULL),
            ONE(tensor, 2, I64, data_type, NULL),
            MANY(tensor, 6, TEXTS, strings, string_count, NULL),
            ONE(tensor, 8, TEXT, name, NULL),
            MANY(tensor, 13, MESSAGES, external, external_count, &entry_def),
            ONE(tensor, 14, I64, data_location, NULL),
        },
};

static const takt_pb_def sparse_def = {
    DEF(sparse, "sparse tensor"),
    .rules =
        {
            ONE(sparse, 1, MESSAGE, values, &tensor_def),
            ONE(sparse, 2, MESSAGE, indices, &tensor_def),
            MANY(sparse, 3, I64S, dims, dim_count, NULL),
        },
};

static const takt_pb_def dim_def = {
    DEF(dim, "dimension"),
    .rules =
        {
            {.number = 1,
             .kind = TAKT_PB_I64,
             .at = AT(dim, value),
             .name = "value",
             .flag_at = AT(dim, has_value)},
            ONE(dim, 2, TEXT, param, NULL),
        },
};

static const takt_pb_def shape_def = {
    DEF(shape, "shape"),
    .rules =
        {
            MANY(shape, 1, MESSAGES, dims, dim_count, &dim_def),
        },
};

static const takt_pb_def tensor_type_def = {
    DEF(tensor_type, "tensor type"),
    .rules =
        {
            ONE(tensor_type, 1, I64, elem, NULL),
            ONE(tensor_type, 2, MESSAGE, shape, &shape_def),
        },
};

static const takt_pb_def wrapper_def = {
    DEF(wrapper, "sequence type"),
    .rules =
        {
            ONE(wrapper, 1, MESSAGE, elem, &type_def),
        },
};

static const takt_pb_def map_def = {
    DEF(wrapper, "map type"),
};

static const takt_pb_def type_def = {
    DEF(type, "type"),
    .nests = true,
    .rules =
        {
            ONE(type, 1, MESSAGE, tensor, &tensor_type_def),
            ONE(type, 4, MESSAGE, sequence, &wrapper_def),
            ONE(type, 5, MESSAGE, map, &map_def),
            ONE(type, 8, MESSAGE, sparse, &tensor_type_def),
            ONE(type, 9, MESSAGE, optional, &wrapper_def),
        },
};

static const takt_pb_def value_def = {
    DEF(value, "value"),
    .rules =
        {
            ONE(value, 1, TEXT, name, NULL),
            ONE(value, 2, MESSAGE, type, &type_def),
        },
};

static const takt_pb_def attr_def = {
    DEF(attr, "attribute"),
    .rules =
        {
            ONE(attr, 1, TEXT, name, NULL),
            ONE(attr, 21, TEXT, ref, NULL),
            ONE(attr, 20, I64, type, NULL),
            ONE(attr, 2, F32, f, NULL),
            ONE(attr, 3, I64, i, NULL),
            ONE(attr, 4, TEXT, s, NULL),
            ONE(attr, 5, MESSAGE, t, &tensor_def),
            ONE(attr, 6, MESSAGE, g, &graph_def),
            ONE(attr, 22, MESSAGE, sparse, &sparse_def),
            ONE(attr, 14, MESSAGE, tp, &type_def),
            MANY(attr, 7, F32S, floats, float_count, NULL),
            MANY(attr, 8, I64S, ints, int_count, NULL),
            MANY(attr, 9, TEXTS, strings, string_count, NULL),
            MANY(attr, 10, MESSAGES, tensors, tensor_count, &tensor_def),
        },
};

static const takt_pb_def node_def = {
    DEF(node, "node"),
    .rules =
        {
            MANY(node, 1, TEXTS, inputs, input_count, NULL),
            MANY(node, 2, TEXTS, outputs, output_count, NULL),
            ONE(node, 3, TEXT, name, NULL),
            ONE(node, 4, TEXT, op, NULL),
            ONE(node, 7, TEXT, domain, NULL),
            ONE(node, 8, TEXT, overload, NULL),
            MANY(node, 5, MESSAGES, attrs, attr_count, &attr_def),
        },
};

static const takt_pb_def graph_def = {
    DEF(graph, "graph"),
    .nests = true,
    .rules =
        {
            MANY(graph, 1, MESSAGES, nodes, node_count, &node_def),
            ONE(graph, 2, TEXT, name, NULL),
            MANY(graph, 5, MESSAGES, initializers, initializer_count, &tensor_def),
            MANY(graph, 15, MESSAGES, sparses, sparse_count, &sparse_def),
            MANY(graph, 11, MESSAGES, inputs, input_count, &value_def),
            MANY(graph, 12, MESSAGES, outputs, output_count, &value_def),
            MANY(graph, 13, MESSAGES, values, value_count, &value_def),
        },
};

static const takt_pb_def opset_def = {
    DEF(opset, "opset import"),
    .rules =
        {
            ONE(opset, 1, TEXT, domain, NULL),
            ONE(opset, 2, I64, version, NULL),
        },
};

static const takt_pb_def function_def = {
    DEF(function, "function"),
    .rules =
        {
            ONE(function, 1, TEXT, name, NULL),
            MANY(function, 4, TEXTS, inputs, input_count, NULL),
            MANY(function, 5, TEXTS, outputs, output_count, NULL),
            MANY(function, 6, TEXTS, attr_names, attr_name_count, NULL),
            MANY(function, 11, MESSAGES, attrs, attr_count, &attr_def),
            MANY(function, 7, MESSAGES, nodes, node_count, &node_def),
            MANY(function, 9, MESSAGES, opsets, opset_count, &opset_def),
            ONE(function, 10, TEXT, domain, NULL),
            ONE(function, 13, TEXT, overload, NULL),
        },
};

static const takt_pb_def model_def = {
    DEF(model, "model"),
    .rules =
        {
            ONE(model, 1, I64, ir_version, NULL),
            ONE(model, 2, TEXT, producer, NULL),
            ONE(model, 3, TEXT, producer_version, NULL),
            ONE(model, 4, TEXT, domain, NULL),
            ONE(model, 6, TEXT, doc, NULL),
            ONE(model, 7, MESSAGE, graph, &graph_def),
            MANY(model, 8, MESSAGES, opsets, opset_count, &opset_def),
            MANY(model, 25, MESSAGES, functions, function_count, &function_def),
            MANY(model, 14, MESSAGES, metadata, metadata_count, &entry_def),
        },
};

static const takt_pb_def sequence_def = {
    DEF(sequence, "sequence"),
    .nests = true,
    .rules =
        {
            ONE(sequence, 1, TEXT, name, NULL),
            ONE(sequence, 2, I64, elem, NULL),
            MANY(sequence, 3, MESSAGES, tensors, tensor_count, &tensor_def),
            MANY(sequence, 5, MESSAGES, sequences, sequence_count, &sequence_def),
            MANY(sequence, 7, MESSAGES, optionals, optional_count, &optional_def),
        },
};

static const takt_pb_def optional_def = {
    DEF(optional, "optional"),
    .nests = true,
    .rules =
        {
            ONE(optional, 1, TEXT, name, NULL),
            ONE(optional, 2, I64, elem, NULL),
            ONE(optional, 3, MESSAGE, tensor, &tensor_def),
            ONE(optional, 5, MESSAGE, sequence, &sequence_def),
            ONE(optional, 7, MESSAGE, optional, &optional_def),
        },
};

takt_status takt_pb_read_model(takt_arena *arena, const uint8_t *bytes, size_t length,
                               takt_pb_model *out)
{
    *out = (takt_pb_model){0};
    return takt_pb_read(arena, &model_def, takt_cursor_of(bytes, length, 0), 0, out);
}

takt_status takt_pb_read_tensor(takt_arena *arena, const uint8_t *bytes, size_t length,
                                takt_pb_tensor *out)
{
    *out = (takt_pb_tensor){0};
    return takt_pb_read(arena, &tensor_def, takt_cursor_of(bytes, length, 0), 0, out);
}

takt_status takt_pb_read_sequence(takt_arena *arena, const uint8_t *bytes, size_t length,
                                  takt_pb_sequence *out)
{
    *out = (takt_pb_sequence){0};
    return takt_pb_read(arena, &sequence_def, takt_cursor_of(bytes, length, 0), 0, out);
}

takt_status takt_pb_read_optional(takt_arena *arena, const uint8_t *bytes, size_t length,
                                  takt_pb_optional *out)
{
    *out = (takt_pb_optional){0};
    return takt_pb_read(arena, &optional_def, takt_cursor_of(bytes, length, 0), 0, out);
}
