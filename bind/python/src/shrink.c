/* shrink.c - a model with fewer bits, channels or factors; takt.quantize and others use it. */
#include "module.h"

#include <string.h>

typedef union options {
    takt_quantize_options quantize;
    takt_prune_options prune;
    takt_lowrank_options lowrank;
    takt_aware_options aware;
} options;

/* Which of them, with its options. */
typedef struct job {
    char kind; /* quantize, prune, lowrank, aware or integers: the first letter */
    options o;
    PyObject *keep;
    PyObject *type, *value, *trace; /* what `keep` raised, or NULL */
} job;

/* Whether a layer is left unchanged. After an exception all are, and the function is no longer
 * called. It may use the model: the thread holds its lock, which is recursive. */
static bool keeps(void *user, const char *layer)
{
    job *j = user;
    if (j->type != NULL)
        return true;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *answer = PyObject_CallFunction(j->keep, "s", layer);
    const int truth = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (truth < 0)
        PyErr_Fetch(&j->type, &j->value, &j->trace);
    PyGILState_Release(gil);
    return truth != 0;
}

static bool take_data(PyObject *object, const takt_data **data)
{
    *data = NULL;
    if (object == Py_None)
        return true;
    if (!PyObject_TypeCheck(object, takt_types.data) || data_of(object) == NULL) {
        raise_status(TAKT_ERR_ARGUMENT, "takt.Dataset reads them", "samples are an open data set");
        return false;
    }
    *data = data_of(object);
    return true;
}

static bool take_quantize(job *j, PyObject *kwargs)
{
    static char *keys[] = {"type",     "method",        "calib",   "rounding",   "test",
                           "metric",   "accuracy_drop", "keep",    "size_first", "correct",
                           "equalize", "sizes",         "threads", "layer_ns",   NULL};
    takt_quantize_options *o = &j->o.quantize;
    PyObject *calib = Py_None, *test = Py_None, *none = PyTuple_New(0);
    int size_first = 0, correct = 1, equalize = 0;
    unsigned long long layer_ns = 0;
    o->size = sizeof *o;
    const bool good = none != NULL &&
                      PyArg_ParseTupleAndKeywords(
                          none, kwargs, "|zzOzOzzOpppziK", keys, &o->type, &o->method, &calib,
                          &o->rounding, &test, &o->metric, &o->accuracy_drop, &j->keep, &size_first,
                          &correct, &equalize, &o->sizes, &o->threads, &layer_ns) &&
                      take_data(calib, &o->calib) && take_data(test, &o->test);
    Py_XDECREF(none);
    o->size_first = size_first != 0;
    o->no_correction = correct == 0;
    o->equalize = equalize != 0;
    o->layer_ns = layer_ns;
    if (j->keep != Py_None) {
        o->keeps = keeps;
        o->keeps_user = j;
    }
    return good;
}

static bool take_prune(job *j, PyObject *kwargs)
{
    static char *keys[] = {"amount",  "criterion", "data", "unstructured", "keep", "sizes",
                           "threads", "max_ns",    NULL};
    takt_prune_options *o = &j->o.prune;
    PyObject *data = Py_None, *none = PyTuple_New(0);
    int unstructured = 0;
    unsigned long long max_ns = 0;
    o->size = sizeof *o;
    const bool good = none != NULL &&
                      PyArg_ParseTupleAndKeywords(none, kwargs, "|dzOpOziK", keys, &o->amount,
                                                  &o->criterion, &data, &unstructured, &j->keep,
                                                  &o->sizes, &o->threads, &max_ns) &&
                      take_data(data, &o->data);
    Py_XDECREF(none);
    o->unstructured = unstructured != 0;
    o->max_ns = max_ns;
    if (j->keep != Py_None) {
        o->keeps = keeps;
        o->keeps_user = j;
    }
    return good;
}

static bool take_lowrank(job *j, PyObject *kwargs)
{
    static char *keys[] = {"energy", "rank",    "keep",     "size_first",
                           "sizes",  "threads", "layer_ns", NULL};
    takt_lowrank_options *o = &j->o.lowrank;
    PyObject *none = PyTuple_New(0);
    int size_first = 0;
    long long rank = 0;
    unsigned long long layer_ns = 0;
    o->size = sizeof *o;
    const bool good = none != NULL && PyArg_ParseTupleAndKeywords(
                                          none, kwargs, "|dLOpziK", keys, &o->energy, &rank,
                                          &j->keep, &size_first, &o->sizes, &o->threads, &layer_ns);
    Py_XDECREF(none);
    o->rank = rank;
    o->size_first = size_first != 0;
    o->layer_ns = layer_ns;
    if (j->keep != Py_None) {
        o->keeps = keeps;
        o->keeps_user = j;
    }
    return good;
}

static bool take_aware(job *j, PyObject *kwargs)
{
    static char *keys[] = {"type", "calib", "keep", "sizes", "threads", "whole", NULL};
    takt_aware_options *o = &j->o.aware;
    PyObject *calib = Py_None, *none = PyTuple_New(0);
    int whole = 0;
    o->size = sizeof *o;
    const bool good = none != NULL &&
                      PyArg_ParseTupleAndKeywords(none, kwargs, "|zOOzip", keys, &o->type, &calib,
                                                  &j->keep, &o->sizes, &o->threads, &whole) &&
                      take_data(calib, &o->calib);
    Py_XDECREF(none);
    o->whole = whole != 0;
    if (j->keep != Py_None) {
        o->keeps = keeps;
        o->keeps_user = j;
    }
    return good;
}

