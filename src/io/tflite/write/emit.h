/* emit.h - what writers of TensorFlow Lite's operators are written in.
 *
 * One node of ours becomes one or several operators, and a layer of several nodes (a product, its
 * bias, its activation and what rounds it to integers) becomes one: takt_tflw_tail finds what
 * belongs to a node. Values are known by the numbers of their tensors. Everything is sticky.
 */
#ifndef TAKT_IO_TFLITE_WRITE_EMIT_H
#define TAKT_IO_TFLITE_WRITE_EMIT_H

#include "io/tflite/schema.h"
#include "op/ops.h"

/* Scales and zero points of a quantised tensor: one, or one per entry of an axis. */
typedef struct takt_tflw_grid {
    const float *scale;
    const int64_t *zero; /* as many; NULL: all 0 */
    size_t count;        /* 0: not quantised */
    int axis;
} takt_tflw_grid;

typedef struct takt_tflw_tensor {
    const char *name;
    takt_type type;
    const void *data; /* NULL: no constant */
    size_t bytes;
    takt_tflw_grid grid;
    bool is_handle;   /* a resource: names a variable */
    bool is_variable; /* state that its operator holds itself */
} takt_tflw_tensor;

/* A field of an operator's options. */
typedef struct takt_tflw_field {
    int id;
    size_t bytes; /* 0: a text */
    uint32_t bits;
    const char *text;
} takt_tflw_field;

enum { TAKT_TFLW_FIELDS = 8 };

typedef struct takt_tflw_op {
    int code;
    const int32_t *in, *out;
    size_t in_count, out_count;
    const int32_t *between; /* intermediate tensors */
    size_t between_count;
    int options; /* their kind in the schema; 0: none */
    takt_tflw_field field[TAKT_TFLW_FIELDS];
    size_t field_count;
} takt_tflw_op;

typedef struct takt_tflw {
    takt_ctx *ctx;
    takt_arena arena;
    const takt_graph *g;
    takt_status status;
    takt_tflw_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    takt_tflw_op *ops;
    size_t op_count, op_capacity;
    int32_t *at;              /* per node: its tensor, or -1 */
    int32_t *shown;           /* per output: its tensor */
    uint32_t *uses;           /* per node: live users, and outputs */
    takt_id *user;            /* the last of them */
    takt_tflw_grid *grids;    /* per node: scale of its integers; count 0: not known */
    bool *is_inside;          /* per node: written with the node that it belongs to */
    takt_id id;               /* the node being written */
    const takt_tensor *slots; /* first values of slots, as those of `source` */
    const takt_graph *source; /* the graph before it was prepared */
    int32_t *handles;         /* per slot: the tensor that names its variable, or -1 */
    struct takt_tflw *first;  /* the subgraph that gives variables their first values, or NULL */
} takt_tflw;

/* Writes node `n`; false: TensorFlow Lite has no form of it, and nothing was written. */
typedef bool takt_tflw_fn(takt_tflw *w, const takt_node *n);
typedef struct takt_tflw_emitter {
    const takt_op *ops[32];
    takt_tflw_fn *emit;
} takt_tflw_emitter;
/* NULL: none. */
takt_tflw_fn *takt_tflw_emitter_of(const takt_op *op);

/* TAKT_E_TFLITE_WRITE with the node's name and op. */
void takt_tflw_fail(takt_tflw *w, const char *format, ...) TAKT_PRINTF(2, 3);

/* ---- tensors ---- */

int32_t takt_tflw_tensor_new(takt_tflw *w, const char *name, const takt_type *type,
                             const takt_tflw_grid *grid);
/* A constant; the bytes must live as long as the writer. */
int32_t takt_tflw_data(takt_tflw *w, const takt_type *type, const void *data,
                       const takt_tflw_grid *grid);
