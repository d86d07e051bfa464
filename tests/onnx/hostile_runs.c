/* hostile_runs.c - seeds whose defect is in their values: they load, and the run reports it, or
 * gives the defined result. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"

typedef struct seed {
    const char *name;
    int rank, id;      /* of x, [3] or [2, 3]; of the error, 0 if there is none */
    const char *sizes; /* of names; NULL: 1 each */
} seed;

static const seed seeds[] = {
    {"19_gather_size", 1, 5001, NULL},
    {"19_gather_below", 1, 5001, NULL},
    {"19_gather_least", 1, 5001, NULL},
    {"20_expand_huge", 1, 9002, NULL},
    {"legal_loop_endless", 1, 5004, NULL},
    {"legal_23_scale_0", 2, 0, NULL},
    {"legal_23_scale_nan", 2, 0, NULL},
    {"legal_23_scale_inf", 2, 0, NULL},
    {"legal_23_scale_negative", 2, 0, NULL},
    {"legal_23_scale_denormal", 2, 0, NULL},
    {"13_unknown_fields", 1, 0, NULL},
    {"legal_domain_twice", 1, 0, NULL},
    {"19_gather_elements_size", 1, 5001, NULL},
    {"19_gather_elements_below", 1, 5001, NULL},
    {"19_gather_elements_least", 1, 5001, NULL},
    {"19_gather_nd_size", 1, 5001, NULL},
    {"19_gather_nd_below", 1, 5001, NULL},
    {"19_gather_nd_least", 1, 5001, NULL},
    {"19_scatter_elements_size", 1, 5001, NULL},
    {"19_scatter_elements_below", 1, 5001, NULL},
    {"19_scatter_elements_least", 1, 5001, NULL},
    {"19_scatter_nd_size", 1, 5001, NULL},
    {"19_scatter_nd_below", 1, 5001, NULL},
    {"19_scatter_nd_least", 1, 5001, NULL},

    {"legal_19_one_hot_size", 1, 0, NULL},
    {"legal_19_one_hot_below", 1, 0, NULL},
    {"legal_19_one_hot_least", 1, 0, NULL},
    {"legal_16_shadowed_value", 1, 0, NULL},
    {"legal_16_shadowed_input", 1, 0, NULL},
    {"legal_add", 1, 0, NULL},
    {"legal_29_circular_bound", 1, 0, NULL},
    {"legal_29_columns_bound", 1, 0, NULL},
    {"legal_29_gather_shorter", 1, 0, "n=3"},
    {"legal_29_scatter_shorter", 1, 0, "n=3"},
    {"legal_29_blocks_named", 1, 0, "n=3"},
    {"legal_29_columns_of_three", 1, 0, NULL},
    {"legal_29_lowest_pool", 1, 0, NULL},
    {"legal_29_causal_past", 1, 0, "n=3"},
    {"legal_29_causal_lengths", 1, 0, "n=3"},
    {"legal_29_causal_window", 1, 0, "n=3"},
};

/* What some give. */
static const struct {
    const char *name;
    float want[3];
} floats[] = {{"legal_19_one_hot_size", {0, 0, 0}},    {"legal_19_one_hot_below", {0, 0, 0}},
              {"legal_19_one_hot_least", {0, 0, 0}},   {"legal_16_shadowed_value", {1, 0, 3}},
              {"legal_16_shadowed_input", {1, 0, 3}},  {"legal_add", {2, 0, 6}},
              {"legal_29_circular_bound", {1, 7, 3}},  {"legal_29_columns_bound", {0, 1, 2}},
              {"legal_29_gather_shorter", {1, 1, -2}}, {"legal_29_scatter_shorter", {9, 8, 3}},
              {"legal_29_blocks_named", {2, -4, 13}},  {"legal_29_columns_of_three", {0, 1, 2}},
              {"legal_29_lowest_pool", {0, 3, 0}},     {"legal_29_causal_past", {3, 3, 3}},
              {"legal_29_causal_lengths", {0, 0, 1}},  {"legal_29_causal_window", {3, 5, 7}}};

static float numbers[] = {1, -2, 3, 0, INFINITY, NAN};

static int run(takt_session *s, const seed *of, int8_t *out)
{
    takt_tensor_view x = {.dtype = TAKT_F32, .rank = of->rank, .data = numbers};
    x.dims[0] = of->rank == 2 ? 2 : 3;
    x.dims[1] = 3;
    if (takt_session_bind(s, "x", &x) != TAKT_OK || takt_session_run(s) != TAKT_OK)
        return takt_session_error(s)->id;
    const takt_tensor_view *y = takt_session_output(s, 0);
    for (int i = 0; y->dtype == TAKT_I8 && i < 6; i++)
        out[i] = ((const int8_t *)y->data)[i];
    for (size_t k = 0; k < sizeof floats / sizeof *floats; k++)
        for (int i = 0; strcmp(floats[k].name, of->name) == 0 && i < 3; i++)
            EXPECT(y->dtype == TAKT_F32 && ((const float *)y->data)[i] == floats[k].want[i],
                   "%s[%d] is %g", of->name, i, (double)((const float *)y->data)[i]);
    return 0;
}

static int id_of(takt_ctx *ctx, const seed *of, const char *backend, int8_t *out)
{
    const takt_plan_options options = {.backend = backend, .threads = 1, .sizes = of->sizes};
    char path[200];
    takt_model *m = NULL;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    int id;
    snprintf(path, sizeof path, "tests/corpus/onnx/%s", of->name);
    if (takt_model_load(ctx, path, NULL, &m) != TAKT_OK ||
        takt_plan_create(m, &options, &plan) != TAKT_OK ||
        takt_session_create(plan, NULL, &s) != TAKT_OK)
        id = takt_last_error_info(ctx)->id;
    else
        id = run(s, of, out);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return id;
}

int main(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        int8_t ref[6] = {0}, cpu[6] = {0};
        const int a = id_of(ctx, &seeds[i], "ref", ref), b = id_of(ctx, &seeds[i], "cpu", cpu);
        EXPECT(a == seeds[i].id && b == seeds[i].id, "%s: %d on ref, %d on cpu", seeds[i].name, a,
               b);
        for (int k = 0; k < 6; k++)
            EXPECT(ref[k] == cpu[k], "%s[%d]: %d on ref, %d on cpu", seeds[i].name, k, ref[k],
                   cpu[k]);
    }
    takt_ctx_destroy(ctx);
    return test_done();
}
