/* matcher.c - follows a text through a grammar, and tells which tokens may come next.
 *
 * A state is an instruction that waits for a byte, and its stack of returns. States and returns are
 * nodes (instruction, parent) of one pool without duplicates, so that sets of states are sets of
 * numbers. Tokens are tried in the order of their bytes: a prefix shared with the previous one is
 * not tried again. Nodes added by a try are removed in reverse order.
 */
#include <string.h>

#include "base/mem.h"
#include "text/grammar/grammar.h"
#include "text/tokenizer.h"

enum {
    NODES = 1 << 15,
    BUCKETS = 1 << 13,
    HEADS = 1 << 14,
    LEVELS = 1 << 12, /* bytes of a token, plus one */
    NONE = -1,
};

typedef struct pool_node {
    uint32_t at;
    int32_t parent, chain; /* chain: the next node with the same hash */
    uint32_t stamp;        /* the set that it was last added to */
} pool_node;

typedef struct level {
    uint32_t heads, nodes; /* counts when it began */
    bool can_end;
} level;

struct takt_matcher {
    const takt_grammar *g;
    const takt_tokenizer *tokenizer;
    const takt_token_table *table;
    takt_token_table own; /* if `table` is this */
    size_t level_count;
    /* One block of memory each. */
    pool_node *nodes;
    int32_t *buckets;
    int32_t *heads;   /* waiting states, level by level */
    int32_t *closing; /* worklist of a closure; also where nodes are moved */
    level *levels;    /* levels[d]: after d bytes of the trial; its heads begin at .heads */
    uint32_t node_count, head_count, stamp;
    bool is_full;
};

/* ---- the pool ---- */

static uint32_t bucket_of(uint32_t at, int32_t parent)
{
    return (at * 2654435761u ^ (uint32_t)parent * 2246822519u) >> 7 & (BUCKETS - 1);
}

static int32_t node_of(takt_matcher *m, uint32_t at, int32_t parent)
{
    const uint32_t bucket = bucket_of(at, parent);
    for (int32_t i = m->buckets[bucket]; i != NONE; i = m->nodes[i].chain)
        if (m->nodes[i].at == at && m->nodes[i].parent == parent)
            return i;
    if (m->node_count == NODES) {
        m->is_full = true;
        return NONE;
    }
    const int32_t made = (int32_t)m->node_count++;
    m->nodes[made] = (pool_node){at, parent, m->buckets[bucket], 0};
    m->buckets[bucket] = made;
    return made;
}

/* The newest node of a bucket is the first of its chain. */
static void drop_nodes(takt_matcher *m, uint32_t count)
{
    while (m->node_count > count) {
        const pool_node *n = &m->nodes[--m->node_count];
        m->buckets[bucket_of(n->at, n->parent)] = n->chain;
    }
}

/* ---- sets of states ---- */

static void push(takt_matcher *m, uint32_t *count, uint32_t at, int32_t parent)
{
    const int32_t n = node_of(m, at, parent);
    if (n == NONE || m->nodes[n].stamp == m->stamp)
        return;
    m->nodes[n].stamp = m->stamp;
    m->closing[(*count)++] = n; /* each node once, so there is room for all */
}

/* The target of a jump; a cycle of jumps ends at itself. */
static uint32_t landing(const takt_grammar *g, uint32_t at)
{
    for (int i = 0; i < 8 && g->program[at].op == TAKT_GOP_JUMP; i++)
        at = g->program[at].to;
    return at;
}

/* Adds what can be reached from (at, parent) without consuming a byte to the current set. */
static void close_over(takt_matcher *m, level *l, uint32_t at, int32_t parent)
{
    const takt_ginstruction *p = m->g->program;
    uint32_t count = 0;
    push(m, &count, at, parent);
    while (count > 0 && !m->is_full) {
        const int32_t n = m->closing[--count];
        const uint32_t here = m->nodes[n].at;
        const int32_t above = m->nodes[n].parent;
        switch (p[here].op) {
        case TAKT_GOP_BYTE:
            if (m->head_count == HEADS)
                m->is_full = true;
            else if (p[here].low <= p[here].high)
                m->heads[m->head_count++] = n;
            break;
        case TAKT_GOP_SPLIT:
            push(m, &count, p[here].to, above);
            push(m, &count, here + 1, above);
            break;
        case TAKT_GOP_JUMP: push(m, &count, p[here].to, above); break;
        case TAKT_GOP_CALL: { /* a call at a rule's end needs no separate return */
            const uint32_t back = landing(m->g, here + 1);
            const bool is_last = p[back].op == TAKT_GOP_RETURN;
            const int32_t parent_of = is_last ? above : node_of(m, back, above);
            if (is_last || parent_of != NONE)
                push(m, &count, p[here].to, parent_of);
            break;
        }
        default:
            if (above == NONE)
                l->can_end = true;
            else
                push(m, &count, m->nodes[above].at, m->nodes[above].parent);
        }
    }
}

