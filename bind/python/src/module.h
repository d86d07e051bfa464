/* module.h - what the files of the extension share.
 *
 * One file per type. Everything that depends on how objects are laid out stands here, so that a
 * build for another ABI changes one header. The thread is attached to the interpreter, and holds
 * the GIL where there is one, unless a comment says otherwise.
 */
#ifndef TAKT_PYTHON_MODULE_H
#define TAKT_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <takt/takt.h>

/* ---- objects ----
 *
 * cmake/python_abi.cmake chooses one of three ABIs. The limited API of Python 3.11 serves every
 * later interpreter with a GIL (abi3). Free-threaded ones have a limited API from 3.15 on, which
 * hides how an object begins (abi3t); before that there is the API of one version.
 */

#ifdef Py_TARGET_ABI3T
#define OBJECT_HEAD
#define OBJECT_SIZE(type) (-(int)sizeof(type)) /* without the head */
#define OBJECT_OFFSET Py_RELATIVE_OFFSET
extern ptrdiff_t object_head; /* its size: the same in all types, which inherit from object */
#else
#define OBJECT_HEAD PyObject_HEAD
#define OBJECT_SIZE(type) ((int)sizeof(type))
#define OBJECT_OFFSET 0
enum { object_head = 0 };
#endif

/* The part of an object that is ours, and back. */
static inline void *object_data(PyObject *object)
{
    return (char *)object + object_head;
}

static inline PyObject *object_of(void *data)
{
    return (PyObject *)((char *)data - object_head);
}

#define AS(type, object) ((type##_object *)object_data(object))

/* A copy of the caller's dictionary to iterate over: without a GIL other threads may change the
 * original meanwhile. NULL: raised. */
static inline PyObject *dict_own(PyObject *dict)
{
#if defined(Py_TARGET_ABI3T) || defined(Py_GIL_DISABLED)
    return PyDict_Copy(dict);
#else
    return Py_NewRef(dict);
#endif
}

/* ---- Ctrl-C ---- */

/* The session that Ctrl-C cancels while the GIL is released. */
typedef struct interruptible {
    void (*cancel)(void *what); /* in a signal handler */
    void *what;
    bool listens;
    struct interruptible *outer; /* in whose callback it runs, or NULL */
    volatile bool came;          /* a cancel that is too late for its run does not stop the next */
} interruptible;

/* On the main thread, unless KeyboardInterrupt would not be raised. */
bool interrupts_begin(interruptible *i);
/* Before the GIL is waited for: a signal in between would cancel the next run. */
void interrupts_end(interruptible *i);
/* Whether a signal came and Python has raised for it. */
bool interrupts_raise(const interruptible *i);
/* Without the GIL, between steps of work that cannot be cancelled: whether Python has raised. */
bool interrupts_poll(void);
void cancel_session(void *session);
void cancel_trainer(void *trainer);
void cancel_generator(void *generator);

/* ---- DLPack ---- */

/* The tensor by its type's __dlpack_c_exchange_api__; NULL without an exception: use __dlpack__. */
takt_dl_versioned *exchange_take(PyObject *object);

/* ---- contexts ---- */

/* A context that models, plans and sessions share. Its lock is held for calls that report failures
 * in the context, so that each finds its own. */
typedef struct owner {
    takt_ctx *ctx;
    long references;
    PyThread_type_lock lock;
    atomic_ulong holder; /* the thread that has the lock, or 0 */
    unsigned depth;      /* number of entries: callbacks may use the models they are called for */
    atomic_uint generation; /* number of forks: a lock held by the parent is not ours */
    struct owner **kept;    /* whose weights plans of this context hold */
    size_t kept_count;
    struct owner *lead; /* of a ring of owners that keep each other alive, which count as one */
    struct owner *next; /* the ring, closed; itself if it is alone */
} owner;

owner *owner_create(void);
/* The one for that place, made when first needed; NULL: raised. */
owner *owner_shared(_Atomic(owner *) *place);
owner *owner_retain(owner *o);
void owner_release(owner *o);
/* `o` keeps `other` alive: a model of `o` has weights of it. If `other` also keeps `o` alive,
 * directly or not, they live and die together. False: raised. */
bool owner_keep(owner *o, owner *other);
/* Takes the lock and releases the GIL; owner_leave undoes both and keeps the failure. A thread that
 * has the lock may enter again. */
PyThreadState *owner_enter(owner *o);
void owner_leave(owner *o, PyThreadState *state, takt_status status, takt_error *error);
/* Number of forks between the first process and this one. */
unsigned fork_generation(void);
/* The context of arrays, which is not that of any model. */
takt_ctx *array_ctx(void);

/* ---- errors ---- */

/* Raises the class of the status; always NULL. */
PyObject *raise_error(const takt_error *e);
/* The same for a failure of the binding's own. */
PyObject *raise_status(takt_status status, const char *hint, const char *format, ...);

/* ---- views of arrays ---- */

/* A view of memory that another object owns, and the object that keeps it alive. */
typedef struct hold {
    takt_tensor_view view;
    Py_buffer buffer; /* buffer.obj NULL: none */
    takt_dlpack dlpack;
    PyObject *object; /* borrowed memory's owner, or NULL */
    bool read_only;
} hold;

