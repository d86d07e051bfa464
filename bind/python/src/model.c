/* model.c - takt._takt.Model: a model, its parts, and what can be derived from it. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KNOWN = 64 };

PyObject *model_new(owner *o, takt_model *model)
{
    PyObject *made = PyType_GenericAlloc(takt_types.model, 0);
    if (made == NULL) {
        takt_model_destroy(model);
        return NULL;
    }
    AS(model, made)->owner = owner_retain(o);
    AS(model, made)->model = model;
    return made;
}

static void dealloc(PyObject *self)
{
    model_object *m = AS(model, self);
    PyTypeObject *type = Py_TYPE(self);
    takt_model_destroy(m->model);
    owner_release(m->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- loading ---- */

/* The errors of a text, with the lines they are in. */
static PyObject *raise_rendered(const takt_error *e, text_sink *complaint)
{
    const bool has_text = complaint->length > 0;
    PyObject *rendered = text_take(complaint);
    raise_error(e);
    if (has_text && rendered != NULL && PyErr_Occurred()) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        if (value != NULL && PyObject_SetAttrString(value, "rendered", rendered) < 0)
            PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    Py_XDECREF(rendered);
    return NULL;
}

typedef struct source {
    const char *path; /* or NULL */
    Py_buffer bytes;
    const char *name;
} source;

static takt_status load(owner *o, const source *from, const takt_load_options *options,
                        takt_model **model)
{
    return from->path != NULL ? takt_model_load(o->ctx, from->path, options, model)
                              : takt_model_load_memory(o->ctx, from->name, from->bytes.buf,
                                                       (size_t)from->bytes.len, options, model);
}

/* Inputs whose values are known while the model is read: shapes may depend on them. */
typedef struct known_inputs {
    takt_known_input at[MOST_KNOWN];
    PyObject *dense[MOST_KNOWN];
    size_t count;
} known_inputs;

static bool take_known(known_inputs *k, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (dict == Py_None)
        return true;
    while (PyDict_Next(dict, &at, &key, &value)) {
        hold h;
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (name == NULL)
            return false;
        if (k->count == MOST_KNOWN) {
            raise_status(TAKT_ERR_ARGUMENT, NULL, "inputs: at most %d are taken", MOST_KNOWN);
            return false;
        }
        if (!hold_take(&h, value, false, name))
            return false;
        PyObject *made = array_new(h.view.dtype, h.view.rank, h.view.dims);
        if (made != NULL && view_count(&h.view) > 0)
            view_gather(&h.view, AS(array, made)->memory.view.data);
        hold_drop(&h);
        if (made == NULL)
            return false;
        k->dense[k->count] = made;
        k->at[k->count++] = (takt_known_input){name, AS(array, made)->memory.view};
    }
    return true;
}

static void drop_known(known_inputs *k)
{
    while (k->count > 0)
        Py_DECREF(k->dense[--k->count]);
    PyMem_Free(k);
}

/* Loads with everything ready; raises. */
static PyObject *load_from(const source *from, takt_load_options *options)
{
    text_sink complaint = {.at = NULL};
    takt_model *model = NULL;
    takt_error error;
    options->complaint_user = &complaint;
    owner *o = owner_create();
    if (o == NULL)
        return NULL;
    PyThreadState *state = owner_enter(o);
    const takt_status status = load(o, from, options, &model);
    owner_leave(o, state, status, &error);
    PyObject *made = status == TAKT_OK ? model_new(o, model) : raise_rendered(&error, &complaint);
    Py_XDECREF(text_take(&complaint));
    owner_release(o);
    return made;
}

PyObject *module_load(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"path",        "bytes",  "name",     "seed",        "model", "sizes",
                           "allow_links", "inputs", "training", "keep_scales", "dense", NULL};
    source from = {.path = NULL};
    PyObject *bytes = Py_None, *path = NULL, *inputs = Py_None, *made = NULL;
    unsigned long long seed = 0, dense = 0;
    int links = 0, training = 0, scales = 0;
    known_inputs *known = PyMem_Calloc(1, sizeof *known);
    takt_load_options options = {.size = sizeof options, .complaint = text_put};
    (void)module;
    if (known == NULL)
        return PyErr_NoMemory();
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O|zKzzpOppK", keys, PyUnicode_FSConverter,
                                     &path, &bytes, &from.name, &seed, &options.model,
                                     &options.sizes, &links, &inputs, &training, &scales, &dense)) {
        PyMem_Free(known);
        return NULL;
    }
    options.seed = seed;
    options.dense_limit = dense;
    options.allow_links = links != 0;
    options.training = training != 0;
    options.keep_scales = scales != 0;
    if (inputs != Py_None && !PyDict_Check(inputs))
        raise_status(TAKT_ERR_ARGUMENT, "inputs={'shape': array}", "inputs is not a dictionary");
    else if (bytes == Py_None)
        from.path = PyBytes_AsString(path);
    else if (PyObject_GetBuffer(bytes, &from.bytes, PyBUF_SIMPLE) < 0)
        from.bytes.obj = NULL;
    if (!PyErr_Occurred() && take_known(known, inputs)) {
        options.known = inputs != Py_None ? known->at : NULL; /* {}: every optional is empty */
        options.known_count = known->count;
        made = load_from(&from, &options);
    }
    drop_known(known);
    Py_DECREF(path);
    if (from.bytes.obj != NULL)
        PyBuffer_Release(&from.bytes);
    return made;
}

