/* eager.c - one operation at a time: sessions of one-op models, cached by op, types and
 * attributes. */
#include "api/eager.h"

#include <stdio.h>
#include <string.h>

#include "api/cache.h"
#include "api/model.h"
#include "api/session/session.h"
#include "base/hash.h"
#include "base/mem.h"

enum { KEPT = 64, MOST_VIEWS = 64, EQUATION = 512 };

typedef struct entry {
    unsigned char *key;
    size_t key_bytes;
    uint64_t hash, used;
    takt_session *session;
    bool is_busy;
} entry;

struct takt_eager {
    entry at[KEPT];
    size_t count;
    uint64_t clock;
};

/* ---- keys ---- */

/* Hashes a key piece by piece, and writes it or compares it with another, without allocating. */
typedef struct keyer {
    unsigned char *to;         /* or NULL */
    const unsigned char *with; /* or NULL */
    size_t limit, length;      /* of `with` */
    uint64_t hash;
    bool differs;
} keyer;

static void piece(keyer *k, const void *bytes, size_t length)
{
    if (k->to != NULL)
        memcpy(k->to + k->length, bytes, length);
    if (k->with != NULL)
        k->differs = k->differs || k->length + length > k->limit ||
                     memcmp(k->with + k->length, bytes, length) != 0;
    else
        k->hash = takt_hash_bytes(k->hash, bytes, length);
    k->length += length;
}

static void key_views(keyer *k, const takt_tensor_view *views, size_t count)
{
    piece(k, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        const int facts[2] = {(int)views[i].dtype, views[i].rank};
        piece(k, facts, sizeof facts);
        piece(k, views[i].dims, (size_t)views[i].rank * sizeof *views[i].dims);
    }
}

static void key_call(keyer *k, const takt_op_call *c)
{
    const char *attributes = c->attributes != NULL ? c->attributes : "";
    piece(k, c->name, strlen(c->name) + 1);
    piece(k, attributes, strlen(attributes) + 1);
    key_views(k, c->in, c->in_count);
    key_views(k, c->out, c->out_count);
}

static bool is_key(const entry *e, uint64_t hash, const takt_op_call *c)
{
    keyer k = {.with = e->key, .limit = e->key_bytes};
    if (e->hash != hash)
        return false;
    key_call(&k, c);
    return !k.differs && k.length == e->key_bytes;
}

/* ---- table ---- */

static void drop(takt_ctx *ctx, entry *e)
{
    takt_session_destroy(e->session);
    takt_mem_put(ctx, e->key, e->key_bytes);
}

/* A session that is not running, now marked busy; NULL if there is none. */
static takt_session *take(takt_ctx *ctx, uint64_t hash, const takt_op_call *c)
{
    takt_session *found = NULL;
    takt_cache_lock(ctx);
    takt_eager *t = *takt_cache_eager(ctx);
    for (size_t i = 0; t != NULL && found == NULL && i < t->count; i++)
        if (!t->at[i].is_busy && is_key(&t->at[i], hash, c)) {
            t->at[i].is_busy = true;
            t->at[i].used = ++t->clock;
            found = t->at[i].session;
        }
    takt_cache_unlock(ctx);
    return found;
}

static void give_back(takt_ctx *ctx, const takt_session *s)
{
    takt_cache_lock(ctx);
    takt_eager *t = *takt_cache_eager(ctx);
    for (size_t i = 0; i < t->count; i++)
        if (t->at[i].session == s)
            t->at[i].is_busy = false;
    takt_cache_unlock(ctx);
}

/* Removes the least recently used session that is not running. */
static bool take_oldest(takt_eager *t, entry *taken)
{
    size_t oldest = t->count;
    for (size_t i = 0; i < t->count; i++)
        if (!t->at[i].is_busy && (oldest == t->count || t->at[i].used < t->at[oldest].used))
            oldest = i;
    if (oldest == t->count)
        return false;
    *taken = t->at[oldest];
    t->at[oldest] = t->at[--t->count];
    return true;
}

