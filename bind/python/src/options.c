/* options.c - plan options from a dictionary. */
#include "module.h"

#include <stddef.h>
#include <string.h>

typedef enum kind { NONE, TEXT, INT, BYTES, SWITCH } kind;

/* Kinds of fields of takt/plan.h that can hold a Python value. */
#define KIND_TEXT TEXT
#define KIND_SIZES TEXT
#define KIND_INT INT
#define KIND_U64 BYTES
#define KIND_BOOL SWITCH
#define KIND_ASIDE SWITCH
#define KIND_CAPS NONE
#define KIND_FIXED NONE
#define KIND_CACHE NONE

static const struct option {
    const char *name;
    kind kind;
    size_t offset;
} options[] = {
#define ROW(of, name, ...) {#name, KIND_##of, offsetof(takt_plan_options, name)},
    TAKT_PLAN_OPTIONS(ROW, ROW, ROW)
#undef ROW
};

enum { OPTIONS = sizeof options / sizeof *options };

static bool put(const struct option *o, PyObject *value, takt_plan_options *to)
{
    void *at = (char *)to + o->offset;
    if (o->kind == TEXT) {
        *(const char **)at = PyUnicode_AsUTF8AndSize(value, NULL);
    } else if (o->kind == INT) {
        const long n = PyLong_AsLong(value);
        if (n < 0 || n > INT32_MAX)
            raise_status(TAKT_ERR_ARGUMENT, NULL, "%s is a count, not this", o->name);
        *(int *)at = (int)n;
    } else if (o->kind == BYTES) {
        *(uint64_t *)at = PyLong_AsUnsignedLongLong(value);
    } else {
        *(bool *)at = PyObject_IsTrue(value) == 1;
    }
    return !PyErr_Occurred();
}

/* Options that are words or numbers here and another type there. */
static bool is_other(const char *name)
{
    return strcmp(name, "level") == 0 || strcmp(name, "simd") == 0;
}

static bool put_other(const char *name, PyObject *value, takt_plan_options *to)
{
    if (strcmp(name, "level") == 0) {
        const long level = PyLong_AsLong(value);
        if (!PyErr_Occurred() &&
            takt_opts_level(to, level < 0 || level > 9 ? -1 : (int)level) != TAKT_OK)
            raise_status(TAKT_ERR_ARGUMENT, NULL, "level is 0 to 3, not %ld", level);
        return !PyErr_Occurred();
    }
    if (strcmp(name, "simd") == 0) {
        const char *words = PyUnicode_AsUTF8AndSize(value, NULL);
        takt_ctx *ctx = array_ctx();
        if (words != NULL && ctx != NULL && takt_opts_simd_words(ctx, to, words) != TAKT_OK) {
            const takt_error e = *takt_last_error_info(ctx);
            raise_error(&e);
        }
        return !PyErr_Occurred();
    }
    raise_status(TAKT_ERR_ARGUMENT, "docs/options.md lists them", "there is no plan option '%.80s'",
                 name);
    return false;
}

bool plan_options_of(PyObject *dict, takt_plan_options *to)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    *to = (takt_plan_options){.size = sizeof *to};
    while (dict != NULL && dict != Py_None && PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (name == NULL)
            return false;
        if (value == Py_None)
            continue;
        size_t i = is_other(name) ? OPTIONS : 0;
        while (i < OPTIONS && (options[i].kind == NONE || strcmp(options[i].name, name) != 0))
            i++;
        if (!(i < OPTIONS ? put(&options[i], value, to) : put_other(name, value, to)))
            return false;
    }
    return true;
}

PyObject *module_plan_options(PyObject *module, PyObject *nothing)
{
    PyObject *list = PyList_New(0);
    (void)module;
    (void)nothing;
    for (size_t i = 0; list != NULL && i < OPTIONS; i++) {
        if (options[i].kind == NONE && !is_other(options[i].name))
            continue;
        PyObject *name = PyUnicode_FromString(options[i].name);
        if (name == NULL || PyList_Append(list, name) < 0) {
            Py_XDECREF(name);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(name);
    }
    return list;
}
