/* call.c - what a call refers to: a word in a variable, a layer of the text, a function of sizes, a
 * built-in layer or an op.
 *
 * A built-in layer and an op may share a name. The call is the op's if its positional arguments are
 * the op's inputs and its keywords the op's attributes, in number, name and kind; but with one
 * tensor, where the op could take more, it is the layer's. So layer_norm(x) is the layer, which
 * owns gamma and beta, and layer_norm(x, gamma, beta) is the op. `op.layer_norm` is always the op.
 */
#include <stdio.h>
#include <string.h>

#include "lang/elab.h"
#include "lang/foreign.h"

static bool keeps_dims(const takt_symbol *name)
{
    static const char *const names[] = {"ceildiv", "floordiv", "mod", "min", "max"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name->text) == 0)
            return true;
    return false;
}

static bool range_of(takt_frame *f, const takt_ast *arg, takt_sample_range *range)
{
    *range = (takt_sample_range){0};
    if (arg->b == NULL)
        return true;
    const takt_value low = takt_eval_expr(f, arg->b), high = takt_eval_expr(f, arg->c);
    if (!takt_value_is_number(&low) || !takt_value_is_number(&high)) {
        takt_complain(f, arg, TAKT_E_CALL, NULL, "the bounds of a range are numbers");
        return false;
    }
    *range = (takt_sample_range){true, takt_value_double(&low), takt_value_double(&high)};
    return true;
}

/* In samples a type becomes an input when it is first met, so inputs are numbered in source
 * order. */
static takt_value sample_value(takt_frame *f, const takt_ast *arg, takt_value v)
{
    takt_sample_range range;
    if (!range_of(f, arg, &range))
        return takt_value_poison();
    if (v.kind != TAKT_V_TYPE)
        return v;
    const takt_id id = takt_elab_sample_input(f, arg, v.type, &range);
    return takt_value_tensor(id);
}

static takt_value argument(takt_frame *f, const takt_ast *arg)
{
    return arg->name != NULL ? takt_eval_word(f, arg->a) : takt_eval_expr(f, arg->a);
}

static bool collect(takt_frame *f, const takt_ast *a, const takt_value *piped, takt_call *c)
{
    *c = (takt_call){.ast = a, .name = a->name};
    for (const takt_ast *arg = a->a; arg != NULL; arg = arg->next)
        c->count++;
    c->value = takt_frame_items(f, c->count);
    c->place = takt_arena_array(&f->arena, c->count, sizeof *c->place);
    c->key = takt_arena_array(&f->arena, c->count, sizeof *c->key);
    if (c->value == NULL || c->place == NULL || c->key == NULL) {
        takt_out_of_memory(f);
        return false;
    }
    const bool is_constant = strcmp(a->name->text, "constant") == 0;
    bool good = true;
    size_t i = 0;
    for (const takt_ast *arg = a->a; arg != NULL; arg = arg->next, i++) {
        const bool is_piped = i == 0 && piped != NULL;
        c->value[i] = is_piped ? *piped : argument(f, arg);
        if (f->e->ranges != NULL && arg->name == NULL && !is_constant)
            c->value[i] = sample_value(f, arg, c->value[i]);
        c->place[i] = arg;
        c->key[i] = arg->name;
        good = good && c->value[i].kind != TAKT_V_POISON;
        if (arg->name == NULL && i > c->positional) {
            takt_complain(f, arg, TAKT_E_CALL, "put it before the first keyword",
                          "a positional argument follows a keyword");
            return false;
        }
        c->positional += arg->name == NULL;
    }
    return good;
}

static bool exists_plain(const char *name)
{
    return takt_op_find(name, strlen(name)) != NULL || takt_layer_text(name) != NULL;
}