int32_t takt_tflw_ints(takt_tflw *w, const int64_t *values, size_t count); /* i32[count] */
int32_t takt_tflw_number(takt_tflw *w, takt_dtype dtype, double value);    /* a scalar */
/* The tensor of a value, made now if it is a constant or leaves integers. */
int32_t takt_tflw_value(takt_tflw *w, takt_id id);
static inline int32_t takt_tflw_in(takt_tflw *w, const takt_node *n, uint32_t k)
{
    return takt_tflw_value(w, n->in[k]);
}
/* A tensor for the value of a node, on this grid (NULL: none), visible to all later operators. */
int32_t takt_tflw_result(takt_tflw *w, takt_id id, const takt_tflw_grid *grid);
const takt_tflw_tensor *takt_tflw_at(const takt_tflw *w, int32_t tensor);

/* ---- operators ---- */

/* "CONV_2D" with its inputs (-1: left out) and one result (-1: none). The operator can be given
 * options until the next call. */
takt_tflw_op *takt_tflw_call(takt_tflw *w, const char *name, size_t count, const int32_t *in,
                             int32_t out);
static inline takt_tflw_op *takt_tflw_1(takt_tflw *w, const char *name, int32_t x, int32_t out)
{
    return takt_tflw_call(w, name, 1, &x, out);
}
static inline takt_tflw_op *takt_tflw_2(takt_tflw *w, const char *name, int32_t x, int32_t y,
                                        int32_t out)
{
    return takt_tflw_call(w, name, 2, (const int32_t[]){x, y}, out);
}
void takt_tflw_option(takt_tflw_op *op, int kind, int id, size_t bytes, int64_t value);
void takt_tflw_option_f(takt_tflw_op *op, int kind, int id, float value);
void takt_tflw_option_text(takt_tflw_op *op, int kind, int id, const char *text);
/* Results of an operator that has several. */
void takt_tflw_outputs(takt_tflw *w, takt_tflw_op *op, const int32_t *out, size_t count);
/* The node that takes result `index` of node `id`; TAKT_NONE if it has no reader. */
takt_id takt_tflw_part(const takt_tflw *w, takt_id id, size_t index);
/* Moves between tensors of the writer's own; they keep the grid. */
int32_t takt_tflw_reshaped(takt_tflw *w, int32_t x, const int64_t *dims, int rank, int32_t out);
int32_t takt_tflw_transposed(takt_tflw *w, int32_t x, const int64_t *perm, int32_t out);
/* Zeros, or `value` of floats, before and after each axis. */
int32_t takt_tflw_padded(takt_tflw *w, int32_t x, const int64_t *before, const int64_t *after,
                         const double *value);

/* ---- constants ---- */

/* A constant, the integers of one that is dequantised, or the f16 of one that is widened to f32. */
typedef struct takt_tflw_constant {
    takt_type type;
    const void *data;
    takt_tflw_grid grid; /* count 0: plain numbers */
    bool is_i4;          /* bytes here, halves of bytes in the file */
} takt_tflw_constant;
/* Whether a node widens a constant of f16, which the file then holds. */
bool takt_tflw_is_widened(const takt_graph *g, const takt_node *n);
/* The integers of a constant as a tensor, with its grid. */
int32_t takt_tflw_integers(takt_tflw *w, const takt_tflw_constant *c);
bool takt_tflw_constant_of(takt_tflw *w, takt_id id, takt_tflw_constant *c);
/* Transposes its axes by `perm`; `c` then has them. */
void takt_tflw_permute(takt_tflw *w, takt_tflw_constant *c, const int64_t *perm);
/* Its numbers, dequantised; NULL after a failure. */
const double *takt_tflw_reals(takt_tflw *w, const takt_tflw_constant *c, size_t *count);
/* As a tensor of floats: behind a DEQUANTIZE if it is integers. */
int32_t takt_tflw_floats(takt_tflw *w, const takt_tflw_constant *c);

/* ---- layers (tail.c) ---- */

