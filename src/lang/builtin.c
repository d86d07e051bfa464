/* builtin.c - functions of values known while the model is built: sizes, numbers, shapes. */
#include <math.h>
#include <string.h>

#include "ir/edge_index.h"
#include "lang/elab.h"

typedef takt_value builtin_fn(takt_frame *f, const takt_call *c);

static takt_value rank(takt_frame *f, const takt_call *c)
{
    return takt_value_int(takt_type_of(f->graph, c->value[0].id)->rank);
}

static takt_value size_at(takt_frame *f, const takt_call *c, const takt_type *type, int64_t axis)
{
    takt_dim dim;
    if (takt_dim_resolve(f->graph->dims, type->dim[axis], &dim) != TAKT_OK)
        return takt_complain_last(f, c->ast);
    return takt_value_dim(dim);
}

static takt_value shape(takt_frame *f, const takt_call *c)
{
    const takt_type *type = takt_type_of(f->graph, c->value[0].id);
    takt_value sizes[TAKT_MAX_RANK];
    for (int i = 0; i < type->rank; i++)
        sizes[i] = size_at(f, c, type, i);
    return takt_frame_list(f, sizes, (size_t)type->rank);
}

static takt_value dim(takt_frame *f, const takt_call *c)
{
    const takt_type *type = takt_type_of(f->graph, c->value[0].id);
    char text[TAKT_TYPE_TEXT];
    if (c->value[1].kind != TAKT_V_INT)
        return takt_complain(f, c->place[1], TAKT_E_CALL, NULL,
                             "dim: the axis is an integer, not %s",
                             takt_value_kind_text(&c->value[1]));
    const int64_t axis = c->value[1].i;
    if (axis < -type->rank || axis >= type->rank)
        return takt_complain(f, c->ast, TAKT_E_RANK, NULL, "dim: %s has no axis %lld",
                             takt_type_text(f->graph->dims, type, text), (long long)axis);
    return size_at(f, c, type, axis < 0 ? axis + type->rank : axis);
}

static takt_value dtype(takt_frame *f, const takt_call *c)
{
    const takt_dtype d = takt_type_of(f->graph, c->value[0].id)->dtype;
    return (takt_value){.kind = TAKT_V_DTYPE, .dtype = d};
}

static takt_value len(takt_frame *f, const takt_call *c)
{
    if (c->value[0].kind == TAKT_V_LIST)
        return takt_value_int(c->value[0].count);
    return takt_complain(f, c->ast, TAKT_E_CALL, "rank(x) is a tensor's",
                         "len takes a list, not %s", takt_value_kind_text(&c->value[0]));
}

static takt_value is_tensor(takt_frame *f, const takt_call *c)
{
    (void)f;
    return takt_value_bool(c->value[0].kind == TAKT_V_TENSOR);
}

/* spread(3, 2) is [3, 3]; a list of two is unchanged. */
static takt_value spread(takt_frame *f, const takt_call *c)
{
    const takt_value *v = &c->value[0], *n = &c->value[1];
    takt_value items[2 * TAKT_MAX_RANK];
    if (n->kind != TAKT_V_INT || n->i < 0 || n->i > 2 * TAKT_MAX_RANK)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL,
                             "spread takes a value and a small count");
    if (v->kind == TAKT_V_LIST && v->count == n->i)
        return *v;
    if (v->kind == TAKT_V_LIST)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL, "a list of %lld is wanted, not of %u",
                             (long long)n->i, v->count);
    for (int64_t i = 0; i < n->i; i++)
        items[i] = *v;
    return takt_frame_list(f, items, (size_t)n->i);
}

/* type(f32, [2, 3]) is f32[2, 3]. */
static takt_value type(takt_frame *f, const takt_call *c)
{
    const takt_value *sizes = &c->value[1];
    takt_type made = {.dtype = c->value[0].dtype, .rank = (int)sizes->count};
    if (c->value[0].kind != TAKT_V_DTYPE || sizes->kind != TAKT_V_LIST ||
        sizes->count > TAKT_MAX_RANK)
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL,
                             "type takes an element type and a list of sizes, at most %d",
                             TAKT_MAX_RANK);
    for (uint32_t i = 0; i < sizes->count; i++) {
        const takt_value *v = &sizes->items[i];
        char text[TAKT_VALUE_TEXT];
        if (!takt_value_is_size(v))
            return takt_complain(f, c->ast, TAKT_E_DIM, NULL, "%s is not a size",
                                 takt_value_text(f->graph, v, text));
        made.dim[i] = v->dim;
    }
    const takt_type *kept = takt_arena_copy(&f->arena, &made, sizeof made);
    return kept != NULL ? (takt_value){.kind = TAKT_V_TYPE, .type = kept} : takt_out_of_memory(f);
}

