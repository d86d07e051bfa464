/* datalog_plan.c - orders of joins, the indexes they need, and the memory for all of it. */
#include <stdio.h>

#include "base/ctx.h"
#include "base/size.h"
#include "op/util/datalog_machine.h"

static bool is_bound(const takt_dl_term *t, uint64_t bound)
{
    return t->kind == TAKT_DL_NUMBER ||
           (t->kind == TAKT_DL_VARIABLE && (bound >> t->value & 1) != 0);
}

/* Columns whose values are known before the literal is looked up. */
static uint32_t known(const takt_dl_literal *l, uint64_t bound)
{
    uint32_t columns = 0;
    for (int i = 0; i < l->count; i++)
        if (is_bound(&l->term[i], bound))
            columns |= UINT32_C(1) << i;
    return columns;
}

static uint64_t binds(const takt_dl_literal *l)
{
    uint64_t set = 0;
    for (int i = 0; i < l->count; i++)
        if (l->term[i].kind == TAKT_DL_VARIABLE)
            set |= UINT64_C(1) << l->term[i].value;
    return set;
}

/* Priority of a literal: tests as early as possible, then the literals with the most bound
 * variables. */
static int urgency(const takt_dl_literal *l, uint64_t bound)
{
    const bool is_test = l->kind != TAKT_DL_ATOM;
    if (is_test)
        return (binds(l) & ~bound) == 0 ? 1000 : -1;
    return __builtin_popcount(known(l, bound)) * 10;
}

static size_t table_size(size_t capacity)
{
    size_t size = 16;
    while (size < 2 * capacity)
        size *= 2;
    return size;
}

/* The index for these columns; -1: none is needed, -2: there are too many. */
static int index_for(takt_dl_plan *p, int relation, uint32_t columns)
{
    if (columns == 0)
        return -1;
    for (int i = 0; i < p->index_count; i++)
        if (p->index[i].relation == relation && p->index[i].columns == columns)
            return i;
    if (p->index_count == TAKT_DL_INDEXES)
        return -2;
    p->index[p->index_count] = (takt_dl_index){relation, columns, table_size(p->capacity[relation]),
                                               relation >= p->program->derived};
    return p->index_count++;
}

/* The index that finds a step's literal. A pair of an input is searched for among those with its
 * first value, which are sorted: an index of both columns would be a copy of all pairs. */
static int find_by(takt_dl_plan *p, takt_dl_step *s, uint32_t columns)
{
    const takt_dl_literal *l = s->literal;
    s->is_pair = l->relation >= p->program->derived && l->count == 2 && columns == 3;
    return index_for(p, l->relation, s->is_pair ? 1 : columns);
}

/* Indexes of the filters. Those beyond the limit are left out. */
static void make_filters(takt_dl_plan *p, takt_dl_path *path)
{
    for (int i = 0; i + 1 < path->count; i++) {
        takt_dl_step *s = &path->step[i];
        const int relation = path->step[i + 1].literal->relation;
        if (takt_dl_code_filter(p, path, i))
            s->filter.index = index_for(p, relation, UINT32_C(1) << s->filter.other);
    }
}

static bool make_path(takt_dl_plan *p, const takt_dl_rule *rule, int delta)
{
    takt_dl_path *path = &p->paths[p->path_count++];
    bool is_done[TAKT_DL_BODY] = {false};
    uint64_t bound = 0, before[TAKT_DL_BODY + 1];
    *path = (takt_dl_path){.rule = rule};
    for (path->count = 0; path->count < rule->count; path->count++) {
        int best = -1, most = -2;
        for (int i = 0; i < rule->count; i++) {
            const int now = i == delta ? 2000 : urgency(&rule->body[i], bound);
            if (!is_done[i] && now > most) {
                best = i;
                most = now;
            }
        }
        const takt_dl_literal *l = &rule->body[best];
        takt_dl_step *s = &path->step[path->count];
        is_done[best] = true;
        *s = (takt_dl_step){
            .literal = l, .index = -1, .is_delta = best == delta, .filter.index = -1};
        before[path->count] = bound;
        takt_dl_code_step(path, s, bound);
        if (l->kind != TAKT_DL_COMPARE && !s->is_delta)
            s->index = find_by(p, s, known(l, bound));
        if (s->index == -2)
            return false;
        bound |= l->kind == TAKT_DL_ATOM ? binds(l) : 0;
    }
    before[path->count] = bound;
    takt_dl_code_path(path, before);
    make_filters(p, path);
    return true;
}

static bool make_paths(takt_dl_plan *p)
{
    const takt_dl *program = p->program;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < program->rule_count; i++) {
            const takt_dl_rule *rule = &program->rules[i];
            int uses = 0;
            for (int k = 0; k < rule->count; k++) {
                const takt_dl_literal *l = &rule->body[k];
                const bool is_use = l->kind == TAKT_DL_ATOM && l->relation < program->derived;
                uses += is_use;
                if (is_use && round == 1 && !make_path(p, rule, k))
                    return false;
            }
            if (uses == 0 && round == 0 && !make_path(p, rule, -1))
                return false;
        }
        p->first_count = round == 0 ? p->path_count : p->first_count;
    }
    return true;
}

static bool add(size_t *total, size_t count, size_t each)
{
    size_t bytes;
    return takt_size_mul(count, each, &bytes) && takt_size_align(bytes, 64, &bytes) &&
           takt_size_add(*total, bytes, total);
}

