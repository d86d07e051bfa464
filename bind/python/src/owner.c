/* owner.c - contexts with a reference count and a lock, and their state after a fork. */
#include "module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_uint forks;
/* Guards counts and rings. Nothing of Python's is called while it is held. */
static pthread_mutex_t counts = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void)
{
    forks++;
    pthread_mutex_init(&counts, NULL); /* another thread of the parent's may have held it */
}

unsigned fork_generation(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
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
    o->next = o;
    o->generation = forks;
    return o;
}

owner *owner_shared(_Atomic(owner *) *place)
{
    owner *has = atomic_load(place);
    if (has != NULL)
        return has;
    owner *made = owner_create();
    if (made == NULL || atomic_compare_exchange_strong(place, &has, made))
        return made;
    owner_release(made); /* another thread was faster */
    return has;
}

/* ---- counts ---- */

static owner *lead_of(owner *o)
{
    while (o->lead != NULL)
        o = o->lead;
    return o;
}

owner *owner_retain(owner *o)
{
    pthread_mutex_lock(&counts);
    lead_of(o)->references++;
    pthread_mutex_unlock(&counts);
    return o;
}

/* Contexts are freed before the objects they keep alive, and the memory of a ring after its last
 * traversal. */
void owner_release(owner *o)
{
    if (o == NULL)
        return;
    pthread_mutex_lock(&counts);
    owner *lead = lead_of(o), *one = lead, *next;
    const bool is_used = --lead->references > 0;
    pthread_mutex_unlock(&counts);
    if (is_used)
        return;
    do {
        takt_ctx_destroy(one->ctx);
        PyThread_free_lock(one->lock);
        one = one->next;
    } while (one != lead);
    do {
        for (size_t i = 0; i < one->kept_count; i++)
            owner_release(one->kept[i]);
        free((void *)one->kept);
        next = one->next;
        free(one);
        one = next;
    } while (one != lead);
}

/* Merges the owners on every path from `x` to `a` into `a`'s group. Both must be leaders of
 * their groups. True if there is such a path. */
static bool join(owner *x, owner *a)
{
    bool found = x == a;
    owner *one = x;
    do {
        for (size_t i = 0; x != a && i < one->kept_count; i++)
            found |= join(lead_of(one->kept[i]), a);
        one = one->next;
    } while (one != x);
    if (!found || x == a)
        return found;
    owner *next = x->next;
    x->next = a->next;
    a->next = next;
    x->lead = a;
    a->references += x->references;
    return true;
}

/* Bytes that a ring keeps of itself need no count. */
static void forget_own(owner *lead)
{
    owner *one = lead;
    do {
        size_t count = 0;
        for (size_t i = 0; i < one->kept_count; i++)
            if (lead_of(one->kept[i]) == lead)
                lead->references--;
            else
                one->kept[count++] = one->kept[i];
        one->kept_count = count;
        one = one->next;
    } while (one != lead);
}

static bool keep(owner *o, owner *other)
{
    owner *lead = lead_of(o);
    bool has = lead == lead_of(other);
    for (size_t i = 0; i < o->kept_count; i++)
        has = has || o->kept[i] == other;
    if (has)
        return true;
    if (join(lead_of(other), lead)) {
        forget_own(lead);
        return true;
    }
    void *room = realloc((void *)o->kept, (o->kept_count + 1) * sizeof *o->kept);
    if (room == NULL)
        return false;
    o->kept = room;
    o->kept[o->kept_count++] = other;
    lead_of(other)->references++;
    return true;
}

bool owner_keep(owner *o, owner *other)
{
    pthread_mutex_lock(&counts);
    const bool good = keep(o, other);
    pthread_mutex_unlock(&counts);
    if (!good)
        PyErr_NoMemory();
    return good;
}

/* ---- the lock ---- */

/* After a fork: the thread that held the lock is in the parent. */
static void renew(owner *o)
{
    pthread_mutex_lock(&counts);
    const bool is_old = atomic_load(&o->generation) != forks;
    PyThread_type_lock fresh = is_old ? PyThread_allocate_lock() : NULL;
    if (fresh != NULL) {
        o->lock = fresh;
        o->depth = 0;
        atomic_store(&o->holder, 0);
        atomic_store(&o->generation, forks);
    }
    pthread_mutex_unlock(&counts);
}

PyThreadState *owner_enter(owner *o)
{
    if (atomic_load(&o->generation) != forks)
        renew(o);
    const unsigned long own = PyThread_get_thread_ident();
    PyThreadState *state = PyEval_SaveThread();
    if (atomic_load(&o->holder) != own) {
        PyThread_acquire_lock(o->lock, WAIT_LOCK);
        atomic_store(&o->holder, own);
    }
    o->depth++;
    return state;
}

/* The lock is released first: a thread waiting for it must not block one that waits for the GIL. */
void owner_leave(owner *o, PyThreadState *state, takt_status status, takt_error *error)
{
    if (status != TAKT_OK) {
        *error = *takt_last_error_info(o->ctx);
        if (error->status != status) { /* it was not recorded */
            *error = (takt_error){.status = status, .offset = -1};
            snprintf(error->message, sizeof error->message, "%s", takt_status_sentence(status));
        }
    }
    if (--o->depth == 0) {
        atomic_store(&o->holder, 0);
        PyThread_release_lock(o->lock);
    }
    PyEval_RestoreThread(state);
}

takt_ctx *array_ctx(void)
{
    static _Atomic(owner *) shared;
    const owner *o = owner_shared(&shared);
    return o != NULL ? o->ctx : NULL;
}