typedef struct takt_tflw_tail {
    takt_id end;      /* the operator's result */
    takt_id bias;     /* a constant that is added on the last axis, or TAKT_NONE */
    int activation;   /* of the schema */
    takt_id quantize; /* `end`, if that rounds to integers; else TAKT_NONE */
} takt_tflw_tail;
typedef struct takt_tflw_wish {
    bool bias, activation, integers;
} takt_tflw_wish;
takt_tflw_tail takt_tflw_tail_of(const takt_tflw *w, takt_id id, takt_tflw_wish wish);
/* The nodes of the tail are written with this one. */
void takt_tflw_take(takt_tflw *w, takt_id id, const takt_tflw_tail *tail);
/* The result of a tail, integers or floats. */
int32_t takt_tflw_tail_result(takt_tflw *w, const takt_tflw_tail *tail);
/* The grid that a quantize node rounds to; false: more than one scale, or unknown. */
bool takt_tflw_grid_of(takt_tflw *w, const takt_node *n, takt_tflw_grid *grid);
/* ---- scales (scales.c) ---- */

/* Integers that TensorFlow Lite's layers compute with. */
bool takt_tflw_is_level(takt_dtype dtype);
/* Finds out which values have which scale. */
void takt_tflw_grids(takt_tflw *w);
/* One scale each, and the same. */
bool takt_tflw_same_grid(const takt_tflw_grid *a, const takt_tflw_grid *b);
/* The integer tensor behind a value that is dequantised with a single scale; -1: there is none. */
int32_t takt_tflw_levels(takt_tflw *w, takt_id id);
/* Whether a quantize node has the whole range for numbers from 0 to 1, or from -1 to 1, as LiteRT
 * requires of softmax, logistic and tanh. */
bool takt_tflw_is_unit(takt_tflw *w, takt_id quantize, bool is_signed);
/* Whether all inputs of the node being written and its result are integers of one type. Then `in`
 * has the inputs and `t` ends with the node that rounds. */
bool takt_tflw_integer_layer(takt_tflw *w, const takt_node *n, bool has_activation, int32_t *in,
                             takt_tflw_tail *t);

/* A layer of products: x, weights with out channels first or at `axis`, and the bias as the kernels
 * expect it. Floats, or integers if all operands are. */
typedef struct takt_tflw_product {
    int32_t x, weight, bias, y;
    int activation;
} takt_tflw_product;
bool takt_tflw_product_of(takt_tflw *w, const takt_node *n, const int64_t *perm,
                          takt_tflw_product *p);
/* Zeros, for operators that must have a bias. */
int32_t takt_tflw_no_bias(takt_tflw *w, const takt_tflw_product *p);

/* ---- state from run to run (state.c) ---- */

/* Variables of all slots, with their first values; before any node. */
void takt_tflw_state_begin(takt_tflw *w);
/* What the variable of a state node holds. */
void takt_tflw_state_read(takt_tflw *w, const takt_node *n);
/* Their next values; behind all nodes. */
void takt_tflw_state_end(takt_tflw *w);

/* ---- operators that were read whole (op/whole.c) ---- */

bool takt_tflw_is_whole(const takt_node *n);
/* The grids of the values that such a node reads and makes. */
void takt_tflw_whole_grids(takt_tflw *w, takt_id id);
/* Whether only one such node reads and sets the slot; then its operator holds it. */
bool takt_tflw_keeps_slot(const takt_tflw *w, const takt_slot *slot);

/* ---- the graph before it is written (prepare.c) ---- */

TAKT_MUST_USE takt_status takt_tflw_prepare(const takt_graph *in, const takt_tensor *slots,
                                            takt_graph **out);
/* Scans of a known length as their steps, one after another (unroll.c). */
TAKT_MUST_USE takt_status takt_tflw_unroll(const takt_graph *in, takt_graph **out);

/* The file (file.c). */
TAKT_MUST_USE takt_status takt_tflw_file(takt_tflw *w, const char *lineage, takt_text *to);

#endif