size_t takt_dl_room_words(const takt_dl_plan *p)
{
    size_t most = 1;
    for (int i = 0; i < p->program->derived; i++) {
        const size_t arity = (size_t)p->program->arity[i], words = p->capacity[i] * arity;
        const bool is_apart = p->is_closure || p->pivot >= 0 || !takt_dl_sorts_in_table(arity);
        most = is_apart && words > most ? words : most;
    }
    return most;
}

/* Small relations are derived single-threaded. */
static void share_out(takt_dl_plan *p, size_t threads)
{
    enum { PARTS = 8, LEAST = 1 << 12, MOST = 1 << 17 };
    const size_t part = p->capacity[0] / PARTS;
    bool is_large = false;
    for (int i = 0; i < p->program->derived; i++)
        is_large |= p->capacity[i] >= TAKT_DL_LARGE;
    p->workers = is_large && threads > 1 ? threads : 1;
    if (p->pivot >= 0 || p->is_closure)
        p->group_rows = part < LEAST ? LEAST : part < MOST ? part : MOST;
}

takt_status takt_dl_prepare(takt_arena *arena, const takt_dl *program, const size_t *capacity,
                            size_t threads, takt_dl_plan *plan)
{
    size_t paths = 1;
    const takt_dl *given = program;
    program = takt_dl_closure(arena, given);
    if (program == NULL)
        return TAKT_ERR_MEMORY;
    *plan = (takt_dl_plan){
        .program = program, .pivot = takt_dl_pivot(given), .is_closure = program != given};
    const uint64_t trips = arena->ctx->limits.trip_count;
    plan->budget =
        trips < UINT64_MAX / TAKT_DL_ROWS_A_TRIP ? trips * TAKT_DL_ROWS_A_TRIP : UINT64_MAX;
    for (int i = 0; i < program->rule_count; i++)
        paths += (size_t)program->rules[i].count + 1;
    plan->paths = takt_arena_array(arena, paths, sizeof *plan->paths);
    if (plan->paths == NULL)
        return TAKT_ERR_MEMORY;
    bool is_good = true;
    for (int i = 0; i < program->relations; i++) {
        plan->capacity[i] = capacity[i];
        is_good = is_good && capacity[i] < TAKT_DL_ABSENT / 4;
        if (i < program->derived) {
            is_good = is_good && add(&plan->scratch_bytes, table_size(capacity[i]), 8);
            if (program->arity[i] > 2) /* keys are hashes there, and rows are stored next to them */
                is_good = is_good && add(&plan->scratch_bytes, table_size(capacity[i]), 4);
        } else if ((program->ordered >> i & 1) == 0) {
            const size_t each = 4 * (size_t)program->arity[i];
            is_good = is_good && add(&plan->scratch_bytes, capacity[i], each) &&
                      add(&plan->scratch_bytes, capacity[i], each) &&
                      add(&plan->scratch_bytes, TAKT_DL_COUNTS, 4);
        }
    }
    if (is_good && !make_paths(plan))
        return takt_fail(arena->ctx, TAKT_E_ATTR, "fixpoint: the rules need more than %d indexes",
                         TAKT_DL_INDEXES);
    for (int i = 0; is_good && i < plan->index_count; i++) {
        const int relation = plan->index[i].relation;
        const size_t columns = plan->index[i].has_runs ? (size_t)program->arity[relation] : 1;
        is_good = add(&plan->scratch_bytes, plan->index[i].size + 2, 4) &&
                  add(&plan->scratch_bytes, capacity[relation], 4 * columns);
    }
    is_good = is_good && add(&plan->scratch_bytes, TAKT_DL_MARKS, sizeof(uint16_t)) &&
              add(&plan->scratch_bytes, TAKT_DL_BATCH, sizeof(takt_dl_waiting)) &&
              add(&plan->scratch_bytes, takt_dl_room_words(plan), 4) &&
              add(&plan->scratch_bytes, TAKT_DL_COUNTS, 4);
    share_out(plan, threads);
    is_good = is_good && takt_dl_worker_bytes(plan, &plan->scratch_bytes);
    return is_good
               ? TAKT_OK
               : takt_fail(arena->ctx, TAKT_E_OVERFLOW, "fixpoint: the relations are too large");
}

const char *takt_dl_full_text(const takt_node *n, const takt_dl_plan *plan,
                              const takt_dl_full *full, char buffer[static TAKT_DL_TEXT])
{
    const takt_attr *names = &n->attr[TAKT_DL_NAMES];
    const size_t capacity = plan->capacity[full->relation];
    const char *name =
        (uint32_t)full->relation < names->count ? names->strings[full->relation] : "a relation";
    if (full->is_spent) {
        snprintf(buffer, TAKT_DL_TEXT,
                 "%.100s: joins tried more than %llu rows, %d for each trip of limits.trip_count",
                 name, (unsigned long long)plan->budget, TAKT_DL_ROWS_A_TRIP);
        return buffer;
    }
    const int length =
        snprintf(buffer, TAKT_DL_TEXT, "%.100s has more than %zu tuples", name, capacity);
    char *const end = buffer + length;
    const size_t left = TAKT_DL_TEXT - (size_t)length;
    if (full->round > 0)
        snprintf(end, left, " in round %zu: try capacity=%zu", full->round, 4 * capacity + 16);
    else
        snprintf(end, left, ": try capacity=%zu", 4 * capacity + 16);
    return buffer;
}

takt_error_id takt_dl_full_id(const takt_dl_full *full)
{
    return full->is_spent ? TAKT_E_TRIP_COUNT : TAKT_E_RECURSION;
}
