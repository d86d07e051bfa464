/* text.c - reports of the library as str, and descriptions of inputs and outputs as tuples. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

int text_put(void *user, const char *text, size_t length)
{
    text_sink *t = user;
    if (t->failed)
        return 1;
    if (t->length + length + 1 > t->room) {
        const size_t room = 2 * (t->length + length) + 256;
        char *at = realloc(t->at, room); /* the GIL may be released here */
        if (at == NULL) {
            t->failed = true;
            return 1;
        }
        t->at = at;
        t->room = room;
    }
    memcpy(t->at + t->length, text, length);
    t->length += length;
    return 0;
}

PyObject *text_take(text_sink *t)
{
    PyObject *made = t->failed ? PyErr_NoMemory()
                               : PyUnicode_DecodeUTF8(t->at != NULL ? t->at : "",
                                                      (Py_ssize_t)t->length, "replace");
    free(t->at);
    *t = (text_sink){.at = NULL};
    return made;
}

PyObject *describe(const takt_desc *d)
{
    PyObject *dims = PyList_New(d->rank);
    for (int i = 0; dims != NULL && i < d->rank; i++) {
        PyObject *dim = d->dim_names[i] != NULL ? PyUnicode_FromString(d->dim_names[i])
                                                : PyLong_FromLongLong(d->dims[i]);
        if (dim == NULL || PyList_SetItem(dims, i, dim) < 0) {
            Py_DECREF(dims);
            return NULL;
        }
    }
    return dims != NULL ? Py_BuildValue("(ssN)", d->name, takt_dtype_name(d->dtype), dims) : NULL;
}
