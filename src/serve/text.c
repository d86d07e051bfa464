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

static void fail(takt_server *s, takt_slot *slot, takt_status status)
{
    takt_serve_failure(slot->job, status);
    slot->w.is_over = true;
    finish(s, slot);
}

/* Reads a part of the prompt, or leaves that to read_parts; or writes a token. */
static takt_status go_on(takt_server *s, takt_slot *slot, const takt_slot *reader)
{
    const size_t i = (size_t)(slot - s->slots);
    takt_together_part *part = &s->parts[i];
    const bool is_prompt = slot->w.prompt_read < slot->w.prompt_count;
    bool waits;
    TAKT_TRY(takt_serve_waits(s, slot, &waits));
    if (waits)
        return TAKT_OK;
    if (s->together.texts != NULL && takt_writing_part(&slot->w, &part->ids, &part->count))
        return TAKT_OK;
    part->count = 0;
    waits = is_prompt && reader != NULL && slot != reader;
    return waits ? TAKT_OK : takt_writing_half(&slot->w, &s->ids[i]);
}

/* The slot's next step: the part of its prompt, or the next token to read, if any. */
static void step(takt_server *s, takt_slot *slot, const takt_slot *reader)
{
    takt_job *job = slot->job;
    const size_t tokens = slot->w.result.tokens;
    if (takt_serve_is_left(s, job) || job->has_failed) {
        slot->w.is_over = true;
        job->has_failed = true; /* the client is gone: nothing more is sent */
    }
    if (job->is_mute && slot->w.prompt_read == slot->w.prompt_count)
        slot->w.is_over = true;
    const takt_status status = slot->w.is_over ? TAKT_OK : go_on(s, slot, reader);
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

/* Parts of prompts, of several texts in one run where that is faster. */
static void read_parts(takt_server *s, const takt_slot *reader)
{
    if (s->together.texts == NULL)
        return;
    takt_together_read_parts(&s->together, s->parts,
                             reader != NULL ? (size_t)(reader - s->slots) : s->slot_count);
    for (size_t i = 0; i < s->slot_count; i++) {
        const takt_together_part *part = &s->parts[i];
        takt_slot *slot = &s->slots[i];
        if (!part->is_done || slot->job == NULL)
            continue;
        takt_writing_took(&slot->w, part->count, part->ns);
        if (part->status != TAKT_OK)
            fail(s, slot, part->status);
    }
}

/* Each text reads its last token: all in one batched run, or one by one, with guesses if there are
 * any. */
static void read_all(takt_server *s)
{
    const bool at_once = takt_serve_accept(s) > 1 && s->together.texts != NULL;
    const uint64_t begin = takt_serve_now(s);
    const takt_status all = at_once ? takt_together_read(&s->together, s->ids) : TAKT_OK;
    const double ns = (double)(takt_serve_now(s) - begin);
    for (size_t i = 0; i < s->slot_count; i++) {
        takt_slot *slot = &s->slots[i];
        if (s->ids[i] < 0)
            continue;
        const takt_status status = at_once ? all : takt_writing_read(&slot->w, s->ids[i]);
        if (s->parts[i].is_next)
            takt_writing_took(&slot->w, 1, ns);
        if (status != TAKT_OK)
            fail(s, slot, status);
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
        s->parts[i] = (takt_together_part){.count = 0};
        if (s->slots[i].job == NULL)
            continue;
        step(s, &s->slots[i], reader);
        worked = true;
    }
    takt_serve_tell(s);
    if (s->together.texts != NULL)
        takt_together_join_next(&s->together, s->parts, s->ids);
    read_parts(s, reader);
    read_all(s);
    takt_serve_tell(s);
    if (delays && !worked)
        takt_os_sleep_until(takt_os_now_ns(NULL) + NAP_NS);
    return worked || delays;
}
