/* parse.h - text to graph: the model language, of which the printed form of a graph is a part.
 *
 *     takt_graph *graph;
 *     TAKT_TRY(takt_parse(ctx, "mlp.takt", text, strlen(text), NULL, &graph));
 *     ...
 *     takt_graph_destroy(graph);
 *
 * docs/language.md describes the language.
 */
#ifndef TAKT_LANG_PARSE_H
#define TAKT_LANG_PARSE_H

#include "base/inner.h"
#include "ir/graph.h"
#include "lang/diag.h"

/* Files beneath the folder of the text. Paths have been checked: parts joined by '/', none of them
 * empty, "." or ".."; the opener must not follow links out of the folder. */
typedef struct takt_parse_files {
    void *user;
    /* A whole file; free it with takt_mem_put. */
    takt_status (*text)(void *user, const char *path, void **bytes, size_t *length);
    /* The array of a .npy file, or that called `name` of a .safetensors file (NULL: its only one);
     * the caller releases it. */
    takt_status (*tensor)(void *user, const char *path, const char *name, takt_tensor *out);
} takt_parse_files;

/* A setting of the file whose model the text describes. */
typedef enum takt_given_kind {
    TAKT_GIVEN_NOTHING,
    TAKT_GIVEN_INTEGER,
    TAKT_GIVEN_NUMBER,
    TAKT_GIVEN_BOOL,
    TAKT_GIVEN_TEXT,
} takt_given_kind;

typedef struct takt_given_value {
    takt_given_kind kind;
    int64_t integer;
    double number;
    bool boolean;
    takt_span text;
} takt_given_value;

/* The data that an architecture text can refer to: settings by key, stored tensors by name. Nodes
 * are appended to `g`; TAKT_NONE: the failure is recorded. */
typedef struct takt_parse_given {
    void *user;
    takt_status (*setting)(void *user, const char *key, takt_given_value *value);
    bool (*is_stored)(void *user, const char *name);
    /* The tensor as f32. */
    takt_id (*stored)(void *user, takt_graph *g, const char *name, const takt_type *type);
    /* x times the stored matrix [units[0], last of x], plus its bias if that is stored. Braces in
     * the name, "attn_{q,k,v}", stand for `count` matrices, stacked vertically. */
    takt_id (*project)(void *user, takt_graph *g, const char *name, takt_id x, const int64_t *units,
                       size_t count);
    /* Rows of the stored table [any, size] by their numbers. */
    takt_id (*rows)(void *user, takt_graph *g, const char *name, takt_id ids, int64_t size);
    /* The stored tensor, and data gathered from it as f32. */
    takt_id (*packed)(void *user, takt_graph *g, const char *name, const takt_type *type);
    takt_id (*unpacked)(void *user, takt_graph *g, const char *name, takt_id x);
    /* Whether products with the stored tensor round activations to 8 bits; and if so, x [rows, 1 or
     * choices, k] times the stored matrices [e, n, k] selected by `index` [rows, choices]. */
    bool (*is_rounded)(void *user, const char *name);
    takt_id (*chosen)(void *user, takt_graph *g, const char *name, const takt_id in[2],
                      const int64_t dims[3]);
} takt_parse_given;

/* Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_parse_options {
    const char *model;          /* which one, if the text has several */
    const takt_tensor *weights; /* what constant(type, ref=N) refers to; borrowed for the call */
    size_t weight_count;
    const takt_parse_files *files; /* NULL: nothing can be imported */
    bool training;                 /* the value of the word `training` */
    uint64_t dense_limit; /* bytes of a relation that is dense by itself; 0: TAKT_DENSE_LIMIT */
    const takt_parse_given *given; /* NULL: the text is a self-contained model */
    takt_diagnostics *diagnostics; /* receives every complaint; initialised by the caller */
} takt_parse_options;

/* `text` need not be terminated. On failure `*graph` is NULL, and the context has the first error
 * as "file:line:column: sentence". */
TAKT_MUST_USE takt_status takt_parse(takt_ctx *ctx, const char *file_name, const char *text,
                                     size_t length, const takt_parse_options *options,
                                     takt_graph **graph);

/* The values that a test may feed to one input of a sample. */
typedef struct takt_sample_range {
    bool is_set;
    double low, high;
} takt_sample_range;

enum { TAKT_SAMPLE_INPUTS = 16 };
typedef struct takt_sample_ranges {
    size_t count;
    takt_sample_range at[TAKT_SAMPLE_INPUTS];
} takt_sample_ranges;

/* A sample of an op record, "log(f32[2, 3] in (0.1, 9))", as a graph with the inputs x0, x1, ...
 * and the outputs out (or out0, out1, ...). `op`: the op that must be called, or NULL for any.
 * `ranges` has one entry per input; it may be NULL. */
TAKT_MUST_USE takt_status takt_sample_graph(takt_ctx *ctx, const takt_op *op, const char *text,
                                            takt_graph **graph, takt_sample_ranges *ranges);

/* The names of the built-in layers, sorted, and the text of one (NULL if there is none). */
TAKT_INNER const char *takt_layer_name(size_t index); /* NULL past the last */
TAKT_INNER const char *takt_layer_text(const char *name);

#endif
