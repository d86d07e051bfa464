/* bench_lengths_table.c - times of requests of different sizes, and the share of re-sizing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench_lengths.h"
#include "doctor.h"

enum { GROUPS = 6 };

typedef struct figures {
    int64_t low, high;
    size_t count, different;
    double median, p90, p99, mean, sizing, share; /* ns; sizing: the mean; share: of the time */
} figures;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t count, double part)
{
    const size_t at = (size_t)(part * (double)count);
    return count > 0 ? sorted[at < count ? at : count - 1] : 0;
}

/* Figures of the requests from `low` to `high`. `sorted` and `seen` have room for all. */
static figures figures_of(const tool_stream *s, int64_t low, int64_t high, double *sorted,
                          unsigned char *seen)
{
    figures f = {.low = low, .high = high};
    double all = 0, sizing = 0;
    memset(seen, 0, (size_t)(s->high - s->low + 1));
    for (size_t k = 0; k < s->count; k++) {
        if (s->lengths[k] < low || s->lengths[k] > high)
            continue;
        unsigned char *flag = &seen[s->lengths[k] - s->low];
        f.different += *flag == 0;
        *flag = 1;
        sorted[f.count++] = s->total[k];
        all += s->total[k];
        sizing += s->sizing[k];
    }
    qsort(sorted, f.count, sizeof *sorted, by_size);
    f.median = quantile(sorted, f.count, 0.5);
    f.p90 = quantile(sorted, f.count, 0.9);
    f.p99 = quantile(sorted, f.count, 0.99);
    f.mean = f.count > 0 ? all / (double)f.count : 0;
    f.sizing = f.count > 0 ? sizing / (double)f.count : 0;
    f.share = all > 0 ? sizing / all : 0;
    return f;
}

static void put_json(const figures *f)
{
    printf("{\"low\": %" PRId64 ", \"high\": %" PRId64 ", \"requests\": %zu, \"different\": %zu, "
           "\"median_us\": %.6g, \"p90_us\": %.6g, \"p99_us\": %.6g, \"mean_us\": %.6g, "
           "\"resizing_us\": %.6g, \"resizing_share\": %.4g}",
           f->low, f->high, f->count, f->different, f->median / 1e3, f->p90 / 1e3, f->p99 / 1e3,
           f->mean / 1e3, f->sizing / 1e3, f->share);
}

static void put_row(const figures *f)
{
    char range[48], text[5][TAKT_TIME_TEXT];
    snprintf(range, sizeof range, "%" PRId64 " to %" PRId64, f->low, f->high);
    printf("%-20s %8zu %9zu %11s %11s %11s %11s %7.1f %%\n", range, f->count, f->different,
           tool_figure_time(f->median, text[0]), tool_figure_time(f->p90, text[1]),
           tool_figure_time(f->p99, text[2]), tool_figure_time(f->sizing, text[3]), 100 * f->share);
}

int tool_stream_tell(const tool_stream *s)
{
    const bool is_json = tool_format_of(s->t) == TAKT_FORMAT_JSON;
    const int64_t span = s->high - s->low + 1, groups = span < GROUPS ? span : GROUPS;
    double *sorted = calloc(s->count, sizeof *sorted);
    unsigned char *seen = calloc((size_t)span, 1);
    if (sorted == NULL || seen == NULL) {
        free(sorted);
        free(seen);
        return tool_finish(s->t, TAKT_ERR_MEMORY);
    }
    const figures all = figures_of(s, s->low, s->high, sorted, seen);
    if (is_json) {
        printf("{\"dimension\": ");
        tool_print_string(stdout, s->name);
        printf(",\n \"all\": ");
        put_json(&all);
        printf(",\n \"groups\": [");
    } else
        printf("%-20s %8s %9s %11s %11s %11s %11s %9s\n", s->name, "requests", "different",
               "median", "p90", "p99", "re-sizing", "share");
    for (int64_t i = 0, count = 0; i < groups; i++) {
        const int64_t low = s->low + span * i / groups, high = s->low + span * (i + 1) / groups - 1;
        const figures f = figures_of(s, low, high, sorted, seen);
        if (f.count == 0)
            continue;
        if (is_json)
            printf("%s", count++ > 0 ? ",\n  " : "");
        (is_json ? put_json : put_row)(&f);
    }
    if (is_json)
        printf("]}\n");
    else
        put_row(&all);
    free(sorted);
    free(seen);
    return TAKT_EXIT_OK;
}