static takt_status begin(takt_ctx *ctx)
{
    void *block;
    TAKT_TRY(takt_cache_begin(ctx));
    takt_cache_lock(ctx);
    const bool is_there = *takt_cache_eager(ctx) != NULL;
    takt_cache_unlock(ctx);
    if (is_there)
        return TAKT_OK;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_eager), "one-op runs", &block));
    takt_cache_lock(ctx);
    if (*takt_cache_eager(ctx) == NULL) {
        *takt_cache_eager(ctx) = block;
        block = NULL;
    }
    takt_cache_unlock(ctx);
    takt_mem_put(ctx, block, sizeof(takt_eager));
    return TAKT_OK;
}

/* Keeps a busy session; false if all places are busy. */
static bool keep(takt_ctx *ctx, const entry *made)
{
    entry old = {.key = NULL};
    bool has_old = false;
    takt_cache_lock(ctx);
    takt_eager *t = *takt_cache_eager(ctx);
    if (t->count == KEPT)
        has_old = take_oldest(t, &old);
    const bool is_kept = t->count < KEPT;
    if (is_kept) {
        t->at[t->count] = *made;
        t->at[t->count++].used = ++t->clock;
    }
    takt_cache_unlock(ctx);
    if (has_old)
        drop(ctx, &old);
    return is_kept;
}

void takt_eager_trim(takt_ctx *ctx)
{
    entry old;
    for (bool found = true; found;) {
        takt_cache_lock(ctx);
        takt_eager *t = *takt_cache_eager(ctx);
        found = t != NULL && take_oldest(t, &old);
        takt_cache_unlock(ctx);
        if (found)
            drop(ctx, &old);
    }
}

void takt_eager_destroy(takt_ctx *ctx)
{
    takt_eager_trim(ctx);
    takt_mem_put(ctx, *takt_cache_eager(ctx), sizeof(takt_eager));
    *takt_cache_eager(ctx) = NULL;
}

/* ---- making ---- */

static takt_status make_session(takt_ctx *ctx, const takt_op_call *c, takt_session **session)
{
    const takt_plan_options options = {.threads = 1};
    takt_model *model = NULL;
    takt_plan *plan = NULL;
    takt_text text;
    takt_text_init(&text, ctx);
    takt_status status = takt_eager_text(ctx, c, &text);
    if (status == TAKT_OK)
        status =
            takt_model_load_memory(ctx, c->name, takt_text_get(&text), text.length, NULL, &model);
    if (status == TAKT_OK)
        status = takt_plan_create(model, &options, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, session);
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    takt_text_deinit(&text);
    return status;
}

static takt_status make(takt_ctx *ctx, const takt_op_call *c, uint64_t hash, size_t key_bytes,
                        entry *e)
{
    void *key;
    *e = (entry){.key_bytes = key_bytes, .hash = hash, .is_busy = true};
    TAKT_TRY(takt_mem_get(ctx, key_bytes, "one-op run", &key));
    e->key = key;
    keyer k = {.to = key};
    key_call(&k, c);
    const takt_status status = make_session(ctx, c, &e->session);
    if (status != TAKT_OK)
        takt_mem_put(ctx, key, key_bytes);
    return status;
}

/* ---- running ---- */

/* The bytes that a view may touch. */
static void extent(const takt_tensor_view *v, uintptr_t *low, uintptr_t *high)
{
    const int64_t bits = takt_dtype_bits(v->dtype);
    int64_t below = 0, above = 0, count = 1, dense = 0;
    for (int d = 0; d < v->rank; d++) {
        const int64_t reach = (v->dims[d] - 1) * v->strides[d];
        *(reach < 0 ? &below : &above) += reach;
        count *= v->dims[d];
        dense |= v->strides[d];
    }
    above = dense == 0 ? count - 1 : above;
    *low = (uintptr_t)v->data + (uintptr_t)(below * bits / 8);
    *high = count == 0 ? *low : (uintptr_t)v->data + (uintptr_t)(((above + 1) * bits + 7) / 8);
}

/* An element-wise step may overwrite its input; any other gets a copy of it, and so do several
 * steps, whose values may lie in the output before it is written. */
