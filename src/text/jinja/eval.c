/* eval.c - the value of an expression. */
#include <string.h>

#include "text/jinja/jinja.h"

static takt_jv lookup(takt_jrun *r, const takt_jframe *f, takt_span name)
{
    size_t looked = 0;
    for (; f != NULL; f = f->parent)
        for (size_t i = f->count; i-- > 0; looked++)
            if (f->names[i].length == name.length &&
                memcmp(f->names[i].at, name.at, name.length) == 0)
                return f->values[i];
    (void)takt_jinja_step(r, looked);
    const takt_jfunction *function = takt_jinja_function(name);
    return function != NULL ? (takt_jv){.kind = TAKT_JV_FUNCTION, .function = function}
                            : takt_jv_undefined();
}

static takt_jv attribute(takt_jrun *r, takt_jv a, takt_span name)
{
    if (a.kind == TAKT_JV_UNDEFINED) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "attribute '%.*s' of something undefined",
                        (int)(name.length < 60 ? name.length : 60), name.at);
        return a;
    }
    const takt_jv *found = a.kind == TAKT_JV_DICT ? takt_jv_find(r, a, takt_jv_span(name)) : NULL;
    return found != NULL ? *found : takt_jv_undefined();
}

static void gather(takt_jrun *r, takt_jframe *f, const takt_jnode *first, takt_jargs *args)
{
    for (const takt_jnode *n = first; n != NULL && r->status == TAKT_OK; n = n->next) {
        if (args->count == TAKT_JINJA_ARGS) {
            takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "too many arguments");
            return;
        }
        const bool is_named = n->kind == TAKT_JN_KEYWORD;
        if (is_named)
            args->names[args->count] = n->text;
        else
            args->plain = args->count + 1;
        args->at[args->count++] = takt_jinja_eval(r, f, is_named ? n->a : n);
    }
}

/* x.name(...): a value of that name takes precedence over a method. */
static takt_jv call(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    takt_jargs args = {.count = 0};
    takt_jv callee = {.kind = TAKT_JV_UNDEFINED};
    if (n->a->kind == TAKT_JN_ATTRIBUTE) {
        const takt_span name = n->a->text;
        const takt_jv object = takt_jinja_eval(r, f, n->a->a);
        if (r->status != TAKT_OK)
            return object;
        callee = attribute(r, object, name);
        const takt_jfunction *method = takt_jinja_method(object.kind, name);
        if (callee.kind == TAKT_JV_UNDEFINED && method == NULL && r->status == TAKT_OK)
            takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "%s has no method '%.*s'",
                            takt_jv_kind_name(object), (int)(name.length < 60 ? name.length : 60),
                            name.at);
        if (callee.kind == TAKT_JV_UNDEFINED && method != NULL) {
            args.at[0] = object;
            args.count = args.plain = 1;
            callee = (takt_jv){.kind = TAKT_JV_FUNCTION, .function = method};
        }
    } else {
        callee = takt_jinja_eval(r, f, n->a);
    }
    gather(r, f, n->first, &args);
    return r->status == TAKT_OK ? takt_jinja_call(r, callee, &args) : takt_jv_undefined();
}

static takt_jv applied(takt_jrun *r, takt_jframe *f, const takt_jnode *n, takt_jv value)
{
    takt_jargs args = {.at = {value}, .count = 1, .plain = 1};
    const takt_jfunction *function = n->record;
    if (function == NULL) /* here and not while parsing: templates use some conditionally */
        takt_jinja_stop(r, TAKT_E_TEMPLATE_UNSUPPORTED, "there is no %s '%.*s'",
                        n->kind == TAKT_JN_TEST ? "test" : "filter",
                        (int)(n->text.length < 40 ? n->text.length : 40), n->text.at);
    gather(r, f, n->first, &args);
    return r->status == TAKT_OK ? function->run(r, &args) : takt_jv_undefined();
}

takt_jv takt_jinja_filtered(takt_jrun *r, takt_jframe *f, const takt_jnode *n, takt_jv value)
{
    if (n->a != NULL)
        value = takt_jinja_filtered(r, f, n->a, value);
    return r->status == TAKT_OK ? applied(r, f, n, value) : value;
}

/* All links of a < b < c hold; each value is computed once. */
static bool compare(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    takt_jv left = takt_jinja_eval(r, f, n->a);
    for (; n != NULL && r->status == TAKT_OK; n = n->c) {
        const takt_jv right = takt_jinja_eval(r, f, n->b);
        if (r->status != TAKT_OK || !takt_jinja_compare(r, n->text, left, right))
            return false;
        left = right;
    }
    return r->status == TAKT_OK;
}

