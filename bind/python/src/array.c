/* array.c - takt.Array: a tensor in memory, shared with other libraries and never copied. */
#include "module.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

bool is_array(PyObject *object)
{
    return PyObject_TypeCheck(object, takt_types.array) != 0;
}

PyObject *shape_tuple(int rank, const int64_t *dims)
{
    PyObject *tuple = PyTuple_New(rank);
    for (int d = 0; tuple != NULL && d < rank; d++) {
        PyObject *n = PyLong_FromLongLong(dims[d]);
        if (n == NULL || PyTuple_SetItem(tuple, d, n) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

/* ---- making ---- */

/* Shape and strides for the buffer protocol; elements below a byte have none. */
static bool finish(array_object *a)
{
    const takt_tensor_view *v = &a->memory.view;
    const int64_t element = takt_dtype_bits(v->dtype) / 8;
    const bool is_dense = view_is_dense(v);
    int64_t dense = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        a->dims[d] = (Py_ssize_t)v->dims[d];
        a->strides[d] = (Py_ssize_t)((is_dense ? dense : v->strides[d]) * element);
        dense *= v->dims[d];
    }
    a->shape = shape_tuple(v->rank, v->dims);
    return a->shape != NULL;
}

static array_object *allocate(void)
{
    PyObject *made = PyType_GenericAlloc(takt_types.array, 0);
    return made != NULL ? object_data(made) : NULL;
}

PyObject *array_new(takt_dtype dtype, int rank, const int64_t *dims)
{
    if (!view_fits(dtype, rank, dims))
        return raise_status(TAKT_ERR_ARGUMENT, NULL,
                            "an array of this shape is too large, or its "
                            "dimensions are negative");
    array_object *a = allocate();
    if (a == NULL)
        return NULL;
    takt_tensor_view *v = &a->memory.view;
    v->dtype = dtype;
    v->rank = rank;
    memcpy(v->dims, dims, (size_t)rank * sizeof *dims);
    const size_t bytes = view_bytes(v);
    if (posix_memalign(&a->block, 64, bytes > 0 ? bytes : 1) != 0) {
        a->block = NULL;
        Py_DECREF(object_of(a));
        return PyErr_NoMemory();
    }
    v->data = a->block;
    if (!finish(a)) {
        Py_DECREF(object_of(a));
        return NULL;
    }
    return object_of(a);
}

PyObject *array_wrap(hold *h)
{
    array_object *a = allocate();
    if (a == NULL) {
        hold_drop(h);
        return NULL;
    }
    a->memory = *h;
    if (!finish(a)) {
        Py_DECREF(object_of(a));
        return NULL;
    }
    return object_of(a);
}

static void dealloc(PyObject *self)
{
    array_object *a = AS(array, self);
    PyTypeObject *type = Py_TYPE(self);
    if (a->weak != NULL)
        PyObject_ClearWeakRefs(self);
    if (a->block == NULL)
        hold_drop(&a->memory);
    free(a->block);
    Py_XDECREF(a->shape);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

/* ---- the buffer protocol ---- */

static int getbuffer(PyObject *self, Py_buffer *b, int flags)
{
    array_object *a = AS(array, self);
    const takt_tensor_view *v = &a->memory.view;
    const char *format = dtype_format(v->dtype);
    b->obj = NULL;
    if (format == NULL) {
        PyErr_Format(PyExc_BufferError,
                     "%s has no format in the buffer protocol; use __dlpack__ or takt.numpy()",
                     takt_dtype_name(v->dtype));
        return -1;
    }
    if ((flags & PyBUF_WRITABLE) != 0 && a->memory.read_only) {
        PyErr_SetString(PyExc_BufferError, "the array is read-only");
        return -1;
    }
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !view_is_dense(v)) {
        PyErr_SetString(PyExc_BufferError,
                        "the array is not dense, and strides were not asked for");
        return -1;
    }
    *b = (Py_buffer){.buf = v->data,
                     .len = (Py_ssize_t)view_bytes(v),
                     .itemsize = takt_dtype_bits(v->dtype) / 8,
                     .readonly = a->memory.read_only,
                     .ndim = v->rank,
                     .format = (flags & PyBUF_FORMAT) != 0 ? (char *)format : NULL,
                     .shape = (flags & PyBUF_ND) != 0 ? a->dims : NULL,
                     .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? a->strides : NULL};
    Py_INCREF(self);
    b->obj = self;
    return 0;
}

/* ---- properties ---- */

static const takt_tensor_view *view_of(PyObject *self)
{
    return &AS(array, self)->memory.view;
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *shape = AS(array, self)->shape;
    Py_INCREF(shape);
    return shape;
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(takt_dtype_name(view_of(self)->dtype));
}

static PyObject *get_ndim(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(view_of(self)->rank);
}

static PyObject *get_size(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(view_count(view_of(self)));
}

static PyObject *get_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(view_bytes(view_of(self)));
}

static PyObject *get_readonly(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(AS(array, self)->memory.read_only);
}

static PyObject *get_pointer(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromVoidPtr(view_of(self)->data);
}

static PyObject *get_strides(PyObject *self, void *closure)
{
    const array_object *a = AS(array, self);
    int64_t strides[TAKT_MAX_RANK];
    (void)closure;
    for (int d = 0; d < a->memory.view.rank; d++)
        strides[d] = a->strides[d];
    return shape_tuple(a->memory.view.rank, strides);
}

static PyGetSetDef properties[] = {
    {"shape", get_shape, NULL, "the dimensions, as a tuple", NULL},
    {"dtype", get_dtype, NULL, "the element type's name: 'f32'", NULL},
    {"ndim", get_ndim, NULL, "how many dimensions", NULL},
    {"size", get_size, NULL, "how many elements", NULL},
    {"nbytes", get_nbytes, NULL, "bytes of all elements", NULL},
    {"strides", get_strides, NULL, "bytes from one element to the next, per dimension", NULL},
    {"readonly", get_readonly, NULL, "whether the memory may be written", NULL},
    {"ptr", get_pointer, NULL, "the address of the first element", NULL},
    {"__array_interface__", array_interface, NULL, "NumPy's array interface, version 3", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Calls a function of takt._arrays with the array before its other arguments. */
static PyObject *call_python(const char *name, PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *arrays = PyImport_ImportModule("takt._arrays"), *made = NULL;
    PyObject *convert = arrays != NULL ? PyObject_GetAttrString(arrays, name) : NULL;
    PyObject *first = convert != NULL ? PyTuple_Pack(1, self) : NULL;
    PyObject *all = first != NULL ? PySequence_Concat(first, args) : NULL;
    if (all != NULL)
        made = PyObject_Call(convert, all, kwargs);
    Py_XDECREF(all);
    Py_XDECREF(first);
    Py_XDECREF(convert);
    Py_XDECREF(arrays);
    return made;
}

/* For types that buffers lack: NumPy would make an array of one object. */
static PyObject *array_for_numpy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_python("for_numpy", self, args, kwargs);
}

/* For pickle and copy.deepcopy. */
static PyObject *array_reduce(PyObject *self, PyObject *nothing)
{
    PyObject *none = PyTuple_New(0);
    PyObject *made = none != NULL ? call_python("reduced", self, none, NULL) : NULL;
    (void)nothing;
    Py_XDECREF(none);
    return made;
}

static PyMethodDef methods[] = {
    {"__array__", (PyCFunction)(void (*)(void))array_for_numpy, METH_VARARGS | METH_KEYWORDS,
     "A NumPy array, of ml_dtypes' types where NumPy has none: __array__(dtype=None, copy=None)."},
    {"__reduce__", array_reduce, METH_NOARGS, "For pickle and copy: the elements are copied."},
    {"tolist", array_tolist, METH_NOARGS, "The elements as nested lists of Python's numbers."},
    {"item", array_item, METH_NOARGS, "The only element, as a Python number."},
    {"copy", array_copy, METH_NOARGS, "A dense copy with memory of its own."},
    {"__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule: __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS, "(1, 0): the host."},
    {NULL, NULL, 0, NULL},
};

static Py_ssize_t length(PyObject *self)
{
    if (view_of(self)->rank > 0)
        return (Py_ssize_t)view_of(self)->dims[0];
    PyErr_SetString(PyExc_TypeError, "an array without dimensions has no length");
    return -1;
}

/* Iteration: without it list(array) is refused, although the array has a length. */
static PyObject *row(PyObject *self, Py_ssize_t index)
{
    const takt_tensor_view *v = view_of(self);
    if (v->rank > 0 && index >= 0 && index < (Py_ssize_t)v->dims[0]) {
        PyObject *key = PyLong_FromSsize_t(index);
        PyObject *made = key != NULL ? array_subscript(self, key) : NULL;
        Py_XDECREF(key);
        return made;
    }
    PyErr_SetString(v->rank > 0 ? PyExc_IndexError : PyExc_TypeError,
                    v->rank > 0 ? "beyond the last row"
                                : "an array without dimensions has no rows");
    return NULL;
}

static PyObject *as_float(PyObject *self)
{
    PyObject *only = array_item(self, NULL);
    PyObject *made = only != NULL ? PyNumber_Float(only) : NULL;
    Py_XDECREF(only);
    return made;
}

static PyObject *as_int(PyObject *self)
{
    PyObject *only = array_item(self, NULL);
    PyObject *made = only != NULL ? PyNumber_Long(only) : NULL;
    Py_XDECREF(only);
    return made;
}

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(array_object, weak), READONLY | OBJECT_OFFSET,
     NULL},
    {NULL, 0, 0, 0, NULL},
};

PyObject *array_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc},
        {Py_tp_doc, "A tensor in memory.\n\nResults are Arrays where NumPy is not used. An Array "
                    "shares its memory through the buffer protocol (numpy.asarray, memoryview), "
                    "__dlpack__ (torch.from_dlpack) and __array_interface__."},
        {Py_tp_getset, properties},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_repr, array_repr},
        {Py_sq_length, length},
        {Py_sq_item, row},
        {Py_nb_float, as_float},
        {Py_nb_int, as_int},
        {Py_mp_length, length},
        {Py_mp_subscript, array_subscript},
        {Py_bf_getbuffer, getbuffer},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt.Array",
                               .basicsize = OBJECT_SIZE(array_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