static void begin_level(takt_matcher *m, size_t d)
{
    m->levels[d] = (level){m->head_count, m->node_count, false};
    m->stamp++;
}

/* The set after one more byte; false if it is empty. */
static bool advance(takt_matcher *m, size_t d, uint8_t byte)
{
    const takt_ginstruction *p = m->g->program;
    const uint32_t from = m->levels[d].heads, to = m->head_count;
    begin_level(m, d + 1);
    level *l = &m->levels[d + 1];
    for (uint32_t i = from; i < to && !m->is_full; i++) {
        const pool_node *n = &m->nodes[m->heads[i]];
        if (byte >= p[n->at].low && byte <= p[n->at].high)
            close_over(m, l, n->at + 1, n->parent);
    }
    return m->head_count > to || l->can_end;
}

/* Goes back to where level d was the last. */
static void back_to(takt_matcher *m, size_t d)
{
    m->head_count = m->levels[d + 1].heads;
    drop_nodes(m, m->levels[d + 1].nodes);
}

static takt_status check_full(takt_matcher *m)
{
    if (!m->is_full)
        return TAKT_OK;
    m->is_full = false;
    return takt_fail(m->g->ctx, TAKT_E_GRAMMAR_LIMIT,
                     "the grammar is too ambiguous or nests too deeply at this place of the text");
}

void takt_matcher_reset(takt_matcher *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        m->buckets[i] = NONE;
    m->node_count = m->head_count = 0;
    m->is_full = false;
    begin_level(m, 0);
    close_over(m, &m->levels[0], m->g->rules[m->g->root].begin, NONE);
}

/* ---- life ---- */

takt_status takt_matcher_make(const takt_grammar *g, const takt_tokenizer *tokenizer,
                              const takt_token_table *table, takt_matcher **matcher)
{
    void *block;
    *matcher = NULL;
    TAKT_TRY(takt_mem_zero(g->ctx, 1, sizeof **matcher, "a matcher", &block));
    takt_matcher *m = block;
    *m = (takt_matcher){.g = g, .tokenizer = tokenizer, .table = table, .level_count = LEVELS};
    takt_status status = takt_mem_zero(g->ctx, NODES, sizeof *m->nodes, "a matcher", &block);
    m->nodes = status == TAKT_OK ? block : NULL;
    if (status == TAKT_OK)
        status = takt_mem_zero(g->ctx, BUCKETS, sizeof *m->buckets, "a matcher", &block);
    m->buckets = status == TAKT_OK ? block : NULL;
    if (status == TAKT_OK)
        status = takt_mem_zero(g->ctx, HEADS, sizeof *m->heads, "a matcher", &block);
    m->heads = status == TAKT_OK ? block : NULL;
    if (status == TAKT_OK)
        status = takt_mem_zero(g->ctx, NODES, sizeof *m->closing, "a matcher", &block);
    m->closing = status == TAKT_OK ? block : NULL;
    if (status == TAKT_OK)
        status = takt_mem_zero(g->ctx, LEVELS, sizeof *m->levels, "a matcher", &block);
    m->levels = status == TAKT_OK ? block : NULL;
    if (status == TAKT_OK) {
        takt_matcher_reset(m);
        status = check_full(m);
    }
    if (status == TAKT_OK)
        *matcher = m;
    else
        takt_matcher_destroy(m);
    return status;
}

takt_status takt_matcher_create(const takt_grammar *g, const takt_tokenizer *tokenizer,
                                takt_matcher **matcher)
{
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->ctx, matcher);
    takt_matcher *m;
    TAKT_TRY(takt_matcher_make(g, tokenizer, NULL, &m));
    if (tokenizer != NULL) {
        const takt_status status = takt_token_table_init(&m->own, g->ctx, tokenizer);
        m->table = &m->own;
        if (status != TAKT_OK) {
            takt_matcher_destroy(m);
            *matcher = NULL;
            return status;
        }
    }
    *matcher = m;
    return TAKT_OK;
}

void takt_matcher_destroy(takt_matcher *m)
{
    if (m == NULL)
        return;
    takt_ctx *ctx = m->g->ctx;
    if (m->table == &m->own)
        takt_token_table_deinit(&m->own);
    takt_mem_put(ctx, m->nodes, NODES * sizeof *m->nodes);
    takt_mem_put(ctx, m->buckets, BUCKETS * sizeof *m->buckets);
    takt_mem_put(ctx, m->heads, HEADS * sizeof *m->heads);
    takt_mem_put(ctx, m->closing, NODES * sizeof *m->closing);
    takt_mem_put(ctx, m->levels, LEVELS * sizeof *m->levels);
    takt_mem_put(ctx, m, sizeof *m);
}

bool takt_matcher_can_end(const takt_matcher *m)
{
    return m != NULL && m->levels[0].can_end;
}

/* ---- going on ---- */

/* Moves everything that the states of level 1 need to the beginning of the pool, and level 1
 * becomes 0. Parents are older than their children, so one upward pass moves all of them. */
