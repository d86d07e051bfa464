/* control.h - subgraphs of ONNX nodes: inlined, or in separate rooms. */
#ifndef TAKT_IO_ONNX_CONTROL_H
#define TAKT_IO_ONNX_CONTROL_H

#include "io/onnx/adapt.h"

/* Imports the nodes of `graph` into the room of the call: `inputs` are its inputs, `outputs` (room
 * for graph->output_count) receives its results. */
TAKT_MUST_USE takt_status takt_subgraph_inline(takt_call *c, const takt_pb_graph *graph,
                                               const takt_onnx_value *inputs, size_t input_count,
                                               takt_onnx_value *outputs);

/* Whether `graph` may be inlined this many more times: nested loops multiply, and the result must
 * stay in proportion to the file. */
bool takt_subgraph_repeats(takt_call *c, const takt_pb_graph *graph, size_t times);

/* A separate graph. `types` are those of its inputs; `captures` become inputs after them, in this
 * order, so that several subgraphs of one node take the same. */
typedef struct takt_subgraph {
    takt_graph *g; /* the caller destroys it */
} takt_subgraph;
typedef struct takt_captures {
    takt_id *ids; /* of the call's room */
    size_t count, capacity;
    bool may_find; /* values may decide sizes inside a subgraph that captures them */
} takt_captures;
/* Adds what `graph` uses from outside. */
TAKT_MUST_USE takt_status takt_subgraph_captures(takt_call *c, const takt_pb_graph *graph,
                                                 takt_captures *captures);
TAKT_MUST_USE takt_status takt_subgraph_build(takt_call *c, const takt_pb_graph *graph,
                                              const takt_type *types, size_t type_count,
                                              const takt_captures *captures, takt_graph **out);

/* appended.c: carried values of a Loop that its body only appends rows to, treated as if each
 * iteration gave those rows as a scanned result. */
typedef struct takt_appended {
    takt_pb_graph body; /* without them as carried values, and with them as its last results */
    size_t *kept;       /* indices of the carried values that remain */
    size_t *which;      /* the others */
    int64_t *axis;      /* along which they grow */
    size_t kept_count, count;
} takt_appended;
TAKT_MUST_USE takt_status takt_onnx_appended(takt_call *c, const takt_pb_graph *body,
                                             size_t carried, takt_appended *out);
/* `first`, followed by the rows of all iterations, `rows`. */
takt_id takt_appended_join(takt_call *c, takt_id first, takt_id rows, int64_t axis);
/* grown.c: carried values that grow by rows which the body reads. */
typedef struct takt_grown_one {
    size_t which; /* carried value */
    int axis;
    takt_dim name;              /* its size in the body */
    takt_dim first, more, room; /* rows before the loop, those that it may add, and both */
} takt_grown_one;
typedef struct takt_grown {
    takt_grown_one *at;
    size_t count;
} takt_grown;
/* Finds them, and puts names for their sizes into `types`, those of the body's inputs. */
TAKT_MUST_USE takt_status takt_onnx_grown(takt_call *c, const takt_pb_graph *body, takt_type *types,
                                          size_t carried, takt_grown *out);
/* A body that carries room for `trips` iterations instead, and after the carried values the numbers
 * of rows in use. */
TAKT_MUST_USE takt_status takt_grown_wrap(takt_call *c, takt_grown *grown, size_t carried,
                                          takt_dim trips, takt_graph **body);
/* The room at the start, with `value` in it; `*rows`: the number of its rows. */
takt_id takt_grown_begin(takt_call *c, const takt_grown_one *one, takt_id value, takt_id *rows);
/* The value that is in the room at the end. */
takt_id takt_grown_end(takt_call *c, const takt_grown_one *one, takt_id room, takt_id rows);

/* counted.c: how often a Loop without a trip count runs, if its condition is that a counter is
 * below a limit: an i64 of the graph around it; TAKT_NONE: unknown. `first`: the first carried
 * value. */
takt_id takt_onnx_iterations(takt_call *c, const takt_graph *body, const takt_id *first,
                             size_t carried, const takt_captures *captures);
/* The maximum number of iterations of a Loop that stops when a counter reaches a number; -1:
 * unknown. */
int64_t takt_onnx_most_iterations(takt_call *c, const takt_graph *body, const takt_id *first,
                                  size_t carried, const takt_captures *captures);
/* found.c: whether `t` has a size that values decide in `g`. */
bool takt_onnx_is_found(takt_call *c, const takt_graph *g, const takt_type *t);
/* `x` of `g` with the shape of `type`; a run in which its sizes differ fails. */
takt_id takt_onnx_demand_shape(takt_call *c, takt_graph *g, takt_id x, const takt_type *type);
/* The first elements of `x` as a value of these sizes; names are not unified. */
takt_id takt_onnx_as_stated(takt_call *c, takt_id x, const takt_dim *dims, size_t rank);

/* by_axis.c: imports the node for each of `count` axes, at least two; the run selects one by the
 * scalar input `input`. Other axes of input 0 fail the run. */
TAKT_MUST_USE takt_status takt_onnx_by_axis(takt_call *c, size_t input, const int64_t *axes,
                                            size_t count, bool sizes_differ);
/* unfold.c: the failures so far, saved before an attempt that may fail. */
typedef struct takt_onnx_attempt {
    bool has_failed, wanted;
    takt_error first, error;
    uint64_t repeats;
    size_t length;
    takt_refusals refusals;
} takt_onnx_attempt;

takt_onnx_attempt takt_onnx_try(takt_call *c);
/* Afterwards. True: it failed because sizes inside it would be found at run time, and a workaround
 * can be tried; the failure is cleared. */
bool takt_onnx_tried(takt_call *c, const takt_onnx_attempt *a, takt_status status);
/* Takes them back. */
void takt_onnx_untry(takt_call *c, const takt_onnx_attempt *a);
/* sink.c: whether the nodes behind this one, `count` with it, may move into its branches. */
bool takt_onnx_may_sink(const takt_scope *scope, const takt_pb_node *node, size_t count);
/* Imports these nodes; those that depend on the first one become part of its branches. */
TAKT_MUST_USE takt_status takt_onnx_sink(takt_scope *scope, const takt_pb_node *nodes,
                                         size_t count);
/* gated.c: `branch` are the branches of `from`, which are separate plans so far. `*is_done`: both
 * have become part of this graph, which makes a change of sizes cheap. */
TAKT_MUST_USE takt_status takt_onnx_gate_if(takt_call *c, takt_id condition,
                                            const takt_pb_graph *const from[2],
                                            const takt_graph *const branch[2], bool *is_done);
/* untaken.c: refuses a node that may fail where it is part of a branch that is not taken. */
TAKT_MUST_USE takt_status takt_onnx_check_untaken(takt_call *c);
/* Both branches as part of this graph. */
TAKT_MUST_USE takt_status takt_onnx_unfold_if(takt_call *c, takt_id condition,
                                              const takt_pb_graph *yes, const takt_pb_graph *no);

#endif