static takt_jv items(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    const takt_jv list = takt_jv_list_new(r, 4);
    for (const takt_jnode *i = n->first; i != NULL && r->status == TAKT_OK; i = i->next)
        takt_jv_add(r, list, takt_jinja_eval(r, f, i));
    if (r->status == TAKT_OK)
        list.list->is_tuple = n->kind == TAKT_JN_TUPLE;
    return list;
}

static takt_jv pairs(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    const takt_jv dict = takt_jv_dict_new(r, 4);
    for (const takt_jnode *i = n->first; i != NULL && r->status == TAKT_OK; i = i->next->next) {
        const takt_jv key = takt_jinja_eval(r, f, i);
        const takt_jv value = takt_jinja_eval(r, f, i->next);
        if (r->status == TAKT_OK)
            takt_jv_put(r, dict, key, value);
    }
    return dict;
}

static takt_jv negated(takt_jrun *r, takt_jv v)
{
    if (v.kind == TAKT_JV_FLOAT)
        return takt_jv_float(-v.number);
    const int64_t i = takt_jv_integer(r, v);
    if (i == INT64_MIN)
        takt_jinja_stop(r, TAKT_E_TEMPLATE_FAILED, "a number is too large");
    return takt_jv_int(i == INT64_MIN ? 0 : -i);
}

static takt_jv slice(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    takt_jv bounds[3] = {takt_jv_none(), takt_jv_none(), takt_jv_none()};
    const takt_jnode *const from[3] = {n->b, n->c, n->d};
    const takt_jv a = takt_jinja_eval(r, f, n->a);
    for (size_t i = 0; i < 3; i++)
        if (from[i] != NULL)
            bounds[i] = takt_jinja_eval(r, f, from[i]);
    return r->status == TAKT_OK ? takt_jinja_slice(r, a, bounds) : a;
}

static takt_jv both(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    const takt_jv a = takt_jinja_eval(r, f, n->a);
    const takt_jv b = takt_jinja_eval(r, f, n->b);
    if (r->status != TAKT_OK)
        return a;
    return n->kind == TAKT_JN_INDEX ? takt_jinja_index(r, a, b)
                                    : takt_jinja_binary(r, n->text, a, b);
}

static takt_jv value_of(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    takt_jv v;
    switch (n->kind) {
    case TAKT_JN_LITERAL: return n->value;
    case TAKT_JN_NAME: return lookup(r, f, n->text);
    case TAKT_JN_ATTRIBUTE:
        v = takt_jinja_eval(r, f, n->a);
        return r->status == TAKT_OK ? attribute(r, v, n->text) : v;
    case TAKT_JN_INDEX:
    case TAKT_JN_BINARY: return both(r, f, n);
    case TAKT_JN_SLICE: return slice(r, f, n);
    case TAKT_JN_CALL: return call(r, f, n);
    case TAKT_JN_FILTER:
        v = takt_jinja_eval(r, f, n->a);
        return r->status == TAKT_OK ? applied(r, f, n, v) : v;
    case TAKT_JN_TEST:
        v = takt_jinja_eval(r, f, n->a);
        return takt_jv_bool(r->status == TAKT_OK && takt_jv_truth(applied(r, f, n, v)));
    case TAKT_JN_NOT: return takt_jv_bool(!takt_jv_truth(takt_jinja_eval(r, f, n->a)));
    case TAKT_JN_MINUS: return negated(r, takt_jinja_eval(r, f, n->a));
    case TAKT_JN_PLUS: return takt_jinja_eval(r, f, n->a);
    case TAKT_JN_COMPARE: return takt_jv_bool(compare(r, f, n));
    case TAKT_JN_AND:
        v = takt_jinja_eval(r, f, n->a);
        return takt_jv_truth(v) && r->status == TAKT_OK ? takt_jinja_eval(r, f, n->b) : v;
    case TAKT_JN_OR:
        v = takt_jinja_eval(r, f, n->a);
        return takt_jv_truth(v) || r->status != TAKT_OK ? v : takt_jinja_eval(r, f, n->b);
    case TAKT_JN_CHOICE:
        v = takt_jinja_eval(r, f, n->a);
        if (takt_jv_truth(v))
            return takt_jinja_eval(r, f, n->b);
        return n->c != NULL ? takt_jinja_eval(r, f, n->c) : takt_jv_undefined();
    case TAKT_JN_DICT: return pairs(r, f, n);
    default: return items(r, f, n);
    }
}

takt_jv takt_jinja_eval(takt_jrun *r, takt_jframe *f, const takt_jnode *n)
{
    if (!takt_jinja_step(r, 0))
        return takt_jv_undefined();
    if (++r->nested > TAKT_JINJA_NESTED) {
        takt_jinja_stop(r, TAKT_E_TEMPLATE_LIMIT, "calls nest too deeply");
        return takt_jv_undefined();
    }
    const takt_jv v = value_of(r, f, n);
    r->nested--;
    return v;
}
