/* text.c - concurrent text generation: slots and steps. */
#include <string.h>

#include "os/os.h"
#include "serve/serve.h"

/* Interval at which the queue is checked while a request waits for others. */
enum { NAP_NS = 200000 };

/* ---- output during generation ---- */

static int on_text(void *user, const char *text, size_t length)
{
    takt_slot *slot = user;
    takt_job *job = slot->job;
    const takt_span piece = {text, length};
    const bool may_call = job->calls != TAKT_CALLS_NONE;
    if (!job->streams || may_call)
        takt_text_put(&job->choice[slot->choice].text, text, length);
    if (job->streams && may_call)
        takt_serve_show(job, slot->choice, false);
    else if (job->streams)
        takt_serve_piece(job, slot->choice, &piece);
    return 0;
}

static void put_token(takt_json_writer *w, const takt_job *job, const takt_token_log *t)
{
    char piece[512];
    takt_token_text text = {piece, sizeof piece, 0};
    const int32_t id = t->id;
    if (takt_detokenize(job->server->tokenizer, &id, 1,
                        TAKT_DETOKENIZE_CONTINUE | TAKT_DETOKENIZE_CONTROL, &text) != TAKT_OK)
        text.length = 0;
    takt_json_key(w, "token");
    takt_json_spans(w, (takt_span){piece, text.length < sizeof piece ? text.length : sizeof piece});
    takt_json_put_number(w, "logprob", t->log);
    takt_json_put_integer(w, "id", id);
}

