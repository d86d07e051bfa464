/* options.c - options of plans out of a dictionary. */
#include "module.h"

#include <stddef.h>
#include <string.h>

typedef enum kind { TEXT, INT, BYTES, SWITCH } kind;

static const struct option {
    const char *name;
    kind kind;
    size_t offset;
} options[] = {
#define FIELD(kind, name)                                                                          \
    {                                                                                              \
#name, kind, offsetof(takt_plan_options, name)                                             \
    }
    FIELD(TEXT, sizes),
    FIELD(INT, threads),
    FIELD(TEXT, backend),
    FIELD(TEXT, blas),
    FIELD(TEXT, isa),
    FIELD(TEXT, passes),
    FIELD(TEXT, hint),
    FIELD(TEXT, donate),
    FIELD(TEXT, require),
    FIELD(TEXT, outputs),
    FIELD(TEXT, precision),
    FIELD(TEXT, numerics),
    FIELD(SWITCH, dry),
    FIELD(SWITCH, no_reuse),
    FIELD(SWITCH, no_in_place),
    FIELD(BYTES, memory_limit),
    FIELD(SWITCH, static_shapes),
#undef FIELD
};

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
        size_t i = 0;
        while (i < sizeof options / sizeof *options && strcmp(options[i].name, name) != 0)
            i++;
        if (!(i < sizeof options / sizeof *options ? put(&options[i], value, to)
                                                   : put_other(name, value, to)))
            return false;
    }
    return true;
}
