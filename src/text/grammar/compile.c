/* compile.c - compiles rules to instructions, and checks that none calls itself forever. */
#include <string.h>

#include "base/mem.h"
#include "text/grammar/grammar.h"

typedef struct compiler {
    takt_grammar *g;
    takt_status status;
} compiler;

static size_t emit(compiler *c, takt_ginstruction i)
{
    takt_grammar *g = c->g;
    if (c->status != TAKT_OK)
        return 0;
    if (g->size == TAKT_GRAMMAR_SIZE) {
        c->status = takt_fail(g->ctx, TAKT_E_GRAMMAR_LIMIT,
                              "the grammar has more than %d instructions: it repeats too often",
                              TAKT_GRAMMAR_SIZE);
        return 0;
    }
    void *program = g->program;
    c->status = takt_mem_grow(g->ctx, &program, &g->capacity, g->size + 1, sizeof i);
    g->program = program;
    if (c->status != TAKT_OK)
        return 0;
    g->program[g->size] = i;
    return g->size++;
}

static void patch(const compiler *c, size_t at, size_t to)
{
    if (c->status == TAKT_OK)
        c->g->program[at].to = (uint32_t)to;
}

/* ---- characters as bytes ---- */

typedef struct alternatives {
    compiler *c;
    size_t ends[512]; /* jumps to the end, to be patched */
    size_t count, split;
    bool has_split;
} alternatives;

/* Begins another alternative. */
static void begin(alternatives *a)
{
    if (a->has_split)
        patch(a->c, a->split, a->c->g->size);
    a->split = emit(a->c, (takt_ginstruction){.op = TAKT_GOP_SPLIT});
    a->has_split = true;
}

static void put_bytes(alternatives *a, const uint8_t low[4], const uint8_t high[4], size_t n)
{
    begin(a);
    for (size_t i = 0; i < n; i++)
        (void)emit(a->c, (takt_ginstruction){.op = TAKT_GOP_BYTE, .low = low[i], .high = high[i]});
    if (a->count < sizeof a->ends / sizeof *a->ends)
        a->ends[a->count++] = emit(a->c, (takt_ginstruction){.op = TAKT_GOP_JUMP});
    else
        a->c->status = takt_fail(a->c->g->ctx, TAKT_E_GRAMMAR_LIMIT, "a class is too ragged");
}

static size_t encode(uint32_t c, uint8_t to[4])
{
    if (c < 0x80) {
        to[0] = (uint8_t)c;
        return 1;
    }
    const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (uint8_t)(0x80 | (c & 63));
    to[0] = (uint8_t)(first[n] | c);
    return n;
}

/* Characters of one length, split where all but the first bytes span their whole range. */
static void put_range(alternatives *a, uint32_t from, uint32_t to)
{
    uint8_t low[4], high[4];
    while (from <= to && a->c->status == TAKT_OK) {
        uint32_t end = to;
        for (uint32_t block = 0x40; block <= 0x40000; block <<= 6) {
            const uint32_t last = from | (block - 1);
            if (from >= 0x80 && (from & (block - 1)) != 0 && last < end) {
                end = last; /* up to where the block is whole */
                break;
            }
            if (from >= 0x80 && end > last && (end & (block - 1)) != block - 1) {
                end = (end & ~(block - 1)) - 1;
            }
        }
        const size_t n = encode(from, low);
        (void)encode(end, high);
        put_bytes(a, low, high, n);
        from = end + 1;
    }
}

static void put_chars(compiler *c, const takt_gnode *n)
{
    static const takt_grange lengths[] = {
        {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, 0x10FFFF}};
    alternatives a = {.c = c};
    for (size_t i = 0; i < n->range_count; i++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            const uint32_t from =
                n->ranges[i].from > lengths[k].from ? n->ranges[i].from : lengths[k].from;
            const uint32_t to = n->ranges[i].to < lengths[k].to ? n->ranges[i].to : lengths[k].to;
            if (from <= to)
                put_range(&a, from, to);
        }
    /* The last alternative's split leads to a byte that never comes. */
    if (a.has_split)
        patch(c, a.split, c->g->size);
    (void)emit(c, (takt_ginstruction){.op = TAKT_GOP_BYTE, .low = 1, .high = 0});
    for (size_t i = 0; i < a.count; i++)
        patch(c, a.ends[i], c->g->size);
}

