/* init.c - initial values of parameters and states.
 *
 * Each random one has its own stream, in the order of declaration and offset by the model's seed,
 * so a seed fixes all weights, and a printed graph needs no seed. */
#include <math.h>
#include <string.h>

#include "lang/elab.h"

typedef struct initialiser {
    takt_frame *f;
    const takt_ast *at;
    const takt_type *type;
    takt_call call;
} initialiser;

/* A number given as argument `index` or by keyword, else the fallback; false after a complaint. */
static bool number(initialiser *i, const char *key, size_t index, double fallback, double *out)
{
    size_t at = index < i->call.positional ? index : i->call.count;
    for (size_t k = i->call.positional; k < i->call.count; k++)
        if (strcmp(i->call.key[k]->text, key) == 0)
            at = k;
    *out = fallback;
    if (at == i->call.count)
        return true;
    if (takt_value_is_number(&i->call.value[at])) {
        *out = takt_value_double(&i->call.value[at]);
        return true;
    }
    takt_complain(i->f, i->call.place[at], TAKT_E_CALL, NULL, "%s is a number, not %s", key,
                  takt_value_kind_text(&i->call.value[at]));
    return false;
}

static bool takes(initialiser *i, const char *const *keys, size_t count)
{
    for (size_t k = 0; k < i->call.count; k++) {
        bool is_known = k < i->call.positional ? k < count : false;
        for (size_t n = 0; k >= i->call.positional && n < count; n++)
            is_known = is_known || strcmp(keys[n], i->call.key[k]->text) == 0;
        if (is_known)
            continue;
        takt_complain(i->f, i->call.place[k], TAKT_E_CALL, NULL, "%s does not take this argument",
                      i->call.name->text);
        return false;
    }
    return true;
}

static bool stream(initialiser *i, takt_init *init)
{
    double given;
    if (!number(i, "stream", SIZE_MAX, -1, &given))
        return false;
    if (given >= 0 && given <= UINT32_MAX && given == floor(given)) {
        init->stream = (uint32_t)given;
        if (init->stream >= i->f->graph->streams && init->stream < UINT32_MAX)
            i->f->graph->streams = init->stream + 1;
    } else {
        init->stream = i->f->e->stream_base + takt_graph_stream(i->f->graph);
    }
    return true;
}

/* ---- random ones ---- */

static bool uniform(initialiser *i, takt_init *init)
{
    static const char *const keys[] = {"low", "high", "stream"};
    init->kind = TAKT_INIT_UNIFORM;
    return takes(i, keys, 3) && number(i, keys[0], 0, 0, &init->a) &&
           number(i, keys[1], 1, 1, &init->b) && stream(i, init);
}

static bool normal(initialiser *i, takt_init *init)
{
    static const char *const keys[] = {"mean", "std", "stream"};
    init->kind = TAKT_INIT_NORMAL;
    return takes(i, keys, 3) && number(i, keys[0], 0, 0, &init->a) &&
           number(i, keys[1], 1, 1, &init->b) && stream(i, init);
}

/* Inputs and outputs of one unit: [in, out] for matrices, [out, in, kernel...] for filters. */
static bool fans(initialiser *i, double *in, double *out)
{
    static const char *const keys[] = {"fan_in", "fan_out", "stream"};
    const takt_type *t = i->type;
    double kernel = 1;
    char text[TAKT_TYPE_TEXT];
    if (!takt_type_is_concrete(t)) {
        takt_complain(i->f, i->at, TAKT_E_DIM, NULL, "the sizes of %s must be numbers for %s",
                      takt_type_text(i->f->graph->dims, t, text), i->call.name->text);
        return false;
    }
    for (int d = 2; d < t->rank; d++)
        kernel *= (double)t->dim[d];
    const double first = t->rank > 0 ? (double)t->dim[0] : 1;
    const double second = t->rank > 1 ? (double)t->dim[1] : first;
    *in = t->rank > 2 ? second * kernel : first;
    *out = t->rank > 2 ? first * kernel : second;
    if (!takes(i, keys, 3) || !number(i, "fan_in", SIZE_MAX, *in, in) ||
        !number(i, "fan_out", SIZE_MAX, *out, out))
        return false;
    *in = *in > 1 ? *in : 1;
    *out = *out > 1 ? *out : 1;
    return true;
}

static bool glorot(initialiser *i, takt_init *init)
{
    double in, out;
    if (!fans(i, &in, &out) || !stream(i, init))
        return false;
    init->kind = TAKT_INIT_UNIFORM;
    init->b = sqrt(6 / (in + out));
    init->a = -init->b;
    return true;
}

static bool scaled(initialiser *i, takt_init *init, double gain)
{
    double in, out;
    if (!fans(i, &in, &out) || !stream(i, init))
        return false;
    init->kind = TAKT_INIT_NORMAL;
    init->b = sqrt(gain / in);
    return true;
}

static bool he(initialiser *i, takt_init *init)
{
    return scaled(i, init, 2);
}
static bool lecun(initialiser *i, takt_init *init)
{
    return scaled(i, init, 1);
}

/* ---- fixed ones ---- */

static bool zeros(initialiser *i, takt_init *init)
{
    init->a = 0;
    return takes(i, NULL, 0);
}

static bool ones(initialiser *i, takt_init *init)
{
    init->a = 1;
    return takes(i, NULL, 0);
}

static bool constant(initialiser *i, takt_init *init)
{
    static const char *const keys[] = {"value"};
    return takes(i, keys, 1) && number(i, keys[0], 0, 0, &init->a);
}

