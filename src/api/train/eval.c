/* eval.c - metrics over batches: what is recorded for every row, and the figures at the end. */
#include <takt/array.h>
#include <takt/eval.h>

#include <math.h>
#include <string.h>

#include "api/model.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/report.h"
#include "base/size.h"
#include "train/hyper.h"
#include "train/metric.h"

enum { METRICS = 16 };

typedef struct units {
    const takt_metric *metric;
    double *at;
    size_t count, capacity; /* in units */
    size_t width;
    uint64_t rows;
} units;

struct takt_evaluation {
    takt_ctx *ctx;
    units of[METRICS];
    size_t count;
    size_t classes; /* elements of a row; 0: no batch yet */
    uint64_t samples;
    bool is_distribution, is_share;
};

/* ---- making ---- */

static const char *name_at(size_t index)
{
    return takt_metrics[index] != NULL ? takt_metrics[index]->name : NULL;
}

static takt_status read_names(takt_evaluation *e, const char *text)
{
    for (const char *at = text; *at != '\0' || e->count == 0;) {
        const size_t length = strcspn(at, ",");
        const takt_metric *metric = takt_metric_find(at, length);
        char name[64] = {0};
        memcpy(name, at, length < sizeof name ? length : sizeof name - 1);
        if (metric == NULL)
            return takt_hyper_unknown(e->ctx, "metric", name, name_at);
        if (e->count == METRICS)
            return takt_fail(e->ctx, TAKT_E_OPTION, "there are more than %d metrics", METRICS);
        e->of[e->count++].metric = metric;
        at += length + (at[length] == ',');
    }
    return TAKT_OK;
}

takt_status takt_evaluation_create(takt_ctx *ctx, const char *metrics, takt_evaluation **eval)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, eval);
    void *block;
    *eval = NULL;
    if (metrics == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_evaluation_create: metrics is NULL");
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_evaluation), "evaluation", &block));
    takt_evaluation *e = block;
    e->ctx = ctx;
    e->is_distribution = e->is_share = true;
    const takt_status status = read_names(e, metrics);
    if (status == TAKT_OK)
        *eval = e;
    else
        takt_evaluation_destroy(e);
    return status;
}

static size_t bytes_of(const units *u)
{
    return u->capacity * u->width * sizeof *u->at;
}

void takt_evaluation_destroy(takt_evaluation *e)
{
    if (e == NULL)
        return;
    for (size_t i = 0; i < e->count; i++)
        takt_mem_put(e->ctx, e->of[i].at, bytes_of(&e->of[i]));
    takt_mem_put(e->ctx, e, sizeof *e);
}

/* ---- a batch ---- */

/* A batch as rows of the output's last axis. */
typedef struct rows {
    const takt_tensor_view *output, *labels;
    size_t samples, each, width; /* rows of a sample, elements of a row */
    bool has_classes_first;      /* rows are on axis 1 of the output, not on the last */
    double *x, *target;          /* one row of each */
} rows;

static size_t elements(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int i = 0; i < v->rank; i++)
        count *= v->dims[i] > 0 ? (size_t)v->dims[i] : 0;
    return count;
}

static bool is_dense(const takt_tensor_view *v)
{
    int64_t step = 1;
    bool all_zero = true, is_plain = true;
    for (int i = v->rank; i-- > 0; step *= v->dims[i]) {
        all_zero = all_zero && v->strides[i] == 0;
        is_plain = is_plain && (v->strides[i] == step || v->dims[i] == 1);
    }
    return (all_zero || is_plain) && v->device == 0;
}

/* Segmentation: [batch, classes, rows, columns] and labels without the axis of classes. */
static bool has_classes_first(const takt_tensor_view *out, const takt_tensor_view *labels)
{
    bool fits_first = out->rank >= 3 && labels->rank == out->rank - 1, fits_last = fits_first;
    for (int i = 1; i < labels->rank; i++) {
        fits_first = fits_first && labels->dims[i] == out->dims[i + 1];
        fits_last = fits_last && labels->dims[i] == out->dims[i];
    }
    return fits_first && !fits_last;
}

