/* many_queue.c - a pipeline of batches: loaded in order, run by any free session, stored in order.
 *
 * A batch travels in a slot. Every thread does the same: store the next finished batch if no thread
 * is storing, else run a loaded one if a session is free, else load one if no thread is loading and
 * a slot is free, else sleep. So a single thread can do it all, and others only speed it up:
 * threads that cannot be started are not needed. There are two more slots than sessions: one being
 * loaded and one being stored while all sessions run.
 */
#include <string.h>

#include "api/session/many.h"
#include "base/mem.h"
#include "base/size.h"
#include "os/fp.h"

enum { SPARE = 2 };

typedef enum phase { FREE, LOADING, LOADED, RUNNING, DONE, STORING } phase;
typedef enum action { NOTHING, LOAD, RUN, STORE, END } action;

typedef struct slot {
    phase phase;
    size_t chunk;
    unsigned char *memory; /* the views without data, in order */
} slot;

typedef struct queue {
    takt_many *w;
    takt_futex futex;
    _Atomic uint32_t lock;
    _Atomic uint32_t changes; /* counts what happened; idle threads sleep on it */
    slot *slots;
    size_t slot_count, slot_bytes;
    size_t next_load, next_store;
    bool is_loading, is_storing, has_failed;
    bool *is_busy; /* per session */
    bool is_tail_busy;
    takt_error error; /* the first failure */
} queue;

typedef struct job {
    queue *q;
    slot *slot;
    takt_session *session;
    size_t session_index;
} job;

/* ---- lock ---- */

static void acquire(queue *q)
{
    while (atomic_exchange(&q->lock, 1) != 0)
        takt_futex_wait(&q->futex, &q->lock, 1);
}

static void release(queue *q)
{
    atomic_store(&q->lock, 0);
    takt_futex_wake(&q->futex, &q->lock, 1);
}

/* ---- what a batch is ---- */

static bool is_streamed(const takt_many *w, size_t view)
{
    return w->is_cut[view] && w->views[view].view.data == NULL;
}

static int64_t samples_of(const takt_many *w, size_t chunk)
{
    const int64_t left = w->samples - (int64_t)chunk * w->batch;
    return left < w->batch ? left : w->batch;
}

/* Bytes of `count` samples, rounded to 64; false if that is too much. */
static bool bytes_of(const takt_tensor_view *v, int64_t count, size_t *bytes)
{
    size_t size, total;
    if (!takt_size_from_i64(count, &total))
        return false;
    for (int d = 1; d < v->rank; d++)
        if (!takt_size_from_i64(v->dims[d], &size) || !takt_size_mul(total, size, &total))
            return false;
    return takt_size_mul(total, (size_t)takt_dtype_bits(v->dtype), &total) &&
           takt_size_align(total / 8 + (total % 8 != 0), TAKT_ALIGN, bytes);
}

/* The part of view `i` that belongs to the chunk. */
static takt_tensor_view part_of(const takt_many *w, const slot *s, size_t i)
{
    takt_tensor_view part = w->views[i].view;
    if (!w->is_cut[i])
        return part;
    part.dims[0] = samples_of(w, s->chunk);
    if (is_streamed(w, i)) {
        size_t at = 0, bytes = 0;
        for (size_t k = 0; k < i; k++, at += bytes)
            if (!is_streamed(w, k) || !bytes_of(&w->views[k].view, w->batch, &bytes))
                bytes = 0;
        part.data = s->memory + at;
        memset(part.strides, 0, sizeof part.strides);
        return part;
    }
    bool is_plain = true;
    int64_t row = 1;
    for (int d = 0; d < part.rank; d++)
        is_plain = is_plain && part.strides[d] == 0;
    for (int d = 1; d < part.rank; d++)
        row *= part.dims[d];
    const int64_t first = (int64_t)s->chunk * w->batch;
    part.data = (char *)part.data +
                first * (is_plain ? row : part.strides[0]) * takt_dtype_bits(part.dtype) / 8;
    return part;
}

