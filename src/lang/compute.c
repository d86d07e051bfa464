/* compute.c - operators on values known at build time: numbers, sizes, words, lists. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "lang/elab.h"

static bool is_compare(uint8_t token)
{
    return token >= TAKT_T_EQ && token <= TAKT_T_GE;
}

static const char *sign(uint8_t token)
{
    if (token == TAKT_INFIX_AND)
        return "and";
    return token == TAKT_INFIX_OR ? "or" : takt_token_text((takt_token_kind)token);
}

/* Lists nest no deeper than TAKT_MAX_RANK, so this recursion is bounded. */
static bool is_same(takt_frame *f, const takt_value *a, const takt_value *b)
{
    if (takt_value_is_number(a) && takt_value_is_number(b) && a->kind != b->kind)
        return takt_value_double(a) == takt_value_double(b);
    if (takt_value_is_size(a) && takt_value_is_size(b))
        return takt_dim_same(f->graph->dims, a->dim, b->dim);
    if (a->kind != b->kind)
        return false;
    switch ((takt_value_kind)a->kind) {
    case TAKT_V_INT: return a->i == b->i;
    case TAKT_V_BIG: return a->u == b->u;
    case TAKT_V_FLOAT: return a->f == b->f;
    case TAKT_V_BOOL: return a->b == b->b;
    case TAKT_V_DTYPE: return a->dtype == b->dtype;
    case TAKT_V_WORD: return a->word == b->word;
    case TAKT_V_STRING: {
        const takt_span x = a->text, y = b->text;
        size_t i = 0;
        while (x.length == y.length && i < x.length && x.at[i] == y.at[i])
            i++;
        return x.length == y.length && i == x.length;
    }
    case TAKT_V_TYPE: return takt_type_same(f->graph->dims, a->type, b->type);
    case TAKT_V_LIST: {
        bool same = a->count == b->count;
        for (uint32_t i = 0; same && i < a->count; i++)
            same = is_same(f, &a->items[i], &b->items[i]);
        return same;
    }
    default: return false;
    }
}

/* ---- integers ---- */

static takt_value overflow(takt_frame *f, const takt_ast *a)
{
    return takt_complain(f, a, TAKT_E_OVERFLOW, NULL, "the result does not fit 64 bits");
}

static takt_value int_power(takt_frame *f, const takt_ast *a, int64_t x, int64_t n)
{
    if (n < 0)
        return takt_value_float(pow((double)x, (double)n));
    int64_t result = 1;
    if (x == 0 || x == 1 || n == 0)
        return takt_value_int(n == 0 ? 1 : x);
    if (x == -1)
        return takt_value_int(n % 2 == 0 ? 1 : -1);
    for (int64_t i = 0; i < n; i++) /* at most 63 rounds before it overflows */
        if (!takt_i64_mul(result, x, &result))
            return overflow(f, a);
    return takt_value_int(result);
}

static takt_value int_divide(takt_frame *f, const takt_ast *a, uint8_t token, int64_t x, int64_t y)
{
    if (y == 0)
        return takt_complain(f, a, TAKT_E_DIM, NULL, "%" PRId64 " is divided by zero", x);
    if (y == -1)
        return token == TAKT_T_PERCENT ? takt_value_int(0)
               : x == INT64_MIN        ? overflow(f, a)
                                       : takt_value_int(-x);
    const int64_t quotient = x / y, rest = x % y;
    const bool is_below = rest != 0 && (rest < 0) != (y < 0);
    if (token == TAKT_T_PERCENT)
        return takt_value_int(is_below ? rest + y : rest);
    if (token == TAKT_T_SLASHES)
        return takt_value_int(quotient - is_below);
    if (rest != 0)
        return takt_complain(
            f, a, TAKT_E_DIM,
            "// rounds down; write one of them with a point, as in 1.0, for a fraction",
            "%" PRId64 " / %" PRId64 " is not a whole number", x, y);
    return takt_value_int(quotient);
}

static takt_value ints(takt_frame *f, const takt_ast *a, uint8_t token, int64_t x, int64_t y)
{
    int64_t r = 0;
    switch (token) {
    case TAKT_T_EQ: return takt_value_bool(x == y);
    case TAKT_T_NE: return takt_value_bool(x != y);
    case TAKT_T_LT: return takt_value_bool(x < y);
    case TAKT_T_LE: return takt_value_bool(x <= y);
    case TAKT_T_GT: return takt_value_bool(x > y);
    case TAKT_T_GE: return takt_value_bool(x >= y);
    case TAKT_T_PLUS: return takt_i64_add(x, y, &r) ? takt_value_int(r) : overflow(f, a);
    case TAKT_T_MINUS: return __builtin_sub_overflow(x, y, &r) ? overflow(f, a) : takt_value_int(r);
    case TAKT_T_STAR: return takt_i64_mul(x, y, &r) ? takt_value_int(r) : overflow(f, a);
    case TAKT_T_POWER: return int_power(f, a, x, y);
    default: return int_divide(f, a, token, x, y);
    }
}