/* ---- looking ---- */

static PyObject *get_name(PyObject *self, void *closure)
{
    (void)closure;
    const char *name = takt_model_name(AS(model, self)->model);
    return PyUnicode_FromString(name != NULL ? name : "");
}

static PyObject *get_lineage(PyObject *self, void *closure)
{
    (void)closure;
    const char *text = takt_model_lineage(AS(model, self)->model);
    return PyUnicode_FromString(text != NULL ? text : "");
}

static PyObject *ports(const takt_model *m, bool is_input)
{
    const size_t count = is_input ? takt_model_input_count(m) : takt_model_output_count(m);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *one = describe(is_input ? takt_model_input(m, i) : takt_model_output(m, i));
        if (one == NULL || PyList_SetItem(list, (Py_ssize_t)i, one) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *get_inputs(PyObject *self, void *closure)
{
    (void)closure;
    return ports(AS(model, self)->model, true);
}

static PyObject *get_outputs(PyObject *self, void *closure)
{
    (void)closure;
    return ports(AS(model, self)->model, false);
}

/* One of the library's reports, by name. */
static PyObject *report(PyObject *self, PyObject *args)
{
    model_object *m = AS(model, self);
    const char *kind, *sizes = NULL;
    int json = 0;
    text_sink text = {.at = NULL};
    takt_error error;
    if (!PyArg_ParseTuple(args, "s|zp", &kind, &sizes, &json))
        return NULL;
    const takt_format format = json ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT;
    PyThreadState *state = owner_enter(m->owner);
    takt_status status = TAKT_ERR_ARGUMENT;
    if (strcmp(kind, "summary") == 0)
        status = takt_model_summary(m->model, sizes, format, text_put, &text);
    else if (strcmp(kind, "inspect") == 0)
        status = takt_model_inspect(m->model, format, text_put, &text);
    else if (strcmp(kind, "print") == 0)
        status = takt_model_print(m->model, json == 0, text_put, &text);
    owner_leave(m->owner, state, status, &error);
    PyObject *made = text_take(&text);
    if (status == TAKT_OK)
        return made;
    Py_XDECREF(made);
    return raise_error(&error);
}

/* ---- files ---- */

static PyObject *done(takt_status status, const takt_error *error)
{
    if (status != TAKT_OK)
        return raise_error(error);
    Py_RETURN_NONE;
}

static PyObject *save(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"path", "optimize", "sizes", "precision", "source", "command", NULL};
    model_object *m = AS(model, self);
    PyObject *path;
    int optimize = 0;
    takt_save_options o = {.size = sizeof o};
    takt_error error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|pzzzz", keys, PyUnicode_FSConverter, &path,
                                     &optimize, &o.sizes, &o.precision, &o.source, &o.command))
        return NULL;
    o.optimize = optimize != 0;
    PyThreadState *state = owner_enter(m->owner);
    const takt_status status = takt_model_save(m->model, PyBytes_AsString(path), &o);
    owner_leave(m->owner, state, status, &error);
    Py_DECREF(path);
    return done(status, &error);
}

static PyObject *weights(PyObject *self, PyObject *args)
{
    model_object *m = AS(model, self);
    PyObject *path, *given = Py_None, *rules = NULL;
    int is_load;
    takt_error error;
    if (!PyArg_ParseTuple(args, "O&p|O", PyUnicode_FSConverter, &path, &is_load, &given))
        return NULL;
    if (given != Py_None && !PyUnicode_FSConverter(given, &rules)) {
        Py_DECREF(path);
        return NULL;
    }
    PyThreadState *state = owner_enter(m->owner);
    const takt_status status =
        is_load ? takt_model_load_weights_by(m->model, PyBytes_AsString(path),
                                             rules != NULL ? PyBytes_AsString(rules) : NULL)
                : takt_model_save_weights(m->model, PyBytes_AsString(path), NULL);
    owner_leave(m->owner, state, status, &error);
    Py_DECREF(path);
    Py_XDECREF(rules);
    return done(status, &error);
}

