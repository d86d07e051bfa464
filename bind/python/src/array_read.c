/* array_read.c - elements of an array as Python's objects, and parts of one as arrays. */
#include "array.h"

#include <string.h>

static const takt_tensor_view *view_of(PyObject *self)
{
    return &AS(array, self)->memory.view;
}

/* One element at `at`; packed types by their index. */
static PyObject *element(takt_dtype dtype, const void *data, size_t index)
{
    int64_t i = 0;
    uint64_t u = 0;
    const takt_tensor_view one = {
        .dtype = dtype, .rank = 1, .dims = {(int64_t)index + 1}, .data = (void *)data};
    switch (dtype) {
    case TAKT_BOOL: return PyBool_FromLong(((const uint8_t *)data)[index] != 0);
    case TAKT_I64: memcpy(&i, (const char *)data + 8 * index, 8); return PyLong_FromLongLong(i);
    case TAKT_U64:
        memcpy(&u, (const char *)data + 8 * index, 8);
        return PyLong_FromUnsignedLongLong(u);
    case TAKT_I32:
    case TAKT_I16:
    case TAKT_I8:
    case TAKT_U32:
    case TAKT_U16:
    case TAKT_U8:
    case TAKT_I2:
    case TAKT_U2:
    case TAKT_I4:
    case TAKT_U4: return PyLong_FromLongLong((long long)takt_view_element(&one, index));
    default: return PyFloat_FromDouble(takt_view_element(&one, index));
    }
}

PyObject *array_item(PyObject *self, PyObject *nothing)
{
    const takt_tensor_view *v = view_of(self);
    (void)nothing;
    if (view_count(v) != 1)
        return raise_status(TAKT_ERR_ARGUMENT, "tolist() gives all",
                            "item() is for one element, "
                            "the array has %zu",
                            view_count(v));
    return element(v->dtype, v->data, 0);
}

/* `at` is the offset of the first element, in elements. */
static PyObject *nested(const takt_tensor_view *v, int axis, int64_t at)
{
    if (axis == v->rank)
        return takt_dtype_bits(v->dtype) < 8
                   ? element(v->dtype, v->data, (size_t)at)
                   : element(v->dtype, (char *)v->data + at * (takt_dtype_bits(v->dtype) / 8), 0);
    PyObject *list = PyList_New((Py_ssize_t)v->dims[axis]);
    for (int64_t i = 0; list != NULL && i < v->dims[axis]; i++) {
        PyObject *item = nested(v, axis + 1, at + i * v->strides[axis]);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

/* The view with strides in place of zeros. */
static takt_tensor_view explicit_strides(const takt_tensor_view *v)
{
    takt_tensor_view full = *v;
    int64_t dense = 1;
    if (!view_is_dense(v))
        return full;
    for (int d = v->rank - 1; d >= 0; d--) {
        full.strides[d] = dense;
        dense *= v->dims[d];
    }
    return full;
}

PyObject *array_tolist(PyObject *self, PyObject *nothing)
{
    const takt_tensor_view v = explicit_strides(view_of(self));
    (void)nothing;
    return nested(&v, 0, 0);
}

PyObject *array_copy(PyObject *self, PyObject *nothing)
{
    const takt_tensor_view *v = view_of(self);
    (void)nothing;
    PyObject *made = array_new(v->dtype, v->rank, v->dims);
    if (made != NULL && view_count(v) > 0)
        view_gather(v, view_of(made)->data);
    return made;
}

PyObject *array_repr(PyObject *self)
{
    const takt_tensor_view *v = view_of(self);
    text_sink text = {.at = NULL};
    takt_ctx *ctx = array_ctx();
    if (ctx == NULL)
        return NULL;
    PyObject *dense = view_is_dense(v) ? self : array_copy(self, NULL);
    if (dense == self)
        Py_INCREF(self);
    if (dense == NULL)
        return NULL;
    const takt_status status =
        takt_view_print(ctx, view_of(dense), TAKT_FORMAT_TEXT, text_put, &text);
    Py_DECREF(dense);
    PyObject *body = text_take(&text);
    PyObject *shape = PyObject_Str(AS(array, self)->shape);
    PyObject *made = NULL;
    if (status == TAKT_OK && body != NULL && shape != NULL)
        made = PyUnicode_FromFormat("takt.Array(%U, shape=%U, dtype='%s')", body, shape,
                                    takt_dtype_name(v->dtype));
    Py_XDECREF(body);
    Py_XDECREF(shape);
    return made;
}

/* ---- parts ---- */

typedef struct cut {
    takt_tensor_view from, to;
    int axis;   /* next index of `from` */
    int64_t at; /* elements to the first */
} cut;

static bool cut_index(cut *c, PyObject *item)
{
    const int64_t size = c->from.dims[c->axis];
    Py_ssize_t i = PyNumber_AsSsize_t(item, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return false;
    i += i < 0 ? (Py_ssize_t)size : 0;
    if (i < 0 || i >= size) {
        PyErr_Format(PyExc_IndexError, "index %zd is outside dimension %d, which is %lld", i,
                     c->axis, (long long)size);
        return false;
    }
    c->at += i * c->from.strides[c->axis++];
    return true;
}

static bool cut_slice(cut *c, PyObject *item)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) < 0)
        return false;
    const Py_ssize_t count =
        PySlice_AdjustIndices((Py_ssize_t)c->from.dims[c->axis], &start, &stop, step);
    if (count > 0)
        c->at += start * c->from.strides[c->axis];
    c->to.dims[c->to.rank] = count;
    c->to.strides[c->to.rank++] = step * c->from.strides[c->axis++];
    return true;
}

