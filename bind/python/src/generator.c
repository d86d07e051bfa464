/* generator.c - takt._takt.Generator: texts by a language model; takt.Generator wraps it. */
#include "module.h"

#include <string.h>

typedef struct generator_object {
    OBJECT_HEAD owner *owner;
    takt_generator *generator;
    atomic_flag is_begun; /* by __init__ */
    atomic_bool is_busy;
} generator_object;

static void dealloc(PyObject *self)
{
    generator_object *g = AS(generator, self);
    PyTypeObject *type = Py_TYPE(self);
    takt_generator_destroy(g->generator);
    owner_release(g->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"path",    "tokenizer", "context",     "batch",
                           "threads", "isa",       "activations", NULL};
    generator_object *g = AS(generator, self);
    takt_generator_options o = {.size = sizeof o};
    long long context = 0, batch = 0;
    PyObject *path;
    takt_error error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|zLLizz", keys, PyUnicode_FSConverter, &path,
                                     &o.tokenizer, &context, &batch, &o.threads, &o.isa,
                                     &o.activations))
        return -1;
    o.context = context;
    o.batch = batch;
    if (atomic_flag_test_and_set(&g->is_begun)) {
        raise_status(TAKT_ERR_STATE, "make another one", "the generator is open already");
        Py_DECREF(path);
        return -1;
    }
    if ((g->owner = owner_create()) != NULL) {
        PyThreadState *state = owner_enter(g->owner);
        const takt_status status =
            takt_generator_open(g->owner->ctx, PyBytes_AsString(path), &o, &g->generator);
        owner_leave(g->owner, state, status, &error);
        if (status != TAKT_OK) {
            owner_release(g->owner);
            g->owner = NULL;
            raise_error(&error);
        }
    }
    Py_DECREF(path);
    if (g->generator == NULL)
        atomic_flag_clear(&g->is_begun);
    return g->generator != NULL ? 0 : -1;
}

static bool begin(generator_object *g)
{
    if (g->generator != NULL && !atomic_exchange(&g->is_busy, true))
        return true;
    raise_status(TAKT_ERR_STATE, "one generator serves one caller at a time",
                 "the generator is in use by another thread");
    return false;
}

/* ---- writing ---- */

typedef struct listener {
    PyObject *function; /* or NULL */
    text_sink all;
    bool failed; /* the function raised, or Ctrl-C did */
} listener;

static int hear(void *user, const char *text, size_t length)
{
    listener *l = user;
    if (text_put(&l->all, text, length) != 0)
        return 1;
    l->failed = interrupts_poll();
    if (l->failed || l->function == NULL)
        return l->failed ? 1 : 0;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *piece = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    PyObject *answer =
        piece != NULL ? PyObject_CallFunctionObjArgs(l->function, piece, NULL) : NULL;
    const bool stops = answer == Py_False;
    l->failed = answer == NULL;
    Py_XDECREF(piece);
    Py_XDECREF(answer);
    PyGILState_Release(gil);
    return l->failed || stops ? 1 : 0;
}

enum { BREAKERS = 64 };

/* A tuple of texts, which the caller's arguments keep alive; None: the default. */
static bool take_breakers(PyObject *texts, takt_sampling *s, const char **breakers)
{
    if (texts == Py_None)
        return true;
    if (!PyTuple_Check(texts) || PyTuple_Size(texts) > BREAKERS) {
        PyErr_Format(PyExc_ValueError, "dry_breakers are at most %d texts", BREAKERS);
        return false;
    }
    s->dry_breaker_count = (size_t)PyTuple_Size(texts);
    s->dry_breakers = breakers;
    for (size_t i = 0; i < s->dry_breaker_count; i++) {
        breakers[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(texts, (Py_ssize_t)i), NULL);
        if (breakers[i] == NULL)
            return false;
    }
    return true;
}