static takt_status measure_batch(const takt_evaluation *e, rows *r)
{
    const takt_tensor_view *out = r->output, *labels = r->labels;
    if (out == NULL || labels == NULL || out->data == NULL || labels->data == NULL ||
        out->rank < 1 || labels->rank < 1 || !is_dense(out) || !is_dense(labels))
        return takt_fail(e->ctx, TAKT_E_ARGUMENT,
                         "takt_evaluation_add: outputs and labels are dense and have a batch axis");
    r->samples = (size_t)(out->dims[0] > 0 ? out->dims[0] : 0);
    r->has_classes_first = has_classes_first(out, labels);
    r->width = out->rank > 1 ? (size_t)out->dims[r->has_classes_first ? 1 : out->rank - 1] : 1;
    const size_t all = elements(out);
    if (all == 0 || labels->dims[0] != out->dims[0])
        return takt_fail(e->ctx, TAKT_E_ARGUMENT,
                         "takt_evaluation_add: %lld outputs do not belong to %lld labels",
                         (long long)out->dims[0], (long long)labels->dims[0]);
    r->each = all / r->samples / r->width;
    for (size_t i = 0; i < e->count; i++) {
        const takt_metric *m = e->of[i].metric;
        const size_t want = m->of_classes ? all / r->width : all;
        if (elements(labels) == want)
            continue;
        takt_fail(e->ctx, TAKT_E_ARGUMENT,
                  "%s needs %zu labels for outputs of %zu elements, not %zu", m->name, want, all,
                  elements(labels));
        return takt_fail_hint(e->ctx, m->of_classes
                                          ? "it compares class numbers; mse and mae compare as "
                                            "many numbers as the model returns"
                                          : "it compares as many numbers as the model returns; "
                                            "top1, f1, auc and ppl compare class numbers");
    }
    if (e->classes != 0 && e->classes != r->width)
        return takt_fail(e->ctx, TAKT_E_ARGUMENT,
                         "takt_evaluation_add: rows have %zu elements, had %zu", r->width,
                         e->classes);
    return TAKT_OK;
}

static void look_at(takt_evaluation *e, const rows *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->width; i++) {
        sum += r->x[i];
        e->is_share = e->is_share && r->x[i] >= 0 && r->x[i] <= 1;
    }
    e->is_distribution = e->is_distribution && e->is_share && fabs(sum - 1) < 1e-3;
}

/* Checked before anything is counted: a batch is added as a whole, or not at all. NaN is not a
 * class. */
static takt_status check_labels(const takt_evaluation *e, const rows *r)
{
    const size_t classes = r->width > 1 ? r->width : 2;
    bool are_classes = false;
    for (size_t i = 0; i < e->count; i++)
        are_classes = are_classes || e->of[i].metric->of_classes;
    for (size_t row = 0; are_classes && row < r->samples * r->each; row++) {
        const double label = takt_view_element(r->labels, row);
        if (!(label < (double)classes))
            return takt_fail(e->ctx, TAKT_E_TRAIN_DATA,
                             "sample %llu: there is no class %.17g, there are %zu",
                             (unsigned long long)(e->samples + row / r->each), label, classes);
    }
    return TAKT_OK;
}

static void keep_row(units *u, const rows *r, size_t row, double *unit)
{
    takt_metric_row one = {.x = r->x, .count = r->width};
    if (u->metric->of_classes) {
        const double label = takt_view_element(r->labels, row);
        if (label < 0)
            return;
        one.label = (int64_t)label;
    } else {
        for (size_t i = 0; i < r->width; i++)
            r->target[i] = takt_view_element(r->labels, row * r->width + i);
        one.target = r->target;
    }
    if (u->metric->by_row)
        unit = u->at + u->count++ * u->width;
    u->rows++;
    u->metric->keep(&one, unit);
}

static void add_samples(takt_evaluation *e, rows *r)
{
    for (size_t sample = 0; sample < r->samples; sample++)
        for (size_t k = 0; k < r->each; k++) {
            const size_t row = sample * r->each + k;
            for (size_t i = 0; i < r->width; i++)
                r->x[i] = takt_view_element(r->output, r->has_classes_first
                                                           ? (sample * r->width + i) * r->each + k
                                                           : row * r->width + i);
            look_at(e, r);
            for (size_t i = 0; i < e->count; i++) {
                units *u = &e->of[i];
                double *unit = u->metric->by_row ? NULL : u->at + (u->count + sample) * u->width;
                keep_row(u, r, row, unit);
            }
        }
    for (size_t i = 0; i < e->count; i++)
        e->of[i].count += e->of[i].metric->by_row ? 0 : r->samples;
    e->samples += r->samples;
}