static bool needs_copy(const takt_op_call *c, const takt_op *op, const takt_session *s, size_t i)
{
    uintptr_t low, high, from, to;
    extent(&c->in[i], &low, &high);
    for (size_t k = 0; k < c->out_count; k++) {
        extent(&c->out[k], &from, &to);
        if (low >= to || from >= high)
            continue;
        const bool is_same = (op->traits & TAKT_ELEMENTWISE) != 0 && s->plan->step_count == 1 &&
                             low == from && high == to && c->in[i].dtype == c->out[k].dtype &&
                             takt_view_is_dense(&c->in[i]) && takt_view_is_dense(&c->out[k]);
        if (!is_same)
            return true;
    }
    return false;
}

static takt_status run(const takt_op_call *c, const takt_op *op, takt_session *s)
{
    char name[32];
    for (size_t i = 0; i < c->in_count; i++) {
        snprintf(name, sizeof name, "x%zu", i);
        TAKT_TRY(takt_session_bind(s, name, &c->in[i]));
        if (needs_copy(c, op, s, i))
            TAKT_TRY(takt_session_copy_of(s, i, &c->in[i]));
    }
    for (size_t i = 0; i < c->out_count; i++) {
        snprintf(name, sizeof name, "y%zu", i);
        TAKT_TRY(takt_session_bind(s, name, &c->out[i]));
    }
    return takt_session_run(s);
}

static takt_status check(takt_ctx *ctx, const takt_op_call *c)
{
    if (c->name == NULL || (c->in == NULL && c->in_count > 0) || c->out == NULL ||
        c->out_count == 0 || c->in_count > MOST_VIEWS || c->out_count > MOST_VIEWS)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_op_run: a name, inputs and outputs, please");
    for (size_t i = 0; i < c->in_count + c->out_count; i++) {
        const takt_tensor_view *v = i < c->in_count ? &c->in[i] : &c->out[i - c->in_count];
        bool good = (unsigned)v->dtype < TAKT_DTYPE_COUNT && v->rank >= 0 &&
                    v->rank <= TAKT_MAX_RANK && v->data != NULL;
        for (int d = 0; good && d < v->rank; d++)
            good = v->dims[d] >= 0;
        if (!good)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "%s: %s %zu is not a valid view", c->name,
                             i < c->in_count ? "input" : "output",
                             i < c->in_count ? i : i - c->in_count);
        if (v->device != 0)
            return takt_fail(ctx, TAKT_E_DEVICE, "%s: a buffer lies in the memory of device %d",
                             c->name, (int)v->device);
    }
    return TAKT_OK;
}

takt_status takt_op_run(takt_ctx *ctx, const takt_op_call *c)
{
    TAKT_NEED(ctx, c);
    TAKT_TRY(check(ctx, c));
    const takt_op *op = takt_op_find(c->name, strlen(c->name));
    if (op == NULL)
        return takt_fail(ctx, TAKT_E_UNKNOWN_OP, "there is no operation called %s", c->name);
    TAKT_TRY(begin(ctx));
    keyer k = {.to = NULL};
    key_call(&k, c);
    entry made = {.session = take(ctx, k.hash, c)};
    const bool is_new = made.session == NULL;
    if (is_new)
        TAKT_TRY(make(ctx, c, k.hash, k.length, &made));
    takt_session *s = made.session;
    const takt_status status = run(c, op, s);
    if (status != TAKT_OK)
        ctx->error = s->error;
    made.is_busy = false;
    if (!is_new)
        give_back(ctx, s);
    else if (!keep(ctx, &made))
        drop(ctx, &made);
    return status;
}

takt_status takt_einsum(takt_ctx *ctx, const char *equation, const takt_tensor_view *in,
                        size_t in_count, const takt_tensor_view *out)
{
    char attributes[EQUATION];
    const int length =
        equation == NULL || equation[strcspn(equation, "\"\\")] != '\0'
            ? -1
            : snprintf(attributes, sizeof attributes, "{\"equation\":\"%s\"}", equation);
    if (length < 0 || length >= EQUATION)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_einsum: the equation cannot be read");
    return takt_op_run(ctx, &(takt_op_call){"einsum", attributes, in, in_count, out, 1});
}
