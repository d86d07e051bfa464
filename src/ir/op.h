/* op.h - the op record: everything Takt knows about one operation, in one place.
 *
 * src/op/<name>.c defines `const takt_op takt_op_<name>`, as src/ir/leaf/ does for the ops that
 * graphs themselves need; the folders are the list. Text form, parser, verifier, import, docs and
 * generic tests are derived from the record.
 */
#ifndef TAKT_IR_OP_H
#define TAKT_IR_OP_H

#include "base/arena.h"
#include "base/inner.h"
#include "ir/tensor.h"

typedef struct takt_graph takt_graph;
typedef struct takt_node takt_node;
typedef struct takt_op takt_op;
typedef uint32_t takt_id;

#define TAKT_NONE UINT32_MAX
enum { TAKT_MAX_ATTRS = 12, TAKT_MAX_OUTPUTS = 16, TAKT_VARIADIC = 255 };

/* ---- attributes ---- */

typedef enum takt_attr_type {
    TAKT_ATTR_NONE, /* ends the list in a record */
    TAKT_ATTR_I64,
    TAKT_ATTR_F64,
    TAKT_ATTR_BOOL,
    TAKT_ATTR_STRING,
    TAKT_ATTR_ENUM, /* i64 = index into the definition's names */
    TAKT_ATTR_DTYPE,
    TAKT_ATTR_I64S,
    TAKT_ATTR_F64S,
    TAKT_ATTR_STRINGS,
    TAKT_ATTR_SHAPE, /* dims: handles, so names are allowed */
    TAKT_ATTR_TYPE,
    TAKT_ATTR_TENSOR,
    TAKT_ATTR_GRAPH,
} takt_attr_type;

typedef struct takt_attr {
    union {
        int64_t i64;
        double f64;
        bool boolean;
        takt_dtype dtype;
        const char *string;
        const int64_t *i64s;
        const double *f64s;
        const char *const *strings;
        const takt_dim *dims;
        const takt_type *type;
        const takt_tensor *tensor;
        takt_graph *graph;
    };
    uint32_t count; /* of lists */
    bool is_set;    /* given by the caller, or filled in from the record's default */
} takt_attr;

typedef struct takt_attr_def {
    const char *name;
    takt_attr_type type;
    bool is_required; /* no fallback: must be given */
    bool is_optional; /* no fallback: may stay unset (attr.is_set is false) */
    takt_attr fallback;
    const char *const *names; /* of an ENUM, NULL-terminated */
    const char *onnx;         /* ONNX's name for it, if different */
    const char *summary;
} takt_attr_def;

/* ---- inference ---- */

typedef struct takt_infer {
    takt_graph *graph;
    takt_ctx *ctx;
    takt_dims *dims;
    const takt_op *op;
    const takt_attr *attr;
    size_t in_count;
    const takt_id *in;
    const takt_type *const *type; /* of the inputs */
    size_t out_count;             /* preset from the record; a variadic op sets it */
    takt_type out[TAKT_MAX_OUTPUTS];
} takt_infer;

/* ---- reference evaluation ---- */

/* A value of the interpreter: floats as double, everything else as 64-bit integers (u64: its
 * bits, bool: 0 or 1). Dense, row-major. */
typedef struct takt_array {
    takt_dtype dtype;
    int rank;
    int64_t dim[TAKT_MAX_RANK];
    size_t count;
    double *f;  /* if the dtype is a float */
    int64_t *i; /* otherwise */
} takt_array;

typedef struct takt_eval {
    takt_ctx *ctx;
    takt_arena *scratch; /* dropped after the node */
    const takt_node *node;
    const takt_attr *attr;
    size_t in_count;
    const takt_array *in; /* an absent optional input has count 0 and rank -1 */
    size_t out_count;
    takt_array *out; /* shapes and memory are ready, zeroed; results are rounded afterwards */
    /* For control flow: evaluates a subgraph on `count` inputs. `out` has room for its outputs,
     * which the caller then owns: takt_array_release (ir/array.h) each. On failure there are
     * none. */
    takt_status (*run_graph)(struct takt_eval *e, takt_graph *g, const takt_array *in, size_t count,
                             takt_array *out);
    void *interp; /* for run_graph */
} takt_eval;

/* What a scalar function of an element-wise op may read and report. */
typedef struct takt_scalar {
    const takt_attr *attr;
    takt_dtype dtype; /* of the first input */
    bool fault;       /* set to report a zero divisor */
} takt_scalar;

typedef struct takt_cost {
    double flops, bytes;
} takt_cost;

/* ---- the record ---- */

typedef enum takt_trait {
    TAKT_ELEMENTWISE = 1 << 0, /* broadcasts, one scalar function */
    TAKT_PREDICATE = 1 << 1,   /* element-wise with a bool result */
    TAKT_COMMUTES = 1 << 2,    /* the first two inputs may be swapped */
    TAKT_PRIMITIVE = 1 << 3,   /* has no lowering: the interpreter and kernels implement it */
    TAKT_VIEW = 1 << 4,        /* moves or renames elements, computes nothing */
    TAKT_UNIQUE = 1 << 5,      /* never merged with an equal node */
    TAKT_LEAF = 1 << 6,        /* input, constant, state: no inputs */
    TAKT_CONTROL = 1 << 7,     /* has subgraphs */
    TAKT_REDUCES = 1 << 8,
    TAKT_CONTRACTS = 1 << 9, /* matmul, conv */
    TAKT_INDEXED = 1 << 10,  /* an input holds indices: may fault at run time */
    TAKT_WHOLE = 1 << 11,    /* plans never lower it: kernels implement it and define its bits */
    TAKT_SIZES = 1 << 12,    /* binds sizes to names, so it is live although nothing reads it */
    TAKT_WIDENS = 1 << 13,   /* a composite that in 16 bits is lowered in f32, and rounded once */
} takt_trait;

