/* numpy.c - NumPy without its ABI: it is called through Python, once the program has imported it.
 */
#include "module.h"

static _Atomic(PyObject *) empty, ndarray, dtypes[TAKT_DTYPE_COUNT];

/* Looks it up but never imports it. */
static bool find(void)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *numpy = modules != NULL ? PyDict_GetItemString(modules, "numpy") : NULL;
    if (numpy == NULL)
        return false;
    Py_INCREF(numpy);
    PyObject *e = PyObject_GetAttrString(numpy, "empty");
    PyObject *n = PyObject_GetAttrString(numpy, "ndarray");
    PyObject *d = PyObject_GetAttrString(numpy, "dtype");
    Py_DECREF(numpy);
    for (int i = 0; d != NULL && i < TAKT_DTYPE_COUNT; i++)
        if (dtype_typestr((takt_dtype)i) != NULL)
            dtypes[i] = PyObject_CallFunction(d, "s", dtype_typestr((takt_dtype)i));
    Py_XDECREF(d);
    if (e == NULL || n == NULL || PyErr_Occurred()) { /* half imported, or not the real one */
        PyErr_Clear();
        Py_XDECREF(e);
        Py_XDECREF(n);
        return false;
    }
    ndarray = n;
    empty = e; /* stored last: a thread that finds it uses the rest */
    return true;
}

bool numpy_is_loaded(void)
{
    return empty != NULL || find();
}

bool numpy_is_met(PyObject *object)
{
    return (PyObject *)Py_TYPE(object) == ndarray;
}

bool numpy_is_array(PyObject *object)
{
    return numpy_is_loaded() && numpy_is_met(object);
}

/* Types that NumPy has by ml_dtypes, which the program may import later. Those of less than a byte
 * have a byte each there: a run cannot write them. */
static void find_narrow(takt_dtype dtype)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    PyObject *narrow = modules != NULL ? PyDict_GetItemString(modules, "ml_dtypes") : NULL;
    if (narrow == NULL || takt_dtype_bits(dtype) < 8)
        return;
    dtypes[dtype] = PyObject_GetAttrString(narrow, dtype_numpy(dtype));
    if (dtypes[dtype] == NULL)
        PyErr_Clear();
}

PyObject *numpy_empty(takt_dtype dtype, PyObject *shape)
{
    if (dtypes[dtype] == NULL)
        find_narrow(dtype);
    if (dtypes[dtype] == NULL)
        return NULL;
    return PyObject_CallFunctionObjArgs(empty, shape, dtypes[dtype], NULL);
}
