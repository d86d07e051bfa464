/* array.h - methods of takt.Array that are in separate files. */
#ifndef TAKT_PYTHON_ARRAY_H
#define TAKT_PYTHON_ARRAY_H

#include "module.h"

#include <structmember.h>

PyObject *array_tolist(PyObject *self, PyObject *nothing);
PyObject *array_item(PyObject *self, PyObject *nothing);
PyObject *array_copy(PyObject *self, PyObject *nothing);
PyObject *array_repr(PyObject *self);
PyObject *array_subscript(PyObject *self, PyObject *key);
PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *array_dlpack_device(PyObject *self, PyObject *nothing);
PyObject *array_interface(PyObject *self, void *closure);

#endif
