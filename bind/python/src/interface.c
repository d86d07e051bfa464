/* interface.c - arrays by __array_interface__, for objects without a buffer: NumPy arrays of
 * ml_dtypes' types.
 */
#include "module.h"

#include <string.h>

/* The parsed values of the dictionary. */
typedef struct told {
    PyObject *dtype, *data, *shape, *strides; /* the first is owned, the others borrowed */
} told;

static bool read_numbers(PyObject *tuple, int64_t *to)
{
    for (Py_ssize_t d = 0; d < PyTuple_Size(tuple); d++)
        to[d] = PyLong_AsLongLong(PyTuple_GetItem(tuple, d));
    return !PyErr_Occurred();
}

static bool read_told(hold *h, const told *t)
{
    if (t->dtype == NULL || t->data == NULL || t->shape == NULL || !PyTuple_Check(t->data) ||
        PyTuple_Size(t->data) != 2 || !PyTuple_Check(t->shape) ||
        PyTuple_Size(t->shape) > TAKT_MAX_RANK || !dtype_of(t->dtype, &h->view.dtype))
        return false;
    h->view.data = PyLong_AsVoidPtr(PyTuple_GetItem(t->data, 0));
    h->read_only = PyObject_IsTrue(PyTuple_GetItem(t->data, 1)) == 1;
    h->view.rank = (int)PyTuple_Size(t->shape);
    return read_numbers(t->shape, h->view.dims);
}

/* Strides in elements; zeros stay where the array is dense. */
static bool read_strides(hold *h, const told *t, const char *what)
{
    const int bits = takt_dtype_bits(h->view.dtype), bytes = bits < 8 ? 1 : bits / 8;
    int64_t reach = 0, steps[TAKT_MAX_RANK];
    if (t->strides == NULL || t->strides == Py_None)
        return true;
    bool good = PyTuple_Check(t->strides) && PyTuple_Size(t->strides) == h->view.rank &&
                read_numbers(t->strides, steps);
    for (int d = 0; good && d < h->view.rank; d++) {
        int64_t span;
        good =
            steps[d] % bytes == 0 && steps[d] != INT64_MIN &&
            !__builtin_mul_overflow(steps[d] < 0 ? -steps[d] : steps[d], h->view.dims[d], &span) &&
            !__builtin_add_overflow(reach, span, &reach) && reach <= PTRDIFF_MAX - 64;
        h->view.strides[d] = steps[d] / bytes;
    }
    if (good && (reach > 0 || view_count(&h->view) <= 1)) {
        if (view_is_dense(&h->view))
            memset(h->view.strides, 0, sizeof h->view.strides);
        return true;
    }
    if (!PyErr_Occurred())
        raise_status(TAKT_ERR_ARGUMENT, "make a copy that is dense: numpy.ascontiguousarray",
                     "%s: its strides are not multiples of its elements, or all are zero", what);
    return false;
}

/* Elements of less than a byte take a byte each there, and share bytes here. */
static bool pack(hold *h, const char *what)
{
    const int bits = takt_dtype_bits(h->view.dtype), each = 8 / bits;
    takt_tensor_view bytes = h->view; /* the same places, as bytes */
    bytes.dtype = TAKT_U8;
    if (!view_fits(TAKT_U8, bytes.rank, bytes.dims)) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s has too many elements", what);
        return false;
    }
    PyObject *apart = array_new(TAKT_U8, bytes.rank, bytes.dims);
    PyObject *packed = apart != NULL ? array_new(h->view.dtype, bytes.rank, bytes.dims) : NULL;
    if (packed != NULL) {
        const uint8_t *from = AS(array, apart)->memory.view.data;
        uint8_t *to = AS(array, packed)->memory.view.data;
        const size_t count = view_count(&bytes);
        if (count > 0)
            view_gather(&bytes, AS(array, apart)->memory.view.data);
        memset(to, 0, view_bytes(&h->view));
        for (size_t i = 0; i < count; i++)
            to[i / (size_t)each] |=
                (uint8_t)((from[i] & ((1 << bits) - 1)) << (i % (size_t)each * (size_t)bits));
        h->view = AS(array, packed)->memory.view;
        h->read_only = false;
        h->object = packed;
    }
    Py_XDECREF(apart);
    return packed != NULL;
}

static bool take(hold *h, const told *t, bool writable, const char *what)
{
    if (!read_told(h, t))
        return false;
    if (!view_fits(h->view.dtype, h->view.rank, h->view.dims) ||
        (h->view.data == NULL && view_count(&h->view) > 0)) {
        raise_status(
            TAKT_ERR_ARGUMENT, NULL,
            "%s: __array_interface__ gives no memory, a negative size or too many elements", what);
        return false;
    }
    const bool is_small = takt_dtype_bits(h->view.dtype) < 8;
    if (writable && is_small) {
        raise_status(TAKT_ERR_ARGUMENT, "give a takt.Array; takt.numpy() converts it afterwards",
                     "%s: elements of %s share bytes here, and have a byte each in NumPy", what,
                     takt_dtype_name(h->view.dtype));
        return false;
    }
    if (writable && h->read_only) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s is read-only, and would be written", what);
        return false;
    }
    return read_strides(h, t, what) && (!is_small || pack(h, what));
}

bool interface_take(hold *h, PyObject *object, bool writable, const char *what)
{
    PyObject *interface = PyObject_GetAttrString(object, "__array_interface__");
    bool good = false;
    if (interface != NULL && PyDict_Check(interface)) {
        const told t = {.dtype = PyObject_GetAttrString(object, "dtype"),
                        .data = PyDict_GetItemString(interface, "data"),
                        .shape = PyDict_GetItemString(interface, "shape"),
                        .strides = PyDict_GetItemString(interface, "strides")};
        good = take(h, &t, writable, what);
        Py_XDECREF(t.dtype);
    }
    Py_XDECREF(interface);
    if (!good && !PyErr_Occurred())
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s: __array_interface__ lacks data or shape", what);
    return good;
}
