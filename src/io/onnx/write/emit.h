/* emit.h - what writers of ONNX nodes are written in.
 *
 * One node of ours becomes one or several ONNX nodes. Attributes are collected by takt_emit_i and
 * its like, then takt_emit_call writes the node. Everything is sticky: failures go into the emitter
 * and the driver looks once. Values are known by their ONNX names, which are unique in the file.
 */
#ifndef TAKT_IO_ONNX_WRITE_EMIT_H
#define TAKT_IO_ONNX_WRITE_EMIT_H

#include "io/onnx/payload.h"
#include "io/onnx/write/pb.h"
#include "op/ops.h"

/* An initializer: its data lies in a tensor of the graph, or in the arena. */
typedef struct takt_emit_weight {
    const char *name;
    takt_type type;
    const void *data;
    size_t bytes;
} takt_emit_weight;

/* A sum that is written with its product. */
typedef struct takt_emit_bias {
    takt_id product, vector;
    bool is_there;
} takt_emit_bias;

/* One graph being written: the model's, a subgraph, or the lowering of a node. */
typedef struct takt_emit_frame {
    const takt_graph *g;
    const char **names;     /* of the nodes' values */
    const char ***multi;    /* of nodes with several results */
    takt_emit_bias *biases; /* one per node: of sums that are biases */
    bool *is_within;        /* one per node: it is written as a part of such a sum */
} takt_emit_frame;

/* A dimension that nodes of the model's graph work out: a vector of one i64. */
typedef struct takt_emit_size {
    takt_dim dim;
    const char *name;
} takt_emit_size;

typedef struct takt_emit {
    takt_ctx *ctx;
    takt_arena arena;
    const takt_graph *root;
    const takt_tensor *slots;
    int opset;
    bool uses_own;  /* a node of domain "takt" was written */
    bool uses_ml;   /* one of ai.onnx.ml was */
    size_t lowered; /* nodes written as their lowerings */
    takt_status status;
    takt_text *nodes;  /* where nodes go: the body of the graph being written */
    takt_text *main;   /* the model's own, where sizes are worked out for all */
    takt_text *values; /* where the types of the model's values go */
    takt_emit_size *sizes;
    size_t size_count, size_capacity;
    takt_text attrs; /* of the node being put together */
    takt_text body, item;
    takt_emit_weight *weights;
    size_t weight_count, weight_capacity;
    const char **used; /* open addressing over the names given so far */
    size_t used_count, used_size;
    takt_graph **kept; /* lowerings: their constants are weights */
    size_t kept_count, kept_capacity;
    takt_emit_frame *frame;
    takt_id id; /* the node being written */
    const takt_node *node;
    const char *out;         /* its first result */
    const char *const *outs; /* all of them */
    const char *bias;        /* the bias of Conv or Gemm; "": none */
} takt_emit;

/* Writes node e->node; false: this form has no ONNX equivalent, and nothing was written. */
typedef bool takt_emit_fn(takt_emit *e, const takt_node *n);
typedef struct takt_emitter {
    const takt_op *ops[24];
    takt_emit_fn *emit;
} takt_emitter;

/* ---- names (names.c) ---- */

/* `base`, or `base` with a number if that is taken. Never NULL. */
const char *takt_emit_unique(takt_emit *e, const char *base);
bool takt_emit_is_used(const takt_emit *e, const char *name);
/* A name for something in between. */
const char *takt_emit_fresh(takt_emit *e);

/* ---- attributes and nodes (node.c) ---- */

void takt_emit_i(takt_emit *e, const char *name, int64_t value);
void takt_emit_f(takt_emit *e, const char *name, double value);
void takt_emit_s(takt_emit *e, const char *name, const char *value);
/* Not written if empty. */
void takt_emit_ints(takt_emit *e, const char *name, const int64_t *values, size_t count);
void takt_emit_floats(takt_emit *e, const char *name, const double *values, size_t count);
void takt_emit_strings(takt_emit *e, const char *name, const char *const *values, size_t count);
void takt_emit_attr_tensor(takt_emit *e, const char *name, double value);
/* The message of a graph, which becomes empty. */
void takt_emit_attr_graph(takt_emit *e, const char *name, takt_text *body);
/* A node with `count` inputs; a trailing "" is left out. Returns `out`. */
const char *takt_emit_call(takt_emit *e, const char *op, const char *out, size_t count,
                           const char *const *in);
