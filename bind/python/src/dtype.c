/* dtype.c - names of element types: ours, NumPy's, the buffer protocol's and the array interface's.
 */
#include "module.h"

#include <string.h>

typedef struct names {
    const char *numpy, *format, *typestr;
} names;

static const names table[TAKT_DTYPE_COUNT] = {
    [TAKT_F64] = {"float64", "d", "<f8"},
    [TAKT_F32] = {"float32", "f", "<f4"},
    [TAKT_F16] = {"float16", "e", "<f2"},
    [TAKT_BF16] = {"bfloat16", NULL, NULL},
    [TAKT_I64] = {"int64", "q", "<i8"},
    [TAKT_I32] = {"int32", "i", "<i4"},
    [TAKT_I16] = {"int16", "h", "<i2"},
    [TAKT_I8] = {"int8", "b", "|i1"},
    [TAKT_U64] = {"uint64", "Q", "<u8"},
    [TAKT_U32] = {"uint32", "I", "<u4"},
    [TAKT_U16] = {"uint16", "H", "<u2"},
    [TAKT_U8] = {"uint8", "B", "|u1"},
    [TAKT_BOOL] = {"bool", "?", "|b1"},
    [TAKT_I2] = {"int2", NULL, NULL},
    [TAKT_U2] = {"uint2", NULL, NULL},
    [TAKT_I4] = {"int4", NULL, NULL},
    [TAKT_U4] = {"uint4", NULL, NULL},
    [TAKT_F8E4M3FN] = {"float8_e4m3fn", NULL, NULL},
    [TAKT_F8E4M3FNUZ] = {"float8_e4m3fnuz", NULL, NULL},
    [TAKT_F8E5M2] = {"float8_e5m2", NULL, NULL},
    [TAKT_F8E5M2FNUZ] = {"float8_e5m2fnuz", NULL, NULL},
    [TAKT_F4E2M1] = {"float4_e2m1fn", NULL, NULL},
    [TAKT_F8E8M0] = {"float8_e8m0fnu", NULL, NULL},
};

const char *dtype_numpy(takt_dtype dtype)
{
    return table[dtype].numpy;
}

const char *dtype_format(takt_dtype dtype)
{
    return table[dtype].format;
}

const char *dtype_typestr(takt_dtype dtype)
{
    return table[dtype].typestr;
}

/* Integers go by size: long is 4 bytes in one ABI and 8 in another. */
static takt_dtype of_size(takt_dtype of_eight, Py_ssize_t itemsize)
{
    switch (itemsize) {
    case 8: return of_eight;
    case 4: return of_eight + 1;
    case 2: return of_eight + 2;
    case 1: return of_eight + 3;
    default: return TAKT_DTYPE_COUNT;
    }
}

static takt_dtype of_letter(char letter, Py_ssize_t itemsize)
{
    switch (letter) {
    case 'f': return itemsize == 4 ? TAKT_F32 : TAKT_DTYPE_COUNT;
    case 'd': return itemsize == 8 ? TAKT_F64 : TAKT_DTYPE_COUNT;
    case 'e': return itemsize == 2 ? TAKT_F16 : TAKT_DTYPE_COUNT;
    case '?': return itemsize == 1 ? TAKT_BOOL : TAKT_DTYPE_COUNT;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return of_size(TAKT_I64, itemsize);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return of_size(TAKT_U64, itemsize);
    default: return TAKT_DTYPE_COUNT;
    }
}

takt_dtype dtype_from_format(const char *format, Py_ssize_t itemsize)
{
    if (format == NULL)
        return itemsize == 1 ? TAKT_U8 : TAKT_DTYPE_COUNT;
    if (format[0] != '\0' && format[1] == '\0') /* of nearly every array */
        return of_letter(*format, itemsize);
    const bool is_big = *format == '>' || *format == '!';
    const bool has_order = *format != '\0' && strchr("@=<>!|", *format) != NULL;
    if (!has_order || format[1] == '\0' || format[2] != '\0' || (is_big && itemsize > 1))
        return TAKT_DTYPE_COUNT;
    return of_letter(format[1], itemsize);
}

static takt_dtype find(const char *name)
{
    const takt_dtype own = takt_dtype_find(name);
    if (own != TAKT_DTYPE_COUNT)
        return own;
    for (int i = 0; i < TAKT_DTYPE_COUNT; i++)
        if (strcmp(table[i].numpy, name) == 0)
            return (takt_dtype)i;
    return strcmp(name, "half") == 0     ? TAKT_F16
           : strcmp(name, "float") == 0  ? TAKT_F32
           : strcmp(name, "double") == 0 ? TAKT_F64
           : strcmp(name, "bool_") == 0  ? TAKT_BOOL
                                         : TAKT_DTYPE_COUNT;
}

/* Classes such as numpy.float32 have __name__, dtypes have name; torch's print as torch.float32. */
static PyObject *name_of(PyObject *object)
{
    if (PyUnicode_Check(object))
        return PyUnicode_FromObject(object);
    for (int i = 0; i < 2; i++) {
        PyObject *name = PyObject_GetAttrString(object, i == 0 ? "name" : "__name__");
        if (name != NULL && PyUnicode_Check(name))
            return name;
        Py_XDECREF(name);
        PyErr_Clear();
    }
    return PyObject_Str(object);
}

bool dtype_of(PyObject *object, takt_dtype *dtype)
{
    PyObject *name = name_of(object);
    const char *text = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (text == NULL) {
        Py_XDECREF(name);
        return false;
    }
    const char *dot = strrchr(text, '.');
    *dtype = find(dot != NULL ? dot + 1 : text);
    if (*dtype == TAKT_DTYPE_COUNT)
        raise_status(TAKT_ERR_ARGUMENT,
                     "f32, float32, numpy.float32 and torch.float32 are the same",
                     "there is no element type called %.80s", text);
    Py_DECREF(name);
    return *dtype != TAKT_DTYPE_COUNT;
}
