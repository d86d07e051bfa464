/* verify_data.c - how many samples of a data set keep their class: clean, certified, attacked. */
#include "verify_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

typedef struct counts {
    uint64_t samples, clean, certified, attacked;
} counts;

static int drop(void *user, const char *bytes, size_t length)
{
    (void)user, (void)bytes, (void)length;
    return 0;
}

static size_t sample_size(const takt_data *data)
{
    for (size_t i = 0; i < takt_data_field_count(data); i++) {
        const takt_desc *d = takt_data_field(data, i);
        size_t count = 1;
        for (int k = 1; k < d->rank; k++)
            count *= (size_t)d->dims[k];
        if (strcmp(d->name, "x") == 0)
            return count;
    }
    return 0;
}

static bool is_cancelled(const takt_verify_options *o)
{
    return o->is_cancelled != NULL && o->is_cancelled(o->user);
}

static takt_status one(takt_tool *t, const takt_model *model, const takt_data *data,
                       takt_verify_options *o, uint64_t row, counts *c)
{
    int64_t label = -1;
    takt_verify_summary s = {0};
    const takt_tensor_view to = {.dtype = TAKT_I64, .rank = 1, .dims = {1}, .data = &label};
    takt_status status = takt_data_take(data, "x", &row, 1, o->input);
    if (status == TAKT_OK)
        status = takt_data_take(data, "labels", &row, 1, &to);
    if (status == TAKT_OK)
        status = takt_model_verify(model, o, tool_format_of(t), drop, NULL, &s);
    const bool is_cut = s.verdict == TAKT_PROOF_UNKNOWN && is_cancelled(o);
    if (status != TAKT_OK || is_cut) /* an unfinished sample is not counted */
        return status;
    const bool is_clean = label >= 0 && s.chosen == (size_t)label;
    c->samples++;
    c->clean += is_clean;
    c->certified += is_clean && s.verdict == TAKT_PROOF_FOUND;
    c->attacked += is_clean && s.verdict != TAKT_PROOF_REFUTED;
    return TAKT_OK;
}

static int report(takt_tool *t, const counts *c)
{
    char text[400];
    const bool is_json = tool_format_of(t) == TAKT_FORMAT_JSON;
    const unsigned long long n = c->samples, clean = c->clean, certified = c->certified;
    const unsigned long long attacked = c->attacked;
    snprintf(text, sizeof text,
             is_json ? "{\"samples\": %llu, \"clean\": %llu, \"certified\": %llu, "
                       "\"attacked\": %llu}\n"
                     : "%llu samples\n%llu have the right class\n%llu of these are certified\n%llu "
                       "are not broken by the attack\n",
             n, clean, certified, attacked);
    return tool_to_screen(t, text, strlen(text)) == 0 ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
}

static int all(takt_tool *t, const takt_model *model, const takt_data *data, takt_verify_options *o)
{
    counts c = {0};
    takt_status status = TAKT_OK;
    const uint64_t count = takt_data_count(data);
    for (uint64_t i = 0; i < count && status == TAKT_OK && !is_cancelled(o); i++)
        status = one(t, model, data, o, i, &c);
    if (status != TAKT_OK)
        return tool_finish(t, status);
    const int code = report(t, &c);
    return code == TAKT_EXIT_OK && c.samples < count ? TAKT_EXIT_INCONCLUSIVE : code;
}

int verify_data(takt_tool *t, const takt_model *model, takt_verify_options *o)
{
    takt_data *data = NULL;
    const char *split = tool_text_of(t, TAKT_F_SPLIT);
    const takt_data_options options = {.size = sizeof options,
                                       .split = split != NULL ? split : "test",
                                       .limit = tool_number_of(t, TAKT_F_SAMPLES, 0)};
    char path[TOOL_DATA_PATH];
    if (!tool_data_find(t, tool_text_of(t, TAKT_F_DATA_SET), path))
        return TAKT_EXIT_USAGE;
    int code = tool_finish(t, takt_data_open(t->ctx, path, &options, &data));
    if (code != TAKT_EXIT_OK)
        return code;
    const size_t size = sample_size(data);
    takt_tensor_view view = {
        .dtype = TAKT_F32, .rank = 2, .dims = {1, (int64_t)size}, .data = calloc(size + 1, 4)};
    o->input = &view;
    o->counterexample = NULL;
    if (view.data != NULL)
        code = all(t, model, data, o);
    else
        code = tool_finish(t, TAKT_ERR_MEMORY);
    free(view.data);
    takt_data_destroy(data);
    return code;
}
