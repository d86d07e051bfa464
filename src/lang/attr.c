/* attr.c - a value as an op's attribute. */
#include <stdio.h>
#include <string.h>

#include "lang/elab.h"

typedef struct wanted {
    takt_frame *f;
    const takt_ast *at;
    const takt_op *op;
    const takt_attr_def *def;
} wanted;

static bool refuse(const wanted *w, const takt_value *v, const char *what)
{
    char text[TAKT_VALUE_TEXT];
    const char *hint = NULL;
    if (v->kind == TAKT_V_DIM)
        hint = "its size is not known while the model is built";
    else if (v->kind == TAKT_V_TENSOR)
        hint = "attributes are known while the model is built; a tensor is an input";
    takt_complain(w->f, w->at, TAKT_E_ATTR, hint, "%s: attribute %s takes %s, not %s", w->op->name,
                  w->def->name, what, takt_value_text(w->f->graph, v, text));
    return false;
}

static bool as_int(const takt_value *v, int64_t *out)
{
    if (v->kind == TAKT_V_FLOAT && v->f == 0) /* -0 */
        *out = 0;
    else if (v->kind == TAKT_V_INT)
        *out = v->i;
    else
        return false;
    return true;
}

static bool enumerated(const wanted *w, const takt_value *v, takt_attr *attr)
{
    char options[200] = "", hint[TAKT_HINT_TEXT], text[TAKT_VALUE_TEXT];
    /* A word of the list is meant literally even if a value has that name. */
    const takt_ast *written = w->at->kind == TAKT_A_ARGUMENT ? w->at->a : w->at;
    const bool is_name = written->kind == TAKT_A_NAME;
    const char *word = v->kind == TAKT_V_WORD ? v->word->text : NULL;
    takt_nearest near = takt_nearest_to(word != NULL ? word : "");
    size_t at = 0;
    for (int i = 0; w->def->names[i] != NULL; i++) {
        const char *name = w->def->names[i];
        if ((word != NULL && strcmp(word, name) == 0) ||
            (is_name && strcmp(written->name->text, name) == 0)) {
            attr->i64 = i;
            return true;
        }
        takt_nearest_try(&near, name);
        const int n = snprintf(options + at, sizeof options - at, "%s%s", i > 0 ? ", " : "", name);
        at += n > 0 && (size_t)n < sizeof options - at ? (size_t)n : 0;
    }
    takt_complain(w->f, w->at, TAKT_E_ATTR, takt_nearest_hint(&near, hint),
                  "%s: attribute %s is one of %s, not %s", w->op->name, w->def->name, options,
                  takt_value_text(w->f->graph, v, text));
    return false;
}

/* A single item stands for a list of one. */
static const takt_value *items(const takt_value *v, uint32_t *count)
{
    *count = v->kind == TAKT_V_LIST ? v->count : 1;
    return v->kind == TAKT_V_LIST ? v->items : v;
}

static bool integers(const wanted *w, const takt_value *v, takt_attr *attr)
{
    const takt_value *from = items(v, &attr->count);
    int64_t *to = takt_arena_array(&w->f->arena, attr->count, sizeof *to);
    if (to == NULL)
        return takt_out_of_memory(w->f).b;
    for (uint32_t i = 0; i < attr->count; i++)
        if (!as_int(&from[i], &to[i]))
            return refuse(w, v, "a list of integers");
    attr->i64s = to;
    return true;
}

static bool numbers(const wanted *w, const takt_value *v, takt_attr *attr)
{
    const takt_value *from = items(v, &attr->count);
    double *to = takt_arena_array(&w->f->arena, attr->count, sizeof *to);
    if (to == NULL)
        return takt_out_of_memory(w->f).b;
    for (uint32_t i = 0; i < attr->count; i++) {
        if (!takt_value_is_number(&from[i]))
            return refuse(w, v, "a list of numbers");
        to[i] = takt_value_double(&from[i]);
    }
    attr->f64s = to;
    return true;
}

static bool sizes(const wanted *w, const takt_value *v, takt_attr *attr)
{
    const takt_value *from = items(v, &attr->count);
    takt_dim *to = takt_arena_array(&w->f->arena, attr->count, sizeof *to);
    if (to == NULL)
        return takt_out_of_memory(w->f).b;
    for (uint32_t i = 0; i < attr->count; i++) {
        if (!takt_value_is_size(&from[i]))
            return refuse(w, v, "a list of sizes");
        to[i] = from[i].dim;
    }
    attr->dims = to;
    return true;
}

static bool strings(const wanted *w, const takt_value *v, takt_attr *attr)
{
    const takt_value *from = items(v, &attr->count);
    const char **to = takt_arena_array(&w->f->arena, attr->count, sizeof *to);
    if (to == NULL)
        return takt_out_of_memory(w->f).b;
    for (uint32_t i = 0; i < attr->count; i++) {
        if (from[i].kind != TAKT_V_STRING)
            return refuse(w, v, "a list of strings");
        to[i] = takt_arena_text(&w->f->arena, from[i].text.at, from[i].text.length);
        if (to[i] == NULL)
            return takt_out_of_memory(w->f).b;
    }
    attr->strings = to;
    return true;
}

static bool string(const wanted *w, const takt_value *v, takt_attr *attr)
{
    if (v->kind != TAKT_V_STRING)
        return refuse(w, v, "a string");
    attr->string = takt_arena_text(&w->f->arena, v->text.at, v->text.length);
    return attr->string != NULL || takt_out_of_memory(w->f).b;
}

static bool convert(const wanted *w, const takt_value *v, takt_attr *attr)
{
    switch (w->def->type) {
    case TAKT_ATTR_I64: return as_int(v, &attr->i64) || refuse(w, v, "an integer");
    case TAKT_ATTR_F64:
        attr->f64 = takt_value_is_number(v) ? takt_value_double(v) : 0;
        return takt_value_is_number(v) || refuse(w, v, "a number");
    case TAKT_ATTR_BOOL:
        attr->boolean = v->kind == TAKT_V_BOOL && v->b;
        return v->kind == TAKT_V_BOOL || refuse(w, v, "true or false");
    case TAKT_ATTR_STRING: return string(w, v, attr);
    case TAKT_ATTR_ENUM: return enumerated(w, v, attr);
    case TAKT_ATTR_DTYPE:
        attr->dtype = v->dtype;
        return v->kind == TAKT_V_DTYPE || refuse(w, v, "an element type such as f32");
    case TAKT_ATTR_I64S: return integers(w, v, attr);
    case TAKT_ATTR_F64S: return numbers(w, v, attr);
    case TAKT_ATTR_STRINGS: return strings(w, v, attr);
    case TAKT_ATTR_SHAPE: return sizes(w, v, attr);
    case TAKT_ATTR_TYPE:
        attr->type = v->type;
        return v->kind == TAKT_V_TYPE || refuse(w, v, "a type such as f32[2, 3]");
    case TAKT_ATTR_GRAPH:
        attr->graph = v->graph;
        return v->kind == TAKT_V_GRAPH || refuse(w, v, "graph(...) { ... }");
    case TAKT_ATTR_NONE:
    case TAKT_ATTR_TENSOR: break;
    }
    return refuse(w, v, "nothing that can be written");
}

bool takt_elab_attr(takt_frame *f, const takt_ast *at, const takt_op *op, size_t index,
                    const takt_value *v, takt_attr *attr)
{
    const wanted w = {f, at, op, &op->attrs[index]};
    takt_attr made = {0};
    if (!convert(&w, v, &made))
        return false;
    made.is_set = true;
    *attr = made;
    return true;
}
