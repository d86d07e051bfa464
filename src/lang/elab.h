/* elab.h - tree to graph: evaluates a model's statements once, appending nodes as it goes.
 *
 * Sizes, words and lists are values of this evaluation; tensors are nodes of the graph. Layers are
 * evaluated at each call, in their own frame: they see their parameters and nothing of the caller.
 * The value of a failed expression is POISON, which spreads silently, so that one mistake gives one
 * complaint and the evaluation goes on to the next. */
#ifndef TAKT_LANG_ELAB_H
#define TAKT_LANG_ELAB_H

#include "base/near.h"
#include "lang/parse.h"
#include "lang/syntax.h"
#include "lang/value.h"

enum { TAKT_ORIGINS = 64 };

typedef struct takt_elab takt_elab;
typedef struct takt_frame takt_frame;

/* Values that a loop collects, one row per iteration. */
typedef struct takt_collected {
    const takt_ast *at;
    const takt_symbol *name;
    takt_value value;
    struct takt_collected *next;
} takt_collected;

/* One evaluation of a model, a layer or a graph literal. */
struct takt_frame {
    takt_elab *e;
    takt_frame *caller;
    const takt_ast *call; /* in the caller's source */
    const takt_function *function;
    takt_graph *graph;
    takt_arena arena; /* of the frame's values */
    takt_symbol_map names;
    takt_value *values;
    size_t value_count, value_capacity;
    takt_symbol_map layers;   /* how often each layer was called, for the names of scopes */
    const char *scope;        /* "block_0.dense_1"; "" for a model */
    bool is_subgraph;         /* of a graph(...) literal: parameters are not allowed in it */
    const takt_ast *returned; /* the return statement that ended the evaluation */
    takt_value result;
    const char *result_name; /* the caller's name for the result, or NULL */
    bool is_loop;            /* the body of a `for` */
    takt_collected *collected;
    bool has_failed; /* a statement failed, so missing results need no complaint */
};

struct takt_rules;

struct takt_elab {
    takt_ctx *ctx;
    takt_arena arena; /* trees and symbols */
    takt_symbols symbols;
    takt_diagnostics *diagnostics;
    takt_syntax syntax;
    const takt_parse_options *options;
    takt_sample_ranges *ranges; /* not NULL while a sample is read: types are inputs */
    takt_symbol_map layer_index;
    const takt_function **layers;
    size_t layer_count, layer_capacity;
    takt_graph **graphs; /* of graph literals: released at the end */
    size_t graph_count, graph_capacity;
    int depth;      /* of expressions, through all frames */
    int call_depth; /* of layers */
    /* Origins of nodes made by assignments, so that one in a `repeat` takes memory once. */
    struct takt_elab_origin {
        const takt_ast *of;
        const takt_origin *origin;
    } origins[TAKT_ORIGINS];
    uint64_t steps;      /* evaluations so far: bounds the run time of a text */
    uint64_t list_items; /* of all lists made so far: bounds their memory by the text */
#define TAKT_STRING_ITEMS(length) (1 + (length) / 16) /* how much a string counts */
    size_t text_length;   /* of the text itself, without built-in layers */
    bool takes_dims;      /* an unknown name is a new dimension: inside a type or a shape */
    const takt_ast *root; /* the expression whose last node gets root_name */
    const char *root_name;
    uint32_t stream_base;      /* from the model's seed */
    uint32_t draws;            /* random streams of training handed out */
    const takt_symbol *layout; /* default nchw or nhwc of layers and ops; or NULL */
    struct takt_rules *rules;  /* of the model (rule.h); NULL: it has none so far */
    takt_status status;        /* of a failure that ends everything */
};

/* ---- frames (frame.c) ---- */

void takt_frame_init(takt_frame *f, takt_elab *e, takt_frame *caller,
                     const takt_function *function);
void takt_frame_deinit(takt_frame *f);
takt_value *takt_frame_find(const takt_frame *f, const takt_symbol *name); /* NULL if unknown */
void takt_frame_set(takt_frame *f, const takt_symbol *name, takt_value value);
/* Deep copy of a value in another frame's arena. */
takt_value takt_frame_keep(takt_frame *f, takt_value value);
takt_value *takt_frame_items(takt_frame *f, size_t count); /* NULL if out of memory */
takt_value takt_frame_list(takt_frame *f, const takt_value *items, size_t count);

/* ---- complaints (complain.c): each returns POISON, whose `.b` is false ---- */

takt_value takt_complain(takt_frame *f, const takt_ast *at, takt_error_id id, const char *hint,
                         const char *format, ...) TAKT_PRINTF(5, 6);
/* The failure that the context has just recorded. Clears a graph's sticky status unless evaluation
 * cannot continue. */
takt_value takt_complain_last(takt_frame *f, const takt_ast *at);
void takt_warn(takt_frame *f, const takt_ast *at, const char *message);
/* Out of memory: ends everything. */
takt_value takt_out_of_memory(takt_frame *f);
/* "did you mean relu?" in `buffer`, or NULL. */
enum { TAKT_HINT_TEXT = 160 };
const char *takt_nearest_hint(const takt_nearest *n, char buffer[static TAKT_HINT_TEXT]);

/* ---- expressions ---- */

