/* session_run.c - one run of a session: the GIL released, Ctrl-C heard, other sizes made ready. */
#include "session.h"

#include <string.h>

/* ---- one run ---- */

/* A run that found sizes may have switched to another plan: descriptions of the previous one are
 * invalid. */
static bool moved(const session_object *o)
{
    for (size_t i = 0; i < o->out_count; i++)
        if (takt_session_output_varies(o->s, i) ||
            o->ports[o->in_count + i].desc != takt_session_output_desc(o->s, i))
            return true;
    return false;
}

bool session_execute(session_object *o, uint64_t deadline_ns)
{
    takt_session *s = o->s;
    interruptible i = {cancel_session, s, false, NULL, false};
    if (o->is_long)
        interrupts_begin(&i);
    takt_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = deadline_ns > 0 ? takt_session_run_deadline(s, deadline_ns) : takt_session_run(s);
    interrupts_end(&i);
    Py_END_ALLOW_THREADS;
    if (moved(o) && !session_refresh(o)) /* before anything reads names and sizes */
        return false;
    if (interrupts_raise(&i)) /* a late one: the run is done, its state is new */
        return false;
    return status == TAKT_OK || session_raise(o);
}

/* ---- sizes ---- */

static bool fits(const takt_desc *d, const takt_tensor_view *v)
{
    bool same = d->rank == v->rank;
    for (int i = 0; same && i < v->rank; i++)
        same = d->dims[i] == v->dims[i];
    return same;
}

static bool is_name(const char *text)
{
    return text != NULL && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_.:-/")] == '\0';
}

/* "batch=8,seq=128" out of a dictionary. */
static PyObject *sizes_text(PyObject *sizes)
{
    PyObject *key, *value, *text = PyUnicode_FromString("");
    Py_ssize_t at = 0;
    while (text != NULL && PyDict_Next(sizes, &at, &key, &value)) {
        PyObject *longer = PyUnicode_FromFormat(
            "%U%s%S=%S", text, PyUnicode_GetLength(text) > 0 ? "," : "", key, value);
        Py_DECREF(text);
        text = longer;
    }
    return text;
}

bool session_resize(session_object *o, PyObject *sizes, bool grows)
{
    if (o->is_static) {
        raise_status(TAKT_ERR_SHAPE, "compile it without static_shapes",
                     "the sizes of this model are static");
        return false;
    }
    if (o->model == NULL) {
        if (PyDict_Size(sizes) > 0)
            raise_status(TAKT_ERR_SHAPE, NULL, "no dimension of this model has a name");
        return PyDict_Size(sizes) == 0;
    }
    PyObject *text = sizes_text(sizes);
    const char *words = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    takt_status status = TAKT_ERR_MEMORY;
    takt_error error;
    if (words != NULL) {
        const takt_model *model = AS(model, o->model)->model;
        PyThreadState *state = owner_enter(o->owner);
        status = (grows ? takt_session_fit : takt_session_reshape)(o->s, model, words);
        owner_leave(o->owner, state, status, &error);
    }
    Py_XDECREF(text);
    if (words != NULL && status != TAKT_OK) {
        /* There may be another plan for the same sizes: descriptions of the previous one are
         * invalid. */
        o->is_dirty = true;
        session_forget(o);
        if (session_refresh(o))
            raise_error(&error);
    }
    if (status != TAKT_OK)
        return false;
    Py_INCREF(sizes);
    Py_DECREF(o->sizes);
    o->sizes = sizes;
    o->is_dirty = true;
    session_forget(o);
    return session_refresh(o);
}

static const takt_desc *model_input(const session_object *o, const char *name)
{
    const takt_model *m = o->model != NULL ? AS(model, o->model)->model : NULL;
    for (size_t i = 0; i < takt_model_input_count(m); i++)
        if (strcmp(takt_model_input(m, i)->name, name) == 0)
            return takt_model_input(m, i);
    return NULL;
}

static bool refuse_shape(const takt_desc *d, PyObject *wanted, const takt_tensor_view *v)
{
    PyObject *got = shape_tuple(v->rank, v->dims);
    PyObject *text = got != NULL
                         ? PyUnicode_FromFormat("%s is %S, the array is %S", d->name, wanted, got)
                         : NULL;
    const char *words = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (words != NULL)
        raise_status(TAKT_ERR_SHAPE,
                     v->rank == d->rank - 1 ? "x[None] makes one sample a batch"
                                            : "only named dimensions take any size",
                     "%s", words);
    Py_XDECREF(text);
    Py_XDECREF(got);
    return false;
}

/* The sizes that one array gives to the names in its input's shape. */
static bool take_sizes(const session_object *o, const port *p, const takt_tensor_view *v,
                       PyObject *seen)
{
    const takt_desc *d = model_input(o, p->desc->name);
    bool good = d != NULL && d->rank == v->rank;
    for (int i = 0; good && i < v->rank; i++) {
        const char *name = d->dim_names[i];
        if (name == NULL && d->dims[i] != v->dims[i])
            good = false;
        if (!good || !is_name(name))
            continue;
        PyObject *old = PyDict_GetItemString(seen, name); /* borrowed */
        PyObject *size = PyLong_FromLongLong(v->dims[i]);
        if (old != NULL && PyLong_AsLongLong(old) != v->dims[i]) {
            raise_status(TAKT_ERR_SHAPE, "one name stands for one size throughout the model",
                         "%s: dimension %d (%s) is %lld, another input makes it %lld",
                         p->desc->name, i, name, (long long)v->dims[i], PyLong_AsLongLong(old));
            Py_XDECREF(size);
            return false;
        }
        const int failed = size == NULL || PyDict_SetItemString(seen, name, size) < 0;
        Py_XDECREF(size);
        if (failed)
            return false;
    }
    return good || refuse_shape(p->desc, p->shape, v);
}

bool session_learn_sizes(session_object *o)
{
    PyObject *sizes = PyDict_New();
    bool good = sizes != NULL;
    for (size_t i = 0; good && i < o->in_count; i++) {
        takt_tensor_view v = {.rank = o->ports[i].desc->rank};
        memcpy(v.dims, o->ports[i].desc->dims, sizeof v.dims);
        good = model_input(o, o->ports[i].desc->name) == NULL ||
               take_sizes(o, &o->ports[i], &v, sizes);
    }
    good = good && PyDict_Update(sizes, o->sizes) == 0;
    if (good) {
        Py_DECREF(o->sizes);
        o->sizes = sizes;
    } else {
        Py_XDECREF(sizes);
    }
    return good;
}

bool session_fit(session_object *o, const hold *in)
{
    bool same = true;
    for (size_t i = 0; i < o->in_count; i++)
        same = same && fits(o->ports[i].desc, &in[i].view);
    if (same)
        return true;
    PyObject *seen = PyDict_New(), *sizes = PyDict_Copy(o->sizes);
    bool good = seen != NULL && sizes != NULL;
    for (size_t i = 0; good && i < o->in_count; i++)
        good = take_sizes(o, &o->ports[i], &in[i].view, seen);
    good = good && PyDict_Update(sizes, seen) == 0 && session_resize(o, sizes, true);
    for (size_t i = 0; good && i < o->in_count; i++)
        if (!fits(o->ports[i].desc, &in[i].view))
            good = refuse_shape(o->ports[i].desc, o->ports[i].shape, &in[i].view);
    Py_XDECREF(seen);
    Py_XDECREF(sizes);
    return good;
}
