/* untaken.c - operators allowed in a branch that is computed although it is not taken (unfold.c).
 *
 * Values there are meaningless and data-dependent sizes are 0, so only operators that cannot fail
 * for any value or empty tensor are allowed.
 */
#include "base/text.h"
#include "io/onnx/control.h"
#include "io/onnx/lengths.h"

typedef enum need {
    NOTHING,
    SETTING_0, /* input 0 is known, or sizes */
    SETTING_1, /* input 1 is, if there is one */
    AXES,      /* and holds the axes */
    MEAN,      /* of floats, and the same */
    DIVISOR,   /* floats, or a known divisor */
    INDEX,     /* an axis with a known size, and known indices into it; or none at all */
    AXIS,      /* an axis with a known size that is not 0; further inputs are known */
    PART,      /* such sizes of all sliced axes */
    STEP,      /* input 2 is known */
} need;

static const struct {
    const char *names[24];
    need what;
} rules[] = {
    {{"Add",
      "Sub",
      "Mul",
      "And",
      "Or",
      "Xor",
      "Not",
      "Equal",
      "Greater",
      "Less",
      "GreaterOrEqual",
      "LessOrEqual",
      "Min",
      "Max",
      "Where",
      "Neg",
      "Abs",
      "Sign",
      "Floor",
      "Ceil",
      "Round",
      "Clip",
      "Identity"},
     NOTHING},
    {{"Exp",   "Log",  "Sqrt",      "Reciprocal", "Sin",    "Cos",    "Tanh",     "Sigmoid",
      "Relu",  "Erf",  "Softmax",   "IsNaN",      "IsInf",  "Cast",   "CastLike", "Constant",
      "Shape", "Size", "Transpose", "Flatten",    "Concat", "MatMul", "If"},
     NOTHING},
    {{"NonZero", "NonMaxSuppression"}, NOTHING},
    {{"ConstantOfShape"}, SETTING_0},
    {{"Reshape", "Expand", "Unsqueeze", "CumSum", "ReduceMax", "ReduceMin", "ReduceSum"},
     SETTING_1},
    {{"Squeeze"}, AXES},
    {{"ReduceMean"}, MEAN},
    {{"Div", "Mod"}, DIVISOR},
    {{"Gather"}, INDEX},
    {{"ArgMax", "ArgMin", "TopK", "Split"}, AXIS},
    {{"Slice"}, PART},
    {{"Range"}, STEP},
};

static bool find_need(const takt_pb_node *n, need *out)
{
    if (n->domain.length > 0 && !takt_span_is(n->domain, "ai.onnx"))
        return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (size_t k = 0; rules[i].names[k] != NULL; k++)
            if (takt_span_is(n->op, rules[i].names[k])) {
                *out = rules[i].what;
                return true;
            }
    return false;
}

static bool is_setting(takt_call *c, size_t i)
{
    return takt_onnx_peek(c, i) != NULL || takt_onnx_peek_syms(c, i).at != NULL;
}

static bool has_no_zero(const takt_array *a)
{
    if (a == NULL || a->i == NULL)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->i[i] == 0)
            return false;
    return true;
}

/* The size of an axis of input 0; -1 where it is not a number. */
static int64_t size_of(takt_call *c, int64_t axis)
{
    const takt_type *t = takt_onnx_type(c, 0);
    takt_dim size = -1;
    axis += axis < 0 ? t->rank : 0;
    if (axis < 0 || axis >= t->rank ||
        takt_dim_resolve(c->g->dims, t->dim[axis], &size) != TAKT_OK || !takt_dim_is_number(size))
        return -1;
    return size;
}

/* Whether `size` was found by takt_onnx_length: it is 0 if the branch is not taken. */
static bool is_gated(takt_call *c, takt_dim size)
{
    const takt_graph *g = c->g;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        const takt_attr *names = n->op == &takt_op_length ? takt_node_attr(n, "names") : NULL;
        if (names == NULL || names->count != 1 || !takt_dim_same(g->dims, names->dims[0], size))
            continue;
        const takt_node *row = &g->nodes[n->in[0]];
        const takt_node *chosen = row->op == &takt_op_reshape ? &g->nodes[row->in[0]] : row;
        return chosen->op == &takt_op_select && chosen->in[0] == c->scope->gate;
    }
    return false;
}

static bool has_no_element(takt_call *c, const takt_type t)
{
    for (int d = 0; d < t.rank && c->scope->has_gate; d++)
        if (is_gated(c, t.dim[d]))
            return true;
    return false;
}

static bool is_index(takt_call *c)
{
    if (has_no_element(c, *takt_onnx_type(c, 1)))
        return true;
    const takt_array *at = takt_onnx_peek(c, 1);
    const int64_t size = size_of(c, takt_onnx_i(c, "axis", 0));
    if (at == NULL || at->i == NULL)
        return false;
    for (size_t i = 0; i < at->count; i++)
        if (at->i[i] >= size || at->i[i] < -size)
            return false;
    return size > 0;
}

static const int64_t *item(const takt_array *a, size_t i)
{
    return a != NULL && a->i != NULL && i < a->count ? &a->i[i] : NULL;
}

/* All of an axis, or a part of one with a known size. */
static bool is_part(takt_call *c)
{
    const takt_array *given[5] = {NULL};
    for (size_t i = 1; i < 5; i++)
        given[i] = takt_onnx_has(c, i) ? takt_onnx_peek(c, i) : NULL;
    if (given[1] == NULL || given[2] == NULL || given[3] == NULL ||
        (takt_onnx_has(c, 4) && given[4] == NULL))
        return false;
    for (size_t i = 0; i < given[1]->count; i++) {
        const int64_t *start = item(given[1], i), *end = item(given[2], i);
        const int64_t *axis = item(given[3], i), *step = item(given[4], i);
        const bool is_all = start != NULL && *start == 0 && end != NULL && *end >= INT32_MAX &&
                            (given[4] == NULL || (step != NULL && *step == 1));
        if (!is_all && (axis == NULL || size_of(c, *axis) < 0))
            return false;
    }
    return true;
}

static bool is_met(takt_call *c, need what)
{
    switch (what) {
    case NOTHING: return true;
    case SETTING_0: return is_setting(c, 0);
    case SETTING_1: return !takt_onnx_has(c, 1) || is_setting(c, 1);
    case AXES: return takt_onnx_has(c, 1) ? is_setting(c, 1) : takt_onnx_ints(c, "axes").is_set;
    case MEAN: return takt_dtype_is_float(takt_onnx_type(c, 0)->dtype) && is_met(c, SETTING_1);
    case DIVISOR:
        return takt_dtype_is_float(takt_onnx_type(c, 0)->dtype) ||
               has_no_zero(takt_onnx_peek(c, 1));
    case INDEX: return is_index(c);
    case AXIS:
        return size_of(c, takt_onnx_i(c, "axis", takt_span_is(c->node->op, "TopK") ? -1 : 0)) > 0 &&
               (!takt_onnx_has(c, 1) || takt_onnx_peek(c, 1) != NULL);
    case PART: return is_part(c);
    case STEP: return has_no_zero(takt_onnx_peek(c, 2));
    }
    return false;
}

takt_status takt_onnx_check_untaken(takt_call *c)
{
    const takt_scope *s = c->scope;
    need what;
    while (s != NULL && !s->has_gate)
        s = s->parent != NULL ? s->parent : s->caller_scope;
    if (s == NULL || (find_need(c->node, &what) && is_met(c, what)))
        return c->status;
    if (c->status != TAKT_OK)
        return c->status;
    return takt_onnx_refuse(c, "a size that values decide inside a branch or a loop");
}
