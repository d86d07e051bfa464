/* onnx_case_load.c - loads the model of a case: without values, with the numbers of items of its
 * sequences and optionals, or with the values of its inputs. */
#include <stdio.h>
#include <string.h>

#include "util/onnx_case.h"

takt_tensor_view onnx_case_view(const takt_tensor *t)
{
    takt_tensor_view v = {
        .dtype = t->type.dtype, .rank = t->type.rank, .data = takt_tensor_data(t)};
    for (int d = 0; d < t->type.rank; d++)
        v.dims[d] = t->type.dim[d];
    return v;
}

/* Whether a value is the input, or one of its items: "name.0". */
static bool is_of(const char *name, takt_span input)
{
    if (strncmp(name, input.at, input.length) != 0)
        return false;
    const char *rest = name + input.length;
    return *rest == '\0' || (*rest == '.' && rest[1] >= '0' && rest[1] <= '9');
}

/* Shapes without values of all items, and "name=3,other=0". */
static takt_status load_items(takt_ctx *ctx, const char *path, const takt_pb_graph *g,
                              const case_values *in, takt_model **m)
{
    takt_known_input known[CASE_VALUES];
    char sizes[1024] = "";
    size_t count = 0, at = 0;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_pb_value *v = &g->inputs[i];
        size_t items = 0;
        if (v->type == NULL || (v->type->sequence == NULL && v->type->optional == NULL))
            continue;
        for (size_t k = 0; k < in->count; k++) {
            if (!is_of(in->at[k].name, v->name))
                continue;
            known[count] = (takt_known_input){in->at[k].name, onnx_case_view(&in->at[k].tensor)};
            known[count++].view.data = NULL;
            items++;
        }
        at += (size_t)snprintf(sizes + at, at < 800 ? sizeof sizes - at : 0, "%s%.*s=%zu",
                               at > 0 ? "," : "", (int)v->name.length, v->name.at, items);
    }
    const takt_load_options options = {
        .known = count > 0 ? known : NULL, .known_count = count, .sizes = sizes};
    return at > 0 ? takt_model_load(ctx, path, &options, m) : TAKT_ERR_UNSUPPORTED;
}

takt_status onnx_case_load_known(takt_ctx *ctx, const char *path, const case_values *in,
                                 case_report *report, takt_model **m)
{
    takt_known_input known[CASE_VALUES];
    for (size_t i = 0; i < in->count; i++)
        known[i] = (takt_known_input){in->at[i].name, onnx_case_view(&in->at[i].tensor)};
    const takt_load_options options = {.known = known, .known_count = in->count};
    if (!report->used_inputs)
        snprintf(report->why, sizeof report->why, "%.390s", takt_last_error_info(ctx)->message);
    report->used_inputs = true;
    return takt_model_load(ctx, path, &options, m);
}

takt_status onnx_case_load(takt_ctx *ctx, const char *path, const takt_pb_graph *graph,
                           const case_values *in, case_report *report, takt_model **m)
{
    if (takt_model_load(ctx, path, NULL, m) == TAKT_OK)
        return TAKT_OK;
    report->used_items = load_items(ctx, path, graph, in, m) == TAKT_OK;
    return report->used_items ? TAKT_OK : onnx_case_load_known(ctx, path, in, report, m);
}
