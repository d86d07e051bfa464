/* exchange.c - DLPack's functions of a type (1.3): tensors without a call of Python and a capsule.
 */
#include "module.h"

/* The beginning of DLPackExchangeAPI; what follows is not used here. */
typedef struct exchange {
    struct {
        uint32_t major, minor;
        const void *older;
    } header;
    int (*allocate)(void);
    int (*take)(void *object, takt_dl_versioned **out);
} exchange;

static const exchange *exchange_of(PyObject *object)
{
    PyObject *capsule =
        PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    const exchange *x = NULL;
    if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        x = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear();
    Py_XDECREF(capsule); /* the functions live as long as the type */
    return x != NULL && x->header.major == TAKT_DLPACK_MAJOR && x->take != NULL ? x : NULL;
}

/* A tensor that takes part in a gradient is refused by __dlpack__, but not by these functions. */
static bool is_traced(PyObject *object)
{
    PyObject *said = PyObject_GetAttrString(object, "requires_grad");
    const bool traced = said == Py_True;
    PyErr_Clear();
    Py_XDECREF(said);
    return traced;
}

takt_dl_versioned *exchange_take(PyObject *object)
{
    takt_dl_versioned *tensor = NULL;
    const exchange *x = exchange_of(object);
    if (x == NULL || is_traced(object))
        return NULL;
    if (x->take(object, &tensor) != 0) {
        PyErr_Clear(); /* __dlpack__ says why */
        return NULL;
    }
    if (tensor != NULL && tensor->tensor.device.type != TAKT_DL_CPU) { /* the caller waits for the
                                                                        * streams */
        takt_dlpack d = {.versioned = tensor};
        takt_dlpack_release(&d);
        return NULL;
    }
    return tensor;
}
