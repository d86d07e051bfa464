/* session.c - takt._takt.Session: making one, binding arrays to it, and running it. */
#include "session.h"

#include <stdio.h>
#include <string.h>

/* ---- one thread at a time ---- */

/* The threads of a session stay in the parent: the child gets a clone with its own threads. The
 * rest of the old one cannot be freed, and is leaked. */
static bool revive(session_object *o)
{
    takt_session *twin = NULL;
    takt_error error;
    PyThreadState *state = owner_enter(o->owner);
    const takt_status status = takt_session_clone(o->s, &twin);
    owner_leave(o->owner, state, status, &error);
    if (status != TAKT_OK) {
        raise_error(&error);
        return false;
    }
    o->s = twin;
    o->generation = fork_generation();
    o->is_dirty = true;
    session_forget(o);
    return session_refresh(o);
}

bool session_enter(session_object *o)
{
    if (atomic_exchange(&o->busy, 1) != 0) {
        if (o->s != NULL && o->generation != fork_generation())
            raise_status(TAKT_ERR_STATE, "make a new session in this process",
                         "the process forked while another thread ran this session");
        else
            raise_status(TAKT_ERR_STATE, "give each thread a session of its own: clone() makes one",
                         "another thread is using this session");
        return false;
    }
    if (o->s != NULL && (o->generation == fork_generation() || revive(o)))
        return true;
    if (o->s == NULL)
        raise_status(TAKT_ERR_STATE, NULL, "the session is closed");
    session_leave(o);
    return false;
}

void session_leave(session_object *o)
{
    atomic_store(&o->busy, 0);
}

bool session_raise(session_object *o)
{
    const takt_error e = *takt_session_error(o->s);
    raise_error(&e);
    return false;
}

/* ---- ports ---- */

static void drop_ports(session_object *o)
{
    for (size_t i = 0; o->ports != NULL && i < o->in_count + o->out_count; i++) {
        hold_drop(&o->ports[i].bound);
        Py_XDECREF(o->ports[i].name);
        Py_XDECREF(o->ports[i].shape);
    }
    PyMem_Free(o->ports);
    o->ports = NULL;
}

static bool refresh_port(port *p, const takt_desc *desc)
{
    PyObject *shape = shape_tuple(desc->rank, desc->dims);
    if (shape == NULL)
        return false;
    if (p->name == NULL && (p->name = PyUnicode_InternFromString(desc->name)) == NULL) {
        Py_DECREF(shape);
        return false;
    }
    Py_XDECREF(p->shape);
    p->shape = shape;
    p->desc = desc;
    return true;
}

void session_forget(session_object *o)
{
    for (size_t i = 0; i < o->in_count + o->out_count; i++)
        o->ports[i].now = (takt_tensor_view){.data = NULL};
}

bool session_refresh(session_object *o)
{
    for (size_t i = 0; i < o->in_count + o->out_count; i++)
        if (!refresh_port(&o->ports[i], i < o->in_count
                                            ? takt_session_input_desc(o->s, i)
                                            : takt_session_output_desc(o->s, i - o->in_count)))
            return false;
    return true;
}

Py_ssize_t session_find(session_object *o, PyObject *name)
{
    const size_t count = o->in_count + o->out_count;
    for (size_t i = 0; i < count; i++)
        if (o->ports[i].name == name)
            return (Py_ssize_t)i;
    for (size_t i = 0; PyUnicode_Check(name) && i < count; i++)
        if (PyUnicode_Compare(o->ports[i].name, name) == 0)
            return (Py_ssize_t)i;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : "(no name)";
    const takt_tensor_view none = {.data = NULL};
    if (text != NULL && takt_session_bind(o->s, text, &none) != TAKT_OK)
        session_raise(o); /* in the model's words, with the likely meaning */
    else if (!PyErr_Occurred())
        raise_status(TAKT_ERR_NOT_FOUND, NULL, "there is no input or output of this name");
    return -1;
}

/* Names in a program are interned, so that they are compared once. */
bool session_names_out(PyObject *key)
{
    static _Atomic(PyObject *) word;
    if (word == NULL && (word = PyUnicode_InternFromString("out")) == NULL)
        PyErr_Clear();
    return key == word || PyUnicode_CompareWithASCIIString(key, "out") == 0;
}

/* ---- binding ---- */