/* Room for one more batch, with zeros in it. */
static takt_status make_room(takt_evaluation *e, units *u, const rows *r)
{
    const size_t more = r->samples * (u->metric->by_row ? r->each : 1);
    void *block;
    if (u->count + more <= u->capacity)
        return TAKT_OK;
    const size_t width = u->metric->width(r->width);
    const size_t capacity = u->capacity * 2 > u->count + more ? u->capacity * 2 : u->count + more;
    TAKT_TRY(takt_mem_zero(e->ctx, capacity, width * sizeof(double), "scores", &block));
    if (u->count > 0)
        memcpy(block, u->at, u->count * width * sizeof(double));
    takt_mem_put(e->ctx, u->at, bytes_of(u));
    u->at = block;
    u->width = width;
    u->capacity = capacity;
    return TAKT_OK;
}

takt_status takt_evaluation_add(takt_evaluation *e, const takt_tensor_view *output,
                                const takt_tensor_view *labels)
{
    TAKT_NEED(NULL, e);
    rows r = {.output = output, .labels = labels};
    void *block;
    TAKT_TRY(measure_batch(e, &r));
    TAKT_TRY(check_labels(e, &r));
    for (size_t i = 0; i < e->count; i++)
        TAKT_TRY(make_room(e, &e->of[i], &r));
    e->classes = r.width;
    TAKT_TRY(takt_mem_zero(e->ctx, 2 * r.width, sizeof(double), "a row", &block));
    r.x = block;
    r.target = r.x + r.width;
    add_samples(e, &r);
    takt_mem_put(e->ctx, block, 2 * r.width * sizeof(double));
    return TAKT_OK;
}

/* ---- results ---- */

size_t takt_evaluation_count(const takt_evaluation *e)
{
    if (e == NULL)
        return 0;
    return e->count;
}

takt_status takt_evaluation_result(takt_evaluation *e, size_t index, takt_metric_result *result)
{
    TAKT_NEED(NULL, e);
    if (index >= e->count)
        return takt_fail(e->ctx, TAKT_E_ARGUMENT, "there is no metric %zu: there are %zu", index,
                         e->count);
    const units *u = &e->of[index];
    if (u->rows == 0)
        return takt_fail(e->ctx, TAKT_E_STATE, "%s: there are no samples to evaluate",
                         u->metric->name);
    const takt_units all = {.ctx = e->ctx,
                            .at = u->at,
                            .count = u->count,
                            .width = u->width,
                            .classes = e->classes,
                            .is_distribution = e->is_distribution,
                            .is_share = e->is_share};
    *result = (takt_metric_result){.name = u->metric->name, .samples = u->rows};
    return u->metric->finish(&all, result);
}

static void write_text(takt_text *text, const takt_metric_result *r)
{
    if (isnan(r->value)) /* as auc of samples of one class */
        takt_text_add(text, "%-5s nan: undefined for these samples", r->name);
    else
        takt_text_add(text, "%-5s %.6g", r->name, r->value);
    if (isfinite(r->ci.low) && isfinite(r->ci.high))
        takt_text_add(text, "  (95 %%: %.6g to %.6g)", r->ci.low, r->ci.high);
    takt_text_add(text, "\n");
}

static void write_json(takt_json_writer *json, const takt_metric_result *r)
{
    takt_json_open(json, '{');
    takt_json_put_string(json, "metric", r->name);
    takt_json_put_number(json, "value", r->value);
    takt_json_put_number(json, "low", r->ci.low);
    takt_json_put_number(json, "high", r->ci.high);
    takt_json_put_unsigned(json, "rows", r->samples);
    takt_json_close(json, '}');
}

static takt_status write_all(takt_evaluation *e, bool is_json, takt_text *text)
{
    takt_json_writer json;
    takt_metric_result r;
    takt_json_begin(&json, text, true);
    if (is_json) {
        takt_json_open(&json, '{');
        takt_json_put_unsigned(&json, "samples", e->samples);
        takt_json_put_open(&json, "metrics", '[');
    } else {
        takt_text_add(text, "%llu samples\n", (unsigned long long)e->samples);
    }
    for (size_t i = 0; i < e->count; i++) {
        TAKT_TRY(takt_evaluation_result(e, i, &r));
        if (is_json)
            write_json(&json, &r);
        else
            write_text(text, &r);
    }
    if (is_json) {
        takt_json_close(&json, ']');
        takt_json_close(&json, '}');
        takt_text_add(text, "\n");
    }
    return TAKT_OK;
}

takt_status takt_evaluation_write(takt_evaluation *e, takt_format format, takt_sink_fn *sink,
                                  void *user)
{
    TAKT_NEED(NULL, e);
    takt_text text;
    takt_text_init(&text, e->ctx);
    const takt_status status = write_all(e, format == TAKT_FORMAT_JSON, &text);
    if (status == TAKT_OK)
        return takt_sink_text(e->ctx, &text, sink, user);
    takt_text_deinit(&text);
    return status;
}
