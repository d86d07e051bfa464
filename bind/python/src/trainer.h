/* trainer.h - what a trainer object holds, and what its files share. */
#ifndef TAKT_PYTHON_TRAINER_H
#define TAKT_PYTHON_TRAINER_H

#include "module.h"

enum { TRAINER_MOST_GROUPS = 16 };

typedef struct trainer_object {
    OBJECT_HEAD owner *owner;
    takt_trainer *trainer;
    PyObject *model;      /* borrowed by the trainer */
    atomic_flag is_begun; /* by __init__ */
    atomic_bool is_busy;
    atomic_bool is_stopped; /* after the present step */
} trainer_object;

typedef struct parameter_names {
    PyObject *set; /* of parameters */
    bool inside;   /* true: these; false: all others */
} parameter_names;

/* What a trainer is made with. */
typedef struct trainer_options {
    takt_train_options o;
    takt_plan_options plan;
    parameter_names frozen, of_group[TRAINER_MOST_GROUPS];
    takt_param_group groups[TRAINER_MOST_GROUPS];
    hold weights;
    bool has_weights;
} trainer_options;

/* Options by name, as takt_train_options has them; false: raised. `weights` is to be dropped in any
 * case, if there are some. */
bool trainer_options_take(trainer_options *p, PyObject *args, PyObject *kwargs);

/* Acquires the trainer for this thread; false: raised. */
bool trainer_begin(trainer_object *t);
void trainer_end(trainer_object *t);

PyObject *trainer_step(PyObject *self, PyObject *dict);
PyObject *trainer_eval(PyObject *self, PyObject *dict);
PyObject *trainer_steps(PyObject *self, PyObject *args);
PyObject *trainer_stop(PyObject *self, PyObject *nothing);
PyObject *trainer_plan(PyObject *self, PyObject *dict);

#endif
