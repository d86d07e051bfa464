/* session_state.c - methods of a session other than running: sizes, state, reports, a clone. */
#include "session.h"

#include <string.h>

static PyObject *none_or(bool good)
{
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- inputs and outputs ---- */

static PyObject *ports(PyObject *self, PyObject *is_input)
{
    session_object *o = AS(session, self);
    if (!session_enter(o))
        return NULL;
    const bool in = is_input == Py_True;
    const size_t first = in ? 0 : o->in_count, count = in ? o->in_count : o->out_count;
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *one = describe(o->ports[first + i].desc);
        if (one == NULL || PyList_SetItem(list, (Py_ssize_t)i, one) < 0) {
            Py_DECREF(list);
            list = NULL;
        }
    }
    session_leave(o);
    return list;
}

static PyObject *output(PyObject *self, PyObject *name)
{
    session_object *o = AS(session, self);
    PyObject *made = NULL;
    if (!session_enter(o))
        return NULL;
    const Py_ssize_t i = session_find(o, name);
    if (i >= 0 && session_restore(o)) {
        const takt_tensor_view *v = (size_t)i < o->in_count
                                        ? takt_session_input(o->s, (size_t)i)
                                        : takt_session_output(o->s, (size_t)i - o->in_count);
        made = v != NULL ? array_new(v->dtype, v->rank, v->dims) : PyErr_NoMemory();
        if (made != NULL && view_count(v) > 0)
            view_gather(v, AS(array, made)->memory.view.data);
    }
    session_leave(o);
    return made;
}

static PyObject *sizes(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    (void)nothing;
    return o->sizes != NULL ? PyDict_Copy(o->sizes) : PyDict_New();
}

static PyObject *reshape(PyObject *self, PyObject *dict)
{
    session_object *o = AS(session, self);
    if (!PyDict_Check(dict))
        return raise_status(TAKT_ERR_ARGUMENT, "reshape({'batch': 8})",
                            "the sizes are not a dictionary");
    if (!session_enter(o))
        return NULL;
    PyObject *all = PyDict_Copy(o->sizes);
    const bool good = all != NULL && PyDict_Update(all, dict) == 0 && session_resize(o, all, false);
    Py_XDECREF(all);
    session_leave(o);
    return none_or(good);
}

static PyObject *is_open(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(AS(session, self)->s != NULL);
}

/* ---- state ---- */

static PyObject *state_names(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    takt_desc d;
    (void)nothing;
    if (!session_enter(o))
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && takt_session_state(o->s, i, &d) == TAKT_OK; i++) {
        PyObject *name = PyUnicode_FromString(d.name);
        const int failed = name == NULL || PyList_Append(list, name) < 0;
        Py_XDECREF(name);
        if (failed) {
            Py_DECREF(list);
            list = NULL;
        }
    }
    session_leave(o);
    return list;
}

static PyObject *state_get(PyObject *self, PyObject *name)
{
    session_object *o = AS(session, self);
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    takt_tensor_view v = {.data = NULL};
    PyObject *made = NULL;
    if (text == NULL || !session_enter(o))
        return NULL;
    bool good = takt_session_state_get(o->s, text, &v) == TAKT_OK;
    if (good && (made = array_new(v.dtype, v.rank, v.dims)) != NULL)
        good = takt_session_state_get(o->s, text, &AS(array, made)->memory.view) == TAKT_OK;
    if (!good) {
        Py_XDECREF(made);
        made = NULL;
        session_raise(o);
    }
    session_leave(o);
    return made;
}

static PyObject *state_put(PyObject *self, PyObject *args)
{
    session_object *o = AS(session, self);
    const char *name;
    PyObject *array;
    hold h;
    if (!PyArg_ParseTuple(args, "sO", &name, &array) || !hold_take(&h, array, false, name))
        return NULL;
    bool good = session_enter(o);
    if (good) {
        good = takt_session_state_put(o->s, name, &h.view) == TAKT_OK || session_raise(o);
        session_leave(o);
    }
    hold_drop(&h);
    return none_or(good);
}

