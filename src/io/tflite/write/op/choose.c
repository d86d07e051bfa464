/* choose.c - functions with settings, comparisons, truth and choice. */
#include <math.h>

#include "io/tflite/write/emit.h"

/* The bounds of an activation, from integers to integers. */
static bool integer_clip(takt_tflw *w, const takt_node *n)
{
    const double low = n->attr[0].f64, high = n->attr[1].f64;
    const char *name = low == -1 && high == 1  ? "RELU_N1_TO_1"
                       : low == 0 && high == 6 ? "RELU6"
                                               : NULL;
    takt_tflw_tail t;
    int32_t x;
    if (name == NULL || !takt_tflw_integer_layer(w, n, false, &x, &t))
        return false;
    takt_tflw_take(w, w->id, &t);
    (void)takt_tflw_1(w, name, x, takt_tflw_tail_result(w, &t));
    return true;
}

/* Bounds that are not an activation of the schema. */
static bool clip(takt_tflw *w, const takt_node *n)
{
    const bool low = n->attr[0].is_set, high = n->attr[1].is_set;
    const takt_dtype dtype = n->type->dtype;
    if (low && high && integer_clip(w, n))
        return true;
    const int32_t x = takt_tflw_in(w, n, 0);
    if (dtype != TAKT_F32 && dtype != TAKT_I32 && dtype != TAKT_I64)
        return false;
    if (!low && !high) {
        (void)takt_tflw_reshaped(w, x, n->type->dim, n->type->rank,
                                 takt_tflw_result(w, w->id, NULL));
        return true;
    }
    const int32_t above = !low    ? x
                          : !high ? takt_tflw_result(w, w->id, NULL)
                                  : takt_tflw_tensor_new(w, NULL, n->type, NULL);
    if (low)
        (void)takt_tflw_2(w, "MAXIMUM", x, takt_tflw_number(w, dtype, n->attr[0].f64), above);
    if (high)
        (void)takt_tflw_2(w, "MINIMUM", above, takt_tflw_number(w, dtype, n->attr[1].f64),
                          takt_tflw_result(w, w->id, NULL));
    return true;
}

static bool leaky(takt_tflw *w, const takt_node *n)
{
    takt_tflw_tail t;
    int32_t x;
    const bool is_integer = takt_tflw_integer_layer(w, n, false, &x, &t);
    if (is_integer)
        takt_tflw_take(w, w->id, &t);
    else
        x = takt_tflw_in(w, n, 0);
    const int32_t y = is_integer ? takt_tflw_tail_result(w, &t) : takt_tflw_result(w, w->id, NULL);
    takt_tflw_op *op = takt_tflw_1(w, "LEAKY_RELU", x, y);
    takt_tflw_option_f(op, 75, 0, (float)n->attr[0].f64);
    return true;
}

static bool gelu(takt_tflw *w, const takt_node *n)
{
    const int32_t x = takt_tflw_in(w, n, 0);
    takt_tflw_op *op = takt_tflw_1(w, "GELU", x, takt_tflw_result(w, w->id, NULL));
    takt_tflw_option(op, 116, 0, 1, n->attr[0].i64 != 0);
    return true;
}

/* ELU has no alpha: for values other than 1, only the negative part is scaled. */
static bool elu(takt_tflw *w, const takt_node *n)
{
    const double alpha = n->attr[0].f64;
    const int32_t x = takt_tflw_in(w, n, 0);
    if (alpha == 1) {
        (void)takt_tflw_1(w, "ELU", x, takt_tflw_result(w, w->id, NULL));
        return true;
    }
    int32_t part[4];
    for (int i = 0; i < 4; i++)
        part[i] = takt_tflw_tensor_new(w, NULL, n->type, NULL);
    (void)takt_tflw_2(w, "MINIMUM", x, takt_tflw_number(w, TAKT_F32, 0), part[0]);
    (void)takt_tflw_1(w, "ELU", part[0], part[1]);
    (void)takt_tflw_2(w, "MUL", part[1], takt_tflw_number(w, TAKT_F32, alpha), part[2]);
    (void)takt_tflw_1(w, "RELU", x, part[3]);
    (void)takt_tflw_2(w, "ADD", part[3], part[2], takt_tflw_result(w, w->id, NULL));
    return true;
}

/* x != x, and |x| = infinity. */
static bool special(takt_tflw *w, const takt_node *n)
{
    const takt_type *type = takt_type_of(w->g, n->in[0]);
    const int32_t x = takt_tflw_in(w, n, 0);
    if (n->op == &takt_op_is_nan) {
        (void)takt_tflw_2(w, "NOT_EQUAL", x, x, takt_tflw_result(w, w->id, NULL));
        return true;
    }
    const int32_t size = takt_tflw_tensor_new(w, NULL, type, NULL);
    (void)takt_tflw_1(w, "ABS", x, size);
    (void)takt_tflw_2(w, "EQUAL", size, takt_tflw_number(w, type->dtype, INFINITY),
                      takt_tflw_result(w, w->id, NULL));
    return true;
}

static const char *name_of(const takt_op *op)
{
    static const struct {
        const takt_op *op;
        const char *name;
    } list[] = {{&takt_op_eq, "EQUAL"},        {&takt_op_ne, "NOT_EQUAL"},
                {&takt_op_lt, "LESS"},         {&takt_op_le, "LESS_EQUAL"},
                {&takt_op_gt, "GREATER"},      {&takt_op_ge, "GREATER_EQUAL"},
                {&takt_op_and, "LOGICAL_AND"}, {&takt_op_or, "LOGICAL_OR"},
                {&takt_op_not, "LOGICAL_NOT"}, {&takt_op_select, "SELECT_V2"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].op == op)
            return list[i].name;
    return NULL;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    if (n->op == &takt_op_clip)
        return clip(w, n);
    if (n->op == &takt_op_leaky_relu)
        return leaky(w, n);
    if (n->op == &takt_op_gelu)
        return gelu(w, n);
    if (n->op == &takt_op_elu)
        return elu(w, n);
    if (n->op == &takt_op_is_nan || n->op == &takt_op_is_inf)
        return special(w, n);
    int32_t in[3];
    if ((n->op == &takt_op_and || n->op == &takt_op_or || n->op == &takt_op_not) &&
        n->type->dtype != TAKT_BOOL)
        return false; /* of bits */
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = takt_tflw_in(w, n, k);
    (void)takt_tflw_call(w, name_of(n->op), n->in_count, in, takt_tflw_result(w, w->id, NULL));
    return true;
}

const takt_tflw_emitter takt_tflw_op_choose = {
    {&takt_op_clip, &takt_op_leaky_relu, &takt_op_gelu, &takt_op_elu, &takt_op_eq, &takt_op_ne,
     &takt_op_lt, &takt_op_le, &takt_op_gt, &takt_op_ge, &takt_op_and, &takt_op_or, &takt_op_not,
     &takt_op_select, &takt_op_is_nan, &takt_op_is_inf},
    emit};
