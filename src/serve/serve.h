/* serve.h - what a server consists of.
 *
 * Three threads. The caller's has all connections: it reads requests, checks them whole, answers
 * what needs no model, and refuses at once what cannot wait. The engine's thread has the models: it
 * takes jobs from a bounded queue and goes round the texts that are being written: a part of each
 * prompt, several in one run where that is faster, then one run that reads the last token of all
 * others.
 * A third thread tokenizes long texts that clients want the ids of. Threads meet in a job's `out`,
 * under one lock that is held briefly. The second to finish frees a job: the engine when it is
 * done, or the connection when it has gone.
 */
#ifndef TAKT_SERVE_SERVE_H
#define TAKT_SERVE_SERVE_H

#include <stdatomic.h>
#include <takt/chat.h>
#include <takt/serve.h>

#include "api/text/together.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/lock.h"
#include "os/futex.h"
#include "os/net.h"
#include "serve/http.h"
#include "text/calls.h"

enum {
    TAKT_SERVE_CHOICES = 8,
    TAKT_SERVE_STOPS = 16,
    TAKT_SERVE_MODELS = 16,
    TAKT_SERVE_BIASES = 64,
    TAKT_SERVE_JOINED = 64, /* requests that are computed together */
    TAKT_SERVE_BREAKERS = 64,
    TAKT_SERVE_SAMPLERS = 32,
    TAKT_SERVE_BUCKETS = 12,
    TAKT_SERVE_HEADER_MS = 10000,
    TAKT_SERVE_BODY_MS = 30000,
    TAKT_SERVE_IDLE_MS = 60000,
    TAKT_SERVE_DRAIN_MS = 2000,
    TAKT_SERVE_ACCEPT_MS = 100, /* until the next attempt, if there is no room for a connection */
};

typedef enum takt_job_kind {
    TAKT_JOB_CHAT,
    TAKT_JOB_TEXT,
    TAKT_JOB_EMBED,
    TAKT_JOB_INFER,
    TAKT_JOB_WORDS
} takt_job_kind;

/* One of `n` answers. */
typedef struct takt_choice {
    takt_text text, logs; /* logs: items of a JSON list */
    size_t log_count;
    takt_text_end end;
    const takt_calls *calls; /* of tools, in its text; NULL: there are none */
    size_t shown;            /* of a stream with tools: bytes of the text that are out */
} takt_choice;

typedef struct takt_job {
    struct takt_job *next; /* in the queue */
    takt_server *server;
    takt_job_kind kind;
    takt_arena arena;
    const takt_json *body;
    bool streams, wants_logs, tells_usage, keeps_alive, is_old;
    bool is_mute; /* max_tokens is 0: the prompt is read, nothing is written */
    int choices;
    size_t top;
    int32_t *ids;
    size_t id_count, worst; /* worst: tokens in the cache, at most */
    takt_generate_options options;
    const char *stops[TAKT_SERVE_STOPS];
    takt_token_bias bias[TAKT_SERVE_BIASES];
    takt_grammar *grammar;
    const takt_json *tools; /* of the body, checked; NULL: there are none */
    takt_call_format calls; /* how the response may call them */
    bool hides_tools;       /* tool_choice is none: the template sees none */
    size_t model;           /* INFER */
    takt_span words;        /* WORDS: the body */
    bool to_ids;            /* WORDS: it is to be tokenized */
    uint64_t number;
    int64_t created;
    uint64_t queued_ns, begun_ns, first_ns, last_ns;
    /* the engine's */
    int taken, finished;
    size_t tokens, cached; /* cached: of the prompt, that were not computed for the first choice */
    takt_choice choice[TAKT_SERVE_CHOICES];
    bool has_failed, has_begun; /* has_begun: the header of a stream is out */
    /* under the lock */
    takt_text out;
    bool is_done, is_left; /* is_left: the client is gone */
} takt_job;

typedef struct takt_slot {
    takt_generator *g;
    takt_generator *draft; /* proposes tokens for it, perhaps also for others; NULL: there is
                            * none */
    takt_job *job;         /* NULL: free */
    int choice;
    takt_writing w;
    uint64_t used; /* when it was taken last, by the server's count */
    bool is_lost;  /* it is not used any more */
} takt_slot;

typedef struct takt_conn {
    int socket; /* negative: free */
    char *in;   /* `room` bytes, and one for a terminator */
    size_t room, have, body, used;
    takt_http_request request;
    bool has_header, is_closing;
    bool is_new;      /* it has had no answer yet */
    bool is_refused;  /* before its body was read */
    bool is_draining; /* has its answer; what still comes is thrown away */
    bool is_half;     /* the client sends no more, and may wait for answers */
    bool has_begun;   /* the answer of the job */
    takt_text out;
    size_t sent;
    takt_job *job;
    uint64_t since_ns; /* when what it waits for began */
} takt_conn;

typedef struct takt_histogram {
    uint64_t bucket[TAKT_SERVE_BUCKETS + 1];
    double sum;
    uint64_t count;
} takt_histogram;

