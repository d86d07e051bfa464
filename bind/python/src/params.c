/* params.c - parameters and states of a model as arrays. */
#include "module.h"

#include <string.h>

/* An array for each, with the parts that do not change: names and types. */
static PyObject *rows_of(const takt_model *m)
{
    const size_t count = takt_model_param_count(m);
    PyObject *list = PyList_New((Py_ssize_t)count);
    takt_param p;
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = NULL, *row = NULL;
        if (takt_model_param(m, i, &p) == TAKT_OK)
            value = p.value.data != NULL ? array_new(p.value.dtype, p.value.rank, p.value.dims)
                                         : Py_NewRef(Py_None); /* a dimension is a name */
        if (value != NULL)
            row = Py_BuildValue("(sNO)", p.name, value, p.is_trainable ? Py_True : Py_False);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)i, row) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* Another thread may replace values: they are copied under the lock. */
PyObject *model_params(PyObject *self, PyObject *nothing)
{
    model_object *m = AS(model, self);
    PyObject *list = rows_of(m->model);
    const Py_ssize_t count = list != NULL ? PyList_Size(list) : 0;
    array_object **arrays = PyMem_Calloc((size_t)count + 1, sizeof *arrays);
    takt_error error;
    takt_param p;
    (void)nothing;
    if (list == NULL || arrays == NULL) {
        Py_XDECREF(list);
        PyMem_Free((void *)arrays);
        return arrays == NULL ? PyErr_NoMemory() : NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = PyTuple_GetItem(PyList_GetItem(list, i), 1);
        arrays[i] = value != Py_None ? AS(array, value) : NULL;
    }
    PyThreadState *state = owner_enter(m->owner);
    for (Py_ssize_t i = 0; i < count; i++)
        if (arrays[i] != NULL && takt_model_param(m->model, (size_t)i, &p) == TAKT_OK &&
            view_count(&p.value) > 0)
            memcpy(arrays[i]->memory.view.data, p.value.data, view_bytes(&p.value));
    owner_leave(m->owner, state, TAKT_OK, &error);
    PyMem_Free((void *)arrays);
    return list;
}

PyObject *model_param_put(PyObject *self, PyObject *args)
{
    model_object *m = AS(model, self);
    const char *name;
    PyObject *array;
    takt_error error;
    hold h;
    if (!PyArg_ParseTuple(args, "sO", &name, &array) || !hold_take(&h, array, false, name))
        return NULL;
    PyObject *dense = array_new(h.view.dtype, h.view.rank, h.view.dims);
    if (dense != NULL && view_count(&h.view) > 0)
        view_gather(&h.view, AS(array, dense)->memory.view.data);
    hold_drop(&h);
    if (dense == NULL)
        return NULL;
    PyThreadState *state = owner_enter(m->owner);
    const takt_status status = takt_model_param_put(m->model, name, &AS(array, dense)->memory.view);
    owner_leave(m->owner, state, status, &error);
    Py_DECREF(dense);
    if (status != TAKT_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}