static bool take_options(PyObject *args, PyObject *kwargs, const char **prompt,
                         takt_generate_options *o, PyObject **function, const char **breakers)
{
    static char *keys[] = {"prompt",
                           "max_tokens",
                           "temperature",
                           "top_k",
                           "top_p",
                           "min_p",
                           "typical_p",
                           "repeat_penalty",
                           "presence_penalty",
                           "frequency_penalty",
                           "repeat_last_n",
                           "seed",
                           "stop",
                           "ignore_eos",
                           "samplers",
                           "sink",
                           "dynatemp_range",
                           "dynatemp_exponent",
                           "top_n_sigma",
                           "xtc_probability",
                           "xtc_threshold",
                           "dry_multiplier",
                           "dry_base",
                           "dry_allowed_length",
                           "dry_penalty_last_n",
                           "dry_breakers",
                           NULL};
    takt_sampling *s = &o->sampling;
    unsigned long long most = 0, seed = 0;
    long long top_k = 0, last = 0, allowed = 0, looked_at = 0;
    int ignore = 0;
    PyObject *texts = Py_None;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "s|KdLddddddLKzpzOdddddddLLO", keys, prompt, &most, &s->temperature,
            &top_k, &s->top_p, &s->min_p, &s->typical_p, &s->repeat_penalty, &s->presence_penalty,
            &s->frequency_penalty, &last, &seed, &o->stop, &ignore, &s->samplers, function,
            &s->dynatemp_range, &s->dynatemp_exponent, &s->top_n_sigma, &s->xtc_probability,
            &s->xtc_threshold, &s->dry_multiplier, &s->dry_base, &allowed, &looked_at, &texts) ||
        !take_breakers(texts, s, breakers))
        return false;
    s->dry_allowed_length = allowed;
    s->dry_penalty_last_n = looked_at;
    o->size = sizeof *o;
    s->size = sizeof *s;
    o->max_tokens = (size_t)most;
    o->ignore_eos = ignore != 0;
    s->top_k = top_k;
    s->repeat_last_n = last;
    s->seed = seed;
    return true;
}

static PyObject *generate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const ends[] = {"length", "eos", "context", "stop"};
    generator_object *g = AS(generator, self);
    takt_generate_options o = {.size = sizeof o};
    takt_generated got = {.tokens = 0};
    listener l = {.failed = false};
    PyObject *function = Py_None;
    const char *prompt, *breakers[BREAKERS];
    takt_error error;
    if (!take_options(args, kwargs, &prompt, &o, &function, breakers) || !begin(g))
        return NULL;
    l.function = function != Py_None ? function : NULL;
    interruptible i = {cancel_generator, g->generator, false, NULL, false};
    interrupts_begin(&i);
    PyThreadState *state = owner_enter(g->owner);
    const takt_status status = takt_generate(g->generator, prompt, &o, hear, &l, &got);
    interrupts_end(&i);
    owner_leave(g->owner, state, status, &error);
    atomic_store(&g->is_busy, false);
    l.failed = l.failed || interrupts_raise(&i); /* it came within the prompt */
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    if (l.failed) /* the function's exception is kept while the text is freed */
        PyErr_Fetch(&type, &value, &trace);
    PyObject *text = text_take(&l.all);
    if (l.failed || text == NULL || status != TAKT_OK) {
        Py_XDECREF(text);
        if (l.failed)
            PyErr_Restore(type, value, trace);
        return l.failed || text == NULL ? NULL : raise_error(&error);
    }
    return Py_BuildValue("(Nnndds)", text, (Py_ssize_t)got.prompt_tokens, (Py_ssize_t)got.tokens,
                         got.prompt_ns * 1e-9, got.ns * 1e-9, ends[got.end]);
}

static PyObject *reset(PyObject *self, PyObject *nothing)
{
    generator_object *g = AS(generator, self);
    (void)nothing;
    if (!begin(g))
        return NULL;
    takt_generator_reset(g->generator);
    atomic_store(&g->is_busy, false);
    Py_RETURN_NONE;
}

static PyObject *facts(PyObject *self, PyObject *nothing)
{
    generator_object *g = AS(generator, self);
    takt_plan_info info;
    (void)nothing;
    if (!begin(g))
        return NULL;
    takt_plan_query(takt_generator_plan(g->generator), &info);
    PyObject *made =
        Py_BuildValue("{sLsLsnsK}", "context", (long long)takt_generator_context(g->generator),
                      "position", (long long)takt_generator_position(g->generator), "vocabulary",
                      (Py_ssize_t)takt_tokenizer_count(takt_generator_tokenizer(g->generator)),
                      "peak", (unsigned long long)info.peak);
    atomic_store(&g->is_busy, false);
    return made;
}

static PyMethodDef methods[] = {
    {"generate", (PyCFunction)(void (*)(void))generate, METH_VARARGS | METH_KEYWORDS,
     "generate(prompt, max_tokens=0, ...): (text, prompt tokens, tokens, seconds, seconds, end)"},
    {"reset", reset, METH_NOARGS, "Forgets what was read."},
    {"facts", facts, METH_NOARGS, "context, position, vocabulary, peak"},
    {NULL, NULL, 0, NULL},
};

PyObject *generator_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, PyType_GenericNew},
        {Py_tp_init, init},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Generator(path, tokenizer=None, context=0, ...)"},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Generator",
                               .basicsize = OBJECT_SIZE(generator_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