static bool keep_axes(cut *c, int until)
{
    for (; c->axis < until; c->axis++) {
        c->to.dims[c->to.rank] = c->from.dims[c->axis];
        c->to.strides[c->to.rank++] = c->from.strides[c->axis];
    }
    return true;
}

static bool cut_items(cut *c, PyObject *key, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyTuple_GetItem(key, i);
        bool good;
        if (item == Py_Ellipsis) {
            good = keep_axes(c, c->from.rank - (int)(count - i - 1));
        } else if (c->axis >= c->from.rank) {
            PyErr_Format(PyExc_IndexError, "more indices than the array's %d dimensions",
                         c->from.rank);
            good = false;
        } else {
            good = PySlice_Check(item) ? cut_slice(c, item) : cut_index(c, item);
        }
        if (!good)
            return false;
    }
    return keep_axes(c, c->from.rank);
}

PyObject *array_subscript(PyObject *self, PyObject *key)
{
    cut c = {.from = explicit_strides(view_of(self))};
    if (takt_dtype_bits(c.from.dtype) < 8)
        return raise_status(TAKT_ERR_UNSUPPORTED, "tolist() gives all",
                            "elements of %s share bytes and have no parts of their own",
                            takt_dtype_name(c.from.dtype));
    PyObject *items = PyTuple_Check(key) ? key : PyTuple_Pack(1, key);
    if (items == NULL)
        return NULL;
    if (items == key)
        Py_INCREF(key);
    c.to.dtype = c.from.dtype;
    const bool good = cut_items(&c, items, PyTuple_Size(items));
    Py_DECREF(items);
    if (!good)
        return NULL;
    c.to.data = (char *)c.from.data + c.at * (takt_dtype_bits(c.from.dtype) / 8);
    if (c.to.rank == 0)
        return element(c.to.dtype, c.to.data, 0);
    hold h = {.view = c.to, .read_only = AS(array, self)->memory.read_only};
    if (view_is_dense(&h.view))
        memset(h.view.strides, 0, sizeof h.view.strides);
    Py_INCREF(self);
    h.object = self;
    return array_wrap(&h);
}
