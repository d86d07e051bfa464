/* view.c - any library's array as a view: by the buffer protocol, DLPack or the array interface. */
#include "module.h"

#include <string.h>

/* ---- views ---- */

size_t view_count(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

size_t view_bytes(const takt_tensor_view *v)
{
    return (view_count(v) * (size_t)takt_dtype_bits(v->dtype) + 7) / 8;
}

bool view_fits(takt_dtype dtype, int rank, const int64_t *dims)
{
    size_t bits = (size_t)takt_dtype_bits(dtype);
    for (int d = 0; d < rank; d++)
        if (dims[d] < 0 ||
            __builtin_mul_overflow(bits, (size_t)(dims[d] > 0 ? dims[d] : 1), &bits) ||
            bits > (size_t)PTRDIFF_MAX - 64)
            return false;
    return true;
}

bool view_is_dense(const takt_tensor_view *v)
{
    int64_t dense = 1;
    bool same = true, plain = true;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->dims[d] == 0)
            return true;
        same = same && (v->strides[d] == dense || v->dims[d] == 1);
        plain = plain && v->strides[d] == 0;
        dense *= v->dims[d];
    }
    return same || plain;
}

void view_gather(const takt_tensor_view *v, void *to)
{
    const size_t element = (size_t)takt_dtype_bits(v->dtype) / 8, count = view_count(v);
    int64_t at[TAKT_MAX_RANK] = {0};
    const char *from = v->data;
    char *out = to;
    if (view_is_dense(v)) {
        memcpy(to, v->data, view_bytes(v));
        return;
    }
    for (size_t i = 0; i < count; i++, out += element) {
        memcpy(out, from, element);
        int d = v->rank - 1;
        for (; d >= 0 && ++at[d] == v->dims[d]; d--) {
            from -= v->strides[d] * (v->dims[d] - 1) * (int64_t)element;
            at[d] = 0;
        }
        if (d >= 0)
            from += v->strides[d] * (int64_t)element;
    }
}

/* The bytes that a view may touch. */
static void extent(const takt_tensor_view *v, uintptr_t *low, uintptr_t *high)
{
    int64_t below = 0, above = 0, count = 1, strides = 0;
    const int64_t bits = takt_dtype_bits(v->dtype);
    for (int d = 0; d < v->rank; d++) {
        const int64_t reach = (v->dims[d] - 1) * v->strides[d];
        below += reach < 0 ? reach : 0;
        above += reach < 0 ? 0 : reach;
        strides |= v->strides[d];
        count *= v->dims[d];
    }
    if (count == 0)
        below = 0;
    else if (strides != 0) /* without strides it is dense */
        count = above + 1;
    *low = (uintptr_t)v->data + (uintptr_t)(below * bits / 8);
    *high = (uintptr_t)v->data + (uintptr_t)((count * bits + 7) / 8);
}

bool view_overlap(const takt_tensor_view *a, const takt_tensor_view *b)
{
    uintptr_t a0, a1, b0, b1;
    extent(a, &a0, &a1);
    extent(b, &b0, &b1);
    return a0 < b1 && b0 < a1;
}

/* ---- the buffer protocol ---- */

static bool refuse_layout(const char *what)
{
    raise_status(TAKT_ERR_ARGUMENT, "make a copy that is dense: numpy.ascontiguousarray",
                 "%s: its strides are not multiples of its elements", what);
    return false;
}

/* Most arrays are dense; then nothing is divided, which would take as long as all the rest. */
static bool take_dense(hold *h)
{
    const Py_buffer *b = &h->buffer;
    Py_ssize_t dense = b->itemsize;
    if (b->strides == NULL)
        return false;
    for (int d = b->ndim - 1; d >= 0; d--) {
        if (b->strides[d] != dense || b->shape[d] == 0)
            return false;
        dense *= b->shape[d];
        h->view.dims[d] = b->shape[d];
        h->view.strides[d] = 0;
    }
    return true;
}

