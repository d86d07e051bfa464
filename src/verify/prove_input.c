/* prove_input.c - the property that a class stays the same around one input. */
#include <math.h>
#include <string.h>

#include "verify/prove.h"

static bool read_values(const takt_tensor_view *view, size_t count, double *x)
{
    size_t have = 1;
    for (int i = 0; i < view->rank; i++)
        have *= (size_t)view->dims[i];
    if (have != count || (view->dtype != TAKT_F32 && view->dtype != TAKT_F64))
        return false;
    for (size_t i = 0; i < count; i++)
        x[i] = view->dtype == TAKT_F64 ? ((const double *)view->data)[i]
                                       : (double)((const float *)view->data)[i];
    return true;
}

static takt_status make_rows(takt_property *p, size_t best)
{
    takt_halfspace *rows = takt_arena_array(&p->arena, p->output_count, sizeof *rows);
    takt_term *terms = takt_arena_array(&p->arena, 2 * p->output_count, sizeof *terms);
    if (rows == NULL || terms == NULL)
        return TAKT_ERR_MEMORY;
    /* Unsafe: another output is as great as the best. */
    for (size_t i = 0; i < p->output_count; i++) {
        if (i == best)
            continue;
        terms[2 * i] = (takt_term){.index = (uint32_t)best, .factor = 1};
        terms[2 * i + 1] = (takt_term){.index = (uint32_t)i, .factor = -1};
        rows[i] = (takt_halfspace){.terms = &terms[2 * i], .count = 2};
        p->cases[p->case_count] = p->cases[0];
        p->cases[p->case_count].rows = &rows[i];
        p->cases[p->case_count++].row_count = 1;
    }
    return TAKT_OK;
}

static takt_status make(takt_prover *v, double *x, double *lo, double *hi, double *y)
{
    takt_property *p = &v->given;
    const char *norm = v->o.norm != NULL ? v->o.norm : "inf";
    const bool is_ball = strcmp(norm, "2") == 0;
    size_t best = 0;
    if (!is_ball && strcmp(norm, "inf") != 0)
        return takt_fail(v->ctx, TAKT_E_OPTION, "norm is \"inf\" or \"2\", not \"%s\"", norm);
    if (!(v->o.eps >= 0) || !isfinite(v->o.eps))
        return takt_fail(v->ctx, TAKT_E_OPTION, "eps must be a number that is not negative");
    if (v->graph->input_count != 1 || !read_values(v->o.input, p->input_count, x))
        return takt_fail(v->ctx, TAKT_E_PROPERTY_COUNT,
                         "the values are not those of the model's only input, f32 or f64");
    for (size_t i = 0; i < p->input_count; i++) {
        if (!isfinite(x[i]))
            return takt_fail(v->ctx, TAKT_E_OPTION, "an input value is not a number");
        lo[i] = x[i] - v->o.eps;
        hi[i] = x[i] + v->o.eps;
    }
    TAKT_TRY(takt_prover_outputs(v, x, y));
    for (size_t i = 1; i < p->output_count; i++)
        best = y[i] > y[best] ? i : best;
    v->chosen = best;
    p->cases[0] = (takt_case){.lo = lo, .hi = hi};
    p->center = is_ball ? x : NULL;
    p->radius = v->o.eps;
    return make_rows(p, best);
}

takt_status takt_prover_around(takt_prover *v)
{
    takt_property *p = &v->given;
    takt_arena_init(&p->arena, v->ctx);
    p->input_count = v->net.input_count;
    p->output_count = v->net.output_count;
    double *x = takt_arena_array(&p->arena, p->input_count, sizeof *x);
    double *lo = takt_arena_array(&p->arena, p->input_count, sizeof *lo);
    double *hi = takt_arena_array(&p->arena, p->input_count, sizeof *hi);
    double *y = takt_arena_array(&p->arena, p->output_count, sizeof *y);
    p->cases = takt_arena_array(&p->arena, p->output_count, sizeof *p->cases);
    if (x == NULL || lo == NULL || hi == NULL || y == NULL || p->cases == NULL)
        return TAKT_ERR_MEMORY;
    return make(v, x, lo, hi, y);
}