/* Of any array: ours, by buffer, __dlpack__ or __array_interface__. Nothing is copied, except
 * NumPy's sub-byte elements, which are packed into an array that `object` then holds. False after
 * an exception. `what` names it in messages. */
bool hold_take(hold *h, PyObject *object, bool writable, const char *what);
/* The same, but also accepts GPU memory. */
bool hold_take_any(hold *h, PyObject *object, bool writable, const char *what);
void hold_drop(hold *h);
/* By __array_interface__ alone: a part of the above. */
bool interface_take(hold *h, PyObject *object, bool writable, const char *what);
/* Whether no dimension is negative and the elements fit into the address space. */
bool view_fits(takt_dtype dtype, int rank, const int64_t *dims);
/* Type and shape of `view` are known to be valid. */
size_t view_count(const takt_tensor_view *view);
size_t view_bytes(const takt_tensor_view *view);
bool view_is_dense(const takt_tensor_view *view);
/* Copies the elements, whatever the strides, to dense memory. */
void view_gather(const takt_tensor_view *view, void *to);
bool view_overlap(const takt_tensor_view *a, const takt_tensor_view *b);

/* ---- element types ---- */

/* From "f32", "float32", numpy.float32, numpy.dtype(...), torch.float32; false: raised. */
bool dtype_of(PyObject *object, takt_dtype *dtype);
/* "float32"; types that NumPy lacks have their name in ml_dtypes, or NULL. */
const char *dtype_numpy(takt_dtype dtype);
/* The dtype of a format of struct and the buffer protocol; TAKT_DTYPE_COUNT if none. */
takt_dtype dtype_from_format(const char *format, Py_ssize_t itemsize);
const char *dtype_format(takt_dtype dtype);
/* "<f4"; NULL where the array interface has no such type. */
const char *dtype_typestr(takt_dtype dtype);

/* ---- NumPy, if the program has imported it ---- */

bool numpy_is_loaded(void);
bool numpy_is_array(PyObject *object);
/* The same without looking for NumPy: false as long as nothing else has found it. */
bool numpy_is_met(PyObject *object);
/* numpy.empty of the type and shape; NULL without an exception if NumPy has no such type. */
PyObject *numpy_empty(takt_dtype dtype, PyObject *shape);

/* ---- types ---- */

typedef struct array_object {
    OBJECT_HEAD hold memory;
    void *block; /* of its own, or NULL */
    PyObject *shape;
    Py_ssize_t dims[TAKT_MAX_RANK], strides[TAKT_MAX_RANK]; /* strides in bytes */
    PyObject *weak;
} array_object;

typedef struct model_object {
    OBJECT_HEAD owner *owner;
    takt_model *model;
} model_object;

typedef struct plan_object {
    OBJECT_HEAD owner *owner;
    takt_plan *plan;
    PyObject *model; /* that it was made from */
} plan_object;

typedef struct types {
    PyTypeObject *array, *model, *plan, *session, *trainer, *data, *generator;
} types;
extern types takt_types;

bool is_array(PyObject *object);
/* A new array with memory of its own, not initialised. */
PyObject *array_new(takt_dtype dtype, int rank, const int64_t *dims);
/* An array of memory that `h` holds; takes `h` over, even on failure. */
PyObject *array_wrap(hold *h);
/* All of these return a new heap type, or NULL. */
PyObject *array_type(PyObject *module);
PyObject *model_type(PyObject *module);
PyObject *plan_type(PyObject *module);
PyObject *session_type(PyObject *module);
PyObject *trainer_type(PyObject *module);
PyObject *data_type(PyObject *module);
PyObject *generator_type(PyObject *module);
/* The contents of a data object; its type has been checked. */
const takt_data *data_of(PyObject *object);
/* A model object of `model`, which it takes over, even on failure. */
PyObject *model_new(owner *o, takt_model *model);

/* ---- helpers ---- */

PyObject *shape_tuple(int rank, const int64_t *dims);
/* A tuple of named tuples (name, dtype, shape) would need Python; these are plain tuples. */
PyObject *describe(const takt_desc *d);
/* Plan options from a dictionary; strings live as long as the dictionary. False: raised. */
bool plan_options_of(PyObject *dict, takt_plan_options *options);
PyObject *module_plan_options(PyObject *module, PyObject *nothing);
/* Text that a report writes, as str. */
typedef struct text_sink {
    char *at;
    size_t length, room;
    bool failed;
} text_sink;
int text_put(void *user, const char *text, size_t length);
PyObject *text_take(text_sink *t); /* frees it */

PyObject *model_shrink(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *model_distill(PyObject *model, PyObject *args);
PyObject *module_fake_quantize(PyObject *module, PyObject *args);
PyObject *module_low_rank(PyObject *module, PyObject *args);
PyObject *model_params(PyObject *model, PyObject *nothing);
PyObject *model_param_put(PyObject *model, PyObject *args);
PyObject *module_op(PyObject *module, PyObject *args);
PyObject *module_infer(PyObject *module, PyObject *args);
PyObject *module_shuffle(PyObject *module, PyObject *args);

#endif
