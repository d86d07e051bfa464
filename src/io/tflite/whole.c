/* whole.c - imports an integer operator as one custom node, which a writer can write back. */
#include "io/tflite/whole.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/tflite/quant.h"

/* Operators with one result whose options are numbers. */
static const char *const names[] = {
    "ABS",
    "BATCH_MATMUL",
    "BITWISE_XOR",
    "DIV",
    "ELU",
    "EQUAL",
    "EXP",
    "FLOOR_MOD",
    "GATHER_ND",
    "GELU",
    "GREATER",
    "GREATER_EQUAL",
    "LESS",
    "LESS_EQUAL",
    "LOG",
    "LSTM",
    "NEG",
    "NOT_EQUAL",
    "PRELU",
    "RELU_0_TO_1",
    "RIGHT_SHIFT",
    "SQUARED_DIFFERENCE",
    "SUM",
    "SVDF",
    "TRANSPOSE_CONV",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
};
/* Those that scales.c has a form in floats for, unless their result has another type. */
static const char *const mixed[] = {"SOFTMAX", "QUANTIZE"};

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static const takt_tfl_tensor *tensor_at(const takt_tfl_call *c, int32_t index)
{
    return &c->scope->graph->tensors[index];
}

static bool has_blocks(const takt_tfl_call *c, const int32_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (at[i] >= 0 && tensor_at(c, at[i])->is_odd)
            return true;
    return false;
}

static bool reads_integers(const takt_tfl_call *c)
{
    for (size_t i = 0; i < c->op->input_count; i++)
        if (takt_tfl_has(c, i) && takt_tfl_is_quantised(tensor_at(c, c->op->inputs[i])))
            return true;
    return false;
}

/* Between integer types, where the writer's layers lack one. */
static bool changes_type(const takt_tfl_call *c)
{
    if (!takt_tfl_has(c, 0))
        return false;
    const takt_tfl_tensor *x = tensor_at(c, c->op->inputs[0]), *y = tensor_at(c, c->op->outputs[0]);
    return takt_tfl_is_quantised(x) && x->type != y->type &&
           (y->type == TAKT_TFL_INT32 || takt_tfl_is(c, "SOFTMAX"));
}

bool takt_tfl_is_whole(const takt_tfl_call *c)
{
    if (!c->im->source->keep_scales || c->op->output_count != 1)
        return false;
    const takt_tfl_tensor *y = tensor_at(c, c->op->outputs[0]);
    const bool is_named = is_one_of(c->name, names, sizeof names / sizeof *names) &&
                          (takt_tfl_is_quantised(y) || y->type == TAKT_TFL_BOOL);
    const bool is_mixed =
        is_one_of(c->name, mixed, sizeof mixed / sizeof *mixed) && changes_type(c);
    return (is_named || is_mixed) && reads_integers(c) &&
           !has_blocks(c, c->op->inputs, c->op->input_count) &&
           !has_blocks(c, c->op->between, c->op->between_count);
}

/* ---- the node's inputs ---- */

typedef struct keeping {
    takt_tfl_call *c; /* in the model */
    takt_graph *body;
    takt_id *in; /* of the node */
    size_t count;
} keeping;

static takt_id port(keeping *k, const char *kind, size_t i, takt_id value)
{
    const char *name = takt_arena_format(&k->c->im->arena, "%s_%zu", kind, i);
    if (name == NULL)
        k->c->status = TAKT_ERR_MEMORY;
    if (name == NULL || value == TAKT_NONE)
        return TAKT_NONE;
    const takt_type type = *takt_type_of(k->c->g, value);
    k->in[k->count++] = value;
    return takt_graph_input(k->body, name, &type);
}

