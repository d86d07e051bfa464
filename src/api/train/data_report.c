/* data_report.c - a readable summary of a data set: fields, classes, mean and deviation. */
#include <math.h>

#include "api/model.h"
#include "api/train/data.h"
#include "base/json.h"
#include "base/report.h"

/* Facts of a field; mean and deviation are those of its finite numbers. */
typedef struct facts {
    double mean, deviation;
    uint64_t bad; /* samples with a number that is not finite */
} facts;

static double number_at(const takt_data_place *p, uint64_t row, size_t i)
{
    const takt_dtype dtype = p->tensor->type.dtype;
    const void *data = takt_tensor_data(p->tensor);
    const size_t at = p->first + (size_t)row * p->stride + i;
    return takt_dtype_is_float(dtype) ? takt_dtype_get_f(dtype, data, at)
                                      : (double)takt_dtype_get_i(dtype, data, at);
}

static bool is_bad(const takt_data_place *p, uint64_t row)
{
    for (size_t i = 0; i < p->size; i++)
        if (!isfinite(number_at(p, row, i)))
            return true;
    return false;
}

static facts facts_of(const takt_data *d, const takt_data_place *p)
{
    facts f = {0};
    double sum = 0, squares = 0, count = 0;
    const bool is_float = takt_dtype_is_float(p->tensor->type.dtype);
    for (uint64_t row = 0; row < d->set.samples; row++) {
        f.bad += is_float && is_bad(p, row);
        for (size_t i = 0; i < p->size; i++) {
            const double v = number_at(p, row, i);
            if (!isfinite(v))
                continue;
            sum += v;
            squares += v * v;
            count++;
        }
    }
    f.mean = count > 0 ? sum / count : 0;
    f.deviation = count > 0 ? sqrt(fmax(0, squares / count - f.mean * f.mean)) : 0;
    return f;
}

/* Every one of them, by number from 0. */
static void write_bad(const takt_data *d, const takt_data_place *p, takt_text *text,
                      takt_json_writer *json)
{
    if (json != NULL)
        takt_json_put_open(json, "not_finite", '[');
    else
        takt_text_add(text, "           not finite: samples");
    for (uint64_t row = 0; row < d->set.samples; row++) {
        if (!is_bad(p, row))
            continue;
        if (json != NULL)
            takt_json_integer(json, (int64_t)row);
        else
            takt_text_add(text, " %llu", (unsigned long long)row);
    }
    if (json != NULL)
        takt_json_close(json, ']');
    else
        takt_text_add(text, "\n");
}

static void write_field(const takt_data *d, const takt_desc *f, takt_text *text,
                        takt_json_writer *json)
{
    takt_data_place place = {0};
    (void)takt_data_find(d, f->name, &place);
    const facts found = facts_of(d, &place);
    if (json != NULL) {
        takt_json_open(json, '{');
        takt_json_put_string(json, "name", f->name);
        takt_json_put_string(json, "dtype", takt_dtype_name(f->dtype));
        takt_json_put_open(json, "shape", '[');
        for (int i = 1; i < f->rank; i++)
            takt_json_integer(json, f->dims[i]);
        takt_json_close(json, ']');
        takt_json_put_number(json, "mean", found.mean);
        takt_json_put_number(json, "deviation", found.deviation);
        if (found.bad > 0)
            write_bad(d, &place, text, json);
        takt_json_close(json, '}');
        return;
    }
    takt_text_add(text, "  %-8s %s[", f->name, takt_dtype_name(f->dtype));
    for (int i = 1; i < f->rank; i++)
        takt_text_add(text, "%s%lld", i > 1 ? ", " : "", (long long)f->dims[i]);
    takt_text_add(text, "] a sample, mean %.4g, deviation %.4g\n", found.mean, found.deviation);
    if (found.bad > 0)
        write_bad(d, &place, text, json);
}

static void write_classes(const takt_data *d, takt_text *text, takt_json_writer *json)
{
    const size_t most = json != NULL ? d->set.names : 20;
    if (json != NULL)
        takt_json_put_open(json, "class_names", '[');
    else
        takt_text_add(text, "  classes  ");
    for (size_t i = 0; i < d->set.names && i < most; i++)
        if (json != NULL)
            takt_json_string(json, d->set.class_name[i]);
        else
            takt_text_add(text, "%s%zu %s", i > 0 ? ", " : "", i, d->set.class_name[i]);
    if (json != NULL)
        takt_json_close(json, ']');
    else
        takt_text_add(text, "%s\n", d->set.names > most ? " ..." : "");
}

static void write_left_out(const takt_data *d, takt_text *text, takt_json_writer *json)
{
    if (json != NULL)
        takt_json_put_open(json, "left_out", '[');
    for (size_t i = 0; i < d->set.left_count; i++)
        if (json != NULL)
            takt_json_string(json, d->set.left_out[i]);
        else
            takt_text_add(text, "  %-8s left out: %s\n", d->set.left_out[i], d->set.left_why[i]);
    if (json != NULL) {
        takt_json_close(json, ']');
        takt_json_put_unsigned(json, "left_out_count", d->set.left_count + d->set.left_unnamed);
    } else if (d->set.left_unnamed > 0) {
        takt_text_add(text, "  %zu more left out\n", d->set.left_unnamed);
    }
}

takt_status takt_data_describe(const takt_data *d, takt_format format, takt_sink_fn *sink,
                               void *user)
{
    TAKT_NEED(NULL, d);
    takt_text text;
    takt_json_writer json;
    const bool is_json = format == TAKT_FORMAT_JSON;
    takt_text_init(&text, d->set.ctx);
    takt_json_begin(&json, &text, true);
    if (is_json) {
        takt_json_open(&json, '{');
        takt_json_put_string(&json, "format", d->set.format);
        takt_json_put_unsigned(&json, "samples", d->set.samples);
        takt_json_put_integer(&json, "classes", d->set.classes);
        takt_json_put_open(&json, "fields", '[');
    } else {
        takt_text_add(&text, "%llu samples (%s)", (unsigned long long)d->set.samples,
                      d->set.format);
        if (d->set.classes > 0)
            takt_text_add(&text, ", %lld classes", (long long)d->set.classes);
        takt_text_add(&text, "\n");
    }
    for (size_t i = 0; i < d->fields; i++)
        write_field(d, &d->desc[i], &text, is_json ? &json : NULL);
    if (is_json)
        takt_json_close(&json, ']');
    if (d->set.names > 0)
        write_classes(d, &text, is_json ? &json : NULL);
    if (d->set.skipped > 0 && is_json)
        takt_json_put_unsigned(&json, "skipped", d->set.skipped);
    else if (d->set.skipped > 0)
        takt_text_add(&text, "  %llu row%s without a value left out\n",
                      (unsigned long long)d->set.skipped, d->set.skipped == 1 ? "" : "s");
    if (d->set.left_count > 0)
        write_left_out(d, &text, is_json ? &json : NULL);
    if (is_json) {
        takt_json_close(&json, '}');
        takt_text_add(&text, "\n");
    }
    return takt_sink_text(d->set.ctx, &text, sink, user);
}