typedef bool init_fn(initialiser *i, takt_init *init);

static const struct {
    const char *name;
    init_fn *make;
} initialisers[] = {{"zeros", zeros},     {"ones", ones},     {"constant", constant},
                    {"uniform", uniform}, {"normal", normal}, {"glorot", glorot},
                    {"he", he},           {"lecun", lecun}};

static bool unknown(initialiser *i, const char *name)
{
    char hint[TAKT_HINT_TEXT];
    takt_nearest near = takt_nearest_to(name);
    for (size_t k = 0; k < sizeof initialisers / sizeof *initialisers; k++)
        takt_nearest_try(&near, initialisers[k].name);
    const char *text = takt_nearest_hint(&near, hint);
    takt_complain(i->f, i->at, TAKT_E_UNDEFINED,
                  text != NULL ? text
                               : "a number, zeros, ones, constant(v), uniform(low, high), "
                                 "normal(mean, std), glorot, he, lecun or tensor([...])",
                  "there is no initialiser called %s", name);
    return false;
}

static bool by_name(initialiser *i, const takt_symbol *name, takt_init *init)
{
    i->call.name = name;
    for (size_t k = 0; k < sizeof initialisers / sizeof *initialisers; k++)
        if (strcmp(initialisers[k].name, name->text) == 0)
            return initialisers[k].make(i, init);
    return unknown(i, name->text);
}

/* ---- reading ---- */

static bool arguments(initialiser *i, const takt_ast *a)
{
    takt_call *c = &i->call;
    takt_frame *f = i->f;
    for (const takt_ast *arg = a->a; arg != NULL; arg = arg->next)
        c->count++;
    c->value = takt_frame_items(f, c->count);
    c->place = takt_arena_array(&f->arena, c->count, sizeof *c->place);
    c->key = takt_arena_array(&f->arena, c->count, sizeof *c->key);
    if (c->value == NULL || c->place == NULL || c->key == NULL)
        return takt_out_of_memory(f).b;
    size_t n = 0;
    bool good = true;
    for (const takt_ast *arg = a->a; arg != NULL; arg = arg->next, n++) {
        c->value[n] = takt_eval_expr(f, arg->a);
        c->place[n] = arg;
        c->key[n] = arg->name;
        if (arg->name == NULL)
            c->positional = n + 1;
        good = good && c->value[n].kind != TAKT_V_POISON;
    }
    for (n = 0; good && n < c->positional; n++)
        if (c->key[n] != NULL)
            return takt_complain(f, a, TAKT_E_CALL, NULL, "a positional argument follows a keyword")
                .b;
    return good;
}

static bool tensor(initialiser *i, takt_init *init, takt_tensor *held)
{
    if (i->call.count == 1 && i->call.positional == 0 && strcmp(i->call.key[0]->text, "ref") == 0) {
        const takt_tensor *t = takt_elab_weight(i->f, i->at, i->type, &i->call.value[0]);
        if (t == NULL)
            return false;
        *held = *t;
        takt_storage_retain(held->storage);
        init->kind = TAKT_INIT_TENSOR;
        init->tensor = held;
        return true;
    }
    const bool is_file = i->call.positional > 0 && i->call.value[0].kind == TAKT_V_STRING;
    if (i->call.count != i->call.positional || i->call.count < 1 ||
        i->call.count > (is_file ? 2 : 1))
        return takt_complain(i->f, i->at, TAKT_E_CALL,
                             "tensor([1, 2, 3]), tensor(\"w.npy\"), tensor(\"all.safetensors\", "
                             "\"name\")",
                             "tensor takes the elements as one list, or a file")
            .b;
    if (is_file) {
        if (!takt_elab_file(i->f, i->call.place[0], &i->call.value[0],
                            i->call.count > 1 ? &i->call.value[1] : NULL, i->type, held))
            return false;
    } else if (!takt_elab_tensor(i->f, i->call.place[0], i->type, &i->call.value[0], held))
        return false;
    init->kind = TAKT_INIT_TENSOR;
    init->tensor = held;
    return true;
}

bool takt_elab_init(takt_frame *f, const takt_ast *a, const takt_type *type, takt_init *init,
                    takt_tensor *held)
{
    initialiser i = {.f = f, .at = a, .type = type};
    *init = (takt_init){.kind = TAKT_INIT_CONSTANT};
    *held = (takt_tensor){0};
    if (a->kind == TAKT_A_CALL && !a->is_piped) {
        const takt_value *variable = takt_frame_find(f, a->name);
        const bool is_word = variable != NULL && variable->kind == TAKT_V_WORD;
        if (!arguments(&i, a))
            return false;
        if (strcmp(a->name->text, "tensor") == 0)
            return tensor(&i, init, held);
        return by_name(&i, is_word ? variable->word : a->name, init);
    }
    const takt_value v = takt_eval_word(f, a);
    if (v.kind == TAKT_V_WORD)
        return by_name(&i, v.word, init);
    if (takt_value_is_number(&v) || v.kind == TAKT_V_BOOL) {
        init->a = v.kind == TAKT_V_BOOL ? (double)v.b : takt_value_double(&v);
        return true;
    }
    if (v.kind != TAKT_V_POISON)
        takt_complain(f, a, TAKT_E_CALL, "a list of elements is tensor([...])",
                      "%s cannot begin a parameter or a state", takt_value_kind_text(&v));
    return false;
}
