/* ops.c - holds every op to its promises; a new op is tested because it exists. */
#include <math.h>
#include <string.h>

#include "op/ops.h"
#include "test.h"
#include "util/sample.h"

/* A gradient by differences has half the digits; a lowering in double nearly all. */
#define GRADIENT_LIMIT 2e-6
#define LOWERING_LIMIT 1e-9
/* In their own types both round at different points. */
#define NARROW_LIMIT 0.1

static takt_ctx *ctx;
static size_t texts_done, lowerings_done, gradients_done, types_done;

typedef void check_fn(const takt_op *op, const char *text);

static void every_sample(check_fn *check)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < takt_op_count; i++)
        for (size_t s = 0; s < 10 && takt_ops[i]->samples[s] != NULL; s++)
            check(takt_ops[i], takt_ops[i]->samples[s]);
    takt_ctx_destroy(ctx);
}

static bool make(const takt_op *op, const char *text, bool widen, takt_sample *s)
{
    const takt_status status = takt_sample_init(ctx, op, text, widen, s);
    return EXPECT(status == TAKT_OK, "%s: %s: %s", op->name, text, takt_last_error(ctx));
}

static void release(takt_array *arrays, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        takt_array_release(ctx, &arrays[i]);
}

/* ---- the record itself ---- */

static void check_attrs(const takt_op *op)
{
    for (size_t i = 0; i < takt_op_attr_count(op); i++) {
        const takt_attr_def *a = &op->attrs[i];
        EXPECT(a->summary != NULL && a->summary[0] != '\0', "%s: %s has no summary", op->name,
               a->name);
        EXPECT(!(a->is_required && a->is_optional), "%s: %s is required and optional", op->name,
               a->name);
        EXPECT((a->type == TAKT_ATTR_ENUM) == (a->names != NULL), "%s: %s has %s names", op->name,
               a->name, a->names != NULL ? "superfluous" : "no");
        EXPECT(takt_op_attr_index(op, a->name) == (int)i, "%s: two called %s", op->name, a->name);
        const bool needs_value =
            a->type == TAKT_ATTR_TENSOR || a->type == TAKT_ATTR_GRAPH || a->type == TAKT_ATTR_TYPE;
        EXPECT(!needs_value || a->is_required || a->is_optional, "%s: %s has no fallback", op->name,
               a->name);
    }
}

static void records(void)
{
    for (size_t i = 0; i < takt_op_count; i++) {
        const takt_op *op = takt_ops[i];
        const bool is_leaf = (op->traits & TAKT_LEAF) != 0 || strcmp(op->name, "get") == 0;
        EXPECT(takt_op_find(op->name, strlen(op->name)) == op, "%s is not found", op->name);
        EXPECT(i == 0 || strcmp(takt_ops[i - 1]->name, op->name) < 0, "%s: order", op->name);
        EXPECT(op->summary != NULL && op->summary[0] != '\0', "%s has no summary", op->name);
        EXPECT(is_leaf || op->samples[0] != NULL, "%s has no samples", op->name);
        EXPECT(((op->traits & TAKT_PRIMITIVE) != 0) == (op->lower == NULL),
               "%s: a primitive has no lowering, everything else has one", op->name);
        EXPECT(is_leaf || op->eval || op->scalar_f || op->scalar_i || op->scalar_p || op->lower,
               "%s cannot be evaluated", op->name);
        const bool has_gradient = op->grad != NULL || op->lower != NULL ||
                                  (op->traits & TAKT_CONTROL) != 0 || op == &takt_op_get;
        EXPECT(has_gradient == (op->no_gradient == NULL), "%s: has a gradient or says why not",
               op->name);
        const bool has_bound = op->bound != NULL || op->lower != NULL || op->in_max == 0;
        EXPECT(is_leaf || has_bound || op->no_bound != NULL, "%s: has bounds or says why not",
               op->name);
        EXPECT(op->bound == NULL || op->no_bound == NULL, "%s: has bounds and says why not",
               op->name);
        EXPECT(op->infer != NULL || (op->traits & TAKT_ELEMENTWISE) != 0, "%s: no infer", op->name);
        EXPECT(is_leaf || op->in_max == 0 || op->dtypes != 0, "%s takes no type", op->name);
        EXPECT(op->in_min <= op->in_max, "%s: %d to %d inputs", op->name, op->in_min, op->in_max);
        check_attrs(op);
    }
}

