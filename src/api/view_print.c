/* view_print.c - tensors in a form that people and programs can read. */
#include <stdio.h>
#include <string.h>

#include <takt/array.h>

#include "base/report.h"
#include "io/npy/npy.h"
#include "ir/dtype.h"

enum { SHOWN_WHOLE = 64, JSON_VALUES = 4096 };

typedef struct painter {
    takt_text *text;
    const takt_tensor_view *v;
    int64_t edge[TAKT_MAX_RANK];  /* how many are shown at either end; 0: all */
    int64_t index[TAKT_MAX_RANK]; /* of the row being painted */
} painter;

static void number(painter *p, size_t i)
{
    char digits[40];
    if (!takt_dtype_is_float(p->v->dtype)) {
        const int64_t value = takt_dtype_get_i(p->v->dtype, p->v->data, i);
        if (p->v->dtype == TAKT_BOOL)
            takt_text_add(p->text, "%s", value != 0 ? "true" : "false");
        else if (p->v->dtype == TAKT_U64)
            takt_text_add(p->text, "%llu", (unsigned long long)value);
        else
            takt_text_add(p->text, "%lld", (long long)value);
        return;
    }
    snprintf(digits, sizeof digits, "%.6g", takt_dtype_get_f(p->v->dtype, p->v->data, i));
    char *comma = strchr(digits, ','); /* some locales write one */
    if (comma != NULL)
        *comma = '.';
    takt_text_put(p->text, digits, strlen(digits));
}

/* The position after `i` on axis `d` that is shown. */
static int64_t after(const painter *p, int d, int64_t i)
{
    const int64_t edge = p->edge[d], size = p->v->dims[d];
    return edge > 0 && i + 1 == edge && size > 2 * edge ? size - edge : i + 1;
}

static void row(painter *p)
{
    const int last = p->v->rank - 1;
    size_t base = 0;
    for (int d = 0; d < last; d++)
        base = (base + (size_t)p->index[d]) * (size_t)p->v->dims[d + 1];
    for (int64_t i = 0; i < p->v->dims[last];) {
        number(p, base + (size_t)i);
        const int64_t next = after(p, last, i);
        if (next < p->v->dims[last])
            takt_text_add(p->text, next == i + 1 ? ", " : ", ..., ");
        i = next;
    }
}

static void brackets(painter *p, char bracket, int count)
{
    for (; count > 0; count--)
        takt_text_put(p->text, &bracket, 1);
}

static void line(painter *p, int indent)
{
    takt_text_put(p->text, "\n", 1);
    for (; indent > 0; indent--)
        takt_text_put(p->text, " ", 1);
}

/* Rows one after another; brackets open where an axis starts and close where it ends. */
static void rows(painter *p)
{
    const int last = p->v->rank - 1;
    brackets(p, '[', last);
    for (;;) {
        takt_text_put(p->text, "[", 1);
        row(p);
        takt_text_put(p->text, "]", 1);
        int d = last - 1;
        bool skips = false;
        for (; d >= 0; d--) {
            const int64_t next = after(p, d, p->index[d]);
            skips = next != p->index[d] + 1;
            p->index[d] = next;
            if (next < p->v->dims[d])
                break;
            p->index[d] = 0;
            takt_text_put(p->text, "]", 1);
        }
        if (d < 0)
            return;
        takt_text_put(p->text, ",", 1);
        line(p, d + 1);
        if (skips) {
            takt_text_add(p->text, "...,");
            line(p, d + 1);
        }
        brackets(p, '[', last - 1 - d);
    }
}

static void paint(takt_text *text, const takt_tensor_view *v, size_t count)
{
    painter p = {.text = text, .v = v};
    for (int d = 0; d < v->rank && count > SHOWN_WHOLE; d++)
        p.edge[d] = d == v->rank - 1 ? 4 : d == v->rank - 2 ? 2 : 1;
    if (v->rank == 0)
        number(&p, 0);
    else if (count == 0)
        takt_text_add(text, "[]");
    else
        rows(&p);
}

static void json(takt_text *text, const takt_tensor_view *v, size_t count)
{
    takt_json_writer w;
    takt_json_begin(&w, text, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "dtype", takt_dtype_name(v->dtype));
    takt_json_put_open(&w, "shape", '[');
    for (int d = 0; d < v->rank; d++)
        takt_json_integer(&w, v->dims[d]);
    takt_json_close(&w, ']');
    takt_json_put_bool(&w, "truncated", count > JSON_VALUES);
    takt_json_put_open(&w, "values", '[');
    for (size_t i = 0; i < count && i < JSON_VALUES; i++) {
        if (takt_dtype_is_float(v->dtype))
            takt_json_number(&w, takt_dtype_get_f(v->dtype, v->data, i));
        else if (v->dtype == TAKT_BOOL)
            takt_json_bool(&w, takt_dtype_get_i(v->dtype, v->data, i) != 0);
        else if (v->dtype == TAKT_U64)
            takt_json_unsigned(&w, (uint64_t)takt_dtype_get_i(v->dtype, v->data, i));
        else
            takt_json_integer(&w, takt_dtype_get_i(v->dtype, v->data, i));
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
}

takt_status takt_view_print(takt_ctx *ctx, const takt_tensor_view *v, takt_format format,
                            takt_sink_fn *sink, void *user)
{
    size_t bytes, count = 1;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, sink);
    if (!takt_npy_bytes(v, &bytes) || (v->data == NULL && bytes > 0))
        return takt_fail(ctx, TAKT_E_ARGUMENT, "only dense views with data can be printed");
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    takt_text text;
    takt_text_init(&text, ctx);
    if (format == TAKT_FORMAT_JSON)
        json(&text, v, count);
    else
        paint(&text, v, count);
    return takt_sink_text(ctx, &text, sink, user);
}