static takt_value floats(uint8_t token, double x, double y)
{
    switch (token) {
    case TAKT_T_EQ: return takt_value_bool(x == y);
    case TAKT_T_NE: return takt_value_bool(x != y);
    case TAKT_T_LT: return takt_value_bool(x < y);
    case TAKT_T_LE: return takt_value_bool(x <= y);
    case TAKT_T_GT: return takt_value_bool(x > y);
    case TAKT_T_GE: return takt_value_bool(x >= y);
    case TAKT_T_PLUS: return takt_value_float(x + y);
    case TAKT_T_MINUS: return takt_value_float(x - y);
    case TAKT_T_STAR: return takt_value_float(x * y);
    case TAKT_T_SLASH: return takt_value_float(x / y);
    case TAKT_T_SLASHES: return takt_value_float(floor(x / y));
    case TAKT_T_PERCENT: return takt_value_float(x - y * floor(x / y));
    default: return takt_value_float(pow(x, y));
    }
}

/* ---- dimensions ---- */

static takt_value unknown_size(takt_frame *f, const takt_ast *a, const takt_value *v)
{
    char text[TAKT_VALUE_TEXT];
    return takt_complain(f, a, TAKT_E_DIM, NULL,
                         "the size of %s is not known while the model is built",
                         takt_value_text(f->graph, v, text));
}

static takt_value compare_dims(takt_frame *f, const takt_ast *a, uint8_t token,
                               const takt_value v[2])
{
    for (int i = 0; i < 2; i++) /* below every size, since it is below 0 */
        if (!takt_value_is_size(&v[i]))
            return ints(f, a, token, i == 0 ? v[0].i : 0, i == 1 ? v[1].i : 0);
    if (takt_dim_same(f->graph->dims, v[0].dim, v[1].dim))
        return takt_value_bool(token == TAKT_T_EQ || token == TAKT_T_LE || token == TAKT_T_GE);
    return unknown_size(f, a, v[0].kind == TAKT_V_DIM ? &v[0] : &v[1]);
}

static bool is_whole(const takt_value *v)
{
    return v->kind == TAKT_V_INT || v->kind == TAKT_V_DIM;
}

static takt_value dims(takt_frame *f, const takt_ast *a, uint8_t token, const takt_value v[2])
{
    static const struct {
        uint8_t token;
        takt_dim_op op;
    } ops[] = {{TAKT_T_PLUS, TAKT_DIM_ADD},       {TAKT_T_MINUS, TAKT_DIM_SUB},
               {TAKT_T_STAR, TAKT_DIM_MUL},       {TAKT_T_SLASHES, TAKT_DIM_FLOORDIV},
               {TAKT_T_SLASH, TAKT_DIM_FLOORDIV}, {TAKT_T_PERCENT, TAKT_DIM_MOD}};
    takt_dim x = v[0].dim, y = v[1].dim, out = 0, back = 0;
    takt_dims *table = f->graph->dims;
    if (is_compare(token))
        return compare_dims(f, a, token, v);
    if (v[1].kind == TAKT_V_INT && v[1].i < 0 && v[1].i != INT64_MIN &&
        (token == TAKT_T_PLUS || token == TAKT_T_MINUS)) {
        y = -v[1].i; /* numbers of dimensions are not negative: n + -1 is n - 1 */
        token = token == TAKT_T_PLUS ? TAKT_T_MINUS : TAKT_T_PLUS;
    } else if ((v[0].kind == TAKT_V_INT && v[0].i < 0) || (v[1].kind == TAKT_V_INT && v[1].i < 0)) {
        return takt_complain(f, a, TAKT_E_DIM, NULL, "a dimension cannot be negative");
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ops[i].token != token)
            continue;
        if (takt_dim_make(table, ops[i].op, x, y, &out) != TAKT_OK)
            return takt_complain_last(f, a);
        if (token == TAKT_T_SLASH &&
            (takt_dim_make(table, TAKT_DIM_MUL, out, y, &back) != TAKT_OK ||
             !takt_dim_same(table, back, x)))
            return takt_complain(f, a, TAKT_E_DIM, "// rounds down",
                                 "the division of a dimension is not known to be whole");
        return takt_value_dim(out);
    }
    return takt_complain(f, a, TAKT_E_DIM, NULL, "dimensions have no %s", sign(token));
}