static bool take_strides(hold *h, const char *what)
{
    const Py_buffer *b = &h->buffer;
    if (take_dense(h))
        return true;
    bool is_spread = false;
    size_t count = 1;
    for (int d = 0; d < b->ndim; d++) {
        h->view.dims[d] = b->shape[d];
        h->view.strides[d] = 0;
        count *= (size_t)b->shape[d];
        if (b->strides == NULL)
            continue;
        if (b->shape[d] > 1 && b->strides[d] % b->itemsize != 0)
            return refuse_layout(what);
        h->view.strides[d] = b->strides[d] / b->itemsize;
        is_spread = is_spread || h->view.strides[d] != 0;
    }
    if (view_is_dense(&h->view) && (is_spread || b->strides == NULL || count <= 1)) {
        memset(h->view.strides, 0, (size_t)b->ndim * sizeof *h->view.strides);
        return true;
    }
    if (!is_spread) { /* zeros mean dense, and these do not */
        raise_status(TAKT_ERR_ARGUMENT, "make a copy: numpy.ascontiguousarray",
                     "%s: all its elements lie at one place", what);
        return false;
    }
    return true;
}

/* All but the arrays of sizes, of which `rank` elements count: every call takes this way, and four
 * hundred bytes of zeros are a tenth of what two arrays cost. */
static void clear_ends(hold *h)
{
    h->view.dtype = TAKT_DTYPE_COUNT;
    h->view.rank = 0;
    h->view.data = NULL;
    h->view.device = 0;
    h->buffer.obj = NULL;
    h->dlpack = (takt_dlpack){.versioned = NULL};
    h->object = NULL;
    h->read_only = false;
}

static bool take_buffer(hold *h, PyObject *object, bool writable, const char *what)
{
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, &h->buffer, flags) < 0) {
        h->buffer.obj = NULL;
        return false;
    }
    const Py_buffer *b = &h->buffer;
    h->view.dtype = dtype_from_format(b->format, b->itemsize);
    h->view.rank = b->ndim;
    h->view.data = b->buf;
    h->read_only = b->readonly != 0;
    if (h->view.dtype == TAKT_DTYPE_COUNT) {
        raise_status(
            TAKT_ERR_ARGUMENT,
            "numbers and bool in the machine's byte order can be used: x.astype('float32')",
            "%s: elements of format '%.40s' have no type in Takt", what,
            b->format != NULL ? b->format : "B");
        return false;
    }
    if (b->ndim > TAKT_MAX_RANK) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s has %d dimensions, the most is %d", what, b->ndim,
                     TAKT_MAX_RANK);
        return false;
    }
    return take_strides(h, what);
}

/* ---- DLPack ---- */

static PyObject *call_dlpack(PyObject *object)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = PyTuple_New(0);
    PyObject *ask = Py_BuildValue("{s(ii)}", "max_version", TAKT_DLPACK_MAJOR, TAKT_DLPACK_MINOR);
    PyObject *capsule = NULL;
    if (method != NULL && none != NULL && ask != NULL) {
        capsule = PyObject_Call(method, none, ask);
        if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear(); /* a producer before 1.0 */
            capsule = PyObject_Call(method, none, NULL);
        }
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(ask);
    return capsule;
}

/* Takes the tensor out of the capsule, which must not be used again. */
static bool open_capsule(hold *h, PyObject *capsule, const char *what)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        h->dlpack.versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        return PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        h->dlpack.managed = PyCapsule_GetPointer(capsule, "dltensor");
        return PyCapsule_SetName(capsule, "used_dltensor") == 0;
    }
    const bool is_used = PyCapsule_IsValid(capsule, "used_dltensor") ||
                         PyCapsule_IsValid(capsule, "used_dltensor_versioned");
    raise_status(TAKT_ERR_ARGUMENT, is_used ? "ask the producer for another: x.__dlpack__()" : NULL,
                 "%s: __dlpack__ gave %s", what,
                 is_used ? "a capsule that was consumed before" : "no capsule of DLPack's");
    return false;
}

static bool open_dlpack(hold *h, PyObject *object, const char *what)
{
    if (PyCapsule_CheckExact(object))
        return open_capsule(h, object, what);
    h->dlpack.versioned = exchange_take(object);
    if (h->dlpack.versioned != NULL)
        return true;
    PyObject *capsule = call_dlpack(object);
    const bool good = capsule != NULL && open_capsule(h, capsule, what);
    Py_XDECREF(capsule);
    return good;
}

