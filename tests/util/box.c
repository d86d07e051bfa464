/* box.c - samples of ops at random points of random boxes, checked against the bounds of the
 * box. */
#include "util/box.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <takt/takt.h>

#include "op/ops.h"
#include "util/sample.h"
#include "verify/bounds.h"

typedef struct machine {
    takt_plan *plan;
    takt_session *session;
} machine;

typedef struct box_test {
    takt_box_trial *trial;
    const char *text;
    takt_sample s;
    bool known[TAKT_SAMPLE_INPUTS];
    takt_array lo[TAKT_SAMPLE_INPUTS], hi[TAKT_SAMPLE_INPUTS];
    takt_array *bounds; /* lo, hi of every output */
    size_t outputs;
    machine machines[2];
    takt_random random;
} box_test;

/* ---- models that kernels run ---- */

/* Keeps count, and the words of the first. */
static bool expect(const box_test *t, bool good, const char *format, ...)
{
    va_list args;
    if (good || t->trial->violations++ > 0)
        return good;
    va_start(args, format);
    vsnprintf(t->trial->first, sizeof t->trial->first, format, args);
    va_end(args);
    return false;
}

static bool compile(box_test *t, const char *isa, machine *m)
{
    takt_text text;
    takt_model *model = NULL;
    takt_text_init(&text, t->trial->ctx);
    takt_graph_print(t->s.graph, NULL, &text);
    const char *source = takt_text_get(&text);
    const takt_plan_options options = {.isa = isa, .threads = 1};
    bool good = takt_model_load_memory(t->trial->ctx, "m.takt", source, strlen(source), NULL,
                                       &model) == TAKT_OK &&
                takt_plan_create(model, &options, &m->plan) == TAKT_OK &&
                takt_session_create(m->plan, NULL, &m->session) == TAKT_OK;
    expect(t, good, "%s: %s", t->text, takt_last_error(t->trial->ctx));
    takt_model_destroy(model);
    takt_text_deinit(&text);
    return good;
}

static void put(const takt_array *from, const takt_tensor_view *to)
{
    for (size_t k = 0; k < from->count; k++) {
        if (from->f != NULL)
            takt_dtype_put_f(from->dtype, to->data, k, from->f[k]);
        else
            takt_dtype_put_i(from->dtype, to->data, k, from->i[k]);
    }
}

/* ---- boxes ---- */

static bool is_fixed(const takt_node *n, const takt_graph *g, size_t input)
{
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == g->inputs[input].id && (n->op->fixed >> (k < 32 ? k : 31) & 1) != 0)
            return true;
    return false;
}

/* Integers that are positions or counters are unchanged. */
static bool stays(const box_test *t, size_t i)
{
    const takt_node *n = takt_node_at(t->s.graph, t->s.node);
    const takt_dtype dtype = t->s.in[i].dtype;
    if (is_fixed(n, t->s.graph, i))
        return true;
    if (takt_dtype_is_float(dtype))
        return false;
    return (n->op->traits & (TAKT_INDEXED | TAKT_CONTROL)) != 0 || n->op->is_mixed ||
           (n->op->traits & TAKT_ELEMENTWISE) == 0;
}

static double spread(box_test *t, double x, double radius)
{
    const double share = takt_random_between(&t->random, 0, 1);
    return share < 0.2 ? 0 : radius * share * (1 + fabs(x));
}

/* Ends that are infinite, of unknown elements, tiny, huge, or two zeros. */
static void make_special(box_test *t, size_t i)
{
    const takt_array *x = &t->s.in[i];
    const bool is_narrow = x->dtype == TAKT_F16;
    const double huge = is_narrow ? 60000 : 3e38, tiny = is_narrow ? 0x1p-24 : 0x1p-149;
    for (size_t k = 0; k < x->count; k++) {
        double lo = x->f[k], hi = x->f[k];
        switch (takt_random_below(&t->random, 10)) {
        case 0: lo = -INFINITY; break;
        case 1: hi = INFINITY; break;
        case 2: lo = hi = NAN; break;
        case 3: lo = -tiny, hi = tiny; break;
        case 4: lo = -0.0, hi = 0.0; break;
        case 5: lo = -huge, hi = huge; break;
        case 6: lo = huge / 2, hi = huge; break;
        default: break;
        }
        t->lo[i].f[k] = takt_dtype_round(x->dtype, lo);
        t->hi[i].f[k] = takt_dtype_round(x->dtype, hi);
    }
}

static double pick_special(box_test *t, double lo, double hi)
{
    const double any[] = {NAN, -INFINITY, INFINITY, 0, -0.0, 1, -1, 1e30, -1e30, 0x1p-149};
    const double x = any[takt_random_below(&t->random, sizeof any / sizeof *any)];
    if (isnan(lo))
        return x;
    return x >= lo && x <= hi ? x : takt_random_below(&t->random, 2) == 0 ? lo : hi;
}

