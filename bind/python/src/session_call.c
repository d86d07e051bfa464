/* session_call.c - a session called like a function: arrays in, arrays out.
 *
 * Arrays of a call are bound for that call only. They stay known to the session, so that the next
 * call with the same memory need not bind it again; run() restores the bindings of bind().
 */
#include "session.h"

#include <string.h>

enum { FEW = 6 };

/* The arrays of one call: inputs, then outputs. */
typedef struct call {
    session_object *o;
    hold *at;
    PyObject **results; /* one per output; NULL: stays in the session */
    bool *wanted;       /* one per output */
    bool use_numpy;
    hold few[FEW];
    PyObject *few_results[FEW];
    bool few_wanted[FEW];
} call;

static bool begin(call *c, session_object *o)
{
    const size_t count = o->in_count + o->out_count;
    const bool is_few = count <= FEW;
    c->o = o;
    c->use_numpy = false;
    c->at = is_few ? c->few : PyMem_Calloc(count, sizeof *c->at);
    c->results = is_few ? c->few_results : PyMem_Calloc(count, sizeof *c->results);
    c->wanted = is_few ? c->few_wanted : PyMem_Calloc(count, sizeof *c->wanted);
    if (c->at == NULL || c->results == NULL || c->wanted == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        c->at[i].object = NULL;
        c->at[i].view.data = NULL;
        c->results[i] = NULL;
        c->wanted[i] = true;
    }
    return true;
}

static void end(call *c)
{
    const size_t count = c->o->in_count + c->o->out_count;
    for (size_t i = 0; c->at != NULL && i < count; i++) {
        if (c->at[i].object != NULL)
            hold_drop(&c->at[i]);
        if (c->results != NULL)
            Py_XDECREF(c->results[i]);
    }
    if (c->at != c->few) {
        PyMem_Free(c->at);
        PyMem_Free(c->results);
        PyMem_Free(c->wanted);
    }
}

/* ---- inputs ---- */

static bool take_input(call *c, size_t i, PyObject *array)
{
    const char *name = c->o->ports[i].desc->name;
    if (c->at[i].object != NULL) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "input %s is given twice", name);
        return false;
    }
    if (!hold_take(&c->at[i], array, false, name)) {
        c->at[i].object = NULL;
        return false;
    }
    c->use_numpy = c->use_numpy || numpy_is_array(array);
    return true;
}

static bool take_named(call *c, PyObject *name, PyObject *array)
{
    const Py_ssize_t i = session_find(c->o, name);
    if (i >= 0 && (size_t)i >= c->o->in_count) {
        raise_status(TAKT_ERR_ARGUMENT, "out= takes arrays for outputs", "%s is an output",
                     c->o->ports[i].desc->name);
        return false;
    }
    return i >= 0 && take_input(c, (size_t)i, array);
}

static bool take_all(call *c, PyObject *dict, bool (*take)(call *, PyObject *, PyObject *))
{
    PyObject *key, *value, *own = dict_own(dict);
    Py_ssize_t at = 0;
    bool good = own != NULL;
    while (good && PyDict_Next(own, &at, &key, &value))
        good = take(c, key, value);
    Py_XDECREF(own);
    return good;
}

/* Arguments that the call omits are those of bind(). */
static bool complete(call *c)
{
    for (size_t i = 0; i < c->o->in_count; i++) {
        const port *p = &c->o->ports[i];
        if (c->at[i].object != NULL)
            continue;
        if (p->bound.object == NULL) {
            raise_status(TAKT_ERR_ARGUMENT, NULL, "input %s is missing", p->desc->name);
            return false;
        }
        if (!take_input(c, i, p->bound.object))
            return false;
    }
    return true;
}

/* ---- outputs ---- */

/* The order of two writers is undefined. */
static bool check_apart(const call *c, size_t output)
{
    const size_t count = c->o->in_count + c->o->out_count;
    for (size_t i = 0; i < count; i++)
        if (i != output && c->at[i].object != NULL &&
            view_overlap(&c->at[i].view, &c->at[output].view)) {
            raise_status(TAKT_ERR_ARGUMENT, "give it memory of its own", "output %s lies over %s",
                         c->o->ports[output].desc->name, c->o->ports[i].desc->name);
            return false;
        }
    return true;
}

static bool take_output(call *c, size_t i, PyObject *array)
{
    const port *p = &c->o->ports[c->o->in_count + i];
    hold *h = &c->at[c->o->in_count + i];
    if (!hold_take(h, array, true, p->desc->name)) {
        h->object = NULL;
        return false;
    }
    Py_INCREF(array);
    c->results[i] = array;
    return check_apart(c, c->o->in_count + i);
}

