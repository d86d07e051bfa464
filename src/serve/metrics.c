/* metrics.c - server status: /metrics and /health. */
#include <string.h>

#include "base/ctx.h"
#include "serve/serve.h"

/* Upper bounds in seconds; the last bucket is unbounded. */
static const double ends[TAKT_SERVE_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                0.1,   0.25,   0.5,   1,    5,     30};

uint64_t takt_serve_now(const takt_server *s)
{
    return s->ctx->now_ns(s->ctx->clock_user);
}

void takt_serve_measure(takt_histogram *h, double seconds)
{
    size_t i = 0;
    while (i < TAKT_SERVE_BUCKETS && seconds > ends[i])
        i++;
    h->bucket[i]++;
    h->sum += seconds;
    h->count++;
}

static void put_histogram(takt_text *t, const char *name, const char *help, const takt_histogram *h)
{
    uint64_t sum = 0;
    takt_text_add(t, "# HELP takt:%s %s\n# TYPE takt:%s histogram\n", name, help, name);
    for (size_t i = 0; i <= TAKT_SERVE_BUCKETS; i++) {
        sum += h->bucket[i];
        takt_text_add(t, "takt:%s_bucket{le=\"", name);
        if (i < TAKT_SERVE_BUCKETS)
            takt_text_double(t, ends[i]);
        else
            takt_text_add(t, "+Inf");
        takt_text_add(t, "\"} %llu\n", (unsigned long long)sum);
    }
    takt_text_add(t, "takt:%s_sum ", name);
    takt_text_double(t, h->sum);
    takt_text_add(t, "\ntakt:%s_count %llu\n", name, (unsigned long long)h->count);
}

static void put_value(takt_text *t, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    takt_text_add(t, "# HELP takt:%s %s\n# TYPE takt:%s %s\ntakt:%s %llu\n", name, help, name, type,
                  name, (unsigned long long)value);
}

static void put_pages(takt_text *t, const takt_server *s, const takt_serve_pages *p)
{
    if (s->kv == NULL)
        return;
    put_value(t, "kv_page_tokens", "gauge", "tokens that a page of the pool holds",
              s->kv->layout.tokens);
    put_value(t, "kv_pages_used", "gauge", "pages of texts that are being written", p->used);
    put_value(t, "kv_pages_cached", "gauge", "pages of texts that have ended", p->kept);
    put_value(t, "kv_pages_free", "gauge", "pages without tokens", p->unused);
    put_value(t, "kv_pages_shared", "gauge", "pages of several texts", p->shared);
    put_value(t, "kv_texts_cached", "gauge", "texts that have ended and are kept", p->texts);
}

void takt_serve_metrics_page(takt_server *s, takt_text *out, bool keeps_alive)
{
    takt_text t;
    takt_text_init(&t, &s->shadow);
    takt_lock_take(&s->lock);
    const takt_serve_metrics m = s->metrics;
    const size_t running = s->running, queued = s->queued;
    takt_lock_give(&s->lock);
    put_histogram(&t, "time_to_first_token_seconds", "from the request to its first token",
                  &m.first);
    put_histogram(&t, "time_per_output_token_seconds", "from one token to the next", &m.each);
    put_histogram(&t, "request_duration_seconds", "from the request to its end", &m.whole);
    put_histogram(&t, "queue_time_seconds", "from the request to its begin", &m.queued);
    put_value(&t, "requests_running", "gauge", "requests that are being answered", running);
    put_value(&t, "requests_queued", "gauge", "requests that wait", queued);
    put_value(&t, "kv_cache_bytes", "gauge", "memory of all caches, fixed at the start",
              s->cache_bytes);
    put_value(&t, "arena_bytes", "gauge", "memory for activations, fixed at the start",
              s->arena_bytes);
    put_pages(&t, s, &m.pages);
    put_value(&t, "weight_bytes", "gauge", "memory of the weights", s->weight_bytes);
    put_value(&t, "memory_bytes", "gauge", "memory of the context now",
              atomic_load_explicit(&s->ctx->live_bytes, memory_order_relaxed));
    put_value(&t, "prompt_tokens_total", "counter", "tokens of prompts", m.prompt_tokens);
    put_value(&t, "prompt_tokens_cached_total", "counter",
              "tokens of prompts that were not computed again", m.cached_tokens);
    put_value(&t, "generation_tokens_total", "counter", "tokens that were written", m.tokens);
    put_value(&t, "draft_tokens_total", "counter", "tokens that were guessed", m.drafted);
    put_value(&t, "draft_tokens_accepted_total", "counter", "guesses that were right", m.accepted);
    put_value(&t, "infer_requests_joined_total", "counter", "requests computed with others",
              m.joined);
    put_value(&t, "requests_total", "counter", "requests for a model", m.requests);
    put_value(&t, "requests_refused_total", "counter", "refused because too many wait", m.refused);
    takt_serve_reply(out, 200, keeps_alive, "text/plain; version=0.0.4",
                     (takt_span){takt_text_get(&t), t.length});
    takt_text_deinit(&t);
}

void takt_serve_health(takt_server *s, takt_text *out, bool keeps_alive)
{
    takt_text body;
    takt_json_writer w;
    takt_text_init(&body, &s->shadow);
    takt_json_begin(&w, &body, false);
    takt_json_open(&w, '{');
    const bool is_stopping = atomic_load_explicit(&s->is_stopping, memory_order_relaxed);
    takt_json_put_string(&w, "status", is_stopping ? "stopping" : "ok");
    takt_json_put_string(&w, "device", "cpu");
    takt_json_key(&w, "model");
    takt_json_spans(&w, takt_span_of(s->name));
    takt_json_put_unsigned(&w, "parallel", s->slot_count);
    if (s->slot_count > 0)
        takt_json_put_integer(&w, "context", s->slots[0].g->context);
    takt_json_put_unsigned(&w, "weight_bytes", s->weight_bytes);
    takt_json_put_unsigned(&w, "kv_cache_bytes", s->cache_bytes);
    takt_json_put_unsigned(&w, "arena_bytes", s->arena_bytes);
    takt_json_put_unsigned(&w, "memory_bytes",
                           atomic_load_explicit(&s->ctx->live_bytes, memory_order_relaxed));
    takt_lock_take(&s->lock);
    const size_t running = s->running, queued = s->queued;
    const takt_serve_pages pages = s->metrics.pages;
    takt_lock_give(&s->lock);
    if (s->kv != NULL) {
        takt_json_put_unsigned(&w, "kv_page_tokens", s->kv->layout.tokens);
        takt_json_put_unsigned(&w, "kv_pages_used", pages.used);
        takt_json_put_unsigned(&w, "kv_pages_cached", pages.kept);
        takt_json_put_unsigned(&w, "kv_pages_free", pages.unused);
        takt_json_put_unsigned(&w, "kv_pages_shared", pages.shared);
    }
    takt_json_put_unsigned(&w, "running", running);
    takt_json_put_unsigned(&w, "queued", queued);
    takt_json_close(&w, '}');
    takt_serve_reply(out, is_stopping ? 503 : 200, keeps_alive, "application/json",
                     (takt_span){takt_text_get(&body), body.length});
    takt_text_deinit(&body);
}