static PyObject *state_file(PyObject *self, PyObject *args)
{
    session_object *o = AS(session, self);
    PyObject *path;
    int is_load;
    if (!PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &is_load))
        return NULL;
    bool good = session_enter(o);
    if (good) {
        takt_error error;
        const char *text = PyBytes_AsString(path);
        PyThreadState *state = owner_enter(o->owner);
        const takt_status status =
            is_load ? takt_session_state_load(o->s, text) : takt_session_state_save(o->s, text);
        owner_leave(o->owner, state, status, &error);
        good = status == TAKT_OK || session_raise(o);
        session_leave(o);
    }
    Py_DECREF(path);
    return none_or(good);
}

static PyObject *reset(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    (void)nothing;
    if (!session_enter(o))
        return NULL;
    takt_session_reset(o->s);
    session_leave(o);
    Py_RETURN_NONE;
}

/* ---- the rest ---- */

static PyObject *warmup(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    (void)nothing;
    if (!session_enter(o))
        return NULL;
    bool good = session_restore(o);
    if (good) {
        takt_status status;
        Py_BEGIN_ALLOW_THREADS;
        status = takt_session_warmup(o->s);
        Py_END_ALLOW_THREADS;
        good = status == TAKT_OK || session_raise(o);
    }
    session_leave(o);
    return none_or(good);
}

static PyObject *session_report(PyObject *self, PyObject *json)
{
    session_object *o = AS(session, self);
    text_sink text = {.at = NULL};
    takt_error error;
    if (!session_enter(o))
        return NULL;
    const takt_format format = json == Py_True ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT;
    PyThreadState *state = owner_enter(o->owner);
    const takt_status status = takt_session_describe(o->s, format, text_put, &text);
    owner_leave(o->owner, state, status, &error);
    session_leave(o);
    PyObject *made = text_take(&text);
    if (status == TAKT_OK)
        return made;
    Py_XDECREF(made);
    return raise_error(&error);
}

/* `other` is an object that is not open yet. */
static PyObject *clone_into(PyObject *self, PyObject *other)
{
    session_object *o = AS(session, self), *to = AS(session, other);
    takt_error error;
    if (!PyObject_TypeCheck(other, takt_types.session) || to->s != NULL || to->owner != NULL)
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "clone: this is not a new session");
    if (!session_enter(o))
        return NULL;
    PyThreadState *state = owner_enter(o->owner);
    const takt_status status = takt_session_clone(o->s, &to->s);
    owner_leave(o->owner, state, status, &error);
    session_leave(o);
    if (status != TAKT_OK)
        return raise_error(&error);
    to->owner = owner_retain(o->owner);
    to->model = o->model;
    to->sizes = PyDict_Copy(o->sizes);
    Py_XINCREF(to->model);
    to->generation = fork_generation();
    to->is_long = o->is_long;
    to->is_static = o->is_static;
    to->is_dirty = true;
    to->in_count = o->in_count;
    to->out_count = o->out_count;
    to->ports = PyMem_Calloc(to->in_count + to->out_count + 1, sizeof *to->ports);
    if (to->ports == NULL)
        return PyErr_NoMemory();
    return none_or(to->sizes != NULL && session_refresh(to));
}

PyMethodDef session_state_methods[] = {
    {"_ports", ports, METH_O, "_ports(is_input): (name, dtype, dims) of each."},
    {"output", output, METH_O, "A copy of an output, or input, by name."},
    {"sizes", sizes, METH_NOARGS, "The sizes of the named dimensions."},
    {"reshape", reshape, METH_O, "reshape({'batch': 8}): other sizes; state is kept."},
    {"state_names", state_names, METH_NOARGS, "The names of the states."},
    {"state_get", state_get, METH_O, "state_get(name): a copy of a state."},
    {"state_put", state_put, METH_VARARGS, "state_put(name, array): the next run begins with it."},
    {"_state_file", state_file, METH_VARARGS, "_state_file(path, is_load)"},
    {"is_open", is_open, METH_NOARGS, "False once it is closed."},
    {"reset", reset, METH_NOARGS, "State back to its initial values."},
    {"warmup", warmup, METH_NOARGS, "Makes the next run as fast as those after it."},
    {"_report", session_report, METH_O, "_report(json): the plan with what is bound."},
    {"_clone_into", clone_into, METH_O, "_clone_into(new): a twin with the same state."},
    {NULL, NULL, 0, NULL},
};