/* ---- text ---- */

static void print_parse(const takt_op *op, const char *text)
{
    takt_sample s;
    takt_graph *again = NULL;
    takt_text first, second;
    if (!make(op, text, false, &s))
        return;
    EXPECT(takt_graph_verify(s.graph) == TAKT_OK, "%s: %s: %s", op->name, text,
           takt_last_error(ctx));
    takt_text_init(&first, ctx);
    takt_text_init(&second, ctx);
    takt_graph_print(s.graph, NULL, &first);
    const char *printed = takt_text_get(&first);
    if (EXPECT(takt_parse(ctx, "sample", printed, strlen(printed), NULL, &again) == TAKT_OK,
               "%s: %s: %s\n%s", op->name, text, takt_last_error(ctx), printed)) {
        takt_graph_print(again, NULL, &second);
        EXPECT(strcmp(printed, takt_text_get(&second)) == 0, "%s: %s:\n%s\nbecame\n%s", op->name,
               text, printed, takt_text_get(&second));
        texts_done++;
    }
    takt_text_deinit(&first);
    takt_text_deinit(&second);
    takt_graph_destroy(again);
    takt_sample_deinit(&s);
}

static void texts(void)
{
    every_sample(print_parse);
}

/* ---- evaluation ---- */

/* Results must be values of their type: rounding again changes nothing. */
static void check_results(const takt_op *op, const char *text, takt_dims *dims, const takt_node *n,
                          const takt_array *out)
{
    for (uint32_t i = 0; i < n->out_count; i++) {
        const takt_type got = takt_array_type(&out[i]);
        char a[TAKT_TYPE_TEXT], b[TAKT_TYPE_TEXT];
        EXPECT(takt_type_same(dims, &got, &n->type[i]), "%s: %s: infer says %s, eval %s", op->name,
               text, takt_type_text(dims, &n->type[i], a), takt_type_text(dims, &got, b));
        for (size_t k = 0; k < out[i].count; k++) {
            const bool fits =
                out[i].f == NULL
                    ? takt_dtype_wrap(got.dtype, out[i].i[k]) == out[i].i[k]
                    : isnan(out[i].f[k]) || takt_dtype_round(got.dtype, out[i].f[k]) == out[i].f[k];
            EXPECT(fits, "%s: %s: result %u, element %zu", op->name, text, i, k);
        }
    }
}

static void compare_lowering(const takt_op *op, const char *text, bool widen, double limit)
{
    takt_sample s;
    takt_array a[TAKT_MAX_OUTPUTS], b[TAKT_MAX_OUTPUTS];
    if (!make(op, text, widen, &s))
        return;
    const takt_node *n = takt_node_at(s.graph, s.node);
    const takt_status direct = takt_interpret_node(ctx, s.graph, n, s.args, a);
    if (EXPECT(direct == TAKT_OK, "%s: %s: %s", op->name, text, takt_last_error(ctx))) {
        check_results(op, text, s.graph->dims, n, a);
        const takt_status lowered =
            takt_interpret_node_by(ctx, s.graph, n, TAKT_INTERP_LOWER, s.args, b);
        EXPECT(lowered == TAKT_OK, "%s: %s: lowered: %s", op->name, text, takt_last_error(ctx));
        for (uint32_t i = 0; i < n->out_count && lowered == TAKT_OK; i++) {
            const double d = takt_array_distance(&a[i], &b[i]);
            EXPECT(d <= limit, "%s: %s: result %u: lowering is off by %g", op->name, text, i, d);
            lowerings_done += op->lower != NULL;
        }
        release(a, n->out_count);
        if (lowered == TAKT_OK)
            release(b, n->out_count);
    }
    takt_sample_deinit(&s);
}

/* Whether the sample exists with f64 inputs. */
static bool can_widen(const takt_op *op, const char *text)
{
    takt_sample s;
    if (takt_sample_init(ctx, op, text, true, &s) != TAKT_OK)
        return false;
    takt_sample_deinit(&s);
    return true;
}

static void evaluate(const takt_op *op, const char *text)
{
    if (can_widen(op, text))
        compare_lowering(op, text, true, LOWERING_LIMIT);
    compare_lowering(op, text, false, NARROW_LIMIT);
}

static void evaluations(void)
{
    every_sample(evaluate);
}

/* ---- gradients ---- */

