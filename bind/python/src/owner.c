/* owner.c - contexts with a count and a lock; what a fork leaves of them. */
#include "module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned forks;

static void in_child(void)
{
    forks++;
}

unsigned fork_generation(void)
{
    return forks;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

owner *owner_create(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    owner *o = calloc(1, sizeof *o);
    if (o != NULL && (o->lock = PyThread_allocate_lock()) == NULL) {
        free(o);
        o = NULL;
    }
    if (o == NULL || takt_ctx_create(NULL, &o->ctx) != TAKT_OK) {
        if (o != NULL)
            PyThread_free_lock(o->lock);
        free(o);
        PyErr_NoMemory();
        return NULL;
    }
    o->references = 1;
    o->generation = forks;
    return o;
}

owner *owner_retain(owner *o)
{
    o->references++;
    return o;
}

void owner_release(owner *o)
{
    if (o == NULL || --o->references > 0)
        return;
    takt_ctx_destroy(o->ctx);
    PyThread_free_lock(o->lock);
    for (size_t i = 0; i < o->kept_count; i++)
        owner_release(o->kept[i]);
    free((void *)o->kept);
    free(o);
}

bool owner_keep(owner *o, owner *other)
{
    bool has = o == other;
    for (size_t i = 0; i < o->kept_count; i++)
        has = has || o->kept[i] == other;
    if (has)
        return true;
    void *room = realloc((void *)o->kept, (o->kept_count + 1) * sizeof *o->kept);
    if (room == NULL) {
        PyErr_NoMemory();
        return false;
    }
    o->kept = room;
    o->kept[o->kept_count++] = owner_retain(other);
    return true;
}

PyThreadState *owner_enter(owner *o)
{
    if (o->generation != forks) { /* whoever held it is in the parent */
        PyThread_type_lock fresh = PyThread_allocate_lock();
        if (fresh != NULL)
            o->lock = fresh;
        o->generation = forks;
    }
    PyThreadState *state = PyEval_SaveThread();
    PyThread_acquire_lock(o->lock, WAIT_LOCK);
    return state;
}

/* The lock goes first: who waits for it must not hold up a thread that waits for the GIL. */
void owner_leave(owner *o, PyThreadState *state, takt_status status, takt_error *error)
{
    if (status != TAKT_OK) {
        *error = *takt_last_error_info(o->ctx);
        if (error->status != status) { /* it was told to nobody */
            *error = (takt_error){.status = status, .offset = -1};
            snprintf(error->message, sizeof error->message, "%s", takt_status_sentence(status));
        }
    }
    PyThread_release_lock(o->lock);
    PyEval_RestoreThread(state);
}

takt_ctx *array_ctx(void)
{
    static takt_ctx *ctx;
    if (ctx == NULL && takt_ctx_create(NULL, &ctx) != TAKT_OK)
        PyErr_NoMemory();
    return ctx;
}