static void widen(box_test *t, size_t i, double radius)
{
    if (radius < 0 && t->s.in[i].f != NULL) {
        make_special(t, i);
        return;
    }
    takt_array *lo = &t->lo[i], *hi = &t->hi[i];
    const takt_array *x = &t->s.in[i];
    const takt_sample_range *range = &t->s.ranges.at[i];
    for (size_t k = 0; k < x->count; k++) {
        const double at = x->f != NULL ? x->f[k] : takt_dtype_to_double(x->dtype, x->i[k]);
        double from = at - spread(t, at, radius), to = at + spread(t, at, radius);
        if (range->is_set) {
            from = from < range->low ? range->low : from;
            to = to > range->high ? range->high : to;
        }
        if (x->f != NULL) {
            from = takt_dtype_round(x->dtype, from);
            to = takt_dtype_round(x->dtype, to);
        } else {
            from = takt_dtype_to_double(x->dtype, takt_dtype_from_double(x->dtype, ceil(from)));
            to = takt_dtype_to_double(x->dtype, takt_dtype_from_double(x->dtype, floor(to)));
            if (x->dtype == TAKT_BOOL && radius > 0.5)
                from = 0, to = 1;
        }
        lo->f[k] = from < at ? from : at;
        hi->f[k] = to > at ? to : at;
    }
}

/* ---- bounds ---- */

static bool make_bounds(box_test *t)
{
    takt_bounds i;
    takt_array in[2 * TAKT_SAMPLE_INPUTS];
    size_t count = 0;
    const takt_bounds_options options = {.is_known = t->known};
    const takt_graph *g = t->s.graph;
    takt_node *n = &t->s.graph->nodes[t->s.node];
    const takt_node own = *n;
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_node_attrs(n, attrs);
    if (t->trial->as != NULL)
        n->op = t->trial->as;
    if (t->trial->attr != NULL) {
        attrs[t->trial->attr_index] = *t->trial->attr;
        n->attr = attrs;
    }
    const takt_status built = takt_bounds_init(g, &options, &i);
    *n = own;
    if (!expect(t, built == TAKT_OK, "%s: %s", t->text, takt_last_error(t->trial->ctx)))
        return false;
    t->outputs = g->output_count;
    for (size_t k = 0; k < g->output_count; k++) {
        const takt_range *r = &i.ranges[g->outputs[k].id][0];
        char name[32];
        snprintf(name, sizeof name, "lo%zu", k);
        takt_graph_output(i.graph, name, takt_cast(i.graph, r->lo, TAKT_F64));
        snprintf(name, sizeof name, "hi%zu", k);
        takt_graph_output(i.graph, name, takt_cast(i.graph, r->hi, TAKT_F64));
    }
    for (size_t k = 0; k < g->input_count; k++) {
        in[count++] = t->known[k] ? t->s.in[k] : t->lo[k];
        if (!t->known[k])
            in[count++] = t->hi[k];
    }
    const takt_status status =
        takt_interpret_arrays(t->trial->ctx, i.graph, in, NULL, t->bounds, NULL);
    expect(t, status == TAKT_OK, "%s: bounds: %s", t->text, takt_last_error(t->trial->ctx));
    takt_bounds_deinit(&i);
    return status == TAKT_OK;
}

static bool holds(double lo, double y, double hi)
{
    return isnan(lo) || isnan(hi) || (lo <= y && y <= hi);
}

static void compare(const box_test *t, size_t output, size_t k, double y, const char *by)
{
    const takt_array *low = &t->bounds[2 * output], *high = low + 1;
    if (!expect(t, k < low->count && k < high->count, "%s: result %zu has no bounds of element %zu",
                t->text, output, k))
        return;
    const double lo = low->f[k], hi = high->f[k];
    expect(t, holds(lo, y, hi), "%s: result %zu, element %zu by %s is %.17g, not in [%.17g, %.17g]",
           t->text, output, k, by, y, lo, hi);
}

/* ---- points ---- */

static void draw(box_test *t, takt_array *x)
{
    for (size_t i = 0; i < t->s.count; i++)
        for (size_t k = 0; k < x[i].count && !t->known[i]; k++) {
            const double lo = t->lo[i].f[k], hi = t->hi[i].f[k];
            const double share = takt_random_between(&t->random, -0.5, 1.5);
            double at = share <= 0 ? lo : share >= 1 ? hi : lo + share * (hi - lo);
            if (x[i].f != NULL) {
                if (!isfinite(lo) || !isfinite(hi) || !isfinite(at))
                    at = pick_special(t, lo, hi);
                at = takt_dtype_round(x[i].dtype, at);
                x[i].f[k] = at < lo ? lo : at > hi ? hi : at;
            } else {
                at = rint(at);
                at = at < lo ? lo : at > hi ? hi : at;
                x[i].i[k] = takt_dtype_from_double(x[i].dtype, at);
            }
        }
}