/* ---- models out of models ---- */

static PyObject *derive(PyObject *self, PyObject *args)
{
    model_object *m = AS(model, self);
    const char *kind, *a = NULL, *b = NULL;
    takt_model *made = NULL;
    takt_error error;
    if (!PyArg_ParseTuple(args, "s|zz", &kind, &a, &b))
        return NULL;
    PyThreadState *state = owner_enter(m->owner);
    takt_status status = TAKT_ERR_ARGUMENT;
    if (strcmp(kind, "extract") == 0)
        status = takt_model_extract(m->model, a, b, &made);
    else if (strcmp(kind, "batch") == 0)
        status = takt_model_batch(m->model, a, &made);
    else if (strcmp(kind, "gradient") == 0)
        status = takt_model_gradient(m->model, a, b, &made);
    else if (strcmp(kind, "grow") == 0)
        status = takt_model_grow(m->model, a != NULL ? strtoll(a, NULL, 10) : 0, &made);
    owner_leave(m->owner, state, status, &error);
    return status == TAKT_OK ? model_new(m->owner, made) : raise_error(&error);
}

/* `model`: the model it was made from, if it still exists; or NULL. */
static PyObject *plan_new(owner *o, takt_plan *plan, PyObject *model)
{
    PyObject *made = PyType_GenericAlloc(takt_types.plan, 0);
    if (made == NULL) {
        takt_plan_destroy(plan);
        return NULL;
    }
    plan_object *p = AS(plan, made);
    p->owner = owner_retain(o);
    p->plan = plan;
    p->model = Py_XNewRef(model);
    return made;
}

static PyObject *make_plan(PyObject *self, PyObject *options)
{
    model_object *m = AS(model, self);
    takt_plan_options o;
    takt_plan *plan = NULL;
    takt_error error;
    if (!plan_options_of(options, &o))
        return NULL;
    PyThreadState *state = owner_enter(m->owner);
    const takt_status status =
        o.dry ? takt_plan_create(m->model, &o, &plan) : takt_plan_get(m->model, &o, &plan);
    owner_leave(m->owner, state, status, &error);
    return status == TAKT_OK ? plan_new(m->owner, plan, self) : raise_error(&error);
}

/* The weights are freed as they are packed; the library then treats the model as empty. */
static PyObject *take_plan(PyObject *self, PyObject *options)
{
    model_object *m = AS(model, self);
    takt_plan_options o;
    takt_plan *plan = NULL;
    takt_error error;
    if (!plan_options_of(options, &o))
        return NULL;
    if (m->model == NULL)
        return raise_status(TAKT_ERR_STATE, NULL, "the model became a plan already");
    PyThreadState *state = owner_enter(m->owner);
    takt_model *model = m->model;
    m->model = NULL;
    const takt_status status = takt_plan_take(model, &o, &plan);
    owner_leave(m->owner, state, status, &error);
    return status == TAKT_OK ? plan_new(m->owner, plan, NULL) : raise_error(&error);
}

static PyGetSetDef properties[] = {
    {"name", get_name, NULL, "the model's name", NULL},
    {"lineage", get_lineage, NULL, "where it came from, as JSON; or empty", NULL},
    {"inputs", get_inputs, NULL, "(name, dtype, dims) of each input", NULL},
    {"outputs", get_outputs, NULL, "(name, dtype, dims) of each output", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"report", report, METH_VARARGS, "report(kind, sizes=None, json=False)"},
    {"save", (PyCFunction)(void (*)(void))save, METH_VARARGS | METH_KEYWORDS,
     "save(path, optimize=False, sizes=None, precision=None, source=None, command=None)"},
    {"weights", weights, METH_VARARGS, "weights(path, is_load)"},
    {"params", model_params, METH_NOARGS, "(name, array or None, is trainable) of each"},
    {"param_put", model_param_put, METH_VARARGS, "param_put(name, array)"},
    {"shrink", (PyCFunction)(void (*)(void))model_shrink, METH_VARARGS | METH_KEYWORDS,
     "shrink(kind, **options): (model, report)"},
    {"distill", model_distill, METH_VARARGS, "distill(teacher, temperature, alpha)"},
    {"derive", derive, METH_VARARGS, "derive(kind, a=None, b=None)"},
    {"plan", make_plan, METH_O, "plan(options)"},
    {"take", take_plan, METH_O, "take(options): a plan; the model is used up"},
    {NULL, NULL, 0, NULL},
};

PyObject *model_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc},
        {Py_tp_getset, properties},
        {Py_tp_methods, methods},
        {Py_tp_doc, "A model of the library's; takt.Model is what programs use."},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Model",
                               .basicsize = OBJECT_SIZE(model_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
