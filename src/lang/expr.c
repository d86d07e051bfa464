/* expr.c - expressions: names, literals, lists, conditions; long chains without recursion. */
#include <math.h>
#include <string.h>

#include "ir/name.h"
#include "lang/elab.h"
#include "lang/foreign.h"
#include "lang/rule.h"
#include "op/ops.h"

/* ---- names ---- */

static bool literal_word(const takt_symbol *name, takt_value *out)
{
    static const struct {
        const char *word;
        takt_value value;
    } words[] = {{"true", {.kind = TAKT_V_BOOL, .b = true}},
                 {"false", {.kind = TAKT_V_BOOL, .b = false}},
                 {"inf", {.kind = TAKT_V_FLOAT, .f = INFINITY}},
                 {"nan", {.kind = TAKT_V_FLOAT, .f = NAN}}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, name->text) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    const takt_dtype dtype = takt_dtype_find(name->text);
    *out = strcmp(name->text, "none") == 0 ? takt_value_word(name)
                                           : (takt_value){.kind = TAKT_V_DTYPE, .dtype = dtype};
    return out->kind == TAKT_V_WORD || dtype != TAKT_DTYPE_COUNT;
}

static bool known_dim(const takt_frame *f, const takt_symbol *name)
{
    const size_t count = takt_dims_name_count(f->graph->dims);
    for (size_t i = 0; i < count; i++)
        if (strcmp(takt_dims_name(f->graph->dims, i), name->text) == 0)
            return true;
    return false;
}

static takt_value dim_called(takt_frame *f, const takt_ast *a)
{
    takt_dim dim;
    const takt_span name = {a->name->text, a->name->length};
    if (takt_rules_is_open(f, a->name))
        return takt_complain(f, a, TAKT_E_RULE, "domain d = 1000 is a dimension of 1000",
                             "domain %s is i32, which only sets of tuples can have: a tensor's "
                             "dimension needs a size",
                             a->name->text);
    if (takt_dim_name(f->graph->dims, name, &dim) != TAKT_OK ||
        takt_dim_resolve(f->graph->dims, dim, &dim) != TAKT_OK)
        return takt_complain_last(f, a);
    return takt_value_dim(dim);
}

/* Our word for an element type of NumPy, PyTorch or C; NULL if it is not one. */
static const char *dtype_elsewhere(const char *name)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {
        {"float", "f32"},     {"float16", "f16"},  {"float32", "f32"}, {"float64", "f64"},
        {"fp16", "f16"},      {"fp32", "f32"},     {"fp64", "f64"},    {"half", "f16"},
        {"bfloat16", "bf16"}, {"double", "f64"},   {"int", "i32"},     {"int8", "i8"},
        {"int16", "i16"},     {"int32", "i32"},    {"int64", "i64"},   {"long", "i64"},
        {"uint8", "u8"},      {"uint16", "u16"},   {"uint32", "u32"},  {"uint64", "u64"},
        {"byte", "u8"},       {"boolean", "bool"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].theirs, name) == 0)
            return words[i].ours;
    return NULL;
}

static takt_value undefined(takt_frame *f, const takt_ast *a)
{
    const char *name = a->name->text;
    char hint[TAKT_HINT_TEXT];
    takt_nearest near = takt_nearest_to(name);
    for (size_t i = 0; i < f->names.size; i++)
        if (f->names.keys[i] != NULL)
            takt_nearest_try(&near, f->names.keys[i]->text);
    for (size_t i = 0; i < takt_dims_name_count(f->graph->dims); i++)
        takt_nearest_try(&near, takt_dims_name(f->graph->dims, i));
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++)
        takt_nearest_try(&near, takt_dtype_name((takt_dtype)d));
    const char *text = takt_foreign_value(name);
    for (const takt_frame *outer = f->caller; text == NULL && outer != NULL; outer = outer->caller)
        if (takt_frame_find(outer, a->name) != NULL)
            text = "layers and graphs see only their own parameters: pass it in";
    if (dtype_elsewhere(name) != NULL)
        near.best = dtype_elsewhere(name);
    if (text == NULL)
        text = takt_nearest_hint(&near, hint);
    if (text == NULL && (takt_op_find(name, strlen(name)) != NULL || takt_layer_text(name) != NULL))
        text = "that is an op or a layer: call it with its inputs in brackets";
    return takt_complain(f, a, TAKT_E_UNDEFINED, text, "there is no value called %s here", name);
}