static void by_machine(const box_test *t, const machine *m, const takt_array *x, const char *by)
{
    for (size_t i = 0; i < t->s.count; i++)
        put(&x[i], takt_session_input(m->session, i));
    if (!expect(t, takt_session_run(m->session) == TAKT_OK, "%s: %s", t->text,
                takt_session_error(m->session)->message))
        return;
    for (size_t o = 0; o < t->outputs; o++) {
        const takt_tensor_view *y = takt_session_output(m->session, o);
        size_t count = 1;
        for (int d = 0; d < y->rank; d++)
            count *= (size_t)y->dims[d];
        expect(t, count == t->bounds[2 * o].count, "%s: result %zu has %zu elements, bounds of %zu",
               t->text, o, count, t->bounds[2 * o].count);
        for (size_t k = 0; k < count; k++)
            compare(t, o, k,
                    takt_dtype_is_float(y->dtype)
                        ? takt_dtype_get_f(y->dtype, y->data, k)
                        : takt_dtype_to_double(y->dtype, takt_dtype_get_i(y->dtype, y->data, k)),
                    by);
    }
}

static void by_meaning(const box_test *t, const takt_array *x)
{
    takt_array out[TAKT_MAX_OUTPUTS];
    if (!expect(t, takt_interpret_arrays(t->trial->ctx, t->s.graph, x, NULL, out, NULL) == TAKT_OK,
                "%s: %s", t->text, takt_last_error(t->trial->ctx)))
        return;
    for (size_t o = 0; o < t->outputs; o++) {
        for (size_t k = 0; k < out[o].count; k++)
            compare(t, o, k,
                    out[o].f != NULL ? out[o].f[k]
                                     : takt_dtype_to_double(out[o].dtype, out[o].i[k]),
                    "meaning");
        takt_array_release(t->trial->ctx, &out[o]);
    }
}

static void try_points(box_test *t)
{
    takt_array x[TAKT_SAMPLE_INPUTS];
    for (size_t i = 0; i < t->s.count; i++)
        expect(t, takt_array_copy(t->trial->ctx, &t->s.in[i], &x[i]) == TAKT_OK, "memory");
    for (size_t p = 0; p < t->trial->points && t->trial->violations == 0; p++) {
        draw(t, x);
        if (p % 8 == 0 && takt_node_at(t->s.graph, t->s.node)->op->lower == NULL)
            by_meaning(t, x); /* a composite's bits are those of its lowering */
        by_machine(t, &t->machines[0], x, "scalar kernels");
        by_machine(t, &t->machines[1], x, "kernels");
        t->trial->tried++;
    }
    for (size_t i = 0; i < t->s.count; i++)
        takt_array_release(t->trial->ctx, &x[i]);
}

static void count_known(const box_test *t)
{
    for (size_t o = 0; o < t->outputs; o++)
        for (size_t k = 0; k < t->bounds[2 * o].count; k++) {
            t->trial->all++;
            t->trial->known +=
                isfinite(t->bounds[2 * o].f[k]) && isfinite(t->bounds[2 * o + 1].f[k]);
        }
}

static void try_box(box_test *t, double radius)
{
    for (size_t i = 0; i < t->s.count; i++)
        widen(t, i, radius);
    if (!make_bounds(t))
        return;
    if (radius >= 0)
        count_known(t);
    try_points(t);
    t->trial->boxes++;
    for (size_t o = 0; o < 2 * t->outputs; o++)
        takt_array_release(t->trial->ctx, &t->bounds[o]);
}

static void prepare(box_test *t)
{
    t->random.state = takt_graph_digest(t->s.graph);
    for (size_t i = 0; i < t->s.count; i++) {
        takt_type type = takt_array_type(&t->s.in[i]);
        type.dtype = TAKT_F64;
        t->known[i] = stays(t, i);
        expect(t, takt_array_create(t->trial->ctx, &type, &t->lo[i]) == TAKT_OK, "memory");
        expect(t, takt_array_create(t->trial->ctx, &type, &t->hi[i]) == TAKT_OK, "memory");
    }
}

static void clean_up(box_test *t)
{
    for (size_t i = 0; i < t->s.count; i++) {
        takt_array_release(t->trial->ctx, &t->lo[i]);
        takt_array_release(t->trial->ctx, &t->hi[i]);
    }
    for (size_t m = 0; m < 2; m++) {
        takt_session_destroy(t->machines[m].session);
        takt_plan_destroy(t->machines[m].plan);
    }
    takt_sample_deinit(&t->s);
}

void takt_box_try(takt_box_trial *trial)
{
    static const double radii[] = {0, 1e-6, 0.05, 2, -1, -1};
    takt_array bounds[2 * TAKT_MAX_OUTPUTS];
    box_test t = {.trial = trial, .text = trial->text, .bounds = bounds};
    if (!expect(&t, takt_sample_init(trial->ctx, trial->op, trial->text, false, &t.s) == TAKT_OK,
                "%s: %s", trial->text, takt_last_error(trial->ctx)))
        return;
    prepare(&t);
    if (compile(&t, "scalar", &t.machines[0]) && compile(&t, NULL, &t.machines[1]))
        for (size_t r = 0; r < sizeof radii / sizeof *radii && trial->violations == 0; r++)
            try_box(&t, radii[r]);
    clean_up(&t);
}