/* x.relu() for relu(x), as in other languages; NULL: it is something else. */
static const char *method_hint(const takt_call *c, const char *name,
                               char hint[static TAKT_HINT_TEXT])
{
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot == name || !exists_plain(dot + 1))
        return NULL;
    snprintf(hint, TAKT_HINT_TEXT, "values have no methods: write %.60s(%.*s%s)", dot + 1,
             (int)(dot - name < 60 ? dot - name : 60), name, c->count > 0 ? ", ..." : "");
    return hint;
}

/* torch.relu: the word before the dot is a module of another framework, not a value. */
static bool is_module(const char *name)
{
    static const char *const modules[] = {"torch.", "nn.",     "F.",  "tf.",  "keras.",
                                          "jax.",   "layers.", "np.", "jnp.", "ops."};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strncmp(name, modules[i], strlen(modules[i])) == 0)
            return true;
    return false;
}

static takt_value unknown(takt_frame *f, const takt_call *c, const char *name)
{
    char hint[TAKT_HINT_TEXT];
    const char *text = takt_foreign_call(name);
    const char *last = is_module(name) ? strrchr(name, '.') + 1 : name;
    if (text == NULL && last == name)
        text = method_hint(c, name, hint);
    if (text != NULL)
        return takt_complain(f, c->ast, TAKT_E_UNKNOWN_OP, text,
                             "there is no op or layer called %s", name);
    takt_nearest near = takt_nearest_to(last);
    if (last != name && exists_plain(last)) {
        near.best = last;
        near.distance = 0;
    }
    takt_nearest_layer(f, &near);
    takt_nearest_builtin(&near);
    for (size_t i = 0; i < takt_op_count; i++)
        takt_nearest_try(&near, takt_ops[i]->name);
    return takt_complain(f, c->ast, TAKT_E_UNKNOWN_OP, takt_nearest_hint(&near, hint),
                         "there is no op or layer called %s", name);
}

/* Whether the name can be called; reported even if an argument has failed. */
static bool exists(takt_frame *f, const takt_symbol *name)
{
    const size_t skip = strncmp(name->text, "op.", 3) == 0 ? 3 : 0;
    return takt_op_find(name->text + skip, name->length - skip) != NULL ||
           takt_find_layer(f, name) != NULL || takt_is_builtin(name->text);
}

static takt_value call_named(takt_frame *f, takt_call *c)
{
    takt_value out;
    const char *name = c->name->text;
    const bool is_plain_op = strncmp(name, "op.", 3) == 0;
    if (is_plain_op)
        name += 3;
    const takt_op *op = takt_op_find(name, strlen(name));
    if (is_plain_op || f->e->ranges != NULL) {
        if (strcmp(name, "constant") == 0)
            return takt_call_constant(f, c);
        return op != NULL ? takt_call_op(f, c, op) : unknown(f, c, name);
    }
    if (takt_call_builtin(f, c, &out))
        return out;
    const takt_function *layer = takt_find_layer(f, c->name);
    if (f->e->status != TAKT_OK)
        return takt_value_poison();
    if (layer != NULL && (op == NULL || !layer->source->is_builtin || !takt_call_fits_op(c, op)))
        return takt_call_layer(f, c, layer);
    return op != NULL ? takt_call_op(f, c, op) : unknown(f, c, name);
}

takt_value takt_eval_call(takt_frame *f, const takt_ast *a, const takt_value *piped)
{
    takt_call c;
    const bool takes_dims = f->e->takes_dims;
    f->e->takes_dims = takes_dims && keeps_dims(a->name);
    const bool good = collect(f, a, piped, &c);
    f->e->takes_dims = takes_dims;
    const takt_value *variable = takt_frame_find(f, a->name);
    if (variable != NULL && variable->kind == TAKT_V_WORD)
        c.name = variable->word; /* act(x), where act is relu */
    else if (variable != NULL && variable->kind == TAKT_V_POISON)
        return takt_value_poison();
    if (good)
        return call_named(f, &c);
    return f->e->status != TAKT_OK || exists(f, c.name) ? takt_value_poison()
                                                        : unknown(f, &c, c.name->text);
}