/* "scale_in_3" and its like: `kind` is "in", "out" or "mid". */
static void grid(keeping *k, const char *kind, size_t i, int32_t index)
{
    takt_tfl_call *c = k->c;
    const takt_tfl_tensor *t = tensor_at(c, index);
    const size_t count = t->scale_count;
    const int64_t dim = (int64_t)count, axis = t->axis;
    const int rank = count > 1 ? 1 : 0;
    double *scale = takt_tfl_get(c, count, sizeof *scale);
    int64_t *zero = takt_tfl_get(c, count, sizeof *zero);
    if (count == 0 || scale == NULL || zero == NULL)
        return;
    for (size_t n = 0; n < count; n++) {
        scale[n] = (double)takt_tfl_scale_at(c, t, n);
        zero[n] = n < t->zero_count ? t->zero[n] : t->zero_count == 1 ? t->zero[0] : 0;
    }
    char name[3][16];
    snprintf(name[0], sizeof name[0], "scale_%s", kind);
    snprintf(name[1], sizeof name[1], "zero_%s", kind);
    snprintf(name[2], sizeof name[2], "axis_%s", kind);
    (void)port(k, name[0], i, takt_tfl_make_f(c, TAKT_F32, scale, &dim, rank));
    (void)port(k, name[1], i, takt_tfl_make_i(c, TAKT_I64, zero, &dim, rank));
    if (count > 1)
        (void)port(k, name[2], i, takt_tfl_make_i(c, TAKT_I64, &axis, NULL, 0));
}

static void options(keeping *k, const struct takt_tfl_whole *whole)
{
    const takt_tfl_op *op = k->c->op;
    int64_t list[TAKT_TFL_OPTIONS_HEAD + 3 * TAKT_TFL_OPTIONS] = {
        op->options_type, (int64_t)op->input_count, (int64_t)op->between_count};
    int64_t count = TAKT_TFL_OPTIONS_HEAD;
    for (size_t i = 0; i < whole->option_count; i++) {
        list[count++] = whole->option[i].field;
        list[count++] = whole->option[i].bytes;
        list[count++] = whole->option[i].bits;
    }
    const takt_id value = takt_tfl_make_i(k->c, TAKT_I64, list, &count, 1);
    if (value == TAKT_NONE)
        return;
    const takt_type type = *takt_type_of(k->c->g, value);
    k->in[k->count++] = value;
    (void)takt_graph_input(k->body, "options", &type);
}

/* Intermediate tensors have scales only. */
static void between(keeping *k)
{
    const takt_tfl_op *op = k->c->op;
    for (size_t i = 0; i < op->between_count; i++) {
        takt_type type;
        if (op->between[i] < 0)
            continue;
        const takt_status status =
            takt_tfl_type_of(k->c->im, tensor_at(k->c, op->between[i]), &type);
        if (status != TAKT_OK) {
            k->c->status = status;
            return;
        }
        (void)port(k, "mid", i, takt_tfl_number(k->c, type.dtype, 0));
        grid(k, "mid", i, op->between[i]);
    }
}

/* ---- the body ---- */

/* The operator's inputs in the body: constants are made again there, so that the adapter can look
 * at them. The values of the model are put into `before`. */
static void inputs(keeping *k, takt_tfl_value *before)
{
    takt_tfl_call *c = k->c;
    for (size_t i = 0; i < c->op->input_count && takt_tfl_good(c); i++)
        if (takt_tfl_has(c, i))
            (void)takt_tfl_need(c, i);
    for (size_t i = 0; i < c->op->input_count; i++)
        if (takt_tfl_has(c, i))
            before[i] = c->scope->values[c->op->inputs[i]];
    for (size_t i = 0; i < c->op->input_count && takt_tfl_good(c); i++) {
        if (!takt_tfl_has(c, i))
            continue;
        const int32_t index = c->op->inputs[i];
        const takt_id inside = port(k, "in", i, before[i].id);
        grid(k, "in", i, index);
        c->scope->values[index] = takt_tfl_is_constant(c->im, tensor_at(c, index))
                                      ? (takt_tfl_value){.state = TAKT_TFL_NEW}
                                      : (takt_tfl_value){.state = TAKT_TFL_READY, .id = inside};
    }
}

