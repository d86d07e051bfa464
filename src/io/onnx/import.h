/* import.h - an ONNX model being turned into a graph.
 *
 * A *room* is one graph under construction: the main one, or a branch or body. A *scope* is what
 * names mean while the nodes of one ONNX graph or function are read; several scopes may build into
 * one room, because functions, and branches whose condition is known, are inlined.
 *
 * Values that shapes depend on are worked out while importing (fold.c): constants by the reference
 * interpreter, and small integer vectors made of dimensions symbolically.
 */
#ifndef TAKT_IO_ONNX_IMPORT_H
#define TAKT_IO_ONNX_IMPORT_H

#include "io/onnx/payload.h"
#include "ir/array.h"
#include "op/ops.h"

typedef struct takt_import takt_import;
typedef struct takt_room takt_room;
typedef struct takt_scope takt_scope;
typedef struct takt_onnx_joint takt_onnx_joint; /* meet.h */
typedef struct takt_onnx_split takt_onnx_split; /* split.h */

/* A number or a dimension; or -1, in lists whose entries count from the end. */
typedef struct takt_sym {
    bool is_dim;
    bool is_minus; /* then is_dim as well */
    int64_t number;
    takt_dim dim;
} takt_sym;

typedef struct takt_syms {
    const takt_sym *at;
    size_t count;
} takt_syms;

typedef enum takt_fact_state { TAKT_FACT_NEW, TAKT_FACT_UNKNOWN, TAKT_FACT_READY } takt_fact_state;

/* What is known about a node's results before a run. */
typedef struct takt_fact {
    takt_fact_state state;
    takt_array *known; /* one per result, or NULL */
    takt_syms syms;    /* of a node with one result: its elements, or at == NULL */
    uint32_t out_count;
    bool is_borrowed; /* `known` belongs to another node */
    bool is_bound;    /* its value has been used in the graph */
} takt_fact;

typedef struct takt_capture {
    takt_id inner, outer;
} takt_capture;

struct takt_room {
    takt_import *im;
    takt_graph *g;
    takt_room *outer;
    bool may_find; /* a run may find sizes there: the model, and bodies of loops */
    takt_capture *captures;
    size_t capture_count, capture_capacity;
    takt_fact *facts;
    size_t fact_count; /* capacity */
};

typedef enum takt_onnx_kind {
    TAKT_ONNX_ABSENT,
    TAKT_ONNX_TENSOR,
    TAKT_ONNX_INITIALIZER, /* becomes a constant when it is first used */
    TAKT_ONNX_SPARSE,
    TAKT_ONNX_SEQUENCE,
    TAKT_ONNX_NOTHING, /* an optional that holds nothing */
    TAKT_ONNX_POISON,  /* what a refused node would have produced */
} takt_onnx_kind;

typedef struct takt_onnx_value {
    takt_span name;
    takt_onnx_kind kind;
    takt_id id;
    const takt_pb_tensor *initializer;
    const takt_pb_sparse *sparse;
    const takt_id *items; /* of a sequence */
    size_t item_count;
} takt_onnx_value;

struct takt_scope {
    takt_import *im;
    takt_room *room;
    takt_scope *parent; /* whose names may be used; NULL for functions and the model */
    takt_onnx_value *values;
    size_t value_count, value_capacity;
    uint32_t *table; /* of indices + 1 */
    size_t table_size;
    const takt_pb_opset *opsets;
    size_t opset_count;
    const takt_pb_node *caller; /* of a function: the node with the attributes that it refers to */
    const takt_pb_function *function;
    takt_scope *caller_scope;
    const takt_pb_graph *graph; /* whose nodes are read; NULL for functions */
    uint64_t depth;
    bool has_gate; /* part of a branch that is taken where `gate` holds (unfold.c) */
    takt_id gate;  /* a bool of the room */
};

/* A running statistic of a trained model, and its value after a step. */
typedef struct takt_statistic {
    takt_id value, next; /* of the main graph */
} takt_statistic;