static bool make_output(call *c, size_t i)
{
    const port *p = &c->o->ports[c->o->in_count + i];
    PyObject *array = c->use_numpy ? numpy_empty(p->desc->dtype, p->shape) : NULL;
    if (array == NULL && !PyErr_Occurred())
        array = array_new(p->desc->dtype, p->desc->rank, p->desc->dims);
    if (array == NULL)
        return false;
    hold *h = &c->at[c->o->in_count + i];
    c->results[i] = array;
    if (hold_take(h, array, true, p->desc->name))
        return true;
    h->object = NULL;
    return false;
}

static bool take_named_output(call *c, PyObject *name, PyObject *array)
{
    const Py_ssize_t i = session_find(c->o, name);
    if (i >= 0 && (size_t)i < c->o->in_count)
        raise_status(TAKT_ERR_ARGUMENT, NULL, "out: %s is an input", c->o->ports[i].desc->name);
    return i >= (Py_ssize_t)c->o->in_count && take_output(c, (size_t)i - c->o->in_count, array);
}

/* out=array for one output, a sequence for several, a dictionary for some. */
static bool take_outputs(call *c, PyObject *out)
{
    if (PyDict_Check(out))
        return take_all(c, out, take_named_output);
    if (!PyTuple_Check(out) && !PyList_Check(out)) {
        if (c->o->out_count == 1)
            return take_output(c, 0, out);
        raise_status(TAKT_ERR_ARGUMENT, "give a tuple of arrays, or a dictionary",
                     "out: the model has %zu outputs", c->o->out_count);
        return false;
    }
    if (PySequence_Size(out) != (Py_ssize_t)c->o->out_count) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "out has %zd arrays, the model %zu outputs",
                     PySequence_Size(out), c->o->out_count);
        return false;
    }
    for (size_t i = 0; i < c->o->out_count; i++) {
        PyObject *array = PySequence_GetItem(out, (Py_ssize_t)i);
        const bool good = array != NULL && (array == Py_None || take_output(c, i, array));
        Py_XDECREF(array);
        if (!good)
            return false;
    }
    return true;
}

/* ---- the call ---- */

/* A result of value-dependent size, as the run found it. */
static bool copy_output(call *c, size_t i)
{
    const takt_tensor_view *v = takt_session_output(c->o->s, i);
    PyObject *shape = v != NULL ? shape_tuple(v->rank, v->dims) : NULL;
    PyObject *array = shape != NULL && c->use_numpy ? numpy_empty(v->dtype, shape) : NULL;
    if (shape != NULL && array == NULL && !PyErr_Occurred())
        array = array_new(v->dtype, v->rank, v->dims);
    Py_XDECREF(shape);
    hold *h = &c->at[c->o->in_count + i];
    c->results[i] = array;
    if (array == NULL || !hold_take(h, array, true, c->o->ports[c->o->in_count + i].desc->name)) {
        h->object = NULL;
        return false;
    }
    memcpy(h->view.data, v->data, view_bytes(v));
    return true;
}

static bool perform(call *c, PyObject *out, uint64_t deadline_ns)
{
    session_object *o = c->o;
    static const takt_tensor_view none = {.data = NULL};
    if (!complete(c) || !session_fit(o, c->at))
        return false;
    o->is_dirty = true;
    if (out != NULL && out != Py_None && !take_outputs(c, out))
        return false;
    for (size_t i = 0; i < o->in_count; i++)
        if (!session_bind(o, &o->ports[i], &c->at[i].view))
            return false;
    for (size_t i = 0; i < o->out_count; i++) {
        const bool is_later = c->results[i] == NULL && takt_session_output_varies(o->s, i);
        if (c->wanted[i] && !is_later && c->results[i] == NULL && !make_output(c, i))
            return false;
        if (!session_bind(o, &o->ports[o->in_count + i],
                          c->wanted[i] && !is_later ? &c->at[o->in_count + i].view : &none))
            return false;
    }
    bool good = session_execute(o, deadline_ns);
    for (size_t i = 0; i < o->out_count && good; i++)
        good = !c->wanted[i] || c->results[i] != NULL || copy_output(c, i);
    return good;
}

static PyObject *taken(call *c, size_t i)
{
    PyObject *array = c->results[i];
    Py_INCREF(array);
    return array;
}