/* ---- the three things to do ---- */

static takt_status load_batch(const job *j, takt_error *error)
{
    const takt_many *w = j->q->w;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < w->count && status == TAKT_OK; i++)
        if (is_streamed(w, i) && w->is_input[i]) {
            const takt_tensor_view part = part_of(w, j->slot, i);
            status = w->load(w->user, w->views[i].name, (int64_t)j->slot->chunk * w->batch,
                             part.dims[0], part.data);
        }
    if (status != TAKT_OK)
        takt_error_copy(w->ctx, error);
    return status;
}

static takt_status store_batch(const job *j, takt_error *error)
{
    const takt_many *w = j->q->w;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < w->count && status == TAKT_OK; i++)
        if (is_streamed(w, i) && !w->is_input[i]) {
            const takt_tensor_view part = part_of(w, j->slot, i);
            status = w->store(w->user, w->views[i].name, (int64_t)j->slot->chunk * w->batch,
                              part.dims[0], part.data);
        }
    if (status != TAKT_OK)
        takt_error_copy(w->ctx, error);
    return status;
}

static takt_status run_batch(const job *j, takt_error *error)
{
    const takt_many *w = j->q->w;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < w->count && status == TAKT_OK; i++) {
        const takt_tensor_view part = part_of(w, j->slot, i);
        status = takt_session_bind(j->session, w->views[i].name, &part);
    }
    if (status == TAKT_OK)
        status = takt_session_run(j->session);
    if (status != TAKT_OK)
        *error = j->session->error;
    return status;
}

/* ---- choosing; the lock is held ---- */

static slot *find(queue *q, phase wanted, const size_t *chunk)
{
    slot *best = NULL;
    for (size_t i = 0; i < q->slot_count; i++) {
        slot *s = &q->slots[i];
        if (s->phase == wanted && (chunk == NULL || s->chunk == *chunk) &&
            (best == NULL || s->chunk < best->chunk))
            best = s;
    }
    return best;
}

static bool take_session(queue *q, size_t chunk, job *j)
{
    const takt_many *w = q->w;
    j->session_index = w->jobs;
    if (w->tail != NULL && chunk + 1 == w->chunks) {
        j->session = w->tail;
        return !q->is_tail_busy && (q->is_tail_busy = true);
    }
    for (size_t i = 0; i < w->jobs; i++)
        if (!q->is_busy[i]) {
            q->is_busy[i] = true;
            j->session = w->sessions[i];
            j->session_index = i;
            return true;
        }
    return false;
}

static action choose(queue *q, job *j)
{
    if (q->has_failed || q->next_store == q->w->chunks)
        return END;
    if (!q->is_storing && (j->slot = find(q, DONE, &q->next_store)) != NULL) {
        q->is_storing = true;
        j->slot->phase = STORING;
        return STORE;
    }
    if ((j->slot = find(q, LOADED, NULL)) != NULL && take_session(q, j->slot->chunk, j)) {
        j->slot->phase = RUNNING;
        return RUN;
    }
    if (!q->is_loading && q->next_load < q->w->chunks && (j->slot = find(q, FREE, NULL)) != NULL) {
        q->is_loading = true;
        j->slot->phase = LOADING;
        j->slot->chunk = q->next_load++;
        return LOAD;
    }
    return NOTHING;
}

static void finish(queue *q, const job *j, action done)
{
    if (done == LOAD) {
        q->is_loading = false;
        j->slot->phase = LOADED;
    } else if (done == STORE) {
        q->is_storing = false;
        q->next_store++;
        j->slot->phase = FREE;
    } else if (j->session_index < q->w->jobs) {
        q->is_busy[j->session_index] = false;
        j->slot->phase = DONE;
    } else {
        q->is_tail_busy = false;
        j->slot->phase = DONE;
    }
}