/* The value of a name, or false if it is undefined. */
static bool meaning(takt_frame *f, const takt_ast *a, takt_value *out)
{
    const takt_value *known = takt_frame_find(f, a->name);
    if (known != NULL && (!f->e->takes_dims || known->kind != TAKT_V_TENSOR)) {
        *out = *known;
        return true;
    }
    if (!a->is_quoted && literal_word(a->name, out))
        return true;
    if (strcmp(a->name->text, "training") == 0 && !f->e->takes_dims) {
        *out = takt_value_bool(f->e->options->training);
        return true;
    }
    if (!f->e->takes_dims && !known_dim(f, a->name))
        return false;
    *out = dim_called(f, a);
    return true;
}

static takt_value name_value(takt_frame *f, const takt_ast *a)
{
    takt_value v;
    return meaning(f, a, &v) ? v : undefined(f, a);
}

takt_value takt_eval_word(takt_frame *f, const takt_ast *a)
{
    takt_value v;
    if (a->kind == TAKT_A_NAME)
        return meaning(f, a, &v) ? v : takt_value_word(a->name);
    if (a->kind != TAKT_A_LIST)
        return takt_eval_expr(f, a);
    const bool before = f->e->takes_dims;
    f->e->takes_dims = true; /* shape=[batch, 10] */
    v = takt_eval_expr(f, a);
    f->e->takes_dims = before;
    return v;
}

/* ---- the rest ---- */

static takt_value list(takt_frame *f, const takt_ast *a)
{
    size_t count = 0;
    for (const takt_ast *i = a->a; i != NULL; i = i->next)
        count++;
    takt_value *items = takt_frame_items(f, count);
    if (items == NULL)
        return takt_value_poison();
    size_t n = 0;
    for (const takt_ast *i = a->a; i != NULL; i = i->next)
        items[n++] = takt_eval_expr(f, i);
    const takt_value made = takt_frame_list(f, items, count);
    if (made.kind == TAKT_V_LIST && made.depth > TAKT_MAX_RANK)
        return takt_complain(f, a, TAKT_E_NESTING, NULL, "lists are nested deeper than %d",
                             TAKT_MAX_RANK);
    return made;
}

static takt_value negate(takt_frame *f, const takt_ast *a)
{
    const takt_value v = takt_eval_expr(f, a->a);
    if (v.kind == TAKT_V_TENSOR)
        return takt_value_tensor(takt_elab_append(f, a, &takt_op_neg, &v, 1, NULL));
    if (v.kind == TAKT_V_INT && v.i == 0 && a->a->kind == TAKT_A_INTEGER)
        return takt_value_float(-0.0); /* printed constants keep the difference */
    if (v.kind == TAKT_V_BIG && v.u == (uint64_t)INT64_MAX + 1)
        return takt_value_int(INT64_MIN);
    if (v.kind == TAKT_V_INT && v.i != INT64_MIN)
        return takt_value_int(-v.i);
    if (takt_value_is_number(&v))
        return takt_value_float(-takt_value_double(&v));
    if (v.kind == TAKT_V_POISON)
        return v;
    return takt_complain(f, a, TAKT_E_CALL, NULL, "%s has no negative", takt_value_kind_text(&v));
}

static takt_value invert(takt_frame *f, const takt_ast *a)
{
    takt_value v = takt_eval_expr(f, a->a);
    if (v.kind == TAKT_V_TYPE && f->e->ranges != NULL) /* the sample not(bool[2]) */
        v = takt_value_tensor(takt_elab_sample_input(f, a, v.type, &(takt_sample_range){0}));
    if (v.kind == TAKT_V_TENSOR)
        return takt_value_tensor(takt_elab_append(f, a, &takt_op_not, &v, 1, NULL));
    if (v.kind == TAKT_V_BOOL)
        return takt_value_bool(!v.b);
    if (v.kind == TAKT_V_POISON)
        return v;
    return takt_complain(f, a, TAKT_E_CALL, NULL, "`not` takes a truth value or a tensor, got %s",
                         takt_value_kind_text(&v));
}

static takt_value either(takt_frame *f, const takt_ast *a)
{
    const takt_value c = takt_eval_expr(f, a->b);
    if (c.kind == TAKT_V_BOOL) {
        const takt_ast *chosen = c.b ? a->a : a->c;
        if (f->e->root == a)
            f->e->root = chosen; /* it gets the name meant for the whole */
        return takt_eval_word(f, chosen);
    }
    if (c.kind == TAKT_V_POISON)
        return c;
    if (c.kind == TAKT_V_TENSOR && takt_type_of(f->graph, c.id)->rank == 0)
        return takt_eval_choice(f, a, c);
    return takt_complain(
        f, a->b, TAKT_E_CALL,
        c.kind == TAKT_V_TENSOR ? "a choice for each element is select(condition, a, b)" : NULL,
        "the condition is %s, not a truth value known now", takt_value_kind_text(&c));
}