/* ---- guarantees ---- */

typedef struct takt_bounding takt_bounding; /* op/util/bound.h */
typedef struct takt_relaxing takt_relaxing; /* op/util/relax.h */

/* How far a kernel's result may be from the exact result on the same inputs. Both are 0 for ops
 * that are exact, such as moves and comparisons. */
typedef struct takt_accuracy {
    double ulps; /* units in the last place of the result */
    /* Sums: the longest chain of roundings from a term to the result, so that the error is at most
     * n u / (1 - n u) of the sum of the terms' magnitudes, u being half a unit in the last place.
     */
    double (*roundings)(const takt_graph *g, const takt_node *n);
} takt_accuracy;

typedef struct takt_onnx_name {
    const char *name;
    int since, until; /* opset range; until 0: to the newest */
} takt_onnx_name;

struct takt_op {
    const char *name;
    const char *summary; /* one line for people */
    takt_onnx_name onnx[4];
    int in_min, in_max; /* in_max may be TAKT_VARIADIC: none may be left out; 0,0 for leaves */
    const char *in_names[8];
    int out_count; /* 0 means 1 */
    takt_attr_def attrs[TAKT_MAX_ATTRS];
    uint32_t traits;
    takt_dtype_set dtypes; /* of the inputs; inputs must agree unless is_mixed */
    bool is_mixed;         /* inputs may have different element types; infer checks them */

    /* NULL only for element-wise ops: broadcast, same dtype (bool for predicates). */
    takt_status (*infer)(takt_infer *in);

    /* Element-wise ops define the scalar functions that fit their dtypes: */
    double (*scalar_f)(takt_scalar *s, const double *x);   /* float -> float */
    int64_t (*scalar_i)(takt_scalar *s, const int64_t *x); /* int -> int (wrapped after) */
    bool (*scalar_p)(takt_scalar *s, const double *x);     /* float -> bool */
    /* Everything else: */
    takt_status (*eval)(takt_eval *e);

    /* Gradient: node `id` of `g` has inputs n->in (ids of g) and results dy (TAKT_NONE where no
     * gradient arrives); set dx[i] (preset to TAKT_NONE). NULL: not differentiable. */
    void (*grad)(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx);
    uint32_t grad_stops; /* float inputs that by convention receive no gradient: bit per input */
    const char *no_gradient; /* why it has none, if there is neither grad nor lower */
    /* Into simpler ops: n->in are ids of `g`; set out[0..out_count). */
    void (*lower)(takt_graph *g, const takt_node *n, takt_id *out);
    /* On concrete types; NULL: element-wise default, or bytes only. */
    void (*cost)(const takt_graph *g, const takt_node *n, takt_cost *cost);
    double flops_per_element; /* for the element-wise default; 0 means 1 */

    /* Intervals: appends nodes that compute bounds of the results from bounds of the inputs. NULL:
     * the lowering is bounded, or `no_bound` says why nothing is known about the result. */
    void (*bound)(takt_bounding *b);
    const char *no_bound;
    takt_accuracy error;
    uint32_t falls;  /* inputs in which a monotone result decreases: bit per input */
    uint32_t fixed;  /* inputs that must be known for a bound: indices, scales; bit per input */
    uint32_t affine; /* inputs in which it is affine while the others are fixed; bit per input */
    /* Linear bounds: a line below and one above the result over the bounds of the inputs. */
    void (*relax)(takt_relaxing *r);

    /* Calls in the text form with types for inputs: "log(f32[2, 3] in (0.1, 9))". Each is tested:
     * infer = eval's shape, lower = eval, grad = finite differences, print -> parse -> same. */
    const char *samples[10];
};

/* The registry: sorted by name. */
TAKT_INNER extern const takt_op *const takt_ops[];
TAKT_INNER extern const size_t takt_op_count;
TAKT_INNER const takt_op *takt_op_find(const char *name, size_t length); /* NULL if there is none */
/* The nearest name for "did you mean", or NULL. */
TAKT_INNER const char *takt_op_nearest(const char *name);
TAKT_INNER size_t takt_op_attr_count(const takt_op *op);
/* Index of an attribute, or -1. */
int takt_op_attr_index(const takt_op *op, const char *name);
/* A copy of all attributes of a node, followed by zeros, to be changed and passed to another
 * node. */
void takt_node_attrs(const takt_node *n, takt_attr attrs[static TAKT_MAX_ATTRS]);
/* A node's attribute; NULL if its op has none of that name. */
const takt_attr *takt_node_attr(const takt_node *n, const char *name);
/* As an integer or a truth value; 0 if there is none. */
int64_t takt_node_int(const takt_node *n, const char *name);

#endif