static void work(void *user)
{
    queue *q = user;
    job j = {.q = q};
    takt_fp_enter();
    for (;;) {
        takt_error error = {.offset = -1};
        acquire(q);
        const uint32_t seen = atomic_load(&q->changes);
        const action now = choose(q, &j);
        release(q);
        if (now == END)
            return;
        if (now == NOTHING) {
            takt_futex_wait(&q->futex, &q->changes, seen);
            continue;
        }
        const takt_status status = now == LOAD    ? load_batch(&j, &error)
                                   : now == STORE ? store_batch(&j, &error)
                                                  : run_batch(&j, &error);
        acquire(q);
        finish(q, &j, now);
        if (status != TAKT_OK && !q->has_failed) {
            q->has_failed = true;
            q->error = error;
            q->error.status = status;
        }
        atomic_fetch_add(&q->changes, 1);
        release(q);
        takt_futex_wake(&q->futex, &q->changes, TAKT_POOL_MAX);
    }
}

/* ---- the whole ---- */

static takt_status measure_slot(queue *q)
{
    const takt_many *w = q->w;
    for (size_t i = 0; i < w->count; i++) {
        size_t bytes;
        if (is_streamed(w, i) && (!bytes_of(&w->views[i].view, w->batch, &bytes) ||
                                  !takt_size_add(q->slot_bytes, bytes, &q->slot_bytes)))
            return takt_fail(w->ctx, TAKT_E_OVERFLOW, "a batch of %s is too large",
                             w->views[i].name);
    }
    return TAKT_OK;
}

/* One thread per session, plus one for other events to wait for. */
static void run_threads(queue *q)
{
    takt_many *w = q->w;
    void *threads[TAKT_POOL_MAX];
    size_t count = 0;
    const size_t wanted = w->jobs - 1 + (q->slot_bytes > 0);
    while (count < wanted && count < TAKT_POOL_MAX &&
           w->ctx->threads.start(w->ctx->threads.user, work, q, &threads[count]) == 0)
        count++;
    const uint64_t fp = takt_fp_enter();
    work(q);
    takt_fp_leave(fp);
    for (size_t i = 0; i < count; i++)
        w->ctx->threads.join(w->ctx->threads.user, threads[i]);
}

static takt_status run_slots(queue *q)
{
    takt_many *w = q->w;
    void *memory = NULL;
    size_t bytes;
    TAKT_TRY(measure_slot(q));
    if (!takt_size_mul(q->slot_bytes, q->slot_count, &bytes))
        return takt_fail(w->ctx, TAKT_E_OVERFLOW, "%zu batches of %zu bytes are too many",
                         q->slot_count, q->slot_bytes);
    if (bytes > 0)
        TAKT_TRY(takt_mem_get(w->ctx, bytes, "batches on their way", &memory));
    for (size_t i = 0; i < q->slot_count; i++)
        q->slots[i].memory = memory != NULL ? (unsigned char *)memory + i * q->slot_bytes : NULL;
    run_threads(q);
    if (bytes > 0)
        takt_mem_put(w->ctx, memory, bytes);
    if (!q->has_failed)
        return TAKT_OK;
    w->ctx->error = q->error;
    return q->error.status;
}

takt_status takt_many_run(takt_many *w)
{
    queue q = {.w = w, .slot_count = w->jobs + SPARE};
    void *block;
    const size_t bytes = q.slot_count * sizeof *q.slots + w->jobs * sizeof *q.is_busy;
    TAKT_TRY(takt_mem_zero(w->ctx, 1, bytes, "queue", &block));
    q.slots = block;
    q.is_busy = (bool *)(q.slots + q.slot_count);
    if (takt_futex_init(&q.futex) != 0) {
        takt_mem_put(w->ctx, block, bytes);
        return takt_fail_memory(w->ctx, "a queue's lock", sizeof q.futex);
    }
    const takt_status status = run_slots(&q);
    takt_futex_deinit(&q.futex);
    takt_mem_put(w->ctx, block, bytes);
    return status;
}