static void differentiate(const takt_op *op, const char *text)
{
    takt_sample s;
    double distance = 0;
    char where[TAKT_WHERE];
    if (op->no_gradient != NULL || op == &takt_op_loop /* by tests/unit/grad.c */ ||
        op == &takt_op_fake_quantize /* straight through: by tests/unit/shrink_aware.c */ ||
        !can_widen(op, text) || !make(op, text, true, &s))
        return;
    if (takt_sample_is_smooth(&s)) {
        const takt_status status = takt_sample_check_grad(&s, &distance, where);
        EXPECT(status == TAKT_OK, "%s: %s: gradient: %s", op->name, text, takt_last_error(ctx));
        EXPECT(distance <= GRADIENT_LIMIT, "%s: %s: gradient is off by %g at %s", op->name, text,
               distance, where);
        gradients_done++;
    }
    takt_sample_deinit(&s);
}

static void gradients(void)
{
    every_sample(differentiate);
}

/* ---- element types ---- */

/* The sample whose first input is of the same class, so that its ranges make sense. */
static const char *sample_for(const takt_op *op, takt_dtype dtype)
{
    const char *best = op->samples[0];
    for (size_t i = 0; i < 10 && op->samples[i] != NULL; i++) {
        takt_sample s;
        if (takt_sample_init(ctx, op, op->samples[i], false, &s) != TAKT_OK)
            continue;
        const takt_dtype first = s.args[0].dtype;
        takt_sample_deinit(&s);
        if (first == dtype)
            return op->samples[i];
        if (takt_dtype_is_float(first) == takt_dtype_is_float(dtype) &&
            takt_dtype_is_signed(first) == takt_dtype_is_signed(dtype))
            best = op->samples[i];
    }
    return best;
}

static takt_status evaluate_as(const takt_op *op, takt_dtype dtype, const takt_sample *s)
{
    takt_graph *g;
    takt_array in[TAKT_SAMPLE_INPUTS] = {0}, out[TAKT_MAX_OUTPUTS];
    takt_id ids[TAKT_SAMPLE_INPUTS];
    takt_random random = {.state = 7};
    TAKT_TRY(takt_graph_create(ctx, NULL, &g));
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < s->count && status == TAKT_OK; i++) {
        char name[24];
        takt_type type = takt_array_type(&s->in[i]);
        type.dtype = dtype;
        snprintf(name, sizeof name, "x%zu", i);
        ids[i] = takt_graph_input(g, name, &type);
        status = takt_random_array(ctx, &random, &type, &s->ranges.at[i], &in[i]);
    }
    const takt_node *from = takt_node_at(s->graph, s->node);
    const takt_id id = takt_graph_append(g, op, s->count, ids, from->attr);
    if (status == TAKT_OK)
        status = g->status;
    if (status == TAKT_OK)
        status = takt_interpret_node(ctx, g, takt_node_at(g, id), in, out);
    if (status == TAKT_OK) {
        check_results(op, takt_dtype_name(dtype), g->dims, takt_node_at(g, id), out);
        release(out, takt_node_at(g, id)->out_count);
    }
    release(in, (uint32_t)s->count);
    takt_graph_destroy(g);
    return status;
}

static void element_types(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < takt_op_count; i++) {
        const takt_op *op = takt_ops[i];
        if ((op->traits & TAKT_ELEMENTWISE) == 0 || op->is_mixed || op->in_max > 8)
            continue;
        for (int d = 0; d < TAKT_DTYPE_COUNT; d++) {
            takt_sample s;
            const takt_dtype dtype = (takt_dtype)d;
            if ((op->dtypes & TAKT_IN(dtype)) == 0 || !make(op, sample_for(op, dtype), false, &s))
                continue;
            const takt_status status = evaluate_as(op, dtype, &s);
            EXPECT(status == TAKT_OK, "%s on %s: %s", op->name, takt_dtype_name(dtype),
                   takt_last_error(ctx));
            takt_sample_deinit(&s);
            types_done++;
        }
    }
    takt_ctx_destroy(ctx);
}

static void summary(void)
{
    printf("%zu ops: %zu texts, %zu lowerings, %zu gradients, %zu element types\n", takt_op_count,
           texts_done, lowerings_done, gradients_done, types_done);
    EXPECT_IS(texts_done, >, takt_op_count);
    EXPECT_IS(gradients_done, >, takt_op_count / 2);
}

TEST_MAIN(records, texts, evaluations, gradients, element_types, summary)
