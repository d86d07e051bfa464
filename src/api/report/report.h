/* report.h - what reports share: tables, readable figures, and output. */
#ifndef TAKT_API_REPORT_REPORT_H
#define TAKT_API_REPORT_REPORT_H

#include "api/model.h"
#include "base/json.h"
#include "plan/plan.h"

enum { TAKT_TABLE_COLUMNS = 9, TAKT_FIGURE_TEXT = 40 };

/* Rows of cells; columns are as wide as their widest cell. */
typedef struct takt_table {
    takt_arena arena;
    const char *align; /* one 'l' or 'r' per column */
    size_t columns, count, capacity;
    const char **cells; /* count of them, row by row */
    size_t width[TAKT_TABLE_COLUMNS];
    takt_status status;
} takt_table;

/* `align` is static text: "lrr" means three columns. */
void takt_table_init(takt_table *t, takt_ctx *ctx, const char *align);
void takt_table_deinit(takt_table *t);
void takt_table_cell(takt_table *t, const char *format, ...) TAKT_PRINTF(2, 3);
/* A rule from edge to edge in place of a row. */
void takt_table_rule(takt_table *t);
/* Two spaces before every row; no white space at line ends. */
void takt_table_print(const takt_table *t, takt_text *text);

/* "203,530". */
const char *takt_figure(uint64_t value, char to[static TAKT_FIGURE_TEXT]);
/* "1.6 MB", "712 B". */
const char *takt_figure_bytes(uint64_t bytes, char to[static TAKT_FIGURE_TEXT]);
/* A non-negative count of operations that came as a double. */
uint64_t takt_whole(double value);

struct takt_report;
/* State and arena of a training step; writes nothing for other plans. */
void takt_report_training(struct takt_report *r, const takt_plan *plan);

/* What one layer, or one statement outside all layers, consists of. */
typedef struct takt_layer {
    const char *name;
    const char *type;     /* "conv", or the op that does most of the work */
    const takt_type *out; /* type of its last value, in the graph with names */
    size_t last;          /* the node of that value */
    uint64_t parameters;  /* elements of trainable slots */
    uint64_t state;       /* elements of the others */
    double macs, flops;   /* at the given sizes, 1 where none is given */
    size_t nodes;
    double top_flops; /* of the most expensive node, which names the type */
    bool has_slots, is_input, is_called;
} takt_layer;

typedef struct takt_layers {
    takt_arena arena;
    takt_graph *named; /* names where no size was given */
    takt_graph *plain; /* numbers everywhere */
    takt_graph *sized; /* the same, lowered */
    int64_t *sizes;    /* of named dimensions in `plain`, by index */
    size_t size_count;
    bool may_be_unsized, is_unsized; /* no sizes that were tried satisfy the model's rules */
    bool is_all_one;                 /* every size that was not given is 1 */
    takt_layer *at;
    size_t count;
    uint32_t *table; /* open addressing by name */
    size_t table_size;
    uint64_t constant_bytes; /* of weights that are constants */
} takt_layers;

/* `sizes` as for takt_model_summary. */
/* `may_be_unsized` is set before. */
TAKT_MUST_USE takt_status takt_layers_init(takt_layers *l, const takt_model *m, const char *sizes);
void takt_layers_deinit(takt_layers *l);
/* A row per layer: name and type, result, parameters, multiply-adds. */
void takt_layers_tree(const takt_layers *l, takt_table *t);

/* A text that was started with takt_text_init, with a JSON writer on it if JSON is requested. */
typedef struct takt_report {
    takt_ctx *ctx;
    takt_text text;
    takt_json_writer json;
    bool is_json;
} takt_report;

void takt_report_begin(takt_report *r, takt_ctx *ctx, takt_format format);
/* Passes the text on and frees it; `status` is passed on if it is a failure. */
TAKT_MUST_USE takt_status takt_report_end(takt_report *r, takt_status status, takt_sink_fn *sink,
                                          void *user);
/* The type that a step's weights are stored in if it is narrower than f32: "bf16"; or NULL. */
const char *takt_step_weights(const takt_plan *plan, const takt_step *step);
/* How the plan computes: "config" in JSON; in text, only what differs from the defaults. */
void takt_report_config(takt_report *r, const takt_plan *plan);
/* Where a run can be stopped, and for how long it cannot. */
void takt_report_stops(takt_report *r, const takt_plan *plan);
/* Segments, copies and memory outside the host; nothing for a plan that only uses the host. */
void takt_report_spaces(takt_report *r, const takt_plan *plan);
/* Memory and work of a plan with ranges at some sizes; writes nothing for other plans. */
TAKT_MUST_USE takt_status takt_report_ranges(takt_report *r, const takt_plan *plan);
/* touched.c: the bytes of every size as a formula; `cells` as below. */
TAKT_MUST_USE takt_status takt_report_touched(takt_report *r, takt_plan *top, int64_t *cells);
/* guards.c: at which sizes the steps change; `cells` are those of the size program. */
TAKT_MUST_USE takt_status takt_report_guards(takt_report *r, takt_plan *top, int64_t *cells);
void takt_report_pair(takt_report *r, const char *key, const char *value);
void takt_report_count(takt_report *r, const char *key, uint64_t value);
/* The intended use of the model, if its author gave one. */
void takt_report_doc(takt_report *r, const takt_graph *g);

#endif