static void settle(takt_matcher *m)
{
    const uint32_t first = m->levels[1].heads, count = m->node_count;
    const uint32_t heads = m->head_count - first;
    uint32_t kept = 0;
    const bool can_end = m->levels[1].can_end;
    for (uint32_t i = 0; i < count; i++)
        m->nodes[i].stamp = 0;
    for (uint32_t i = 0; i < heads; i++)
        for (int32_t n = m->heads[first + i]; n != NONE && m->nodes[n].stamp == 0;
             n = m->nodes[n].parent)
            m->nodes[n].stamp = 1;
    for (size_t i = 0; i < BUCKETS; i++)
        m->buckets[i] = NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (m->nodes[i].stamp == 0)
            continue;
        const pool_node n = m->nodes[i];
        const int32_t parent = n.parent == NONE ? NONE : m->closing[n.parent];
        const uint32_t bucket = bucket_of(n.at, parent);
        m->nodes[kept] = (pool_node){n.at, parent, m->buckets[bucket], 0};
        m->buckets[bucket] = (int32_t)kept;
        m->closing[i] = (int32_t)kept++;
    }
    for (uint32_t i = 0; i < heads; i++)
        m->heads[i] = m->closing[m->heads[first + i]];
    m->node_count = kept;
    m->head_count = heads;
    m->stamp = 1;
    m->levels[0] = (level){0, 0, can_end};
}

static takt_status refuse(const takt_matcher *m)
{
    return takt_fail(m->g->ctx, TAKT_E_GRAMMAR_STUCK, "the grammar does not allow this here");
}

/* Tries as many bytes as there are levels at a time; commits nothing before all are accepted. */
takt_status takt_matcher_accept_bytes(takt_matcher *m, const char *bytes, size_t length)
{
    TAKT_NEED(NULL, m);
    if (bytes == NULL && length > 0)
        return takt_fail(m->g->ctx, TAKT_E_ARGUMENT, "takt_matcher_accept_bytes: bytes is NULL");
    if (length >= m->level_count)
        return takt_fail(m->g->ctx, TAKT_E_ARGUMENT, "more than %zu bytes at once",
                         m->level_count - 1);
    for (size_t i = 0; i < length; i++) {
        const bool is_alive = advance(m, i, (uint8_t)bytes[i]);
        if (is_alive && !m->is_full && (m->head_count > m->levels[i + 1].heads || i + 1 == length))
            continue;
        const bool was_full = m->is_full;
        back_to(m, 0);
        return was_full ? check_full(m) : refuse(m);
    }
    if (length > 0) {
        m->levels[1] = m->levels[length];
        settle(m);
    }
    return TAKT_OK;
}

takt_status takt_matcher_accept(takt_matcher *m, int32_t id)
{
    TAKT_NEED(NULL, m);
    if (m->tokenizer == NULL || id < 0 || (size_t)id >= takt_tokenizer_count(m->tokenizer))
        return takt_fail(m->g->ctx, TAKT_E_TOKEN_ID, "token %d is not in the vocabulary", id);
    if (takt_token_is_end(m->tokenizer, id))
        return m->levels[0].can_end ? TAKT_OK : refuse(m);
    char text[LEVELS];
    takt_token_text room = {text, sizeof text, 0};
    TAKT_TRY(takt_detokenize(m->tokenizer, &id, 1, TAKT_DETOKENIZE_CONTINUE, &room));
    return room.length > 0 ? takt_matcher_accept_bytes(m, text, room.length) : refuse(m);
}

static void allow(uint64_t *bits, int32_t id, size_t *count)
{
    bits[id / 64] |= 1ull << id % 64;
    ++*count;
}

takt_status takt_matcher_mask(takt_matcher *m, uint64_t *bits, size_t *count)
{
    size_t allowed = 0, good = 0; /* good: bytes of the previous row that were accepted */
    TAKT_NEED(NULL, m);
    TAKT_NEED(m->g->ctx, bits);
    if (m->tokenizer == NULL)
        return takt_fail(m->g->ctx, TAKT_E_ARGUMENT, "the matcher has no tokenizer");
    const size_t tokens = takt_tokenizer_count(m->tokenizer);
    memset(bits, 0, (tokens + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < m->table->count && !m->is_full; i++) {
        const takt_token_row *row = &m->table->rows[i];
        if (row->same > good)
            continue; /* begins with the rejected prefix */
        if (good > row->same)
            back_to(m, row->same);
        good = row->same;
        while (good < row->length && !m->is_full && advance(m, good, (uint8_t)row->at[good]))
            good++;
        if (good < row->length)
            back_to(m, good); /* the byte that failed */
        else if (!m->is_full)
            allow(bits, row->id, &allowed);
    }
    if (good > 0 || m->is_full)
        back_to(m, 0);
    TAKT_TRY(check_full(m));
    for (size_t i = 0; i < tokens && m->levels[0].can_end; i++)
        if (takt_token_is_end(m->tokenizer, (int32_t)i))
            allow(bits, (int32_t)i, &allowed);
    if (count != NULL)
        *count = allowed;
    return TAKT_OK;
}
