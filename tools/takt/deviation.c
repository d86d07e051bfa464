/* deviation.c - the error that an option causes, compared with f32. */
#include <string.h>

#include "tool.h"

static bool is_narrow(const takt_tool *t)
{
    const char *precision = tool_text_of(t, TAKT_F_PRECISION);
    return precision != NULL && strcmp(precision, "f32") != 0;
}

static bool is_fast(const takt_tool *t)
{
    const char *numerics = tool_text_of(t, TAKT_F_NUMERICS);
    return numerics != NULL && strcmp(numerics, "fast") == 0;
}

bool tool_deviates(const takt_tool *t)
{
    return is_narrow(t) || is_fast(t);
}

takt_status tool_deviation(takt_tool *t, const takt_model *m, const tool_sizes *sizes,
                           takt_session *given, takt_deviation *d)
{
    tool_request r;
    const takt_deviation_input in = {.session = given, .seed = tool_number_of(t, TAKT_F_SEED, 0)};
    if (tool_request_init(t, sizes->text, &r) != TAKT_EXIT_OK)
        return TAKT_ERR_ARGUMENT;
    const takt_status status = takt_measure_deviation(m, &r.options, &in, d);
    tool_request_free(&r);
    return status;
}

void tool_print_deviation(const takt_tool *t, const takt_deviation *d, FILE *to)
{
    if (is_narrow(t)) /* with a note, they may be in another precision */
        fprintf(to, "%s %s%s", d->note != NULL ? "precision" : "weights in",
                tool_text_of(t, TAKT_F_PRECISION), is_fast(t) ? ", " : ": ");
    if (is_fast(t))
        fprintf(to, "numerics fast: ");
    if (d->unlike > 0)
        fprintf(to, "%zu of %zu results are finite here or without it alone; ", d->unlike,
                d->count);
    if (d->max_abs > 0)
        fprintf(to, "largest error against f32 %.3g (%s), relative RMS %.3g %%\n", d->max_abs,
                d->output, 100 * d->rms_relative);
    else /* or no step supports it: see takt kernels and takt explain */
        fprintf(to, "%s\n",
                d->unlike > 0 ? "no other differs" : "no result differs from those without");
    if (d->note != NULL)
        fprintf(to, "note: %s\n", d->note);
}

void tool_json_deviation(const takt_deviation *d)
{
    printf(", \"deviation\": {\"max_abs\": %.17g, \"rms_relative\": %.17g, \"count\": %zu, "
           "\"unlike\": %zu, \"output\": ",
           d->max_abs, d->rms_relative, d->count, d->unlike);
    tool_print_string(stdout, d->output);
    if (d->note != NULL) {
        printf(", \"note\": ");
        tool_print_string(stdout, d->note);
    }
    printf("}");
}
