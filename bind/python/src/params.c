/* params.c - parameters and states of a model as arrays. */
#include "module.h"

#include <string.h>

static PyObject *copy_of(const takt_param *p)
{
    if (p->value.data == NULL)
        Py_RETURN_NONE; /* a dimension is a name: no value so far */
    PyObject *made = array_new(p->value.dtype, p->value.rank, p->value.dims);
    if (made != NULL && view_count(&p->value) > 0)
        memcpy(((array_object *)made)->memory.view.data, p->value.data, view_bytes(&p->value));
    return made;
}

PyObject *model_params(PyObject *self, PyObject *nothing)
{
    const takt_model *m = ((model_object *)self)->model;
    PyObject *list = PyList_New(0);
    takt_param p;
    (void)nothing;
    for (size_t i = 0; list != NULL && takt_model_param(m, i, &p) == TAKT_OK; i++) {
        PyObject *value = copy_of(&p);
        PyObject *one = value != NULL ? Py_BuildValue("(sNO)", p.name, value,
                                                      p.is_trainable ? Py_True : Py_False)
                                      : NULL;
        if (one == NULL || PyList_Append(list, one) < 0) {
            Py_XDECREF(one);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(one);
    }
    return list;
}

PyObject *model_param_put(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    const char *name;
    PyObject *array;
    takt_error error;
    hold h;
    if (!PyArg_ParseTuple(args, "sO", &name, &array) || !hold_take(&h, array, false, name))
        return NULL;
    PyObject *dense = array_new(h.view.dtype, h.view.rank, h.view.dims);
    if (dense != NULL && view_count(&h.view) > 0)
        view_gather(&h.view, ((array_object *)dense)->memory.view.data);
    hold_drop(&h);
    if (dense == NULL)
        return NULL;
    PyThreadState *state = owner_enter(m->owner);
    const takt_status status =
        takt_model_param_put(m->model, name, &((array_object *)dense)->memory.view);
    owner_leave(m->owner, state, status, &error);
    Py_DECREF(dense);
    if (status != TAKT_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}
