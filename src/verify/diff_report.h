/* diff_report.h - what was found, as text or JSON. */
#ifndef TAKT_VERIFY_DIFF_REPORT_H
#define TAKT_VERIFY_DIFF_REPORT_H

#include "verify/diff.h"

/* `all`: every matched value, not only those where an error originates. */
TAKT_MUST_USE takt_status takt_diff_report(takt_diff_work *w, bool all, takt_format format,
                                           takt_sink_fn *sink, void *user,
                                           takt_diff_summary *summary);

#endif
