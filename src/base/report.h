/* report.h - shared by reports: tables, readable figures, and output. */
#ifndef TAKT_BASE_REPORT_H
#define TAKT_BASE_REPORT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/inner.h"
#include "base/json.h"

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
TAKT_INNER void takt_table_init(takt_table *t, takt_ctx *ctx, const char *align);
TAKT_INNER void takt_table_deinit(takt_table *t);
TAKT_INNER void takt_table_cell(takt_table *t, const char *format, ...) TAKT_PRINTF(2, 3);
/* A rule from edge to edge in place of a row. */
TAKT_INNER void takt_table_rule(takt_table *t);
/* Two spaces before every row; no white space at line ends. */
TAKT_INNER void takt_table_print(const takt_table *t, takt_text *text);

/* "203,530". */
TAKT_INNER const char *takt_figure(uint64_t value, char to[static TAKT_FIGURE_TEXT]);
/* "1.6 MB", "712 B". */
TAKT_INNER const char *takt_figure_bytes(uint64_t bytes, char to[static TAKT_FIGURE_TEXT]);
/* A non-negative count of operations that came as a double. */
TAKT_INNER uint64_t takt_whole(double value);

/* A text that was started with takt_text_init, with a JSON writer on it if JSON is requested. */
typedef struct takt_report {
    takt_ctx *ctx;
    takt_text text;
    takt_json_writer json;
    bool is_json;
} takt_report;

TAKT_INNER void takt_report_begin(takt_report *r, takt_ctx *ctx, takt_format format);
/* Passes the text on and frees it; `status` is passed on if it is a failure. */
TAKT_INNER TAKT_MUST_USE takt_status takt_report_end(takt_report *r, takt_status status,
                                                     takt_sink_fn *sink, void *user);
TAKT_INNER void takt_report_pair(takt_report *r, const char *key, const char *value);
TAKT_INNER void takt_report_count(takt_report *r, const char *key, uint64_t value);
/* Passes `text` to a sink in one piece and frees it; a non-zero result of the sink is ERR_IO. */
TAKT_INNER TAKT_MUST_USE takt_status takt_sink_text(takt_ctx *ctx, takt_text *text,
                                                    takt_sink_fn *sink, void *user);

#endif