/* Pages of the pool of caches: of texts being written, only of texts that have ended, of neither;
 * of several texts. */
typedef struct takt_serve_pages {
    size_t used, kept, unused, shared;
    size_t texts; /* that have ended and are kept */
} takt_serve_pages;

typedef struct takt_serve_metrics {
    takt_histogram first, each, whole, queued; /* seconds */
    uint64_t prompt_tokens, cached_tokens, tokens, requests, refused;
    uint64_t joined;            /* requests that were computed with others */
    uint64_t drafted, accepted; /* tokens that were guessed, and that were right */
    takt_serve_pages pages;
} takt_serve_metrics;

typedef struct takt_served {
    char name[128];
    takt_model *model;
} takt_served;

/* What the thread that tokenizes long texts has (words.c). The list is under the server's lock. */
typedef struct takt_serve_aside {
    takt_ctx shadow;
    takt_job *first;
    size_t waiting;
    takt_futex futex;
    bool has_futex;
    _Atomic uint32_t calls; /* changes when there is work */
    void *thread;
} takt_serve_aside;

struct takt_server {
    takt_ctx *ctx;
    takt_ctx shadow; /* of the thread that handles connections, with its own errors */
    takt_server_options options;
    char name[128]; /* of the language model or the encoder */
    takt_chat *chat;
    takt_call_format call_format;    /* the format that its template uses */
    const takt_tokenizer *tokenizer; /* NULL: no language model */
    takt_embedder *embedder;
    bool has_writer; /* the model writes texts, even if it cannot be opened */
    takt_served models[TAKT_SERVE_MODELS];
    size_t model_count;
    takt_slot *slots;
    takt_generator **texts;         /* of the slots */
    int32_t *ids;                   /* the token each reads next, or -1 */
    takt_together_part *parts;      /* of their prompts */
    size_t slot_count, draft_count; /* draft_count: the first slots have their own draft */
    uint64_t slot_uses;
    takt_together together; /* texts NULL: they continue one by one */
    uint64_t weight_bytes, cache_bytes, arena_bytes;
    takt_kv *kv; /* of the first slot; NULL: every slot has a cache of its own */
    /* connections */
    int listener, port, wake_from, wake_to;
    takt_conn *conns;
    takt_net_watch *watch;
    size_t conn_count, conn_end; /* conn_end: all from there on are free */
    uint64_t job_numbers;
    uint64_t accept_ns; /* no connection is accepted before that */
    _Atomic bool is_stopping;
    /* the queue and shared counters, protected by the lock */
    takt_lock lock;
    takt_job *first, *last;
    size_t queued, running; /* running: taken from the queue and not done */
    takt_serve_metrics metrics;
    /* the engine's thread */
    void *thread;
    takt_futex futex;
    bool has_futex;
    _Atomic uint32_t calls; /* changes when there is work */
    bool has_news;          /* for the thread of connections */
    takt_serve_aside words;
    _Atomic bool is_over;
};

/* ---- replies ---- */

/* A whole reply: header and body. */
void takt_serve_reply(takt_text *out, int status, bool keeps_alive, const char *type,
                      takt_span body);
/* {"error": ...}; 503 says when to try again. */
void takt_serve_error(takt_text *out, int status, bool keeps_alive, int id, const char *message);
/* 405 with the methods that the path takes, as "GET, HEAD". */
void takt_serve_wrong_method(takt_conn *c, const char *allowed);
/* The status for a class of failure: 400, 503 or 500. */
int takt_serve_status(takt_status status);
void takt_json_spans(takt_json_writer *w, takt_span text); /* a string of any bytes */

/* ---- the thread of connections ---- */

/* Answers a complete request into `c->out`, or creates `c->job`. */
void takt_serve_route(takt_server *s, takt_conn *c);
/* Whether the request is admitted; otherwise the reply is written. */
bool takt_serve_allowed(takt_server *s, takt_conn *c);
/* A job from a body; NULL: the reply is written. */
takt_job *takt_serve_request(takt_server *s, takt_conn *c, takt_job_kind kind, takt_span body);
/* The ids of a text, in the arena. */
TAKT_MUST_USE takt_status takt_serve_ids(takt_server *s, takt_arena *arena, takt_span text,
                                         unsigned flags, takt_token_ids *ids);
void takt_serve_health(takt_server *s, takt_text *out, bool keeps_alive);
void takt_serve_metrics_page(takt_server *s, takt_text *out, bool keeps_alive);
/* Whether one more job can wait; otherwise the reply, 503, is written. It is asked before the body
 * is read: under overload nothing is parsed for a request that cannot be accepted. */
bool takt_serve_has_room(takt_server *s, takt_conn *c);
void takt_serve_enqueue(takt_server *s, takt_job *job); /* needs room */
/* The connection has gone: the job is freed, or left to the engine. */
void takt_serve_leave(takt_server *s, takt_job *job);
/* Requests that waited too long are refused. */
void takt_serve_expire(takt_server *s);
void takt_serve_job_free(takt_job *job);
TAKT_MUST_USE takt_status takt_serve_loop(takt_server *s);