struct takt_import {
    takt_ctx *ctx;
    const takt_source *source;
    takt_arena arena;
    takt_pb_model model;
    takt_room *main;
    const takt_pb_function **functions; /* open addressing by name and domain */
    size_t function_slots;
    uint64_t budget;            /* nodes that may still be imported: bounds inlining */
    uint64_t repeats;           /* nodes that loops may still be unrolled to */
    size_t tables;              /* bytes that adapters may still compute constants in */
    double fold_work;           /* operations that values may still be worked out with, */
    double fold_elements;       /* and elements that they may have */
    takt_statistic *statistics; /* in the arena */
    size_t statistic_count, statistic_room;
    struct takt_onnx_label *labels; /* expressions that inputs have for dimensions, see input.c */
    size_t label_count, label_capacity;
    const takt_onnx_joint *joints;           /* in the arena: sizes that were made of two */
    takt_onnx_split *splits;                 /* and those of inputs that one branch alone reads */
    const struct takt_pb_graph **branches;   /* per input of the model: that branch, split.c */
    const struct takt_onnx_aliases *aliases; /* found when it was read before, split.h; or NULL */
    bool is_hopeless;      /* nesting or number of nodes: later nodes would fail the same way */
    bool has_failed;       /* a node was refused; `first` says why */
    bool has_other_ranks;  /* branches of an If gave results of other ranks or types */
    bool is_wanted_inside; /* a run would have to find sizes inside a branch or a body */
    takt_error first;
};

/* One node being imported. */
typedef struct takt_call {
    takt_import *im;
    takt_scope *scope;
    takt_graph *g;
    takt_ctx *ctx;
    const takt_pb_node *node;
    int opset;
    takt_status status; /* sticky: the first error in reading attributes or types */
    size_t in_count, out_count;
    takt_onnx_value **in; /* NULL: left out */
    takt_onnx_value *out;
} takt_call;

typedef struct takt_onnx_op {
    const char *names[24];
    const char *domain; /* NULL: ONNX's own */
    takt_status (*adapt)(takt_call *c);
} takt_onnx_op;

/* ---- scopes (scope.c) ---- */

TAKT_MUST_USE takt_status takt_scope_init(takt_scope *scope, size_t names);
/* Declares a name; fails if it exists in this scope. */
TAKT_MUST_USE takt_status takt_scope_add(takt_scope *scope, takt_span name, uint64_t at,
                                         takt_onnx_value **value);
/* The value in this scope or an outer one, NULL if there is none; `*owner` is its scope. */
takt_onnx_value *takt_scope_find(takt_scope *scope, takt_span name, takt_scope **owner);
/* The same, made visible in this scope: initializers become constants, and values of outer scopes
 * become captures. NULL with TAKT_OK: no node produces it. */
TAKT_MUST_USE takt_status takt_scope_use(takt_scope *scope, takt_span name,
                                         takt_onnx_value **value);
/* An input of `room` that stands for `outer` in the room around it, made if new. */
takt_id takt_room_capture(takt_room *room, takt_id outer);
TAKT_MUST_USE takt_status takt_room_create(takt_import *im, takt_room *outer, takt_room **room);
/* Frees what is known; the graph stays. */
void takt_room_close(takt_room *room);

/* ---- facts (fold.c) ---- */

/* What is known about result `index` of the node: NULL if nothing. Borrowed until the room dies. */
TAKT_MUST_USE takt_status takt_fold_known(takt_room *room, takt_id id, const takt_array **known);
TAKT_MUST_USE takt_status takt_fold_syms(takt_room *room, takt_id id, takt_syms *syms);
/* Notes that the model depends on the current value of node `id`; settle propagates that to
 * everything it was folded from. */
TAKT_MUST_USE takt_status takt_fold_bind(takt_room *room, takt_id id);
TAKT_MUST_USE takt_status takt_fold_settle(takt_room *room);
/* fold_cost.c: whether a node, whose inputs are known, may still be worked out; the budget of the
 * load is less afterwards. */
bool takt_fold_affords(takt_room *room, const takt_node *n);
/* symbolic.c: the elements of a node from those of its inputs; at == NULL if unknown. */
TAKT_MUST_USE takt_status takt_fold_symbolic(takt_room *room, takt_id id, takt_syms *out);

/* symbolic_move.c: whether a node only moves elements, including tables of several axes; and the
 * elements of its result, if those of its inputs are known. */
bool takt_symbolic_moves(const takt_graph *g, const takt_node *n);
TAKT_MUST_USE takt_status takt_symbolic_move(takt_room *room, const takt_node *n, takt_sym *out,
                                             size_t count, bool *is_done);

