/* array_export.c - arrays for other libraries: DLPack's capsules and the array interface. */
#include "array.h"

static void released(void *user)
{
    if (!Py_IsInitialized())
        return;
    const PyGILState_STATE state = PyGILState_Ensure(); /* a consumer may release on any thread */
    Py_DECREF((PyObject *)user);
    PyGILState_Release(state);
}

/* Destroys a capsule that was not consumed. */
static void drop_capsule(PyObject *capsule)
{
    takt_dlpack d = {NULL, NULL};
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        d.versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    else if (PyCapsule_IsValid(capsule, "dltensor"))
        d.managed = PyCapsule_GetPointer(capsule, "dltensor");
    takt_dlpack_release(&d);
}

typedef struct wishes {
    long major; /* of max_version */
    bool copy;
} wishes;

/* PyArg_ParseTuple accepts only a tuple. False: raised. */
static bool is_pair(PyObject *object, const char *name)
{
    if (PyTuple_Check(object) && PyTuple_Size(object) == 2)
        return true;
    raise_status(TAKT_ERR_ARGUMENT, "(1, 0), for example", "%s is a pair of numbers", name);
    return false;
}

static bool read_wishes(PyObject *args, PyObject *kwargs, wishes *w)
{
    static char *keys[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", keys, &stream, &version, &device,
                                     &copy))
        return false;
    if (stream != Py_None) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "__dlpack__: host memory has no stream");
        return false;
    }
    if (version != Py_None) {
        long minor;
        if (!is_pair(version, "max_version") || !PyArg_ParseTuple(version, "ll", &w->major, &minor))
            return false;
    }
    if (device != Py_None) {
        int type, id;
        if (!is_pair(device, "dl_device") || !PyArg_ParseTuple(device, "ii", &type, &id))
            return false;
        if (type != TAKT_DL_CPU) {
            PyErr_Format(PyExc_BufferError, "the array is on the host, device (1, 0), not (%d, %d)",
                         type, id);
            return false;
        }
    }
    w->copy = copy == Py_True;
    return true;
}

PyObject *array_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    wishes w = {.major = 0};
    takt_dlpack d;
    takt_ctx *ctx = array_ctx();
    if (ctx == NULL || !read_wishes(args, kwargs, &w))
        return NULL;
    PyObject *from = self;
    if (w.copy)
        from = array_copy(self, NULL);
    else
        Py_INCREF(self);
    if (from == NULL)
        return NULL;
    const hold *h = &AS(array, from)->memory;
    const takt_dlpack_options o = {.unversioned = w.major < TAKT_DLPACK_MAJOR,
                                   .read_only = h->read_only,
                                   .copied = w.copy && w.major >= TAKT_DLPACK_MAJOR,
                                   .done = released,
                                   .user = from};
    if (takt_view_to_dlpack(ctx, &h->view, &o, &d) != TAKT_OK) {
        Py_DECREF(from);
        PyErr_SetString(PyExc_BufferError, takt_last_error(ctx));
        return NULL;
    }
    PyObject *capsule = d.versioned != NULL
                            ? PyCapsule_New(d.versioned, "dltensor_versioned", drop_capsule)
                            : PyCapsule_New(d.managed, "dltensor", drop_capsule);
    if (capsule == NULL)
        takt_dlpack_release(&d);
    return capsule;
}

PyObject *array_dlpack_device(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    return Py_BuildValue("(ii)", TAKT_DL_CPU, 0);
}

PyObject *array_interface(PyObject *self, void *closure)
{
    array_object *a = AS(array, self);
    const takt_tensor_view *v = &a->memory.view;
    const char *typestr = dtype_typestr(v->dtype);
    (void)closure;
    if (typestr == NULL) {
        PyErr_Format(PyExc_AttributeError, "%s has no form in the array interface",
                     takt_dtype_name(v->dtype));
        return NULL;
    }
    PyObject *strides = PyObject_GetAttrString(self, "strides");
    if (strides == NULL)
        return NULL;
    return Py_BuildValue("{sisOsss(NO)sN}", "version", 3, "shape", a->shape, "typestr", typestr,
                         "data", PyLong_FromVoidPtr(v->data),
                         a->memory.read_only ? Py_True : Py_False, "strides", strides);
}
