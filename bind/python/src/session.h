/* session.h - what a session object holds, and what its files share. */
#ifndef TAKT_PYTHON_SESSION_H
#define TAKT_PYTHON_SESSION_H

#include "module.h"

/* An input or output. */
typedef struct port {
    const takt_desc *desc; /* of the session, with its sizes */
    PyObject *name;        /* interned */
    PyObject *shape;       /* of desc, a tuple */
    hold bound;            /* by bind(); object NULL: nothing */
    takt_tensor_view now;  /* the data that is bound now; data NULL: its own memory */
} port;

typedef struct session_object {
    OBJECT_HEAD owner *owner;
    takt_session *s; /* NULL: not opened yet, or closed */
    PyObject *model; /* a model_object: needed for other sizes */
    PyObject *sizes; /* of named dimensions, a dictionary */
    port *ports;     /* inputs, then outputs */
    size_t in_count, out_count;
    atomic_int busy;
    atomic_flag moving; /* `s` is destroyed, or cancelled by a thread that does not own it */
    bool is_dirty;      /* the session's bindings differ from those of bind() */
    bool is_long;       /* a run may take so long that the user presses Ctrl-C */
    bool is_static;     /* sizes do not change */
    unsigned generation;
} session_object;

/* Acquires the session for this thread; false: raised. */
bool session_enter(session_object *o);
void session_leave(session_object *o);
/* Call the following only between session_enter and session_leave. Each returns false with an
 * exception set. */
bool session_bind(session_object *o, port *p, const takt_tensor_view *v);
/* Restores the bindings of bind(), after calls with their own arrays. */
bool session_restore(session_object *o);
/* One run; `deadline_ns` 0: none. */
bool session_execute(session_object *o, uint64_t deadline_ns);
/* Switches to other sizes, if the shapes of `in` (one per input) require it. */
bool session_fit(session_object *o, const hold *in);
bool session_resize(session_object *o, PyObject *sizes, bool grows);
/* Sizes that were not given are those that the plan assumed. */
bool session_learn_sizes(session_object *o);
/* Rebuilds the descriptions after the session changed size. */
bool session_refresh(session_object *o);
/* The session is a different one now, with nothing bound. */
void session_forget(session_object *o);
/* The index of the port of that name; -1: raised. */
Py_ssize_t session_find(session_object *o, PyObject *name);
/* Whether a keyword of a call is `out`. */
bool session_names_out(PyObject *key);
bool session_raise(session_object *o);

PyObject *session_call(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *session_run_feed(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *session_run_into(PyObject *self, PyObject *const *args, Py_ssize_t count);
extern PyMethodDef session_state_methods[], session_measure_methods[];

#endif