static void on_token(void *user, const takt_writing *written)
{
    takt_slot *slot = user;
    takt_job *job = slot->job;
    takt_choice *c = &job->choice[slot->choice];
    takt_json_writer w;
    if (c->log_count++ > 0)
        takt_text_put(&c->logs, ", ", 2);
    takt_json_begin(&w, &c->logs, false);
    takt_json_open(&w, '{');
    put_token(&w, job, &written->chosen);
    takt_json_put_open(&w, "top_logprobs", '[');
    for (size_t i = 0; i < written->top_count; i++) {
        takt_json_open(&w, '{');
        put_token(&w, job, &written->top[i]);
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
}

/* ---- slots ---- */

static void begin(takt_server *s, takt_slot *slot, takt_job *job)
{
    takt_generate_options options = job->options;
    slot->job = job;
    slot->choice = job->taken++;
    options.size = sizeof options;
    options.sampling.size = sizeof options.sampling;
    options.sampling.sequence = (uint32_t)slot->choice;
    takt_serve_guess(s, slot, &options);
    takt_status status = takt_writing_begin(&slot->w, slot->g, &options, on_text, slot);
    if (status == TAKT_OK)
        status = takt_serve_begin_prompt(s, slot);
    takt_serve_count_blocks(s);
    if (job->wants_logs) {
        slot->w.on_token = on_token;
        slot->w.top_count = job->top;
    }
    if (status != TAKT_OK) {
        takt_serve_failure(job, status);
        slot->w.is_over = true;
    }
    if (job->streams && job->kind == TAKT_JOB_CHAT && !job->has_failed)
        takt_serve_piece(job, slot->choice, &(takt_span){"", 0});
    takt_lock_take(&s->lock);
    s->metrics.prompt_tokens += job->id_count;
    takt_lock_give(&s->lock);
}

/* The end of a text, and the calls in it. */
static void complete(takt_slot *slot)
{
    takt_job *job = slot->job;
    takt_writing_finish(&slot->w);
    if (job->calls == TAKT_CALLS_NONE)
        return;
    const takt_status status = takt_serve_find_calls(job, slot->choice);
    if (status != TAKT_OK)
        takt_serve_failure(job, status);
    else if (job->streams)
        takt_serve_show(job, slot->choice, true);
}

static void finish(takt_server *s, takt_slot *slot)
{
    takt_job *job = slot->job;
    if (!job->has_failed)
        complete(slot);
    job->choice[slot->choice].end = slot->w.result.end;
    job->tokens += slot->w.result.tokens;
    takt_lock_take(&s->lock);
    s->metrics.cached_tokens += slot->w.result.cached_tokens;
    s->metrics.drafted += slot->w.result.drafted;
    s->metrics.accepted += slot->w.result.accepted;
    takt_lock_give(&s->lock);
    takt_writing_end(&slot->w);
    takt_serve_release(s, slot);
    slot->job = NULL;
    if (job->streams && !job->has_failed)
        takt_serve_piece(job, slot->choice, NULL);
    if (++job->finished < job->taken || (job->taken < job->choices && !job->has_failed))
        return;
    if (job->streams)
        takt_serve_end_stream(job);
    else if (!job->has_failed)
        takt_serve_whole(job);
    takt_serve_done(s, job);
}

bool takt_serve_is_left(takt_server *s, const takt_job *job)
{
    takt_lock_take(&s->lock);
    const bool left = job->is_left;
    takt_lock_give(&s->lock);
    return left;
}

static void count_token(takt_server *s, takt_job *job)
{
    const uint64_t now = takt_serve_now(s);
    takt_lock_take(&s->lock);
    s->metrics.tokens++;
    if (job->first_ns == 0)
        takt_serve_measure(&s->metrics.first, (double)(now - job->queued_ns) * 1e-9);
    else
        takt_serve_measure(&s->metrics.each, (double)(now - job->last_ns) * 1e-9);
    takt_lock_give(&s->lock);
    job->first_ns = job->first_ns != 0 ? job->first_ns : now;
    job->last_ns = now;
}

/* `*id`: the next token for the text to read, or -1. */
static void step(takt_server *s, takt_slot *slot, const takt_slot *reader, int32_t *id)
{
    takt_job *job = slot->job;
    *id = -1;
    const size_t tokens = slot->w.result.tokens;
    if (takt_serve_is_left(s, job) || job->has_failed) {
        slot->w.is_over = true;
        job->has_failed = true; /* the client is gone: nothing more is sent */
    }
    if (job->is_mute && slot->w.prompt_read == slot->w.prompt_count)
        slot->w.is_over = true;
    bool waits = true;
    takt_status status = slot->w.is_over ? TAKT_OK : takt_serve_waits(s, slot, reader, &waits);
    if (status == TAKT_OK && !waits)
        status = takt_writing_half(&slot->w, id);
    if (status != TAKT_OK) {
        takt_serve_failure(job, status);
        slot->w.is_over = true;
    }
    if (slot->choice == 0)
        job->cached = slot->w.result.cached_tokens;
    if (slot->w.result.tokens > tokens)
        count_token(s, job);
    if (slot->w.is_over)
        finish(s, slot);
}

/* Each text reads its last token: all in one batched run, or one by one, with guesses if there are
 * any. */
static void read_all(takt_server *s)
{
    const bool at_once = takt_serve_accept(s) > 1 && s->together.texts != NULL;
    const takt_status all = at_once ? takt_together_read(&s->together, s->ids) : TAKT_OK;
    for (size_t i = 0; i < s->slot_count; i++) {
        takt_slot *slot = &s->slots[i];
        if (s->ids[i] < 0)
            continue;
        const takt_status status = at_once ? all : takt_writing_read(&slot->w, s->ids[i]);
        if (status != TAKT_OK) {
            takt_serve_failure(slot->job, status);
            slot->w.is_over = true;
            finish(s, slot);
        }
    }
}

/* The first in the queue, which stays there until all its choices are taken; NULL: there is none,
 * or it does not fit now. */
static takt_job *next_job(takt_server *s)
{
    takt_lock_take(&s->lock);
    takt_job *job = s->first;
    if (job != NULL && !takt_serve_fits(s, job))
        job = NULL; /* until a text ends */
    if (job != NULL && job->begun_ns == 0) {
        s->running++;
        job->begun_ns = takt_serve_now(s);
        takt_serve_measure(&s->metrics.queued, (double)(job->begun_ns - job->queued_ns) * 1e-9);
    }
    if (job != NULL && (job->taken + 1 >= job->choices || job->has_failed || job->is_left)) {
        s->first = job->next;
        s->last = s->first != NULL ? s->last : NULL;
        s->queued--;
    }
    takt_lock_give(&s->lock);
    return job;
}

static bool run_other(takt_server *s, takt_job *job)
{
    takt_job *jobs[TAKT_SERVE_JOINED];
    takt_text reply;
    if (job->kind == TAKT_JOB_INFER) {
        takt_serve_infer(s, jobs, takt_serve_gather(s, job, jobs));
        return true;
    }
    if (job->kind != TAKT_JOB_EMBED)
        return false;
    takt_text_init(&reply, s->ctx);
    takt_serve_embed(s, job, &reply);
    takt_serve_send(s, job, takt_text_get(&reply), reply.length);
    takt_text_deinit(&reply);
    job->taken = 1;
    takt_serve_done(s, job);
    return true;
}

bool takt_serve_texts(takt_server *s)
{
    bool worked = false;
    const bool delays = takt_serve_delays(s);
    while (!delays && (s->slot_count == 0 || takt_serve_slot(s, NULL) != NULL)) {
        takt_job *job = next_job(s);
        if (job == NULL)
            break;
        worked = true;
        if (run_other(s, job))
            break; /* texts being generated come first */
        begin(s, takt_serve_slot(s, job), job);
    }
    const takt_slot *reader = takt_serve_reader(s);
    for (size_t i = 0; i < s->slot_count; i++) {
        s->ids[i] = -1;
        if (s->slots[i].job == NULL)
            continue;
        step(s, &s->slots[i], reader, &s->ids[i]);
        worked = true;
    }
    read_all(s);
    if (delays && !worked)
        takt_os_sleep_until(takt_os_now_ns(NULL) + NAP_NS);
    return worked || delays;
}
