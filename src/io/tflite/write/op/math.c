/* math.c - functions of one element, and arithmetic of two tensors. */
#include "io/tflite/adapt.h"
#include "io/tflite/write/emit.h"

typedef struct named {
    const takt_op *op;
    const char *name;
    int options; /* of arithmetic with a fused activation */
} named;

static const named list[] = {
    {&takt_op_relu, "RELU", 0},        {&takt_op_relu6, "RELU6", 0},
    {&takt_op_sigmoid, "LOGISTIC", 0}, {&takt_op_tanh, "TANH", 0},
    {&takt_op_exp, "EXP", 0},          {&takt_op_log, "LOG", 0},
    {&takt_op_sqrt, "SQRT", 0},        {&takt_op_rsqrt, "RSQRT", 0},
    {&takt_op_abs, "ABS", 0},          {&takt_op_neg, "NEG", 0},
    {&takt_op_sin, "SIN", 0},          {&takt_op_cos, "COS", 0},
    {&takt_op_floor, "FLOOR", 0},      {&takt_op_ceil, "CEIL", 0},
    {&takt_op_round, "ROUND", 0},      {&takt_op_square, "SQUARE", 0},
    {&takt_op_sign, "SIGN", 0},        {&takt_op_hard_swish, "HARD_SWISH", 0},
    {&takt_op_add, "ADD", 11},         {&takt_op_sub, "SUB", 28},
    {&takt_op_mul, "MUL", 21},         {&takt_op_div, "DIV", 29},
    {&takt_op_max, "MAXIMUM", 0},      {&takt_op_min, "MINIMUM", 0},
    {&takt_op_pow, "POW", 0},          {&takt_op_prelu, "PRELU", 0},
};

static const named *find(const takt_op *op)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].op == op)
            return &list[i];
    return NULL;
}

/* Functions that LiteRT has for integers: with any output scale, or with the one that fits their
 * range. */
static bool is_integer_function(takt_tflw *w, const takt_node *n)
{
    const takt_tflw_tail t = takt_tflw_tail_of(w, w->id, (takt_tflw_wish){false, false, true});
    if (t.quantize == TAKT_NONE)
        return false;
    if (n->op == &takt_op_relu || n->op == &takt_op_relu6)
        return true;
    if (n->op == &takt_op_hard_swish)
        return w->g->nodes[t.quantize].type->dtype != TAKT_I16;
    return (n->op == &takt_op_sigmoid && takt_tflw_is_unit(w, t.quantize, false)) ||
           (n->op == &takt_op_tanh && takt_tflw_is_unit(w, t.quantize, true));
}

/* Operands and the result are integers with scales of their own. */
static bool integers(takt_tflw *w, const takt_node *n, const named *a)
{
    int32_t in[2];
    takt_tflw_tail t;
    const bool has_activation = a->options != 0;
    if (n->op == &takt_op_div || !(has_activation || is_integer_function(w, n)) ||
        !takt_tflw_integer_layer(w, n, has_activation, in, &t))
        return false;
    takt_tflw_take(w, w->id, &t);
    takt_tflw_op *op = takt_tflw_call(w, a->name, n->in_count, in, takt_tflw_tail_result(w, &t));
    if (has_activation)
        takt_tflw_option(op, a->options, 0, 1, t.activation);
    if (n->op == &takt_op_add || n->op == &takt_op_sub) /* 16 bits: any scale */
        takt_tflw_option(op, a->options, 1, 1, 0);
    return true;
}

/* The common grid of all inputs, if there is one: a maximum of integers keeps it. */
static const takt_tflw_grid *shared(const takt_tflw *w, int32_t a, int32_t b)
{
    const takt_tflw_grid *x = &takt_tflw_at(w, a)->grid;
    const takt_tflw_grid *y = &takt_tflw_at(w, b)->grid;
    return x->count == 1 && y->count == 1 && x->scale[0] == y->scale[0] && x->zero[0] == y->zero[0]
               ? x
               : NULL;
}

static bool emit(takt_tflw *w, const takt_node *n)
{
    const named *a = find(n->op);
    if (integers(w, n, a))
        return true;
    takt_tflw_tail t = {.end = w->id};
    if (a->options != 0 && n->type->dtype == TAKT_F32)
        t = takt_tflw_tail_of(w, w->id, (takt_tflw_wish){false, true, false});
    int32_t in[2] = {takt_tflw_in(w, n, 0), n->in_count > 1 ? takt_tflw_in(w, n, 1) : -1};
    if (n->type->dtype != TAKT_F32 && n->in_count == 1 && takt_tflw_at(w, in[0])->grid.count > 0)
        return false;
    const takt_tflw_grid *same = n->in_count > 1 ? shared(w, in[0], in[1]) : NULL;
    const takt_tflw_grid grid = same != NULL ? *same : (takt_tflw_grid){0};
    takt_tflw_take(w, w->id, &t);
    takt_tflw_op *op =
        takt_tflw_call(w, a->name, n->in_count, in, takt_tflw_result(w, t.end, &grid));
    if (a->options != 0)
        takt_tflw_option(op, a->options, 0, 1, t.activation);
    return true;
}

const takt_tflw_emitter takt_tflw_op_math = {
    {&takt_op_relu,   &takt_op_relu6, &takt_op_sigmoid,    &takt_op_tanh, &takt_op_exp,
     &takt_op_log,    &takt_op_sqrt,  &takt_op_rsqrt,      &takt_op_abs,  &takt_op_neg,
     &takt_op_sin,    &takt_op_cos,   &takt_op_floor,      &takt_op_ceil, &takt_op_round,
     &takt_op_square, &takt_op_sign,  &takt_op_hard_swish, &takt_op_add,  &takt_op_sub,
     &takt_op_mul,    &takt_op_div,   &takt_op_max,        &takt_op_min,  &takt_op_pow,
     &takt_op_prelu},
    emit};