takt_value takt_eval_expr(takt_frame *f, const takt_ast *a);
/* The same where a bare word is a value of its own: arguments, defaults. */
takt_value takt_eval_word(takt_frame *f, const takt_ast *a);
takt_value takt_eval_binary(takt_frame *f, const takt_ast *a, takt_value left);
takt_value takt_eval_index(takt_frame *f, const takt_ast *a, takt_value base);
/* `piped` is the first argument's value, or NULL. */
takt_value takt_eval_call(takt_frame *f, const takt_ast *a, const takt_value *piped);
takt_value takt_eval_graph(takt_frame *f, const takt_ast *a);
/* A new subgraph, which lives until the end; NULL if out of memory. */
takt_graph *takt_elab_graph(takt_frame *f);
/* `a if c else b`, where c is a tensor. */
takt_value takt_eval_choice(takt_frame *f, const takt_ast *a, takt_value condition);
void takt_eval_for(takt_frame *f, const takt_ast *a);
void takt_eval_collect(takt_frame *f, const takt_ast *a);
/* require and ensure (check.c). */
void takt_eval_check(takt_frame *f, const takt_ast *a);
/* A type after ':' or as an argument; false after a complaint. */
bool takt_eval_type(takt_frame *f, const takt_ast *a, takt_type *type);
/* dtype[items] as a TYPE. */
takt_value takt_eval_sizes(takt_frame *f, const takt_ast *a, takt_dtype dtype);
takt_value takt_compute(takt_frame *f, const takt_ast *a, uint8_t token, const takt_value v[2]);

/* ---- calls ---- */

/* Arguments in order: positional ones first, then those with a key. */
typedef struct takt_call {
    const takt_ast *ast;
    const takt_symbol *name;
    size_t positional, count;
    takt_value *value;
    const takt_ast **place; /* ARGUMENTs */
    const takt_symbol **key;
} takt_call;

takt_value takt_call_op(takt_frame *f, const takt_call *c, const takt_op *op);
/* reshape: a -1 in the shape is replaced by the size that remains. */
bool takt_fill_shape(takt_frame *f, const takt_call *c);
/* Whether the arguments are the op's inputs and attributes in number, name and kind. */
bool takt_call_fits_op(const takt_call *c, const takt_op *op);
takt_value takt_call_layer(takt_frame *f, const takt_call *c, const takt_function *layer);
/* A function of sizes and numbers with that name that takes these arguments, if there is one. */
bool takt_is_builtin(const char *name);
bool takt_call_builtin(takt_frame *f, const takt_call *c, takt_value *out);
/* The same for answers of options->given (given.c). */
bool takt_call_given(takt_frame *f, const takt_call *c, takt_value *out);
takt_value takt_call_constant(takt_frame *f, const takt_call *c);
/* A layer of the text, else a built-in one (read at its first use), else NULL. */
const takt_function *takt_find_layer(takt_frame *f, const takt_symbol *name);
void takt_nearest_layer(takt_frame *f, takt_nearest *n);
void takt_nearest_builtin(takt_nearest *n);

/* ---- nodes ---- */

/* The name of the value assigned from `at`, in the graph's memory; NULL if there is none. */
const char *takt_elab_root_name(takt_frame *f, const takt_ast *at);
/* Appends a node, with the root's name if it has one; TAKT_NONE after a complaint at `at`. */
takt_id takt_elab_append(takt_frame *f, const takt_ast *at, const takt_op *op, const takt_value *in,
                         size_t count, const takt_attr *attrs);
/* A number, truth value or tensor as a node of that element type; TAKT_NONE after a complaint. */
takt_id takt_elab_scalar(takt_frame *f, const takt_ast *at, const takt_value *v, takt_dtype dtype);
/* In samples: input x0, x1, ... of that type. */
takt_id takt_elab_sample_input(takt_frame *f, const takt_ast *at, const takt_type *type,
                               const takt_sample_range *range);
bool takt_elab_attr(takt_frame *f, const takt_ast *at, const takt_op *op, size_t index,
                    const takt_value *v, takt_attr *attr);
/* Element `index` of packed `data`; false if the value does not fit, without a complaint. */
bool takt_put_element(const takt_value *v, takt_dtype dtype, void *data, size_t index);
/* The tensor of a file (value `path`, a string; `name` one too, or NULL), of that type if `type` is
 * not NULL; the caller releases it. False after a complaint. */
bool takt_elab_file(takt_frame *f, const takt_ast *at, const takt_value *path,
                    const takt_value *name, const takt_type *type, takt_tensor *out);
/* The path of a file that a text refers to, beneath the model's folder, in the arena; NULL after a
 * complaint (`why` then says what is wrong with it). */
const char *takt_path_beneath(takt_arena *arena, const takt_source *from, takt_span path,
                              const char **why);
/* The weight that ref=v means, if it has this type; NULL after a complaint. */
const takt_tensor *takt_elab_weight(takt_frame *f, const takt_ast *at, const takt_type *type,
                                    const takt_value *v);
/* A tensor from a list, hex data or a weight; the caller releases it. */
bool takt_elab_tensor(takt_frame *f, const takt_ast *at, const takt_type *type, const takt_value *v,
                      takt_tensor *out);
bool takt_elab_init(takt_frame *f, const takt_ast *a, const takt_type *type, takt_init *init,
                    takt_tensor *held);
/* The result `index` of several. */
takt_value takt_elab_result(takt_frame *f, const takt_ast *at, const takt_value *v, uint32_t index);

/* ---- statements ---- */

/* Complains about a reserved word without backquotes as a name. */
bool takt_may_name(takt_frame *f, const takt_ast *target);
/* Evaluates statements until one returns or evaluation cannot continue. */
void takt_eval_block(takt_frame *f, const takt_ast *first);
/* Inputs, body and outputs of a model or a graph literal into f->graph. */
void takt_eval_model(takt_frame *f);

#endif
