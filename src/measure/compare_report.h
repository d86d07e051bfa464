/* compare_report.h - shared by the formats of a comparison report. */
#ifndef TAKT_MEASURE_COMPARE_REPORT_H
#define TAKT_MEASURE_COMPARE_REPORT_H

#include <takt/measure.h>

#include "base/json.h"

typedef struct takt_compare_report {
    const takt_comparison *c;
    const takt_compared *of;
    takt_text *text; /* receives the output */
} takt_compare_report;

/* Describes B relative to A as text; `name` writes their names. */
void takt_compare_sentence(const takt_compare_report *r,
                           void (*name)(takt_text *text, const char *value));
/* A page on one comparison, or on several. */
void takt_compare_html(const takt_compare_report *reports, size_t count);

/* For two results that were not computed the same way: a line that says what differs. */
void takt_compared_unlike(takt_text *text, const takt_compared *of,
                          void (*name)(takt_text *text, const char *value));
/* For results from different processes: the difference they could show, and their grade. */
void takt_compared_doubt(takt_text *text, const takt_comparison *c, const takt_compared *of);
void takt_compared_grade(takt_json_writer *w, const char *key, const char *grade);
/* Warnings of a page: incomplete, or of a busy machine. */
void takt_compared_warn(takt_text *text, const takt_compared *of);

#endif