/* ---- graphs and nodes (import.c, node.c, control.c) ---- */

TAKT_MUST_USE takt_status takt_import_functions(takt_import *im);
/* order.c: sorts the nodes of all graphs and functions topologically. */
TAKT_MUST_USE takt_status takt_import_order(takt_import *im);
TAKT_MUST_USE takt_status takt_import_nodes(takt_scope *scope, const takt_pb_node *nodes,
                                            size_t count);
TAKT_MUST_USE takt_status takt_import_initializers(takt_scope *scope, const takt_pb_graph *graph);
/* input.c: what the caller knows about an input, NULL if nothing; and an input's type. */
const takt_fixed *takt_import_fixed(const takt_import *im, takt_span name);
TAKT_MUST_USE takt_status takt_import_type(takt_import *im, const takt_pb_value *v, takt_type *out);
/* The size that the caller gave to a name, or -1. */
int64_t takt_import_size(const takt_import *im, takt_span name);
/* items.c: inputs that are sequences become their items, and optionals that hold nothing become
 * NOTHING. `*tensor`: the type of the input that remains to be added, NULL if none does. */
TAKT_MUST_USE takt_status takt_import_items(takt_scope *s, const takt_pb_value *in,
                                            takt_onnx_value *v, const takt_pb_type **tensor);
/* Labels of inputs are trusted unless the graph contradicts them. */
TAKT_MUST_USE takt_status takt_import_labels(takt_import *im);
/* The graph reads the first `least` elements of an axis of that size. */
TAKT_MUST_USE takt_status takt_import_needs(takt_import *im, takt_dim size, takt_dim least);
/* dim_text.c: a dim_param: an expression of names, or a name. */
TAKT_MUST_USE takt_status takt_onnx_dim(takt_ctx *ctx, takt_dims *dims, takt_span text,
                                        takt_dim *out);
/* Paddle writes ? for every size that it does not know: that is not a name. */
bool takt_onnx_is_named(takt_span text);
/* Whether a dim_param has an operator, so that it is read as an expression if it is one. */
bool takt_onnx_dim_is_expression(takt_span text);
/* lineage.c: opsets, producer and metadata as a JSON object. */
void takt_import_lineage(const takt_import *im, takt_text *text);
/* parameter.c: initializers of the main graph that are tensors, not settings, become parameters of
 * the same names; the scope then has a new graph. */
TAKT_MUST_USE takt_status takt_import_parameters(takt_scope *scope);
/* A statistic that training follows: `value` is a constant of the main graph. */
TAKT_MUST_USE takt_status takt_import_statistic(takt_import *im, takt_id value, takt_id next);
/* check.c: makes a clause of an output that the metadata marks as one. */
TAKT_MUST_USE takt_status takt_import_check(takt_import *im, takt_graph *g, takt_span output,
                                            takt_id id, bool *is_check);
/* state.c: state declared in the metadata; inputs with a first value become slots. */
TAKT_MUST_USE takt_status takt_import_states(takt_scope *scope);
/* The slot whose next value is the output `name`, or NULL. */
const char *takt_import_state_of(takt_import *im, takt_span name);
/* bounds.c: bounds that follow from what reads a size. */
TAKT_MUST_USE takt_status takt_import_bounds(takt_import *im);
/* freeze.c: a clause for each input whose value was folded into the model. */
TAKT_MUST_USE takt_status takt_import_freeze(takt_room *room);
const takt_onnx_op *takt_onnx_find(takt_span domain, takt_span name);
/* Why an operator is not imported, if that is settled; else NULL. */
const char *takt_onnx_missing(takt_span name);
/* The adapters one by one; NULL after the last. */
const takt_onnx_op *takt_onnx_adapter(size_t index);
/* Nodes whose op record carries ONNX's name. */
TAKT_MUST_USE takt_status takt_import_record(takt_call *c, const takt_op *op);
const takt_op *takt_onnx_record(takt_span name, int opset);
/* Collects a refusal; the node's results are poison. */
void takt_import_refuse(takt_import *im, const takt_pb_node *node, int opset);
/* Opset of a domain in this scope, 0 if it was not imported. */
int takt_scope_opset(const takt_scope *scope, takt_span domain);
bool takt_onnx_same(takt_span a, takt_span b);

#endif