static bool take_dlpack(hold *h, PyObject *object, bool writable, const char *what)
{
    takt_ctx *ctx = array_ctx();
    if (ctx == NULL || !open_dlpack(h, object, what))
        return false;
    if (takt_view_from_dlpack(ctx, &h->dlpack, &h->view, &h->read_only) != TAKT_OK) {
        const takt_error e = *takt_last_error_info(ctx);
        raise_error(&e);
        return false;
    }
    if (writable && h->read_only) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s is read-only, and would be written", what);
        return false;
    }
    if (view_is_dense(&h->view))
        memset(h->view.strides, 0, sizeof h->view.strides);
    return true;
}

/* ---- all of them ---- */

static bool has(PyObject *object, const char *name)
{
    return PyObject_HasAttrString(object, name) != 0;
}

static bool refuse_kind(PyObject *object, const char *what)
{
    PyObject *type = (PyObject *)Py_TYPE(object), *name = PyObject_GetAttrString(type, "__name__");
    const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    raise_status(
        TAKT_ERR_ARGUMENT,
        "arrays of NumPy, PyTorch, JAX and takt.array(...) are taken; so is anything with a "
        "buffer or __dlpack__",
        "%s is not an array but %.80s", what, text != NULL ? text : "something else");
    Py_XDECREF(name);
    return false;
}

/* A failure of the buffer protocol after which the array interface may still help. */
static bool is_soft_failure(const hold *h)
{
    return h->buffer.obj == NULL &&
           (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_BufferError) ||
            PyErr_ExceptionMatches(PyExc_TypeError));
}

/* Called with the buffer protocol's exception pending. It is kept if this fails too and NumPy has
 * the type: its message says more. No attribute may be looked up while it is pending. */
static bool take_interface_instead(hold *h, PyObject *object, bool writable, const char *what)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    *h = (hold){.buffer = {.obj = NULL}};
    const bool has_interface = has(object, "__array_interface__");
    const bool good = has_interface && interface_take(h, object, writable, what);
    const bool is_theirs = h->view.dtype == TAKT_DTYPE_COUNT || dtype_format(h->view.dtype) != NULL;
    if (!has_interface || (!good && is_theirs)) {
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return good;
}

static bool take_protocol(hold *h, PyObject *object, bool writable, const char *what)
{
    if (PyCapsule_CheckExact(object) || has(object, "__dlpack__"))
        return take_dlpack(h, object, writable, what);
    if (has(object, "__array_interface__"))
        return interface_take(h, object, writable, what);
    return refuse_kind(object, what);
}

bool hold_take(hold *h, PyObject *object, bool writable, const char *what)
{
    if (!hold_take_any(h, object, writable, what))
        return false;
    if (h->view.device == 0)
        return true;
    raise_status(TAKT_ERR_DEVICE, "copy it to the host first: x.cpu()",
                 "%s lies in the memory of CUDA device %d", what, (int)h->view.device - 1);
    hold_drop(h);
    return false;
}

/* An address for arrays without elements, which have none. */
static _Alignas(16) char nothing;

bool hold_take_any(hold *h, PyObject *object, bool writable, const char *what)
{
    bool good;
    clear_ends(h);
    if (!numpy_is_met(object) && is_array(object)) {
        const hold *from = &AS(array, object)->memory;
        h->view = from->view;
        h->read_only = from->read_only;
        good = !writable || !from->read_only;
        if (!good)
            raise_status(TAKT_ERR_ARGUMENT, NULL, "%s is read-only, and would be written", what);
    } else if (!PyObject_CheckBuffer(object)) {
        *h = (hold){.buffer = {.obj = NULL}};
        good = take_protocol(h, object, writable, what);
    } else {
        good = take_buffer(h, object, writable, what) ||
               (is_soft_failure(h) && take_interface_instead(h, object, writable, what));
    }
    if (good) {
        if (h->object == NULL) /* otherwise a copy that was made for it */
            h->object = Py_NewRef(object);
        /* PyTorch's empty tensors have no address, and to a session NULL means "unbind". */
        if (h->view.data == NULL && h->view.device == 0 && view_count(&h->view) == 0)
            h->view.data = &nothing;
    } else {
        hold_drop(h);
    }
    return good;
}

void hold_drop(hold *h)
{
    PyObject *object = h->object;
    h->object = NULL;
    if (h->buffer.obj != NULL)
        PyBuffer_Release(&h->buffer);
    takt_dlpack_release(&h->dlpack);
    h->view.data = NULL;
    Py_XDECREF(object);
}
