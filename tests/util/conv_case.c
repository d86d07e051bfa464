/* conv_case.c - a model run under many settings, for the tests of convolutions. */
#include "util/conv_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/dtype.h"

typedef struct setting {
    const char *passes, *isa;
    int threads;
} setting;

static const setting settings[] = {
    {NULL, NULL, 1},     {NULL, NULL, 2},      {NULL, NULL, 3},      {NULL, "scalar", 1},
    {NULL, "scalar", 3}, {"-layout", NULL, 1}, {"-layout", NULL, 3}, {"-layout", "scalar", 2},
};

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 33) / (double)(1u << 30) - 1;
}

size_t conv_count(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

void conv_fill(const takt_tensor_view *v, uint64_t seed, bool magnitudes)
{
    uint64_t state = seed * 977 + 5;
    for (size_t i = 0; i < conv_count(v); i++) {
        const double x = draw(&state), y = magnitudes ? fabs(x) : x;
        if (takt_dtype_is_float(v->dtype))
            takt_dtype_put_f(v->dtype, v->data, i, y);
        else
            takt_dtype_put_i(v->dtype, v->data, i, (int64_t)(9 * x));
    }
}

bool conv_keep(const takt_tensor_view *v, conv_result *r)
{
    r->dtype = v->dtype;
    r->count = conv_count(v);
    if (r->count > CONV_VALUES)
        return false;
    memcpy(r->bytes, v->data, r->count * (size_t)takt_dtype_bits(v->dtype) / 8);
    for (size_t i = 0; i < r->count; i++)
        r->value[i] = takt_dtype_is_float(v->dtype)
                          ? takt_dtype_get_f(v->dtype, v->data, i)
                          : (double)takt_dtype_get_i(v->dtype, v->data, i);
    return true;
}

takt_status conv_run(const takt_model *model, const takt_plan_options *options, bool magnitudes,
                     conv_result *r)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    takt_status status = takt_plan_create(model, options, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &session);
    for (size_t i = 0; status == TAKT_OK && i < takt_session_input_count(session); i++)
        conv_fill(takt_session_input(session, i), i + 1, magnitudes);
    if (status == TAKT_OK)
        status = takt_session_run(session);
    if (status == TAKT_OK && !conv_keep(takt_session_output(session, 0), r))
        status = TAKT_ERR_ARGUMENT;
    takt_session_destroy(session);
    takt_plan_destroy(plan);
    return status;
}

size_t conv_difference(const conv_result *a, const conv_result *b)
{
    const size_t size = (size_t)takt_dtype_bits(a->dtype) / 8;
    for (size_t i = 0; i < a->count; i++)
        if (memcmp(a->bytes + i * size, b->bytes + i * size, size) != 0 &&
            !(isnan(a->value[i]) && isnan(b->value[i])))
            return i;
    return a->count;
}

static double unit(takt_dtype dtype)
{
    return dtype == TAKT_F64    ? 0x1p-53
           : dtype == TAKT_F16  ? 0x1p-11
           : dtype == TAKT_BF16 ? 0x1p-8
                                : 0x1p-24;
}

/* Text for the last complaint; tests are single-threaded. */
static char complaint[400];

static const char *check_bound(const conv_case *c, const conv_result *got, const conv_result *want,
                               const conv_result *magnitude)
{
    const double sum = unit(got->dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32), last = unit(got->dtype);
    double largest = 0;
    for (size_t i = 0; i < want->count; i++)
        largest = fmax(largest, fabs(want->value[i]));
    for (size_t i = 0; i < got->count; i++) {
        const double scale = c->is_plain ? largest : magnitude->value[i];
        const double bound = c->k == 0 ? 0 : (1.01 * (c->k + 2) * sum + 2 * last) * scale + 1e-37;
        if (fabs(got->value[i] - want->value[i]) <= bound)
            continue;
        snprintf(complaint, sizeof complaint, "element %zu is %.9g, want %.9g within %.3g", i,
                 got->value[i], want->value[i], bound);
        return complaint;
    }
    return NULL;
}

static const char *check_settings(takt_ctx *ctx, const takt_model *model, conv_result *first)
{
    static conv_result got;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const takt_plan_options o = {
            .passes = settings[i].passes, .isa = settings[i].isa, .threads = settings[i].threads};
        if (conv_run(model, &o, false, i == 0 ? first : &got) != TAKT_OK)
            return takt_last_error(ctx);
        const size_t at = i == 0 ? first->count : conv_difference(first, &got);
        if (at == first->count)
            continue;
        snprintf(complaint, sizeof complaint,
                 "passes %s, isa %s, %d threads: element %zu is %.9g, not %.9g",
                 o.passes ? o.passes : "all", o.isa ? o.isa : "native", o.threads, at,
                 got.value[at], first->value[at]);
        return complaint;
    }
    return NULL;
}

const char *conv_check(takt_ctx *ctx, const conv_case *c)
{
    static conv_result want, magnitude, first;
    takt_model *model;
    if (takt_model_load_memory(ctx, "case", c->text, strlen(c->text), NULL, &model) != TAKT_OK)
        return takt_last_error(ctx);
    const takt_plan_options reference = {.backend = "ref", .passes = "-all"};
    const char *why = NULL;
    if (conv_run(model, &reference, false, &want) != TAKT_OK ||
        conv_run(model, &reference, true, &magnitude) != TAKT_OK)
        why = takt_last_error(ctx);
    if (why == NULL)
        why = check_settings(ctx, model, &first);
    if (why == NULL)
        why = check_bound(c, &first, &want, &magnitude);
    takt_model_destroy(model);
    return why;
}