static bool take_options(job *j, const char *kind, PyObject *kwargs)
{
    static const struct {
        const char *name;
        bool (*take)(job *j, PyObject *kwargs);
    } kinds[] = {{"quantize", take_quantize},
                 {"prune", take_prune},
                 {"lowrank", take_lowrank},
                 {"aware", take_aware},
                 {"integers", NULL}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].name) == 0) {
            j->kind = kind[0];
            return kinds[i].take == NULL || kinds[i].take(j, kwargs);
        }
    raise_status(TAKT_ERR_NOT_FOUND, "quantize, prune, lowrank, aware or integers",
                 "there is no way to shrink a model that is called %s", kind);
    return false;
}

static takt_status perform(const job *j, const takt_model *m, text_sink *report, takt_model **made)
{
    const takt_format format = TAKT_FORMAT_JSON;
    if (j->kind == 'q')
        return takt_model_quantize(m, &j->o.quantize, format, text_put, report, made);
    if (j->kind == 'p')
        return takt_model_prune(m, &j->o.prune, format, text_put, report, made);
    if (j->kind == 'l')
        return takt_model_lowrank(m, &j->o.lowrank, format, text_put, report, made);
    return j->kind == 'a' ? takt_model_aware(m, &j->o.aware, made)
                          : takt_model_aware_convert(m, made);
}

PyObject *model_shrink(PyObject *self, PyObject *args, PyObject *kwargs)
{
    model_object *m = AS(model, self);
    const char *kind;
    job j = {.keep = Py_None};
    text_sink report = {.at = NULL};
    takt_model *made = NULL;
    takt_error error;
    if (!PyArg_ParseTuple(args, "s", &kind) || !take_options(&j, kind, kwargs))
        return NULL;
    PyThreadState *state = owner_enter(m->owner);
    const takt_status status = perform(&j, m->model, &report, &made);
    owner_leave(m->owner, state, status, &error);
    PyObject *text = text_take(&report);
    PyObject *model = status == TAKT_OK ? model_new(m->owner, made) : NULL;
    if (j.type != NULL) {
        Py_CLEAR(model);
        PyErr_Restore(j.type, j.value, j.trace);
    } else if (status != TAKT_OK) {
        raise_error(&error);
    }
    PyObject *pair = model != NULL && text != NULL ? PyTuple_Pack(2, model, text) : NULL;
    Py_XDECREF(model);
    Py_XDECREF(text);
    return pair;
}

PyObject *model_distill(PyObject *self, PyObject *args)
{
    model_object *student = AS(model, self), *teacher;
    PyObject *other;
    takt_distill_options o = {.size = sizeof o};
    takt_model *made = NULL;
    takt_error error;
    if (!PyArg_ParseTuple(args, "O!dd", takt_types.model, &other, &o.temperature, &o.alpha))
        return NULL;
    teacher = AS(model, other);
    if (!owner_keep(student->owner, teacher->owner))
        return NULL;
    o.labels_only = o.alpha <= 0;
    PyThreadState *state = owner_enter(student->owner);
    const takt_status status = takt_model_distill(student->model, teacher->model, &o, &made);
    owner_leave(student->owner, state, status, &error);
    return status == TAKT_OK ? model_new(student->owner, made) : raise_error(&error);
}

/* ---- single arrays ---- */

static PyObject *like(const takt_tensor_view *v, int64_t rows, int64_t columns)
{
    const int64_t dims[2] = {rows, columns};
    return rows < 0 ? array_new(TAKT_F32, v->rank, v->dims) : array_new(TAKT_F32, 2, dims);
}

/* fake_quantize(w, bits, symmetric) */
PyObject *module_fake_quantize(PyObject *module, PyObject *args)
{
    PyObject *array;
    int bits, symmetric = 1;
    hold h;
    takt_ctx *ctx = array_ctx();
    (void)module;
    if (ctx == NULL || !PyArg_ParseTuple(args, "Oi|p", &array, &bits, &symmetric) ||
        !hold_take(&h, array, false, "w"))
        return NULL;
    PyObject *made = like(&h.view, -1, 0);
    takt_status status = TAKT_ERR_MEMORY;
    if (made != NULL)
        status =
            takt_fake_quantize(ctx, &h.view, bits, symmetric != 0, &AS(array, made)->memory.view);
    hold_drop(&h);
    if (made != NULL && status != TAKT_OK) {
        const takt_error error = *takt_last_error_info(ctx);
        Py_DECREF(made);
        return raise_error(&error);
    }
    return made;
}

/* low_rank(w, rank): (u, v, error) */
PyObject *module_low_rank(PyObject *module, PyObject *args)
{
    PyObject *array;
    long long rank;
    double left = 0;
    hold h;
    takt_ctx *ctx = array_ctx();
    (void)module;
    if (ctx == NULL || !PyArg_ParseTuple(args, "OL", &array, &rank) ||
        !hold_take(&h, array, false, "w"))
        return NULL;
    if (h.view.rank != 2 || rank < 1) {
        hold_drop(&h);
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "w is a matrix, and the rank at least 1");
    }
    PyObject *u = like(&h.view, h.view.dims[0], rank), *v = like(&h.view, rank, h.view.dims[1]);
    takt_status status = TAKT_ERR_MEMORY;
    if (u != NULL && v != NULL)
        status = takt_low_rank(ctx, &h.view, &AS(array, u)->memory.view, &AS(array, v)->memory.view,
                               &left);
    hold_drop(&h);
    if (status == TAKT_OK)
        return Py_BuildValue("(NNd)", u, v, left);
    Py_XDECREF(u);
    Py_XDECREF(v);
    if (PyErr_Occurred())
        return NULL;
    const takt_error error = *takt_last_error_info(ctx);
    return raise_error(&error);
}