/* ---- nodes ---- */

static void put_node(compiler *c, const takt_gnode *n);

static void put_choice(compiler *c, const takt_gnode *n)
{
    size_t last = SIZE_MAX; /* jumps to the end, in a linked list */
    for (const takt_gnode *i = n->first; i != NULL && c->status == TAKT_OK; i = i->next) {
        const bool has_more = i->next != NULL;
        const size_t split = has_more ? emit(c, (takt_ginstruction){.op = TAKT_GOP_SPLIT}) : 0;
        put_node(c, i);
        if (!has_more)
            break;
        last = emit(c, (takt_ginstruction){.op = TAKT_GOP_JUMP, .to = (uint32_t)last});
        patch(c, split, c->g->size);
    }
    while (last != SIZE_MAX && c->status == TAKT_OK) {
        const uint32_t before = c->g->program[last].to;
        patch(c, last, c->g->size);
        last = before == UINT32_MAX ? SIZE_MAX : before;
    }
}

static void put_repeat(compiler *c, const takt_gnode *n)
{
    for (int64_t i = 0; i < n->least && c->status == TAKT_OK; i++) {
        const size_t before = c->g->size;
        put_node(c, n->first);
        if (c->g->size == before)
            break; /* empty, however often */
    }
    if (n->most == TAKT_GRAMMAR_MANY) {
        const size_t split = emit(c, (takt_ginstruction){.op = TAKT_GOP_SPLIT});
        put_node(c, n->first);
        (void)emit(c, (takt_ginstruction){.op = TAKT_GOP_JUMP, .to = (uint32_t)split});
        patch(c, split, c->g->size);
        return;
    }
    /* Each may be the last, so a split to the end precedes it. */
    size_t last = SIZE_MAX;
    for (int64_t i = n->least; i < n->most && c->status == TAKT_OK; i++) {
        last = emit(c, (takt_ginstruction){.op = TAKT_GOP_SPLIT, .to = (uint32_t)last});
        put_node(c, n->first);
    }
    while (last != SIZE_MAX && c->status == TAKT_OK) {
        const uint32_t before = c->g->program[last].to;
        patch(c, last, c->g->size);
        last = before == UINT32_MAX ? SIZE_MAX : before;
    }
}

/* Recursion is as deep as the grammar nests, which is limited. */
static void put_node(compiler *c, const takt_gnode *n)
{
    switch (n->kind) {
    case TAKT_GN_CHARS: put_chars(c, n); break;
    case TAKT_GN_CHOICE: put_choice(c, n); break;
    case TAKT_GN_REPEAT: put_repeat(c, n); break;
    case TAKT_GN_RULE:
        (void)emit(c, (takt_ginstruction){.op = TAKT_GOP_CALL, .to = n->rule});
        break;
    case TAKT_GN_SEQUENCE:
        for (const takt_gnode *i = n->first; i != NULL && c->status == TAKT_OK; i = i->next)
            put_node(c, i);
        break;
    }
}

takt_status takt_grammar_compile(takt_grammar *g)
{
    compiler c = {.g = g};
    for (size_t i = 0; i < g->rule_count && c.status == TAKT_OK; i++) {
        g->rules[i].begin = (uint32_t)g->size;
        put_node(&c, g->rules[i].body);
        (void)emit(&c, (takt_ginstruction){.op = TAKT_GOP_RETURN});
    }
    return c.status;
}

/* ---- left recursion ---- */

typedef struct checker {
    takt_grammar *g;
    uint32_t *stack; /* of instructions */
    uint32_t *seen;  /* by instruction: the round in which it was seen */
    uint32_t round;
    uint8_t *is_empty; /* by rule: it may match without a byte */
    uint8_t *color;    /* by rule: 0 new, 1 in progress, 2 done */
    uint64_t *reached; /* bits by rule: called from here before a byte */
    uint32_t *way;     /* of the search through rules */
} checker;

/* Follows a rule without consuming a byte: adds the rules that it calls to `reached`; returns
 * whether it can return. */
