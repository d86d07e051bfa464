/* op.c - one operation at a time: infers its types, allocates its results, and runs it. */
#include "module.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

typedef struct job {
    const char *name, *attributes;
    hold in[MOST];
    takt_tensor_view views[MOST], out[MOST];
    PyObject *results[MOST];
    size_t in_count, out_count;
    bool use_numpy;
} job;

static void type_text(const takt_tensor_view *v, char text[400])
{
    int at = snprintf(text, 400, "%s[", takt_dtype_name(v->dtype));
    for (int d = 0; d < v->rank && at < 370; d++)
        at += snprintf(text + at, (size_t)(400 - at), "%s%lld", d > 0 ? ", " : "",
                       (long long)v->dims[d]);
    snprintf(text + at, (size_t)(400 - at), "]");
}

/* The types of the results, by a model with nothing but this operation. */
static takt_status infer(takt_ctx *ctx, job *j)
{
    takt_build *b = NULL;
    takt_value in[MOST];
    takt_status status = takt_build_create(ctx, j->name, &b);
    for (size_t i = 0; i < j->in_count; i++) {
        char type[400], name[16];
        type_text(&j->views[i], type);
        snprintf(name, sizeof name, "x%zu", i);
        in[i] = takt_build_input(b, name, type);
    }
    const takt_value y = takt_build_op(b, j->name, j->attributes, in, j->in_count, NULL);
    if (status == TAKT_OK)
        status = takt_build_status(b);
    for (; status == TAKT_OK && j->out_count < MOST; j->out_count++) {
        takt_desc d;
        takt_tensor_view *v = &j->out[j->out_count];
        const takt_value one = takt_build_result(b, y, j->out_count);
        if (one == TAKT_NO_VALUE || takt_build_describe(b, one, &d) != TAKT_OK)
            break; /* that was the last */
        *v = (takt_tensor_view){.dtype = d.dtype, .rank = d.rank};
        memcpy(v->dims, d.dims, sizeof d.dims);
    }
    takt_build_destroy(b);
    return status;
}

static bool make_results(job *j)
{
    for (size_t i = 0; i < j->out_count; i++) {
        takt_tensor_view *v = &j->out[i];
        j->results[i] = array_new(v->dtype, v->rank, v->dims);
        if (j->results[i] == NULL)
            return false;
        v->data = AS(array, j->results[i])->memory.view.data;
    }
    return true;
}

static bool take_inputs(job *j, PyObject *inputs)
{
    const Py_ssize_t count = PySequence_Size(inputs);
    if (count < 0 || count > MOST) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s: at most %d inputs, please", j->name, MOST);
        return false;
    }
    for (; j->in_count < (size_t)count; j->in_count++) {
        PyObject *item = PySequence_GetItem(inputs, (Py_ssize_t)j->in_count);
        char what[32];
        snprintf(what, sizeof what, "input %zu", j->in_count);
        const bool good = item != NULL && hold_take(&j->in[j->in_count], item, false, what);
        Py_XDECREF(item);
        if (!good)
            return false;
        j->views[j->in_count] = j->in[j->in_count].view;
    }
    return true;
}

static PyObject *perform(owner *o, job *j)
{
    takt_error error;
    PyThreadState *state = owner_enter(o);
    takt_status status = infer(o->ctx, j);
    owner_leave(o, state, status, &error);
    if (status != TAKT_OK)
        return raise_error(&error);
    if (!make_results(j))
        return NULL;
    const takt_op_call call = {j->name, j->attributes, j->views, j->in_count, j->out, j->out_count};
    state = owner_enter(o);
    status = takt_op_run(o->ctx, &call);
    owner_leave(o, state, status, &error);
    if (status != TAKT_OK)
        return raise_error(&error);
    PyObject *tuple = PyTuple_New((Py_ssize_t)j->out_count);
    for (size_t i = 0; tuple != NULL && i < j->out_count; i++) {
        PyObject *result = j->results[i];
        j->results[i] = NULL;
        if (PyTuple_SetItem(tuple, (Py_ssize_t)i, result) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

/* ---- types alone ---- */

typedef struct question {
    const char *name, *attributes, *types[MOST]; /* a NULL type: the input is omitted */
    size_t count, answer_count;
    takt_build *build; /* the results' names live in it */
    takt_desc answers[MOST];
} question;

static takt_status ask(takt_ctx *ctx, question *q)
{
    takt_value in[MOST];
    takt_status status = takt_build_create(ctx, q->name, &q->build);
    for (size_t i = 0; i < q->count; i++) {
        char label[16];
        snprintf(label, sizeof label, "x%zu", i);
        in[i] =
            q->types[i] != NULL ? takt_build_input(q->build, label, q->types[i]) : TAKT_NO_VALUE;
    }
    const takt_value y = takt_build_op(q->build, q->name, q->attributes, in, q->count, NULL);
    if (status == TAKT_OK)
        status = takt_build_status(q->build);
    for (; status == TAKT_OK && q->answer_count < MOST; q->answer_count++) {
        takt_desc *d = &q->answers[q->answer_count];
        const takt_value one = takt_build_result(q->build, y, q->answer_count);
        if (one == TAKT_NO_VALUE || takt_build_describe(q->build, one, d) != TAKT_OK)
            break; /* that was the last */
        d->name = "";
    }
    return status;
}

static PyObject *answers(const question *q)
{
    PyObject *list = PyList_New((Py_ssize_t)q->answer_count);
    for (size_t i = 0; list != NULL && i < q->answer_count; i++) {
        PyObject *row = describe(&q->answers[i]);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static bool take_types(question *q, PyObject *given)
{
    const Py_ssize_t count = PyTuple_Size(given);
    if (count > MOST) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s: at most %d inputs, please", q->name, MOST);
        return false;
    }
    for (q->count = 0; q->count < (size_t)count; q->count++) {
        PyObject *type = PyTuple_GetItem(given, (Py_ssize_t)q->count);
        q->types[q->count] = type != Py_None ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
        if (PyErr_Occurred())
            return false;
    }
    return true;
}

PyObject *module_infer(PyObject *module, PyObject *args)
{
    static _Atomic(owner *) shared;
    owner *o = owner_shared(&shared);
    PyObject *given, *made = NULL;
    takt_error error;
    (void)module;
    question *q = PyMem_Calloc(1, sizeof *q);
    if (q == NULL)
        return PyErr_NoMemory();
    if (PyArg_ParseTuple(args, "szO!", &q->name, &q->attributes, &PyTuple_Type, &given) &&
        o != NULL && take_types(q, given)) {
        PyThreadState *state = owner_enter(o);
        const takt_status status = ask(o->ctx, q);
        owner_leave(o, state, status, &error);
        made = status == TAKT_OK ? answers(q) : raise_error(&error);
        takt_build_destroy(q->build);
    }
    PyMem_Free(q);
    return made;
}

PyObject *module_op(PyObject *module, PyObject *args)
{
    static _Atomic(owner *) shared; /* one-op plans are kept in it */
    owner *o = owner_shared(&shared);
    PyObject *inputs, *made = NULL;
    (void)module;
    job *j = PyMem_Calloc(1, sizeof *j);
    if (j == NULL)
        return PyErr_NoMemory();
    if (PyArg_ParseTuple(args, "szO", &j->name, &j->attributes, &inputs) && o != NULL &&
        take_inputs(j, inputs))
        made = perform(o, j);
    for (size_t i = 0; i < j->in_count; i++)
        hold_drop(&j->in[i]);
    for (size_t i = 0; i < j->out_count; i++)
        Py_XDECREF(j->results[i]);
    PyMem_Free(j);
    return made;
}
