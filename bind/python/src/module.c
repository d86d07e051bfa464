/* module.c - the module _takt: its types and functions. */
#include "module.h"

#include <string.h>

types takt_types;

/* ---- arrays ---- */

static PyObject *wrap(PyObject *module, PyObject *object)
{
    hold h;
    (void)module;
    return hold_take(&h, object, false, "the array") ? array_wrap(&h) : NULL;
}

static PyObject *empty(PyObject *module, PyObject *args)
{
    PyObject *shape, *type;
    takt_dtype dtype;
    int64_t dims[TAKT_MAX_RANK];
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &shape, &type) || !dtype_of(type, &dtype))
        return NULL;
    const bool is_number = PyLong_Check(shape) != 0;
    const Py_ssize_t rank = is_number ? 1 : PySequence_Size(shape);
    if (rank < 0)
        return NULL;
    if (rank > TAKT_MAX_RANK)
        return raise_status(TAKT_ERR_ARGUMENT, NULL, "an array has at most %d dimensions",
                            TAKT_MAX_RANK);
    for (Py_ssize_t d = 0; d < rank; d++) {
        PyObject *n = is_number ? PyNumber_Index(shape) : PySequence_GetItem(shape, d);
        dims[d] = n != NULL ? PyLong_AsLongLong(n) : -1;
        Py_XDECREF(n);
        if (PyErr_Occurred())
            return NULL;
    }
    PyObject *made = array_new(dtype, (int)rank, dims);
    if (made != NULL) {
        const takt_tensor_view *v = &AS(array, made)->memory.view;
        memset(v->data, 0, view_bytes(v));
    }
    return made;
}

/* The same memory seen as another type of the same width, or as read-only. */
static PyObject *view_as(PyObject *module, PyObject *args)
{
    PyObject *array, *type;
    takt_dtype dtype;
    int read_only = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O|p", takt_types.array, &array, &type, &read_only) ||
        !dtype_of(type, &dtype))
        return NULL;
    hold h;
    if (!hold_take(&h, array, false, "the array"))
        return NULL;
    if (takt_dtype_bits(h.view.dtype) != takt_dtype_bits(dtype)) {
        raise_status(TAKT_ERR_ARGUMENT, NULL, "%s and %s are not equally wide",
                     takt_dtype_name(h.view.dtype), takt_dtype_name(dtype));
        hold_drop(&h);
        return NULL;
    }
    h.view.dtype = dtype;
    h.read_only = h.read_only || read_only != 0;
    return array_wrap(&h);
}

/* ---- facts ---- */

static PyObject *catalogue(PyObject *module, PyObject *args)
{
    const char *kind;
    text_sink text = {.at = NULL};
    takt_ctx *ctx = array_ctx();
    (void)module;
    if (ctx == NULL || !PyArg_ParseTuple(args, "s", &kind))
        return NULL;
    takt_status status = TAKT_ERR_ARGUMENT;
    if (strcmp(kind, "ops") == 0)
        status = takt_op_list(ctx, NULL, TAKT_FORMAT_JSON, text_put, &text);
    else if (strcmp(kind, "backends") == 0)
        status = takt_backend_list(ctx, TAKT_FORMAT_JSON, text_put, &text);
    PyObject *made = text_take(&text);
    if (status == TAKT_OK)
        return made;
    Py_XDECREF(made);
    return raise_status(status, NULL, "there is no catalogue of %s", kind);
}

static PyObject *explain(PyObject *module, PyObject *number)
{
    const long id = PyLong_AsLong(number);
    (void)module;
    if (PyErr_Occurred())
        return NULL;
    const char *text = takt_error_explain((int)id);
    if (text == NULL)
        return raise_status(TAKT_ERR_NOT_FOUND, NULL, "there is no error %ld", id);
    return PyUnicode_FromString(text);
}

