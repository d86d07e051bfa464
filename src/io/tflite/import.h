/* import.h - a TensorFlow Lite model being turned into a graph.
 *
 * Shapes are those of the file: TensorFlow Lite gives every dimension a number. Operators become
 * ops of ours one after the other; quantised tensors are integers with scales that the importer
 * knows, and arithmetic on them is that of LiteRT's reference kernels, bit for bit (quant.h).
 */
#ifndef TAKT_IO_TFLITE_IMPORT_H
#define TAKT_IO_TFLITE_IMPORT_H

#include "io/read.h"
#include "io/tflite/schema.h"
#include "ir/array.h"
#include "op/ops.h"

typedef enum takt_tfl_state {
    TAKT_TFL_NEW, /* not created yet; or an unused constant */
    TAKT_TFL_READY,
    TAKT_TFL_HANDLE, /* names a variable */
    TAKT_TFL_PART,   /* of a list in which an element is replaced (replace.h): it has no size */
    TAKT_TFL_POISON, /* a refused operator would have produced it */
} takt_tfl_state;

typedef struct takt_tfl_value {
    takt_tfl_state state;
    takt_id id;
    size_t variable; /* of a handle */
} takt_tfl_value;

/* A value that outlives the run, by its name in the file. */
typedef struct takt_tfl_variable {
    const char *name;
    takt_id first; /* value set by the initialising graph; TAKT_NONE: unknown */
    takt_id now;   /* value at this point of the graph; TAKT_NONE: not read yet */
    const char *slot;
    bool is_written;
} takt_tfl_variable;

/* What is known about a node's results before a run. */
typedef struct takt_tfl_fact {
    bool is_studied;
    takt_array *known;
    uint32_t count;
    bool is_borrowed;
} takt_tfl_fact;

typedef struct takt_tfl_import takt_tfl_import;

/* One graph of the file while its operators are read: into the main graph or into a body. */
typedef struct takt_tfl_scope {
    takt_tfl_import *im;
    struct takt_tfl_scope *outer;
    const takt_tfl_graph *graph;
    takt_graph *g;
    takt_tfl_value *values;
    takt_tfl_fact *facts; /* of the nodes of g */
    size_t fact_count;    /* capacity */
    bool owns_facts;
    bool is_first;           /* the graph of CALL_ONCE */
    takt_tfl_tensor *floats; /* tensors as layers see them whose scales are kept; or NULL */
} takt_tfl_scope;

struct takt_tfl_import {
    takt_ctx *ctx;
    const takt_source *source;
    takt_arena arena;
    takt_tfl_model model;
    takt_tfl_variable *variables;
    size_t variable_count, variable_room;
    uint64_t budget; /* operators that may still be imported */
    size_t tables;   /* bytes that adapters may still compute constants in */
    double work;     /* budget of operations for computing values */
    int depth;
    bool has_failed;
    takt_error first;
    int64_t *scratch_table;             /* of 16 bits, while one is made (table.c); NULL: not yet */
    const takt_tensor *tanh, *logistic; /* tables of 16 bits, made once (table.c); NULL: not yet */
    takt_tensor tables_16[2];
};

/* One operator being imported. */
typedef struct takt_tfl_call {
    takt_tfl_import *im;
    takt_tfl_scope *scope;
    takt_graph *g;
    takt_ctx *ctx;
    takt_flat *flat;
    const takt_tfl_op *op;
    const char *name;
    const takt_tfl_tensor *floats; /* tensors as floats: scales are kept (scales.c); or NULL */
    struct takt_tfl_whole *whole;  /* information about an operator kept whole (whole.h); or NULL */
    takt_status status;            /* sticky */
} takt_tfl_call;

typedef struct takt_tflite_op {
    const char *names[16];
    bool is_custom;
    int options; /* BuiltinOptions of the schema that belong to it; 0: it has none, or any */
    takt_status (*adapt)(takt_tfl_call *c);
} takt_tflite_op;

/* All of a file but its large buffers (skim.c). */
TAKT_MUST_USE takt_status takt_tfl_skim(takt_skim *s);

/* The operators of scope->graph, one after the other. */
TAKT_MUST_USE takt_status takt_tfl_operators(takt_tfl_scope *scope);
/* A scope for graph `index` of the file; `g`: the graph to build. */
TAKT_MUST_USE takt_status takt_tfl_open(takt_tfl_import *im, takt_tfl_scope *outer, int64_t index,
                                        takt_graph *g, takt_tfl_scope *scope);
void takt_tfl_close(takt_tfl_scope *scope);
/* tensor.c: a constant of the file. */
TAKT_MUST_USE takt_status takt_tfl_constant(takt_tfl_scope *scope, const takt_tfl_tensor *t,
                                            takt_id *id);
/* Whether the file holds a value for it. */
bool takt_tfl_is_constant(const takt_tfl_import *im, const takt_tfl_tensor *t);
/* The type of a tensor; complex numbers get one more axis, of size two. */
TAKT_MUST_USE takt_status takt_tfl_type_of(takt_tfl_import *im, const takt_tfl_tensor *t,
                                           takt_type *type);
/* sparse.c: a sparse constant, spread out; `bytes` of an element. */
TAKT_MUST_USE takt_status takt_tfl_densify(takt_tfl_import *im, const takt_tfl_tensor *t,
                                           size_t bytes, uint8_t *to);
/* fold.c: what is known about a node's first result, NULL if nothing. */
TAKT_MUST_USE takt_status takt_tfl_study(takt_tfl_scope *scope, takt_id id,
                                         const takt_array **known);
/* The variable of this name, made if new. */
TAKT_MUST_USE takt_status takt_tfl_variable_of(takt_tfl_import *im, takt_span container,
                                               takt_span name, size_t *index);
/* scales.c: reads a quantised layer as a float layer, if the source is to keep scales. */
void takt_tfl_keep_scales(takt_tfl_call *c);
/* Input or result `i` of such a layer, dequantised or quantised; others unchanged. */
takt_id takt_tfl_kept_in(takt_tfl_call *c, size_t i, takt_id id);
takt_id takt_tfl_kept_out(takt_tfl_call *c, size_t i, takt_id id);
/* The adapters one by one; NULL after the last. */
const takt_tflite_op *takt_tfl_adapter(size_t index);
/* Why an operator is not supported, if that is decided; else NULL. */
const char *takt_tfl_missing(const char *name);

#endif