typedef struct takt_emit_list {
    size_t count;
    const char *const *at;
} takt_emit_list;
void takt_emit_call_many(takt_emit *e, const char *op, const char *domain, takt_emit_list out,
                         takt_emit_list in);
static inline const char *takt_emit_1(takt_emit *e, const char *op, const char *out, const char *x)
{
    return takt_emit_call(e, op, out, 1, &x);
}
static inline const char *takt_emit_2(takt_emit *e, const char *op, const char *out, const char *x,
                                      const char *y)
{
    return takt_emit_call(e, op, out, 2, (const char *const[]){x, y});
}
static inline const char *takt_emit_3(takt_emit *e, const char *op, const char *out, const char *x,
                                      const char *y, const char *z)
{
    return takt_emit_call(e, op, out, 3, (const char *const[]){x, y, z});
}
const char *takt_emit_cast(takt_emit *e, const char *out, const char *x, takt_dtype dtype);
const char *takt_emit_transpose(takt_emit *e, const char *out, const char *x, const int64_t *perm,
                                int rank);

/* ---- the node's inputs ---- */

/* Its name; "" if it was left out. */
const char *takt_emit_in(const takt_emit *e, size_t i);
const takt_type *takt_emit_type(const takt_emit *e, size_t i);
/* The tensor if the input is a constant, else NULL. */
const takt_tensor *takt_emit_constant(const takt_emit *e, size_t i);

/* ---- weights (weight.c) ---- */

/* The bytes must live as long as the emitter. */
void takt_emit_weigh(takt_emit *e, const char *name, const takt_type *type, const void *data);
/* Input `i`, a constant, has become an attribute: it is not written as a weight unless other nodes
 * read it. */
void takt_emit_unweigh(takt_emit *e, size_t i);
const char *takt_emit_vector(takt_emit *e, const int64_t *values, size_t count);
const char *takt_emit_number(takt_emit *e, int64_t value); /* a scalar of i64 */
const char *takt_emit_scalar(takt_emit *e, takt_dtype dtype, double value);

/* ---- shapes (shape.c) ---- */

/* A vector of i64 with these dimensions; names are worked out from the model's inputs. */
const char *takt_emit_shape(takt_emit *e, const takt_dim *dims, size_t count);
const char *takt_emit_dim(takt_emit *e, takt_dim d, bool as_vector);
/* ValueInfoProto. */
void takt_emit_value(takt_emit *e, takt_text *to, uint32_t field, const char *name,
                     const takt_type *type);

/* ---- biases (bias.c) ---- */

/* Finds sums of a vector and a convolution or matrix product that has no other reader. */
void takt_emit_find_biases(takt_emit *e, takt_emit_frame *f, const unsigned char *live);

/* ---- graphs (graph.c) ---- */

/* The nodes of `g`, whose inputs are the values `in`. Its outputs, followed by the slots' next
 * values, get the names `want`; `out` has room for as many. */
void takt_emit_graph(takt_emit *e, const takt_graph *g, const char *const *in,
                     const char *const *want, const char **out);
/* Writes the GraphProto of a subgraph to `to`: its first `own` inputs stay inputs, the rest are the
 * outer values `captures`. */
void takt_emit_subgraph(takt_emit *e, const takt_graph *g, size_t own, const char *const *captures,
                        takt_text *to);

/* ---- kinds of nodes ---- */

/* record.c: by the name in the op's record. */
bool takt_emit_record(takt_emit *e, const takt_node *n);
/* own.c: a node of domain "takt". */
void takt_emit_own(takt_emit *e, const takt_node *n);
/* TAKT_E_ONNX_WRITE with the node's name. */
void takt_emit_fail(takt_emit *e, const char *format, ...) TAKT_PRINTF(2, 3);

#endif