static PyObject *statuses(PyObject *module, PyObject *nothing)
{
    PyObject *list = PyList_New(0);
    (void)module;
    (void)nothing;
    for (int i = 0; list != NULL && i <= TAKT_ERR_INTERNAL; i++) {
        PyObject *pair = Py_BuildValue("(ss)", takt_status_name((takt_status)i),
                                       takt_status_sentence((takt_status)i));
        if (pair == NULL || PyList_Append(list, pair) < 0) {
            Py_XDECREF(pair);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(pair);
    }
    return list;
}

PyObject *module_load(PyObject *module, PyObject *args, PyObject *kwargs);

static int64_t home_id = -1; /* of the interpreter that loaded the extension */

static PyObject *home(PyObject *module, PyObject *nothing)
{
    (void)module;
    (void)nothing;
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != home_id) {
        PyErr_SetString(PyExc_ImportError,
                        "takt cannot be loaded twice into one process: sub-interpreters are not "
                        "supported");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_home", home, METH_NOARGS, "Raises ImportError in a sub-interpreter."},
    {"load", (PyCFunction)(void (*)(void))module_load, METH_VARARGS | METH_KEYWORDS,
     "load(path, bytes, name=None, seed=0, model=None, sizes=None, allow_links=False, "
     "inputs=None, training=False, keep_scales=False, dense=0)"},
    {"wrap", wrap, METH_O, "wrap(array): an Array of the same memory."},
    {"empty", empty, METH_VARARGS, "empty(shape, dtype): an Array of zeros."},
    {"view_as", view_as, METH_VARARGS, "view_as(array, dtype, readonly=False): the same bytes."},
    {"op", module_op, METH_VARARGS, "op(name, attributes, inputs): one operation."},
    {"infer", module_infer, METH_VARARGS, "infer(name, attributes, types): types of the results."},
    {"shuffle", module_shuffle, METH_VARARGS,
     "shuffle(count, seed, epoch, first, n): which samples come there, as u64[n]."},
    {"fake_quantize", module_fake_quantize, METH_VARARGS, "fake_quantize(w, bits, symmetric)"},
    {"low_rank", module_low_rank, METH_VARARGS, "low_rank(w, rank): (u, v, error)"},
    {"catalogue", catalogue, METH_VARARGS, "catalogue(kind): 'ops' or 'backends', as JSON."},
    {"explain", explain, METH_O, "explain(id): what the error catalogue says."},
    {"plan_options", module_plan_options, METH_NOARGS, "Names of the options of plans."},
    {"statuses", statuses, METH_NOARGS, "(name, sentence) of every class of failure."},
    {NULL, NULL, 0, NULL},
};

/* ---- the module ---- */

/* A module that is made again, because sys.modules forgot it, has the types of the first. */
static bool add_type(PyObject *module, const char *name, PyObject *(*make)(PyObject *),
                     PyTypeObject **kept)
{
    if (*kept == NULL)
        *kept = (PyTypeObject *)make(module); /* until the process ends */
    return *kept != NULL && PyModule_AddObjectRef(module, name, (PyObject *)*kept) == 0;
}

static PyObject *version_text(void)
{
    return PyUnicode_FromString(takt_version());
}

static bool fill(PyObject *module)
{
    PyObject *version = version_text();
    const bool good = version != NULL && PyModule_AddObjectRef(module, "version", version) == 0 &&
                      add_type(module, "Array", array_type, &takt_types.array) &&
                      add_type(module, "Model", model_type, &takt_types.model) &&
                      add_type(module, "Plan", plan_type, &takt_types.plan) &&
                      add_type(module, "Session", session_type, &takt_types.session) &&
                      add_type(module, "Trainer", trainer_type, &takt_types.trainer) &&
                      add_type(module, "Data", data_type, &takt_types.data) &&
                      add_type(module, "Generator", generator_type, &takt_types.generator);
    Py_XDECREF(version);
    return good;
}

static int begin(PyObject *module)
{
    const int64_t id = PyInterpreterState_GetID(PyInterpreterState_Get());
    if (home_id >= 0 && id != home_id) {
        PyErr_SetString(PyExc_ImportError,
                        "takt cannot be loaded twice into one process: sub-interpreters are not "
                        "supported");
        return -1;
    }
    home_id = id;
    return fill(module) ? 0 : -1;
}

#ifdef Py_TARGET_ABI3T
ptrdiff_t object_head;

/* Offset of an object's data; Array is the first type that can be created. */
static bool measure_head(void)
{
    PyObject *made = PyType_GenericAlloc(takt_types.array, 0);
    if (made == NULL)
        return false;
    object_head = (char *)PyObject_GetTypeData(made, takt_types.array) - (char *)made;
    Py_DECREF(made);
    return true;
}

static int begin_measured(PyObject *module)
{
    return begin(module) == 0 && measure_head() ? 0 : -1;
}

PyMODEXPORT_FUNC PyModExport__takt(void)
{
    PyABIInfo_VAR(abi);
    static PySlot slots[] = {
        PySlot_STATIC_DATA(Py_mod_abi, &abi),
        PySlot_STATIC_DATA(Py_mod_name, "_takt"),
        PySlot_STATIC_DATA(Py_mod_doc, "The library, as the package takt uses it."),
        PySlot_STATIC_DATA(Py_mod_methods, functions),
        PySlot_FUNC(Py_mod_exec, begin_measured),
        PySlot_DATA(Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED),
        PySlot_DATA(Py_mod_gil, Py_MOD_GIL_NOT_USED),
        PySlot_END,
    };
    return slots;
}
#else
PyMODINIT_FUNC PyInit__takt(void)
{
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_takt",
                                            .m_doc = "The library, as the package takt uses it.",
                                            .m_size = -1, .m_methods = functions};
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && begin(module) < 0)
        Py_CLEAR(module);
#ifdef Py_GIL_DISABLED
    if (module != NULL && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) < 0)
        Py_CLEAR(module);
#endif
    return module;
}
#endif
