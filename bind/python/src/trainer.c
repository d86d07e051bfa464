/* trainer.c - takt._takt.Trainer: training; programs use takt.Trainer. */
#include "trainer.h"

static void dealloc(PyObject *self)
{
    trainer_object *t = AS(trainer, self);
    PyTypeObject *type = Py_TYPE(self);
    takt_trainer_destroy(t->trainer);
    Py_XDECREF(t->model);
    owner_release(t->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    trainer_object *t = AS(trainer, self);
    trainer_options p = {.o = {.size = sizeof(takt_train_options)}};
    PyObject *first = PyTuple_GetSlice(args, 0, 1), *rest = PyTuple_GetSlice(args, 1, 99);
    PyObject *model = NULL;
    takt_error error;
    int done = -1;
    if (atomic_flag_test_and_set(&t->is_begun))
        raise_status(TAKT_ERR_STATE, "make another one", "the trainer was made before");
    else if (first != NULL && rest != NULL &&
             PyArg_ParseTuple(first, "O!", takt_types.model, &model) &&
             trainer_options_take(&p, rest, kwargs)) {
        model_object *m = AS(model, model);
        t->owner = owner_retain(m->owner);
        t->model = Py_NewRef(model);
        PyThreadState *state = owner_enter(t->owner);
        const takt_status status = takt_trainer_create(m->model, &p.o, &t->trainer);
        owner_leave(t->owner, state, status, &error);
        done = status == TAKT_OK ? 0 : -1;
        if (done < 0)
            raise_error(&error);
    }
    if (p.has_weights)
        hold_drop(&p.weights);
    Py_XDECREF(first);
    Py_XDECREF(rest);
    return done;
}

bool trainer_begin(trainer_object *t)
{
    if (t->trainer == NULL || atomic_exchange(&t->is_busy, true)) {
        raise_status(TAKT_ERR_STATE, "one trainer serves one thread at a time",
                     t->trainer == NULL ? "the trainer was never made"
                                        : "the trainer is in use by another thread");
        return false;
    }
    return true;
}

void trainer_end(trainer_object *t)
{
    atomic_store(&t->is_busy, false);
}

static PyObject *observe(PyObject *self, PyObject *number)
{
    trainer_object *t = AS(trainer, self);
    const double loss = PyFloat_AsDouble(number);
    if (PyErr_Occurred() || !trainer_begin(t))
        return NULL;
    takt_trainer_observe(t->trainer, loss);
    trainer_end(t);
    Py_RETURN_NONE;
}

/* ---- files ---- */

typedef takt_status transfer(trainer_object *t, const char *path, const char **note);

static takt_status save_to(trainer_object *t, const char *path, const char **note)
{
    return takt_trainer_save(t->trainer, path, *note);
}

static takt_status load_from(trainer_object *t, const char *path, const char **note)
{
    return takt_trainer_load(t->trainer, path, note);
}

static PyObject *file(PyObject *self, PyObject *args, transfer *how)
{
    trainer_object *t = AS(trainer, self);
    PyObject *path;
    const char *note = NULL;
    takt_error error;
    if (!PyArg_ParseTuple(args, "O&|z", PyUnicode_FSConverter, &path, &note))
        return NULL;
    if (!trainer_begin(t)) {
        Py_DECREF(path);
        return NULL;
    }
    PyThreadState *state = owner_enter(t->owner);
    const takt_status status = how(t, PyBytes_AsString(path), &note);
    owner_leave(t->owner, state, status, &error);
    PyObject *made =
        status == TAKT_OK ? PyUnicode_FromString(note != NULL ? note : "") : raise_error(&error);
    trainer_end(t);
    Py_DECREF(path);
    return made;
}

static PyObject *save(PyObject *self, PyObject *args)
{
    return file(self, args, save_to);
}

static PyObject *load(PyObject *self, PyObject *args)
{
    return file(self, args, load_from);
}

static PyObject *export(PyObject *self, PyObject *args)
{
    trainer_object *t = AS(trainer, self);
    int averaged = 0;
    takt_error error;
    if (!PyArg_ParseTuple(args, "|p", &averaged) || !trainer_begin(t))
        return NULL;
    takt_model *to = AS(model, t->model)->model;
    PyThreadState *state = owner_enter(t->owner);
    const takt_status status = takt_trainer_export(t->trainer, to, averaged != 0);
    owner_leave(t->owner, state, status, &error);
    trainer_end(t);
    if (status != TAKT_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

static PyObject *facts(PyObject *self, PyObject *nothing)
{
    trainer_object *t = AS(trainer, self);
    uint64_t trained;
    size_t frozen;
    (void)nothing;
    if (!trainer_begin(t))
        return NULL;
    takt_trainer_count(t->trainer, &trained, &frozen);
    PyObject *made = Py_BuildValue("(KKns)", (unsigned long long)takt_trainer_steps(t->trainer),
                                   (unsigned long long)trained, (Py_ssize_t)frozen,
                                   takt_trainer_note(t->trainer));
    trainer_end(t);
    return made;
}

static PyMethodDef methods[] = {
    {"step", trainer_step, METH_O,
     "step(batch): (step, loss, count, hits, rate, norm, scale, skipped)"},
    {"eval", trainer_eval, METH_O, "eval(batch): the same with the present weights"},
    {"steps", trainer_steps, METH_VARARGS,
     "steps(batches, ready, seconds): steps until then; (the last one as by step, sums of loss, "
     "count and hits, steps, seconds of waiting, whether the batches ended)"},
    {"stop", trainer_stop, METH_NOARGS, "stop(): ends steps() after the present one"},
    {"plan", trainer_plan, METH_O, "plan(batch): bytes of a step on it"},
    {"observe", observe, METH_O, "observe(loss): a validation loss, for the schedule plateau"},
    {"save", save, METH_VARARGS, "save(path, note=None)"},
    {"load", load, METH_VARARGS, "load(path): the note"},
    {"export", export, METH_VARARGS, "export(averaged=False): the weights into the model"},
    {"facts", facts, METH_NOARGS, "(steps, trained numbers, frozen parameters, note)"},
    {NULL, NULL, 0, NULL},
};

PyObject *trainer_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, PyType_GenericNew},
        {Py_tp_init, init},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Trainer(model, loss=, optimizer=, rate=, ...)"},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Trainer",
                               .basicsize = OBJECT_SIZE(trainer_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