static bool is_same(const takt_tensor_view *a, const takt_tensor_view *b)
{
    bool same = a->data == b->data && a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; same && d < b->rank; d++)
        same = a->dims[d] == b->dims[d] && a->strides[d] == b->strides[d];
    return same;
}

bool session_bind(session_object *o, port *p, const takt_tensor_view *v)
{
    if (is_same(&p->now, v))
        return true;
    if (v->data != NULL && v->dtype != p->desc->dtype) {
        char hint[160];
        const char *wanted = dtype_numpy(p->desc->dtype);
        snprintf(hint, sizeof hint, "Takt never converts silently: %.60s.astype('%s')",
                 p->desc->name, wanted);
        raise_status(TAKT_ERR_ARGUMENT, hint, "%s is %s, the array is %s", p->desc->name,
                     takt_dtype_name(p->desc->dtype), takt_dtype_name(v->dtype));
        return false;
    }
    p->now = (takt_tensor_view){.data = NULL};
    if (takt_session_bind(o->s, p->desc->name, v) != TAKT_OK)
        return session_raise(o);
    p->now = *v;
    return true;
}

bool session_restore(session_object *o)
{
    if (!o->is_dirty)
        return true;
    for (size_t i = 0; i < o->in_count + o->out_count; i++)
        if (!session_bind(o, &o->ports[i], &o->ports[i].bound.view))
            return false;
    o->is_dirty = false;
    return true;
}

static bool bind_one(session_object *o, PyObject *name, PyObject *array)
{
    const Py_ssize_t i = session_find(o, name);
    hold h;
    if (i < 0)
        return false;
    port *p = &o->ports[i];
    if (array == Py_None) {
        hold_drop(&p->bound);
        p->bound = (hold){.object = NULL};
        o->is_dirty = true;
        return true;
    }
    if (!hold_take_any(&h, array, (size_t)i >= o->in_count, p->desc->name))
        return false;
    const bool is_copy = h.object != array;
    if (is_copy) /* later writes to the array would not be seen */
        raise_status(TAKT_ERR_ARGUMENT, "bind takt.asarray(x), a copy, or call the session with x",
                     "%s: elements of %s share bytes here, and have a byte each in NumPy",
                     p->desc->name, takt_dtype_name(h.view.dtype));
    o->is_dirty = true;
    if (is_copy || !session_bind(o, p, &h.view)) {
        hold_drop(&h);
        return false;
    }
    hold_drop(&p->bound);
    p->bound = h;
    return true;
}

static PyObject *bind(PyObject *self, PyObject *args, PyObject *kwargs)
{
    session_object *o = AS(session, self);
    PyObject *name = NULL, *array = NULL, *key, *value;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "|OO", &name, &array) || !session_enter(o))
        return NULL;
    bool good = name == NULL || (array != NULL && bind_one(o, name, array));
    if (name != NULL && array == NULL)
        raise_status(TAKT_ERR_ARGUMENT, "bind('x', array) or bind(x=array)",
                     "bind: a name without an array");
    while (good && kwargs != NULL && PyDict_Next(kwargs, &at, &key, &value))
        good = bind_one(o, key, value);
    session_leave(o);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- running ---- */