/* ---- lists ---- */

static takt_value lists(takt_frame *f, const takt_ast *a, const takt_value *x, const takt_value *y)
{
    enum { LONGEST = 1 << 16 };
    const size_t count = (size_t)x->count + y->count;
    if (count > LONGEST)
        return takt_complain(f, a, TAKT_E_OVERFLOW, NULL, "a list would have %zu items", count);
    takt_value *items = takt_frame_items(f, count);
    if (items == NULL)
        return takt_value_poison();
    for (uint32_t i = 0; i < x->count; i++)
        items[i] = x->items[i];
    for (uint32_t i = 0; i < y->count; i++)
        items[x->count + i] = y->items[i];
    return takt_frame_list(f, items, count);
}

/* "layers." + 3: layer names with a checkpoint's numbers. The size of strings is limited like that
 * of lists. */
static takt_value strings(takt_frame *f, const takt_ast *a, const takt_value v[2])
{
    enum { LONGEST = 255 };
    char number[2][24];
    takt_span part[2];
    for (int i = 0; i < 2; i++) {
        part[i] = v[i].text;
        if (v[i].kind == TAKT_V_INT) {
            const int length = snprintf(number[i], sizeof number[i], "%" PRId64, v[i].i);
            part[i] = (takt_span){number[i], (size_t)length};
        }
    }
    const size_t length = part[0].length + part[1].length;
    if (part[0].length > LONGEST || length > LONGEST)
        return takt_complain(f, a, TAKT_E_OVERFLOW, NULL, "a string would have %zu bytes", length);
    f->e->list_items += TAKT_STRING_ITEMS(length);
    char *text = takt_arena_get(&f->arena, length + 1);
    if (text == NULL)
        return takt_out_of_memory(f);
    memcpy(text, part[0].at, part[0].length);
    memcpy(text + part[0].length, part[1].at, part[1].length);
    text[length] = '\0';
    return (takt_value){.kind = TAKT_V_STRING, .text = {text, length}};
}

static bool joins_strings(const takt_value v[2])
{
    const bool is_string[2] = {v[0].kind == TAKT_V_STRING, v[1].kind == TAKT_V_STRING};
    return (is_string[0] || is_string[1]) && (is_string[0] || v[0].kind == TAKT_V_INT) &&
           (is_string[1] || v[1].kind == TAKT_V_INT);
}

takt_value takt_compute(takt_frame *f, const takt_ast *a, uint8_t token, const takt_value v[2])
{
    const bool is_logic = token == TAKT_INFIX_AND || token == TAKT_INFIX_OR;
    if (v[0].kind == TAKT_V_POISON || v[1].kind == TAKT_V_POISON)
        return takt_value_poison();
    if (is_logic && v[0].kind == TAKT_V_BOOL && v[1].kind == TAKT_V_BOOL)
        return takt_value_bool(token == TAKT_INFIX_AND ? v[0].b && v[1].b : v[0].b || v[1].b);
    if (!is_logic && token != TAKT_T_AT) {
        if (v[0].kind == TAKT_V_INT && v[1].kind == TAKT_V_INT)
            return ints(f, a, token, v[0].i, v[1].i);
        if (is_whole(&v[0]) && is_whole(&v[1]))
            return dims(f, a, token, v);
        if (takt_value_is_number(&v[0]) && takt_value_is_number(&v[1]))
            return floats(token, takt_value_double(&v[0]), takt_value_double(&v[1]));
        if (token == TAKT_T_PLUS && v[0].kind == TAKT_V_LIST && v[1].kind == TAKT_V_LIST)
            return lists(f, a, &v[0], &v[1]);
        if (token == TAKT_T_PLUS && joins_strings(v))
            return strings(f, a, v);
    }
    if (token == TAKT_T_EQ || token == TAKT_T_NE)
        return takt_value_bool(is_same(f, &v[0], &v[1]) == (token == TAKT_T_EQ));
    if (takt_value_is_number(&v[0]) && v[1].kind == TAKT_V_DIM)
        return unknown_size(f, a, &v[1]);
    if (takt_value_is_number(&v[1]) && v[0].kind == TAKT_V_DIM)
        return unknown_size(f, a, &v[0]);
    return takt_complain(f, a, TAKT_E_CALL, NULL, "%s does not go between %s and %s", sign(token),
                         takt_value_kind_text(&v[0]), takt_value_kind_text(&v[1]));
}
