/* analyze.c - conclusions from a result. */
#include <math.h>
#include <string.h>

#include "base/plain.h"
#include "measure/bench.h"
#include "stats/stats.h"

static void findings(const takt_bench_row *r, takt_text *text)
{
    const takt_stats *s = &r->timing.stats;
    takt_text_add(text, "\nbatch %lld, %d thread%s: median %.4g ms (95 %% interval %.4g to %.4g)\n",
                  (long long)r->batch, r->threads, r->threads == 1 ? "" : "s", s->median * 1e-6,
                  s->median_ci.low * 1e-6, s->median_ci.high * 1e-6);
    if (s->percentiles[3].value > 1.5 * s->median)
        takt_text_add(text, "- the slowest runs take %.1f times the median%s: something else ran\n",
                      s->percentiles[3].value / fmax(s->median, 1e-9),
                      s->percentiles[3].resolved ? "" : " (too few runs for a sure p99)");
    if (s->count > 0 && (s->mild + s->severe) * 20 > s->count)
        takt_text_add(text, "- %zu of %zu runs are outliers: trust the median, not the mean\n",
                      s->mild + s->severe, s->count);
    if (r->timing.first_ns > 3 * s->median && s->median > 0)
        takt_text_add(text, "- the first run takes %.1f times the median: warm up before serving\n",
                      r->timing.first_ns / s->median);
    if (r->allocations > 0)
        takt_text_add(text, "- %llu allocations in a run\n", (unsigned long long)r->allocations);
    if (!r->timing.is_complete)
        takt_text_add(text, "- the measurement was broken off\n");
}

takt_status takt_bench_deliver(takt_ctx *ctx, takt_text *text, takt_sink_fn *sink, void *user)
{
    takt_text_plain(text);
    takt_status status = text->status;
    if (status == TAKT_OK && sink(user, takt_text_get(text), text->length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(text);
    return status;
}

takt_status takt_bench_analyze(const takt_bench *b, takt_format format, takt_sink_fn *sink,
                               void *user)
{
    takt_text text;
    if (format == TAKT_FORMAT_JSON)
        return takt_bench_write(b, TAKT_BENCH_JSON, sink, user);
    TAKT_TRY(takt_bench_write(b, TAKT_BENCH_TEXT, sink, user));
    takt_text_init(&text, b->ctx);
    for (size_t i = 0; i < b->count; i++) {
        findings(&b->rows[i], &text);
        takt_bottlenecks_text(b, &b->rows[i], false, &text);
    }
    return takt_bench_deliver(b->ctx, &text, sink, user);
}
