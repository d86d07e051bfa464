/* operate.c - operators with a tensor on one side or both. */
#include "lang/elab.h"
#include "op/ops.h"

static const takt_op *op_of(uint8_t token)
{
    switch (token) {
    case TAKT_T_PLUS: return &takt_op_add;
    case TAKT_T_MINUS: return &takt_op_sub;
    case TAKT_T_STAR: return &takt_op_mul;
    case TAKT_T_SLASH: return &takt_op_div;
    case TAKT_T_PERCENT: return &takt_op_mod;
    case TAKT_T_POWER: return &takt_op_pow;
    case TAKT_T_AT: return &takt_op_matmul;
    case TAKT_T_EQ: return &takt_op_eq;
    case TAKT_T_NE: return &takt_op_ne;
    case TAKT_T_LT: return &takt_op_lt;
    case TAKT_T_LE: return &takt_op_le;
    case TAKT_T_GT: return &takt_op_gt;
    case TAKT_T_GE: return &takt_op_ge;
    case TAKT_INFIX_AND: return &takt_op_and;
    case TAKT_INFIX_OR: return &takt_op_or;
    default: return NULL;
    }
}

static takt_value on_tensors(takt_frame *f, const takt_ast *a, const takt_value v[2])
{
    const takt_op *op = op_of(a->token);
    if (op == NULL)
        return takt_complain(f, a, TAKT_E_CALL, "divide with / and round with floor()",
                             "// is for sizes, not for tensors");
    return takt_value_tensor(takt_elab_append(f, a, op, v, 2, NULL));
}

/* Next to == and != a bare word is a value of its own if the other side is a word, or could have
 * been one: a parameter without a kind (pad == same, where pad happens to be 1). */
static bool takes_word(const takt_frame *f, const takt_ast *a, const takt_value *left)
{
    if (a->token != TAKT_T_EQ && a->token != TAKT_T_NE)
        return false;
    if (left->kind == TAKT_V_WORD)
        return true;
    if (a->a->kind != TAKT_A_NAME || f->caller == NULL || f->function->name == NULL)
        return false;
    for (const takt_ast *p = f->function->parameters; p != NULL; p = p->next)
        if (p->name == a->a->name)
            return p->a == NULL;
    return false;
}

takt_value takt_eval_binary(takt_frame *f, const takt_ast *a, takt_value left)
{
    if (left.kind == TAKT_V_BOOL && a->token == TAKT_INFIX_AND && !left.b)
        return left;
    if (left.kind == TAKT_V_BOOL && a->token == TAKT_INFIX_OR && left.b)
        return left;
    const bool is_word = takes_word(f, a, &left);
    const takt_value v[2] = {left, is_word ? takt_eval_word(f, a->b) : takt_eval_expr(f, a->b)};
    if (v[0].kind == TAKT_V_POISON || v[1].kind == TAKT_V_POISON)
        return takt_value_poison();
    const bool has_tensor = v[0].kind == TAKT_V_TENSOR || v[1].kind == TAKT_V_TENSOR;
    const bool is_same_kind = v[0].kind == v[1].kind;
    for (int i = 0; has_tensor && !is_same_kind && i < 2; i++) {
        const bool fits = takt_value_is_number(&v[i]) || v[i].kind == TAKT_V_BOOL ||
                          v[i].kind == TAKT_V_DIM || v[i].kind == TAKT_V_TENSOR;
        if (!fits && (a->token == TAKT_T_EQ || a->token == TAKT_T_NE) && v[i].kind == TAKT_V_WORD)
            return takt_value_bool(a->token == TAKT_T_NE); /* mask != none */
    }
    return has_tensor ? on_tensors(f, a, v) : takt_compute(f, a, a->token, v);
}
