/* summary.c - one row per layer: its result, its parameters, its cost. */
#include <string.h>

#include "measure/report/report.h"

typedef struct totals {
    uint64_t parameters, state;
    double macs, flops;
} totals;

void takt_report_doc(takt_report *r, const takt_graph *g)
{
    if (r->is_json) {
        takt_report_pair(r, "doc", g->doc);
        return;
    }
    for (const char *at = g->doc; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, "\n");
        takt_text_add(&r->text, "  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
}

static totals add_up(const takt_layers *l)
{
    totals t = {0};
    for (size_t i = 0; i < l->count; i++) {
        t.parameters += l->at[i].parameters;
        t.state += l->at[i].state;
        t.macs += l->at[i].macs;
        t.flops += l->at[i].flops;
    }
    return t;
}

/* Bytes of parameters and state, and of weights that are constants. */
static uint64_t held_bytes(const takt_layers *l)
{
    uint64_t sum = l->constant_bytes;
    for (size_t i = 0; i < l->sized->slot_count; i++) {
        size_t bytes = 0;
        (void)takt_type_bytes(&l->sized->slots[i].type, &bytes);
        sum += bytes;
    }
    return sum;
}

/* ---- text ---- */

static takt_status write_table(takt_report *r, const takt_layers *l, const totals *sum)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    takt_table t;
    takt_table_init(&t, r->ctx, "llrr");
    takt_table_cell(&t, "Layer (type)");
    takt_table_cell(&t, "Output");
    takt_table_cell(&t, "Params");
    takt_table_cell(&t, "MACs");
    takt_table_rule(&t);
    takt_layers_tree(l, &t);
    takt_table_rule(&t);
    takt_table_cell(&t, "Total");
    takt_table_cell(&t, "%s", "");
    takt_table_cell(&t, "%s", takt_figure(sum->parameters + sum->state, a));
    takt_table_cell(&t, "%s", takt_figure(takt_whole(sum->macs), b));
    takt_text_add(&r->text, "model %s\n", l->named->name);
    takt_report_doc(r, l->named);
    takt_table_print(&t, &r->text);
    takt_table_deinit(&t);
    return r->text.status;
}

/* Which sizes the arithmetic was counted at. */
static void write_sizes(takt_report *r, const takt_model *m, const takt_layers *l)
{
    const takt_dims *dims = m->graph->dims;
    const size_t count = takt_dims_name_count(dims);
    const char *before = "  MACs at ";
    for (size_t i = 0; i < m->graph->input_count; i++) {
        char type[TAKT_TYPE_TEXT];
        const takt_type *was = takt_type_of(m->graph, m->graph->inputs[i].id);
        if (count == 0 || takt_type_is_concrete(was))
            continue;
        const takt_type *now = takt_type_of(l->plain, l->plain->inputs[i].id);
        takt_text_add(&r->text, "%s%s: %s", before, m->graph->inputs[i].name,
                      takt_type_text(dims, now, type));
        before = ", ";
    }
    if (before[0] == ',')
        takt_text_add(&r->text, "\n");
}

static takt_status write_text(takt_report *r, const takt_model *m, const takt_layers *l)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    const totals sum = add_up(l);
    const uint64_t bytes = held_bytes(l);
    TAKT_TRY(write_table(r, l, &sum));
    takt_text_add(&r->text,
                  "  Trainable parameters: %s; other state: ", takt_figure(sum.parameters, a));
    takt_text_add(&r->text, "%s; ", takt_figure(sum.state, a));
    takt_text_add(&r->text, "%s bytes (%s)\n", takt_figure(bytes, a), takt_figure_bytes(bytes, b));
    write_sizes(r, m, l);
    return TAKT_OK;
}

/* ---- JSON ---- */

static void write_json(takt_report *r, const takt_layers *l)
{
    char type[TAKT_TYPE_TEXT];
    const totals sum = add_up(l);
    takt_report_pair(r, "model", l->named->name);
    takt_report_doc(r, l->named);
    takt_json_put_open(&r->json, "layers", '[');
    for (size_t i = 0; i < l->count; i++) {
        const takt_layer *layer = &l->at[i];
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "name", layer->name);
        takt_report_pair(r, "type", layer->type);
        takt_report_pair(r, "output", takt_type_text(l->named->dims, layer->out, type));
        takt_report_count(r, "parameters", layer->parameters);
        takt_report_count(r, "state", layer->state);
        takt_report_count(r, "macs", takt_whole(layer->macs));
        takt_report_count(r, "flops", takt_whole(layer->flops));
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
    takt_report_count(r, "parameters", sum.parameters);
    takt_report_count(r, "state", sum.state);
    takt_report_count(r, "bytes", held_bytes(l));
    takt_report_count(r, "macs", takt_whole(sum.macs));
    takt_report_count(r, "flops", takt_whole(sum.flops));
}

takt_status takt_model_summary(const takt_model *m, const char *sizes, takt_format format,
                               takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, m);
    takt_layers layers = {.may_be_unsized = false};
    takt_report r;
    TAKT_TRY(takt_layers_init(&layers, m, sizes));
    takt_report_begin(&r, m->ctx, format);
    takt_status status = TAKT_OK;
    if (r.is_json)
        write_json(&r, &layers);
    else
        status = write_text(&r, m, &layers);
    takt_layers_deinit(&layers);
    return takt_report_end(&r, status, sink, user);
}