/* Answers /tokenize or /detokenize into `c->out`, or creates `c->job` if the body is long. */
void takt_serve_words(takt_server *s, takt_conn *c, takt_span body, bool to_ids);
/* Takes a job from the list of those; false if it is not in it. Needs the lock. */
bool takt_serve_words_remove(takt_server *s, const takt_job *job);

/* ---- the thread that tokenizes ---- */

void takt_serve_words_run(void *server);
void takt_serve_words_call(takt_server *s); /* there is work, or it is over */

/* ---- the engine's thread ---- */

void takt_serve_engine(void *server);
/* Takes jobs into free slots and makes one step of each; false: there was nothing to do. */
bool takt_serve_texts(takt_server *s);
/* A free slot for a job, and the part of the prompt that it or another slot has read (prefix.c). */
takt_slot *takt_serve_slot(takt_server *s, const takt_job *job);
TAKT_MUST_USE takt_status takt_serve_begin_prompt(takt_server *s, takt_slot *slot);

/* ---- the pool of caches (pool.c) ---- */

/* Tokens that one text can have. */
size_t takt_serve_text_limit(const takt_server *s);
/* Whether the first text of the job, or its next choice, can begin now. */
bool takt_serve_fits(const takt_server *s, const takt_job *job);
/* The slot's text has ended. */
void takt_serve_release(takt_server *s, takt_slot *slot);
void takt_serve_count_blocks(takt_server *s);

/* How models that write texts are opened: activations are int8 unless the user says otherwise. */
takt_generator_options takt_serve_writer(const takt_server *s);

/* ---- guesses (guess.c) ---- */

bool takt_serve_guesses(const takt_server *s);
/* Before the model is opened: whether the draft, if there is to be one, has its tokens. */
TAKT_MUST_USE takt_status takt_serve_check_draft(takt_server *s, const char *model);
/* Drafts for the slots, which all exist, and the plans that read guesses. */
TAKT_MUST_USE takt_status takt_serve_open_guesses(takt_server *s);
/* Texts of `prompt_cache`: read into slots or the pool, and written from there. */
TAKT_MUST_USE takt_status takt_serve_read_kept(takt_server *s);
TAKT_MUST_USE takt_status takt_serve_write_kept(takt_server *s);
/* How a slot guesses. */
void takt_serve_guess(const takt_server *s, const takt_slot *slot, takt_generate_options *options);
/* Texts whose next token was guessed have read it; returns how many others still have to. */
size_t takt_serve_accept(takt_server *s);
/* While texts are generated, one run reads prompts: that of the slot which came first, and others
 * that can join it. So the time between two tokens is at most that of one part of a prompt. NULL:
 * all prompts may be read. */
const takt_slot *takt_serve_reader(const takt_server *s);
/* Before a part of a prompt is read: takes over the tokens that another slot has read meanwhile.
 * `*waits`: another slot is about to read the same. */
TAKT_MUST_USE takt_status takt_serve_waits(takt_server *s, takt_slot *slot, bool *waits);
/* A piece of choice `index`; without one, its end. index < 0: the usage. */
void takt_serve_piece(takt_job *job, int index, const takt_span *piece);
void takt_serve_end_stream(takt_job *job);
void takt_serve_whole(takt_job *job);
/* The tool of a name; NULL: the request has none. */
const takt_json *takt_serve_tool(const takt_job *job, takt_span name);
/* Calls of tools in a text that is complete (calls.c). */
TAKT_MUST_USE takt_status takt_serve_find_calls(takt_job *job, int index);
void takt_serve_put_calls(takt_json_writer *w, const takt_job *job, int index);
/* Sends the part of a stream with tools that is certainly not a call; `is_all`: the text is
 * complete.
 */
void takt_serve_show(takt_job *job, int index, bool is_all);
/* The context's last error, once a job. */
void takt_serve_failure(takt_job *job, takt_status status);
/* EMBED: the reply into `out`. */
void takt_serve_embed(takt_server *s, takt_job *job, takt_text *out);
/* INFER: answers jobs for one model, together if they can be (infer_join.c). */
void takt_serve_infer(takt_server *s, takt_job *const *jobs, size_t count);
/* The first job, and others of the queue for the same model; `jobs` has room for
 * TAKT_SERVE_JOINED. */
size_t takt_serve_gather(takt_server *s, takt_job *first, takt_job **jobs);
/* Whether the first of the queue still waits for others. */
bool takt_serve_delays(takt_server *s);
/* The client no longer waits for the reply. */
bool takt_serve_is_left(takt_server *s, const takt_job *job);
/* Tells the thread of connections, once for all that was sent. */
void takt_serve_tell(takt_server *s);
/* The job's reply is complete. */
void takt_serve_done(takt_server *s, takt_job *job);
/* Adds to the output of the next takt_serve_tell. */
void takt_serve_send(takt_server *s, takt_job *job, const char *at, size_t length);
void takt_serve_measure(takt_histogram *h, double seconds);
uint64_t takt_serve_now(const takt_server *s);

#endif