static takt_status fill(keeping *k, const takt_tflite_op *adapter, struct takt_tfl_whole *whole)
{
    takt_tfl_call *c = k->c, inner = *c;
    takt_tfl_scope scope = *c->scope;
    scope.outer = c->scope; /* a variable of its own would be one inside of a branch */
    scope.g = inner.g = k->body;
    scope.facts = NULL;
    scope.fact_count = 0;
    inner.scope = &scope;
    inner.whole = whole;
    c->im->depth++;
    const takt_status status = adapter->adapt(&inner);
    if (takt_tfl_good(&inner))
        inner.status = status;
    takt_tfl_close(&scope);
    takt_tfl_value *made = &c->scope->values[c->op->outputs[0]];
    if (inner.status == TAKT_OK && made->state == TAKT_TFL_READY)
        takt_graph_output(k->body, "out_0", made->id);
    *made = (takt_tfl_value){.state = TAKT_TFL_NEW};
    for (size_t i = 0; i < c->op->input_count && inner.status == TAKT_OK; i++) {
        if (whole->next[i] == TAKT_NONE)
            continue;
        const char *name = takt_arena_format(&c->im->arena, "next_%zu", i);
        if (name == NULL)
            return TAKT_ERR_MEMORY;
        takt_graph_output(k->body, name, whole->next[i]);
    }
    return inner.status != TAKT_OK ? inner.status : k->body->status;
}

static void set_results(keeping *k, const struct takt_tfl_whole *whole)
{
    takt_tfl_call *c = k->c;
    const char *name = takt_arena_format(&c->im->arena, TAKT_TFL_WHOLE "%s", c->name);
    const takt_named_attr attrs[] = {{"name", takt_attr_string(name != NULL ? name : "")},
                                     {"body", takt_attr_graph(k->body)}};
    if (name == NULL)
        c->status = TAKT_ERR_MEMORY;
    if (!takt_tfl_good(c))
        return;
    const takt_id all = takt_graph_call(c->g, &takt_op_custom, k->count, k->in, 2, attrs);
    const bool is_one = k->body->output_count == 1;
    size_t at = 0;
    if (all == TAKT_NONE)
        return;
    takt_tfl_set(c, 0, is_one ? all : takt_graph_get(c->g, all, at++));
    for (size_t i = 0; i < c->op->input_count; i++)
        if (whole->next[i] != TAKT_NONE)
            takt_tfl_next(c, i, takt_graph_get(c->g, all, at++));
}

takt_status takt_tfl_keep_whole(takt_tfl_call *c, const takt_tflite_op *adapter)
{
    const size_t count = c->op->input_count;
    struct takt_tfl_whole whole = {.next = takt_tfl_get(c, count, sizeof *whole.next)};
    takt_tfl_value *before = takt_tfl_get(c, count, sizeof *before);
    keeping k = {.c = c};
    k.in = takt_tfl_get(c, 4 * (count + c->op->between_count) + 4, sizeof *k.in);
    if (whole.next == NULL || before == NULL || k.in == NULL)
        return c->status;
    for (size_t i = 0; i < count; i++)
        whole.next[i] = TAKT_NONE;
    TAKT_TRY(takt_graph_create(c->ctx, c->g, &k.body));
    inputs(&k, before);
    grid(&k, "out", 0, c->op->outputs[0]);
    between(&k);
    const takt_status status = takt_tfl_good(c) ? fill(&k, adapter, &whole) : c->status;
    for (size_t i = 0; i < count; i++)
        if (takt_tfl_has(c, i) && before[i].state == TAKT_TFL_READY)
            c->scope->values[c->op->inputs[i]] = before[i];
    if (c->status == TAKT_OK)
        c->status = status;
    if (c->status == TAKT_OK)
        options(&k, &whole);
    set_results(&k, &whole);
    takt_graph_destroy(k.body);
    return takt_tfl_good(c) ? TAKT_OK : c->status;
}