static PyObject *all_results(call *c)
{
    if (c->o->out_count == 1)
        return taken(c, 0);
    PyObject *tuple = PyTuple_New((Py_ssize_t)c->o->out_count);
    for (size_t i = 0; tuple != NULL && i < c->o->out_count; i++)
        if (PyTuple_SetItem(tuple, (Py_ssize_t)i, taken(c, i)) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    return tuple;
}

static bool take_arguments(call *c, PyObject *args, PyObject *kwargs, PyObject **out)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    const Py_ssize_t count = PyTuple_Size(args);
    if ((size_t)count > c->o->in_count) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%zd arrays are given, the model has %zu inputs",
                     count, c->o->in_count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!take_input(c, (size_t)i, PyTuple_GetItem(args, i)))
            return false;
    while (kwargs != NULL && PyDict_Next(kwargs, &at, &key, &value)) {
        if (session_names_out(key))
            *out = value;
        else if (!take_named(c, key, value))
            return false;
    }
    return true;
}

PyObject *session_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    session_object *o = AS(session, self);
    PyObject *out = NULL, *result = NULL;
    call c;
    if (!session_enter(o))
        return NULL;
    if (begin(&c, o)) {
        bool good = take_arguments(&c, args, kwargs, &out);
        c.use_numpy = c.use_numpy || (good && o->in_count == 0 && numpy_is_loaded());
        if (good && perform(&c, out, 0))
            result = all_results(&c);
    }
    end(&c);
    session_leave(o);
    return result;
}

/* ---- as onnxruntime has it ---- */

static bool take_feed(call *c, PyObject *feed)
{
    if (!PyDict_Check(feed)) {
        raise_status(TAKT_ERR_ARGUMENT, "run(None, {'x': array})", "inputs are not a dictionary");
        return false;
    }
    c->use_numpy = numpy_is_loaded();
    return take_all(c, feed, take_named);
}

/* Requested outputs, in their order. */
static PyObject *choose(call *c, PyObject *names)
{
    const bool all = names == Py_None;
    const Py_ssize_t count = all ? (Py_ssize_t)c->o->out_count : PySequence_Size(names);
    PyObject *list = count >= 0 ? PyList_New(count) : NULL;
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        Py_ssize_t at = i;
        if (!all) {
            PyObject *name = PySequence_GetItem(names, i);
            at = name != NULL ? session_find(c->o, name) - (Py_ssize_t)c->o->in_count : -1;
            Py_XDECREF(name);
        }
        if (at < 0 || PyList_SetItem(list, i, taken(c, (size_t)at)) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* Others stay in the session's own memory. */
static bool want(call *c, PyObject *names)
{
    if (names == Py_None)
        return true;
    const Py_ssize_t count = PySequence_Size(names);
    for (size_t i = 0; i < c->o->out_count; i++)
        c->wanted[i] = false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PySequence_GetItem(names, i);
        const Py_ssize_t at = name != NULL ? session_find(c->o, name) : -1;
        Py_XDECREF(name);
        if (at < 0)
            return false;
        if ((size_t)at < c->o->in_count) {
            raise_status(TAKT_ERR_NOT_FOUND, NULL, "%s is an input, not an output",
                         c->o->ports[at].desc->name);
            return false;
        }
        c->wanted[(size_t)at - c->o->in_count] = true;
    }
    return count >= 0;
}

PyObject *session_run_feed(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    session_object *o = AS(session, self);
    PyObject *result = NULL;
    unsigned long long deadline = 0;
    call c;
    if (count < 2 || count > 3)
        return raise_status(TAKT_ERR_ARGUMENT, NULL,
                            "run takes output_names, input_feed and run_options");
    if (count == 3 && args[2] != Py_None) {
        deadline = PyLong_AsUnsignedLongLong(args[2]);
        if (PyErr_Occurred())
            return NULL;
    }
    if (!session_enter(o))
        return NULL;
    if (begin(&c, o) && take_feed(&c, args[1]) && want(&c, args[0]) && perform(&c, NULL, deadline))
        result = choose(&c, args[0]);
    end(&c);
    session_leave(o);
    return result;
}

PyObject *session_run_into(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    session_object *o = AS(session, self);
    PyObject *result = NULL;
    call c;
    if (count != 2)
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "_run_into takes two dictionaries");
    if (!session_enter(o))
        return NULL;
    if (begin(&c, o) && take_feed(&c, args[0]) && perform(&c, args[1], 0))
        result = all_results(&c);
    end(&c);
    session_leave(o);
    return result;
}