static PyObject *run(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    (void)nothing;
    if (!session_enter(o))
        return NULL;
    const bool good = session_restore(o) && session_execute(o, 0);
    session_leave(o);
    if (!good)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *cancel(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    (void)nothing;
    while (atomic_flag_test_and_set(&o->moving)) {
    }
    if (o->s != NULL && o->generation == fork_generation())
        takt_session_cancel(o->s);
    atomic_flag_clear(&o->moving);
    Py_RETURN_NONE;
}

/* ---- the whole ---- */

static void take_down(session_object *o)
{
    drop_ports(o);
    while (atomic_flag_test_and_set(&o->moving)) {
    }
    takt_session *s = o->generation == fork_generation() ? o->s : NULL;
    o->s = NULL;
    atomic_flag_clear(&o->moving);
    if (s != NULL)
        takt_session_destroy(s);
}

static PyObject *opened(session_object *o, const plan_object *p, PyObject *sizes)
{
    takt_error error;
    takt_plan_info info;
    takt_session_options options = {.size = sizeof options};
    PyThreadState *state = owner_enter(p->owner);
    const takt_status status = takt_session_create(p->plan, &options, &o->s);
    owner_leave(p->owner, state, status, &error);
    if (status != TAKT_OK)
        return raise_error(&error);
    takt_plan_query(p->plan, &info);
    owner *before = o->owner; /* of a session that was closed and is opened with another plan */
    o->owner = owner_retain(p->owner);
    owner_release(before);
    Py_XDECREF(o->model);
    Py_XDECREF(o->sizes);
    o->model = p->model;
    o->sizes = sizes;
    Py_XINCREF(o->model);
    Py_INCREF(o->sizes);
    o->generation = fork_generation();
    o->is_long = info.flops > 1e6 || info.steps > 1000;
    o->is_dirty = true;
    o->in_count = takt_session_input_count(o->s);
    o->out_count = takt_session_output_count(o->s);
    o->ports = PyMem_Calloc(o->in_count + o->out_count + 1, sizeof *o->ports);
    if (o->ports == NULL || !session_refresh(o) || !session_learn_sizes(o)) {
        take_down(o);
        return o->ports == NULL ? PyErr_NoMemory() : NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *open_plan(PyObject *self, PyObject *args)
{
    session_object *o = AS(session, self);
    PyObject *plan, *sizes, *made = NULL;
    int is_static = 0;
    if (!PyArg_ParseTuple(args, "O!O!|p", takt_types.plan, &plan, &PyDict_Type, &sizes, &is_static))
        return NULL;
    if (atomic_exchange(&o->busy, 1) != 0)
        return raise_status(TAKT_ERR_STATE, NULL, "another thread is using this session");
    if (o->s != NULL) {
        raise_status(TAKT_ERR_STATE, NULL, "the session is open already");
    } else {
        o->is_static = is_static != 0;
        made = opened(o, AS(plan, plan), sizes);
    }
    session_leave(o);
    return made;
}

static PyObject *close_session(PyObject *self, PyObject *nothing)
{
    session_object *o = AS(session, self);
    (void)nothing;
    if (o->s == NULL)
        Py_RETURN_NONE;
    if (!session_enter(o))
        return NULL;
    take_down(o);
    session_leave(o);
    Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
    session_object *o = AS(session, self);
    PyTypeObject *type = Py_TYPE(self);
    take_down(o);
    Py_XDECREF(o->model);
    Py_XDECREF(o->sizes);
    owner_release(o->owner);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"_open", open_plan, METH_VARARGS, "_open(plan, sizes, is_static=False)"},
    {"bind", (PyCFunction)(void (*)(void))bind, METH_VARARGS | METH_KEYWORDS,
     "bind(name, array) or bind(x=array, y=array): inputs and outputs that every run() uses.\n\n"
     "The arrays are used where they lie. None takes a binding back."},
    {"run", run, METH_NOARGS, "Runs once, on what bind() bound."},
    {"cancel", cancel, METH_NOARGS,
     "From another thread: the run under way, or the next one, ends with CancelledError."},
    {"close", close_session, METH_NOARGS, "Gives the session's memory and threads back."},
    {"_run_feed", (PyCFunction)(void (*)(void))session_run_feed, METH_FASTCALL,
     "run(output_names, input_feed, run_options=None): the outputs, as a list."},
    {"_run_into", (PyCFunction)(void (*)(void))session_run_into, METH_FASTCALL,
     "_run_into(feed, fetch): runs on dictionaries of arrays."},
    {NULL, NULL, 0, NULL},
};

static bool add_methods(PyObject *type, PyMethodDef *list)
{
    for (PyMethodDef *m = list; m->ml_name != NULL; m++) {
        PyObject *method = PyDescr_NewMethod((PyTypeObject *)type, m);
        const int failed = method == NULL || PyObject_SetAttrString(type, m->ml_name, method) < 0;
        Py_XDECREF(method);
        if (failed)
            return false;
    }
    return true;
}

PyObject *session_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, PyType_GenericNew},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_call, session_call},
        {Py_tp_doc, "A session of the library's; takt.Session is what programs use."},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Session",
                               .basicsize = OBJECT_SIZE(session_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                               .slots = slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    if (type != NULL && (!add_methods(type, session_state_methods) ||
                         !add_methods(type, session_measure_methods))) {
        Py_DECREF(type);
        return NULL;
    }
    return type;
}
