/* errors.c - failures as exceptions: the class of a status, with the library's details. */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* takt.errors has the classes; _make turns a record into an exception. */
static PyObject *make_exception(const takt_error *e)
{
    PyObject *module = PyImport_ImportModule("takt.errors");
    PyObject *made = NULL;
    if (module != NULL)
        made = PyObject_CallMethod(
            module, "_make", "siNNNLii", takt_status_name(e->status), e->id,
            PyUnicode_DecodeUTF8(e->message, (Py_ssize_t)strlen(e->message), "replace"),
            PyUnicode_DecodeUTF8(e->hint, (Py_ssize_t)strlen(e->hint), "replace"),
            PyUnicode_DecodeUTF8(e->node, (Py_ssize_t)strlen(e->node), "replace"),
            (long long)e->offset, e->line, e->column);
    Py_XDECREF(module);
    return made;
}

PyObject *raise_error(const takt_error *e)
{
    if (PyErr_Occurred())
        return NULL; /* a callback's own exception says more */
    PyObject *exception = make_exception(e);
    if (exception != NULL) {
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_DECREF(exception);
    }
    return NULL;
}

PyObject *raise_status(takt_status status, const char *hint, const char *format, ...)
{
    takt_error e = {.status = status, .offset = -1};
    va_list args;
    va_start(args, format);
    vsnprintf(e.message, sizeof e.message, format, args);
    va_end(args);
    if (hint != NULL)
        snprintf(e.hint, sizeof e.hint, "%s", hint);
    return raise_error(&e);
}
