/* deviation.c - how far a plan's results are from those in f32 with exact arithmetic. */
#include <takt/array.h>
#include <takt/deviation.h>

#include <math.h>
#include <stdio.h>

#include "api/model.h"
#include "base/error.h"
#include "base/options.h"

/* A session of a new plan; the caller owns both. */
static takt_status open_session(const takt_model *m, const takt_plan_options *o, takt_plan **plan,
                                takt_session **session)
{
    *session = NULL;
    TAKT_TRY(takt_plan_create(m, o, plan));
    return takt_session_create(*plan, NULL, session);
}

/* The inputs bound to `given`, or random numbers. Plans of one model have the same inputs, except
 * for static ones. */
static takt_status feed(takt_session *to, takt_session *given, uint64_t seed)
{
    for (size_t i = 0; i < takt_session_input_count(to); i++) {
        const takt_tensor_view *own = takt_session_input(to, i);
        const takt_tensor_view *from = given != NULL ? takt_session_input(given, i) : NULL;
        if (from != NULL)
            TAKT_TRY(takt_session_bind(to, takt_session_input_desc(to, i)->name, from));
        else
            TAKT_TRY(takt_session_random(to, i, own, seed, (uint32_t)i));
    }
    return TAKT_OK;
}

typedef struct sums {
    double difference, want; /* of squares */
} sums;

static void compare(const takt_tensor_view *got, const takt_tensor_view *want, const char *name,
                    takt_deviation *d, sums *s)
{
    size_t count = 1;
    for (int k = 0; k < want->rank; k++)
        count *= (size_t)want->dims[k];
    d->count += count;
    for (size_t i = 0; i < count; i++) {
        const double a = takt_view_element(got, i), b = takt_view_element(want, i);
        if (!isfinite(a) || !isfinite(b)) {
            d->unlike += a != b && !(isnan(a) && isnan(b));
            continue;
        }
        const double error = fabs(a - b);
        s->difference += error * error;
        s->want += b * b;
        if (error > d->max_abs || d->output[0] == '\0') {
            d->max_abs = error > d->max_abs ? error : d->max_abs;
            (void)snprintf(d->output, sizeof d->output, "%s", name);
        }
    }
}

static takt_status run_both(const takt_model *m, takt_session *a, takt_session *b,
                            const takt_deviation_input *in, takt_deviation *d)
{
    sums s = {0};
    TAKT_TRY(feed(a, in->session, in->seed));
    TAKT_TRY(feed(b, in->session, in->seed));
    takt_status status = takt_session_run(a);
    if (status == TAKT_OK)
        status = takt_session_run(b);
    if (status != TAKT_OK) {
        const takt_error *error = takt_session_error(a);
        error = error->status != TAKT_OK ? error : takt_session_error(b);
        return takt_fail(m->ctx, (takt_error_id)error->id, "%s", error->message);
    }
    for (size_t i = 0; i < takt_session_output_count(a); i++)
        compare(takt_session_output(a, i), takt_session_output(b, i),
                takt_session_output_desc(a, i)->name, d, &s);
    d->rms_relative = s.want > 0 ? sqrt(s.difference / s.want) : s.difference > 0 ? INFINITY : 0;
    return TAKT_OK;
}

takt_status takt_measure_deviation(const takt_model *m, const takt_plan_options *options,
                                   const takt_deviation_input *input, takt_deviation *deviation)
{
    takt_plan_options o;
    const takt_deviation_input in = input != NULL ? *input : (takt_deviation_input){0};
    takt_plan *plan = NULL, *exact_plan = NULL;
    takt_session *session = NULL, *exact_session = NULL;
    *deviation = (takt_deviation){0};
    TAKT_TRY(takt_options_read(m->ctx, "takt_plan_options", options, &o, sizeof o));
    o.donate = NULL; /* both sessions read the same inputs */
    takt_plan_options exact = o;
    exact.precision = exact.numerics = NULL;
    exact.require = NULL;
    takt_status status = open_session(m, &o, &plan, &session);
    if (status == TAKT_OK)
        status = open_session(m, &exact, &exact_plan, &exact_session);
    if (status == TAKT_OK)
        status = run_both(m, session, exact_session, &in, deviation);
    if (status == TAKT_OK) {
        takt_run_config config;
        takt_plan_config(plan, &config);
        deviation->note = config.note; /* not the plan's memory */
    }
    takt_session_destroy(session);
    takt_session_destroy(exact_session);
    takt_plan_destroy(plan);
    takt_plan_destroy(exact_plan);
    return status;
}