/* ---- arithmetic ---- */

static takt_value floordiv(takt_frame *f, const takt_call *c)
{
    return takt_compute(f, c->ast, TAKT_T_SLASHES, c->value);
}

static takt_value mod(takt_frame *f, const takt_call *c)
{
    return takt_compute(f, c->ast, TAKT_T_PERCENT, c->value);
}

static takt_value extreme(takt_frame *f, const takt_call *c, takt_dim_op op)
{
    const takt_value *a = &c->value[0], *b = &c->value[1];
    takt_dim out;
    const bool is_known = takt_value_is_number(a) && takt_value_is_number(b);
    if (is_known || !takt_value_is_size(a) || !takt_value_is_size(b)) {
        const takt_value less = takt_compute(f, c->ast, TAKT_T_LT, c->value);
        return less.kind == TAKT_V_POISON ? less : less.b == (op == TAKT_DIM_MIN) ? *a : *b;
    }
    if (takt_dim_make(f->graph->dims, op, a->dim, b->dim, &out) != TAKT_OK)
        return takt_complain_last(f, c->ast);
    return takt_value_dim(out);
}

static takt_value min(takt_frame *f, const takt_call *c)
{
    return extreme(f, c, TAKT_DIM_MIN);
}

static takt_value max(takt_frame *f, const takt_call *c)
{
    return extreme(f, c, TAKT_DIM_MAX);
}

static takt_value ceildiv(takt_frame *f, const takt_call *c)
{
    const takt_value *a = &c->value[0], *b = &c->value[1];
    if (a->kind == TAKT_V_INT && b->kind == TAKT_V_INT && a->i != INT64_MIN) {
        const takt_value down[2] = {takt_value_int(-a->i), *b};
        const takt_value v = takt_compute(f, c->ast, TAKT_T_SLASHES, down);
        return v.kind == TAKT_V_INT ? takt_value_int(-v.i) : v;
    }
    takt_dim out;
    if (!takt_value_is_size(a) || !takt_value_is_size(b))
        return takt_complain(f, c->ast, TAKT_E_CALL, NULL, "ceildiv takes sizes");
    if (takt_dim_make(f->graph->dims, TAKT_DIM_CEILDIV, a->dim, b->dim, &out) != TAKT_OK)
        return takt_complain_last(f, c->ast);
    return takt_value_dim(out);
}

static takt_value through(const takt_call *c, double (*function)(double))
{
    return takt_value_float(function(takt_value_double(&c->value[0])));
}

static takt_value square_root(takt_frame *f, const takt_call *c)
{
    return (void)f, through(c, sqrt);
}
static takt_value power_of_e(takt_frame *f, const takt_call *c)
{
    return (void)f, through(c, exp);
}
static takt_value logarithm(takt_frame *f, const takt_call *c)
{
    return (void)f, through(c, log);
}

/* To an integer, down or to the nearest. */
static takt_value whole(takt_frame *f, const takt_call *c)
{
    const double x = takt_value_double(&c->value[0]);
    if (c->value[0].kind == TAKT_V_INT)
        return c->value[0];
    if (!(fabs(x) < 9e18))
        return takt_complain(f, c->ast, TAKT_E_OVERFLOW, NULL, "%g is not an integer", x);
    return takt_value_int((int64_t)(c->name->text[0] == 'r' ? nearbyint(x) : floor(x)));
}

/* ---- what the trainer gives at every step ---- */

