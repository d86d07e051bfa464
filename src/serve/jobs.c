/* jobs.c - jobs passed between threads: the queue, the output, and ownership. */
#include "base/mem.h"
#include "serve/serve.h"

void takt_serve_job_free(takt_job *job)
{
    takt_grammar_destroy(job->grammar);
    for (size_t i = 0; i < TAKT_SERVE_CHOICES; i++) {
        takt_text_deinit(&job->choice[i].text);
        takt_text_deinit(&job->choice[i].logs);
    }
    takt_text_deinit(&job->out);
    takt_arena_deinit(&job->arena);
    takt_mem_put(&job->server->shadow, job, sizeof *job);
}

static void call_engine(takt_server *s)
{
    atomic_fetch_add(&s->calls, 1);
    takt_futex_wake(&s->futex, &s->calls, 1);
}

bool takt_serve_has_room(takt_server *s, takt_conn *c)
{
    takt_lock_take(&s->lock);
    const bool has_room = s->queued < (size_t)s->options.queue;
    s->metrics.requests += !has_room;
    s->metrics.refused += !has_room;
    takt_lock_give(&s->lock);
    if (!has_room)
        takt_serve_error(&c->out, 503, c->request.keeps_alive, 0, "too many requests wait");
    return has_room;
}

void takt_serve_enqueue(takt_server *s, takt_job *job)
{
    job->queued_ns = takt_serve_now(s);
    takt_lock_take(&s->lock);
    s->metrics.requests++;
    if (s->last != NULL)
        s->last->next = job;
    else
        s->first = job;
    s->last = job;
    s->queued++;
    takt_lock_give(&s->lock);
    call_engine(s);
}

/* Texts that are generated together send one piece each. Waking the other thread for each piece
 * would take a processor away from the model every time. */
void takt_serve_tell(takt_server *s)
{
    if (s->has_news)
        takt_net_wake(s->wake_to);
    s->has_news = false;
}

void takt_serve_send(takt_server *s, takt_job *job, const char *at, size_t length)
{
    takt_lock_take(&s->lock);
    if (!job->is_left)
        takt_text_put(&job->out, at, length);
    takt_lock_give(&s->lock);
    s->has_news = true;
}

/* Takes a job from the queue; false if it is not in it. Needs the lock. */
static bool remove_job(takt_server *s, const takt_job *job)
{
    takt_job *before = NULL, *at = s->first;
    while (at != NULL && at != job) {
        before = at;
        at = at->next;
    }
    if (at == NULL)
        return false;
    *(before != NULL ? &before->next : &s->first) = at->next;
    s->last = s->last == at ? before : s->last;
    s->queued--;
    return true;
}

void takt_serve_done(takt_server *s, takt_job *job)
{
    takt_lock_take(&s->lock);
    (void)remove_job(s, job); /* it may wait for choices that will never be taken */
    const bool is_left = job->is_left;
    job->is_done = true;
    s->running--;
    takt_serve_measure(&s->metrics.whole, (double)(takt_serve_now(s) - job->queued_ns) * 1e-9);
    takt_lock_give(&s->lock);
    if (is_left)
        takt_serve_job_free(job);
    s->has_news = true;
}

/* Same for a job that has not started. */
static bool unlink_job(takt_server *s, const takt_job *job)
{
    if (job->begun_ns != 0)
        return false;
    return job->kind == TAKT_JOB_WORDS ? takt_serve_words_remove(s, job) : remove_job(s, job);
}

void takt_serve_leave(takt_server *s, takt_job *job)
{
    takt_lock_take(&s->lock);
    const bool is_free = job->is_done || unlink_job(s, job);
    job->is_left = true;
    takt_lock_give(&s->lock);
    if (is_free)
        takt_serve_job_free(job);
}

void takt_serve_expire(takt_server *s)
{
    const uint64_t now = takt_serve_now(s), most = (uint64_t)s->options.wait_ms * 1000000;
    takt_lock_take(&s->lock);
    for (takt_job *job = s->first, *next; job != NULL; job = next) {
        next = job->next;
        if (now < job->queued_ns + most || !unlink_job(s, job))
            continue;
        s->metrics.refused++;
        takt_serve_error(&job->out, 503, job->keeps_alive, 0, "the request waited too long");
        job->is_done = true; /* its connection will collect the response */
    }
    takt_lock_give(&s->lock);
}

void takt_serve_engine(void *server)
{
    takt_server *s = server;
    for (;;) {
        const uint32_t seen = atomic_load(&s->calls);
        if (takt_serve_texts(s))
            continue;
        if (atomic_load(&s->is_over))
            return;
        takt_futex_wait(&s->futex, &s->calls, seen);
    }
}
