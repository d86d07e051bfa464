/* compare_report.h - shared by the formats of a comparison report. */
#ifndef TAKT_MEASURE_COMPARE_REPORT_H
#define TAKT_MEASURE_COMPARE_REPORT_H

#include "measure/compare.h"

typedef struct takt_compare_report {
    const takt_comparison *c;
    const takt_compared *of;
    takt_text *text; /* receives the output */
} takt_compare_report;

/* Describes B relative to A in words; `name` writes their names. */
void takt_compare_sentence(const takt_compare_report *r,
                           void (*name)(takt_text *text, const char *value));
/* A page on one comparison, or on several. */
void takt_compare_html(const takt_compare_report *reports, size_t count);

#endif