/* An input of the model, made at its first use. */
static takt_value trained_with(takt_frame *f, const takt_call *c, const char *name)
{
    const takt_type type = {.dtype = TAKT_U64};
    if (!f->e->options->training)
        return takt_complain(f, c->ast, TAKT_E_CALL, "ask `training` first: x if training else y",
                             "%s is known while a model is trained only", c->name->text);
    if (f->is_subgraph)
        return takt_complain(f, c->ast, TAKT_E_CALL, "draw random numbers outside of it",
                             "%s cannot be called in a loop or a graph", c->name->text);
    const size_t known = takt_edge_find(f->graph, TAKT_EDGE_INPUT, name);
    if (known != SIZE_MAX)
        return takt_value_tensor(f->graph->inputs[known].id);
    const takt_value v = takt_value_tensor(takt_graph_input(f->graph, name, &type));
    return v.kind == TAKT_V_POISON ? takt_complain_last(f, c->ast) : v;
}

static takt_value training_seed(takt_frame *f, const takt_call *c)
{
    return trained_with(f, c, "train.seed");
}

static takt_value training_step(takt_frame *f, const takt_call *c)
{
    return trained_with(f, c, "train.step");
}

static takt_value training_first(takt_frame *f, const takt_call *c)
{
    return trained_with(f, c, "train.first");
}

/* Numbered separately from the streams of first values, which must not depend on `training`. */
static takt_value training_stream(takt_frame *f, const takt_call *c)
{
    (void)c;
    return takt_value_int((int64_t)(UINT32_C(1) << 31) + f->e->draws++);
}

/* ---- the table ---- */

typedef enum taking { NOTHING, TENSOR, ONE, TWO, TENSOR_AXIS, ONE_NUMBER, TWO_SIZES } taking;

static const struct {
    const char *name;
    taking takes;
    builtin_fn *call;
} builtins[] = {
    {"rank", TENSOR, rank},
    {"shape", TENSOR, shape},
    {"dtype", TENSOR, dtype},
    {"len", ONE, len},
    {"is_tensor", ONE, is_tensor},
    {"dim", TENSOR_AXIS, dim},
    {"floordiv", TWO_SIZES, floordiv},
    {"ceildiv", TWO_SIZES, ceildiv},
    {"mod", TWO_SIZES, mod},
    {"min", TWO_SIZES, min},
    {"max", TWO_SIZES, max},
    {"sqrt", ONE_NUMBER, square_root},
    {"exp", ONE_NUMBER, power_of_e},
    {"log", ONE_NUMBER, logarithm},
    {"floor", ONE_NUMBER, whole},
    {"round", ONE_NUMBER, whole},
    {"spread", TWO, spread},
    {"training_seed", NOTHING, training_seed},
    {"training_step", NOTHING, training_step},
    {"training_first", NOTHING, training_first},
    {"training_stream", NOTHING, training_stream},
    {"type", TWO, type},
};

static bool is_known_number(const takt_value *v)
{
    return takt_value_is_number(v) || v->kind == TAKT_V_DIM;
}

/* Whether the arguments fit the layer; others go to the op of the same name. */
static bool takes(const takt_call *c, taking what)
{
    const takt_value *v = c->value;
    switch (what) {
    case NOTHING: return c->count == 0;
    case TENSOR: return c->count == 1 && v[0].kind == TAKT_V_TENSOR;
    case ONE: return c->count == 1 && c->positional == 1;
    case TWO: return c->count == 2 && c->positional == 2;
    case TENSOR_AXIS: return c->count == 2 && c->positional == 2 && v[0].kind == TAKT_V_TENSOR;
    case ONE_NUMBER: return c->count == 1 && takt_value_is_number(&v[0]);
    case TWO_SIZES:
        return c->count == 2 && c->positional == 2 && is_known_number(&v[0]) &&
               is_known_number(&v[1]);
    }
    return false;
}

bool takt_is_builtin(const char *name)
{
    bool is_known = false;
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        is_known = is_known || strcmp(builtins[i].name, name) == 0;
    return is_known;
}

bool takt_call_builtin(takt_frame *f, const takt_call *c, takt_value *out)
{
    if (strcmp(c->name->text, "constant") == 0) {
        *out = takt_call_constant(f, c);
        return true;
    }
    if (takt_call_given(f, c, out))
        return true;
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        if (strcmp(builtins[i].name, c->name->text) == 0 && takes(c, builtins[i].takes)) {
            *out = builtins[i].call(f, c);
            return true;
        }
    }
    return false;
}

void takt_nearest_builtin(takt_nearest *n)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        takt_nearest_try(n, builtins[i].name);
}