static bool explore(checker *k, uint32_t rule, uint64_t *reached)
{
    const takt_ginstruction *p = k->g->program;
    size_t count = 0;
    bool returns = false;
    k->round++;
    k->stack[count++] = k->g->rules[rule].begin;
    while (count > 0) {
        const uint32_t at = k->stack[--count];
        if (k->seen[at] == k->round)
            continue;
        k->seen[at] = k->round;
        const bool goes_on =
            p[at].op == TAKT_GOP_SPLIT || (p[at].op == TAKT_GOP_CALL && k->is_empty[p[at].to] != 0);
        if (p[at].op == TAKT_GOP_CALL && reached != NULL)
            reached[p[at].to / 64] |= 1ull << p[at].to % 64;
        returns = returns || p[at].op == TAKT_GOP_RETURN;
        /* Each instruction is pushed at most twice: by the one before it and by a jump. */
        if (goes_on && k->seen[at + 1] != k->round)
            k->stack[count++] = at + 1;
        if ((p[at].op == TAKT_GOP_SPLIT || p[at].op == TAKT_GOP_JUMP) &&
            k->seen[p[at].to] != k->round)
            k->stack[count++] = p[at].to;
    }
    return returns;
}

static takt_status recursive(const takt_grammar *g, uint32_t rule)
{
    const takt_span name = g->rules[rule].name;
    (void)takt_fail(g->ctx, TAKT_E_GRAMMAR_LIMIT,
                    "rule %.*s of the grammar is left-recursive: it begins with itself",
                    (int)(name.length < 60 ? name.length : 60), name.at);
    return takt_fail_hint(g->ctx, "write the repeated part with * or +");
}

/* Depth first over rules; a rule that is met again while it is on the stack is left-recursive. */
static takt_status search(checker *k, uint32_t start)
{
    const size_t words = (k->g->rule_count + 63) / 64;
    size_t depth = 0;
    k->way[depth++] = start;
    while (depth > 0) {
        const uint32_t rule = k->way[depth - 1];
        uint64_t *reached = k->reached + (depth - 1) * words;
        if (k->color[rule] == 0) {
            k->color[rule] = 1;
            memset(reached, 0, words * sizeof *reached);
            (void)explore(k, rule, reached);
        }
        size_t w = 0;
        while (w < words && reached[w] == 0)
            w++;
        if (w == words) {
            k->color[rule] = 2;
            depth--;
            continue;
        }
        const uint32_t next = (uint32_t)(64 * w + (size_t)__builtin_ctzll(reached[w]));
        reached[w] &= reached[w] - 1;
        if (k->color[next] == 1)
            return recursive(k->g, next);
        if (k->color[next] == 0)
            k->way[depth++] = next;
    }
    return TAKT_OK;
}

static takt_status check_all(checker *k)
{
    const uint32_t rules = (uint32_t)k->g->rule_count;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < rules; i++)
            if (k->is_empty[i] == 0 && explore(k, i, NULL))
                k->is_empty[i] = changed = true;
    }
    for (uint32_t i = 0; i < rules; i++)
        if (k->color[i] == 0)
            TAKT_TRY(search(k, i));
    return TAKT_OK;
}

takt_status takt_grammar_check(takt_grammar *g)
{
    takt_arena arena;
    takt_arena_init(&arena, g->ctx);
    const size_t rules = g->rule_count, words = (rules + 63) / 64;
    checker k = {.g = g,
                 .stack = takt_arena_array(&arena, 2 * g->size + 2, sizeof *k.stack),
                 .seen = takt_arena_array(&arena, g->size + 1, sizeof *k.seen),
                 .is_empty = takt_arena_array(&arena, rules, sizeof *k.is_empty),
                 .color = takt_arena_array(&arena, rules, sizeof *k.color),
                 .reached = takt_arena_array(&arena, rules * words, sizeof *k.reached),
                 .way = takt_arena_array(&arena, rules, sizeof *k.way)};
    const bool has_all = k.stack != NULL && k.seen != NULL && k.is_empty != NULL &&
                         k.color != NULL && k.reached != NULL && k.way != NULL;
    const takt_status status = has_all ? check_all(&k) : TAKT_ERR_MEMORY;
    takt_arena_deinit(&arena);
    for (size_t i = 0; i < g->size && status == TAKT_OK; i++)
        if (g->program[i].op == TAKT_GOP_CALL)
            g->program[i].to = g->rules[g->program[i].to].begin;
    return status;
}