static takt_value leaf(takt_frame *f, const takt_ast *a)
{
    switch ((takt_ast_kind)a->kind) {
    case TAKT_A_NAME: return name_value(f, a);
    case TAKT_A_INTEGER:
        return a->integer <= INT64_MAX ? takt_value_int((int64_t)a->integer)
                                       : (takt_value){.kind = TAKT_V_BIG, .u = a->integer};
    case TAKT_A_DECIMAL: return takt_value_float(a->number);
    case TAKT_A_STRING: return (takt_value){.kind = TAKT_V_STRING, .text = a->text};
    case TAKT_A_HEX: return (takt_value){.kind = TAKT_V_BYTES, .text = a->text};
    case TAKT_A_LIST: return list(f, a);
    case TAKT_A_NEGATE: return negate(f, a);
    case TAKT_A_NOT: return invert(f, a);
    case TAKT_A_EITHER: return either(f, a);
    case TAKT_A_CALL: return takt_eval_call(f, a, NULL);
    case TAKT_A_GRAPH: return takt_eval_graph(f, a);
    default: return takt_complain(f, a, TAKT_E_SYNTAX, NULL, "this is not an expression");
    }
}

/* The expression to the left of a chain's last link, or NULL. */
static const takt_ast *left_of(const takt_ast *a)
{
    if (a->kind == TAKT_A_BINARY || a->kind == TAKT_A_INDEX)
        return a->a;
    return a->kind == TAKT_A_CALL && a->is_piped ? a->a->a : NULL;
}

static takt_value link(takt_frame *f, const takt_ast *a, takt_value left)
{
    if (a->kind == TAKT_A_BINARY)
        return takt_eval_binary(f, a, left);
    if (a->kind == TAKT_A_INDEX)
        return takt_eval_index(f, a, left);
    return takt_eval_call(f, a, &left);
}

/* Descends the left side in a loop, then applies the links from there upwards. */
static takt_value chain(takt_frame *f, const takt_ast *a)
{
    const takt_ast *near[4];
    const takt_ast **path = near;
    size_t count = 0, at = 0;
    for (const takt_ast *p = a; left_of(p) != NULL; p = left_of(p))
        count++;
    if (count > sizeof near / sizeof *near &&
        (path = takt_arena_array(&f->arena, count, sizeof *path)) == NULL)
        return takt_out_of_memory(f);
    const takt_ast *p = a;
    for (; left_of(p) != NULL; p = left_of(p))
        path[at++] = p;
    takt_value v = leaf(f, p);
    while (at > 0 && f->e->status == TAKT_OK)
        v = link(f, path[--at], v);
    return v;
}

/* Lists live as long as their frame, so a few bytes of text in a `repeat` could allocate any amount
 * of memory. */
static bool affords_lists(takt_frame *f, const takt_ast *a)
{
    enum { ITEMS = 1 << 20, ITEMS_A_BYTE = 16 };
    takt_elab *e = f->e;
    const uint64_t most = ITEMS + ITEMS_A_BYTE * (uint64_t)e->text_length;
    if (e->list_items <= most)
        return true;
    takt_complain(f, a, TAKT_E_GRAPH_FULL, "are lists or strings put together or cut in a repeat?",
                  "the lists and strings of the model have more than %llu items in all",
                  (unsigned long long)most);
    e->status = TAKT_ERR_LIMIT;
    return false;
}

takt_value takt_eval_expr(takt_frame *f, const takt_ast *a)
{
    takt_elab *e = f->e;
    if (e->status != TAKT_OK || !affords_lists(f, a))
        return takt_value_poison();
    /* Every expression once, plus as many as the largest graph may need. */
    const uint64_t most = 4 * e->ctx->limits.nodes + e->text_length;
    if (++e->steps > most) {
        takt_complain(f, a, TAKT_E_GRAPH_FULL, "is a repeat count too large?",
                      "building the model takes more than %llu steps", (unsigned long long)most);
        e->status = TAKT_ERR_LIMIT;
        return takt_value_poison();
    }
    if (e->depth >= takt_lang_depth(e->ctx)) {
        takt_complain(f, a, TAKT_E_NESTING, "give parts of it names, or raise limits.depth",
                      "expressions and layers are nested deeper than %d", e->depth);
        e->status = TAKT_ERR_LIMIT;
        return takt_value_poison();
    }
    e->depth++;
    const takt_value v = chain(f, a);
    e->depth--;
    return v;
}
