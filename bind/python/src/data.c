/* data.c - takt._takt.Data: samples of a file or folder; programs use takt.Dataset. */
#include "module.h"

#include <string.h>

typedef struct data_object {
    OBJECT_HEAD owner *owner;
    takt_data *data;
    atomic_flag is_begun; /* by __init__ */
} data_object;

const takt_data *data_of(PyObject *object)
{
    return AS(data, object)->data;
}

static void dealloc(PyObject *self)
{
    data_object *d = AS(data, self);
    PyTypeObject *type = Py_TYPE(self);
    takt_data_destroy(d->data);
    owner_release(d->owner);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static int init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *keys[] = {"path",      "split",  "limit", "scale",   "mean",
                           "deviation", "window", "label", "missing", NULL};
    data_object *d = AS(data, self);
    takt_data_options o = {.size = sizeof o};
    PyObject *path;
    unsigned long long limit = 0;
    long long window = 0;
    takt_error error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|zKdddLzz", keys, PyUnicode_FSConverter,
                                     &path, &o.split, &limit, &o.scale, &o.mean, &o.deviation,
                                     &window, &o.label, &o.missing))
        return -1;
    o.limit = limit;
    o.window = window;
    if (atomic_flag_test_and_set(&d->is_begun)) {
        raise_status(TAKT_ERR_STATE, "make another one", "the data set is open already");
        Py_DECREF(path);
        return -1;
    }
    if ((d->owner = owner_create()) != NULL) {
        PyThreadState *state = owner_enter(d->owner);
        const takt_status status =
            takt_data_open(d->owner->ctx, PyBytes_AsString(path), &o, &d->data);
        owner_leave(d->owner, state, status, &error);
        if (status != TAKT_OK) {
            owner_release(d->owner);
            d->owner = NULL;
            raise_error(&error);
        }
    }
    Py_DECREF(path);
    if (d->data == NULL)
        atomic_flag_clear(&d->is_begun);
    return d->data != NULL ? 0 : -1;
}

/* Data.__new__ without __init__ makes one that is not open. False: raised. */
static bool is_open(const data_object *d)
{
    if (d->data == NULL)
        raise_status(TAKT_ERR_STATE, "takt.Dataset(path) opens one", "the data set is not open");
    return d->data != NULL;
}

static PyObject *fields(PyObject *self, PyObject *nothing)
{
    const data_object *d = AS(data, self);
    (void)nothing;
    if (!is_open(d))
        return NULL;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < takt_data_field_count(d->data); i++) {
        PyObject *one = describe(takt_data_field(d->data, i));
        if (one == NULL || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *counts(PyObject *self, PyObject *nothing)
{
    const data_object *d = AS(data, self);
    (void)nothing;
    if (!is_open(d))
        return NULL;
    return Py_BuildValue("(KL)", (unsigned long long)takt_data_count(d->data),
                         (long long)takt_data_classes(d->data));
}

static PyObject *names(PyObject *self, PyObject *nothing)
{
    const data_object *d = AS(data, self);
    const char *name;
    (void)nothing;
    if (!is_open(d))
        return NULL;
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list != NULL && (name = takt_data_class_name(d->data, i)) != NULL; i++) {
        PyObject *one = PyUnicode_DecodeFSDefault(name);
        if (one == NULL || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* Bytes of pictures become f32, as models expect; labels are class numbers. */
static takt_dtype wanted(const takt_desc *field)
{
    if (takt_dtype_name(field->dtype)[0] == 'f')
        return field->dtype;
    return strcmp(field->name, "labels") == 0 ? TAKT_I64 : TAKT_F32;
}

/* The samples of `rows` as an array of their own. NULL: raised. */
static PyObject *take_field(data_object *d, const takt_desc *field, const takt_tensor_view *rows)
{
    int64_t dims[TAKT_MAX_RANK] = {0};
    takt_error error;
    memcpy(dims, field->dims, sizeof *dims * (size_t)field->rank);
    dims[0] = rows->dims[0];
    PyObject *made = array_new(wanted(field), field->rank, dims);
    if (made == NULL)
        return NULL;
    const takt_tensor_view *to = &AS(array, made)->memory.view;
    PyThreadState *state = owner_enter(d->owner);
    const takt_status status =
        takt_data_take(d->data, field->name, rows->data, (size_t)dims[0], to);
    owner_leave(d->owner, state, status, &error);
    if (status == TAKT_OK)
        return made;
    Py_DECREF(made);
    return raise_error(&error);
}

/* All fields in one call: Python in between would be read from memory, since a step of training
 * leaves nothing in the caches. */
static PyObject *take(PyObject *self, PyObject *rows)
{
    data_object *d = AS(data, self);
    hold r;
    if (!is_open(d) || !hold_take(&r, rows, false, "rows"))
        return NULL;
    PyObject *made = NULL;
    if (r.view.dtype != TAKT_U64 || r.view.rank != 1 || !view_is_dense(&r.view))
        raise_status(TAKT_ERR_ARGUMENT, NULL, "rows are a dense array u64[n]");
    else
        made = PyDict_New();
    for (size_t i = 0; made != NULL && i < takt_data_field_count(d->data); i++) {
        const takt_desc *field = takt_data_field(d->data, i);
        PyObject *one = take_field(d, field, &r.view);
        if (one == NULL || PyDict_SetItemString(made, field->name, one) < 0)
            Py_CLEAR(made);
        Py_XDECREF(one);
    }
    hold_drop(&r);
    return made;
}

static PyObject *report(PyObject *self, PyObject *args)
{
    data_object *d = AS(data, self);
    int json = 0;
    text_sink text = {.at = NULL};
    takt_error error;
    if (!is_open(d) || !PyArg_ParseTuple(args, "|p", &json))
        return NULL;
    PyThreadState *state = owner_enter(d->owner);
    const takt_status status =
        takt_data_describe(d->data, json ? TAKT_FORMAT_JSON : TAKT_FORMAT_TEXT, text_put, &text);
    owner_leave(d->owner, state, status, &error);
    PyObject *made = text_take(&text);
    if (status == TAKT_OK)
        return made;
    Py_XDECREF(made);
    return raise_error(&error);
}

PyObject *module_shuffle(PyObject *module, PyObject *args)
{
    unsigned long long count, seed, epoch, first, n;
    (void)module;
    if (!PyArg_ParseTuple(args, "KKKKK", &count, &seed, &epoch, &first, &n))
        return NULL;
    if (first > count || n > count - first)
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "there are %llu samples, not %llu", count,
                            first + n);
    const int64_t dims[1] = {(int64_t)n};
    PyObject *made = array_new(TAKT_U64, 1, dims);
    if (made != NULL) {
        uint64_t *rows = AS(array, made)->memory.view.data;
        for (unsigned long long i = 0; i < n; i++)
            rows[i] = takt_shuffle(count, seed, epoch, first + i);
    }
    return made;
}

static PyMethodDef methods[] = {
    {"fields", fields, METH_NOARGS, "(name, dtype, dims) of each; dims[0] counts the samples"},
    {"counts", counts, METH_NOARGS, "(samples, classes)"},
    {"names", names, METH_NOARGS, "the names of the classes; empty: they are numbers"},
    {"take", take, METH_O, "take(rows): an array of each field by name"},
    {"report", report, METH_VARARGS, "report(json=False)"},
    {NULL, NULL, 0, NULL},
};

PyObject *data_type(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, PyType_GenericNew},
        {Py_tp_init, init},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Data(path, split=None, limit=0, ...)"},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "takt._takt.Data",
                               .basicsize = OBJECT_SIZE(data_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
