/* weights.c - what a file of weights holds: names, types and bytes. */
#include <takt/weights.h>

#include <string.h>

#include "io/weights/weights.h"
#include "measure/report/report.h"

typedef struct listing {
    takt_report report;
    takt_table table;
    const char *path;
    uint64_t tensors, elements, bytes;
} listing;

static takt_status one(void *user, const char *file, const char *name, const takt_type *type,
                       const void *bytes)
{
    (void)bytes;
    listing *l = user;
    char text[TAKT_TYPE_TEXT], figure[TAKT_FIGURE_TEXT];
    size_t count = 0, size = 0;
    if (!takt_type_count(type, &count) || !takt_type_bytes(type, &size))
        count = size = 0; /* the reader knows both; it has looked */
    l->tensors++;
    l->elements += count;
    l->bytes += size;
    const bool is_part = strcmp(file, l->path) != 0;
    if (!l->report.is_json) {
        takt_table_cell(&l->table, "%s", name);
        takt_table_cell(&l->table, "%s", takt_type_text(NULL, type, text));
        takt_table_cell(&l->table, "%s", takt_figure(size, figure));
        takt_table_cell(&l->table, "%s", is_part ? file : "");
        return l->table.status;
    }
    takt_json_writer *j = &l->report.json;
    takt_json_open(j, '{');
    takt_report_pair(&l->report, "name", name);
    takt_report_pair(&l->report, "type", takt_type_text(NULL, type, text));
    takt_report_count(&l->report, "bytes", size);
    if (is_part)
        takt_report_pair(&l->report, "file", file);
    takt_json_close(j, '}');
    return l->report.text.status;
}

static void totals(listing *l)
{
    char tensors[TAKT_FIGURE_TEXT], elements[TAKT_FIGURE_TEXT], bytes[TAKT_FIGURE_TEXT];
    if (l->report.is_json) {
        takt_json_close(&l->report.json, ']');
        takt_report_count(&l->report, "elements", l->elements);
        takt_report_count(&l->report, "bytes", l->bytes);
        return;
    }
    takt_table_print(&l->table, &l->report.text);
    takt_text_add(&l->report.text, "%s %s, %s elements, %s bytes\n",
                  takt_figure(l->tensors, tensors), l->tensors == 1 ? "tensor" : "tensors",
                  takt_figure(l->elements, elements), takt_figure(l->bytes, bytes));
}

takt_status takt_weights_inspect(takt_ctx *ctx, const char *path, takt_format format,
                                 takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, path);
    listing l = {.path = path};
    takt_report_begin(&l.report, ctx, format);
    takt_table_init(&l.table, ctx, "llrl");
    if (l.report.is_json) {
        takt_report_pair(&l.report, "file", path);
        takt_json_put_open(&l.report.json, "tensors", '[');
    } else {
        takt_text_add(&l.report.text, "weights %s\n", path);
    }
    const takt_status status = takt_weights_each(ctx, path, one, &l);
    if (status == TAKT_OK)
        totals(&l);
    takt_table_deinit(&l.table);
    return takt_report_end(&l.report, status, sink, user);
}
