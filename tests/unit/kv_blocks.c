/* kv_blocks.c - blocks of a pool of caches: random texts begin, share, copy, end and are dropped;
 * the counts match a simple model, and no block has two owners by mistake. */
#include "api/text/kv_blocks.h"

#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"

enum { BLOCKS = 40, TABLES = 12, MOST = 16, STEPS = 100000 };

typedef struct world {
    takt_kv_blocks b;
    uint32_t at[TABLES][MOST];
    takt_kv_table tables[TABLES];
    uint32_t seed;
} world;

static uint32_t pick(world *w, size_t below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (uint32_t)((w->seed >> 8) % below);
}

/* Counts all tables again. */
static bool agrees(const world *w)
{
    uint32_t refs[BLOCKS] = {0}, lives[BLOCKS] = {0};
    size_t unused = 0, live = 0, shared = 0;
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; i < w->tables[t].count; i++) {
            refs[w->tables[t].at[i]]++;
            lives[w->tables[t].at[i]] += w->tables[t].is_live;
        }
    for (size_t i = 0; i < BLOCKS; i++) {
        unused += refs[i] == 0;
        live += lives[i] > 0;
        shared += refs[i] > 1;
    }
    return memcmp(refs, w->b.refs, sizeof refs) == 0 &&
           memcmp(lives, w->b.lives, sizeof lives) == 0 && w->b.free_count == unused &&
           w->b.live_count == live && w->b.shared_count == shared &&
           takt_kv_available(&w->b) == BLOCKS - live;
}

static void take(world *w, takt_kv_table *t)
{
    const size_t wanted = pick(w, MOST - t->count + 1), before = t->count;
    const bool is_enough = wanted <= w->b.free_count;
    EXPECT_EQ(takt_kv_take(&w->b, t, wanted), is_enough);
    EXPECT_EQ(t->count, before + (is_enough ? wanted : 0));
    for (size_t i = before; i < t->count; i++)
        EXPECT(!takt_kv_is_shared(&w->b, t, i) && (i == before || t->at[i] > t->at[i - 1]));
}

/* A new text shares the first blocks of another. */
static void share(world *w, takt_kv_table *t, const takt_kv_table *from)
{
    if (t == from || t->count > 0)
        return;
    const size_t count = pick(w, from->count + 1);
    for (size_t i = 0; i < count; i++) {
        takt_kv_share(&w->b, t, from->at[i]);
        EXPECT(takt_kv_is_shared(&w->b, t, i));
    }
}

/* One entry becomes the table's own, or another's. */
static void replace(world *w, takt_kv_table *t, const takt_kv_table *from)
{
    takt_kv_table fresh = {.at = &(uint32_t){0}, .is_live = t->is_live};
    if (t->count == 0 || t == from)
        return;
    const size_t i = pick(w, t->count);
    if (i < from->count) {
        takt_kv_replace(&w->b, t, i, from->at[i]);
        EXPECT(takt_kv_is_shared(&w->b, t, i) && t->at[i] == from->at[i]);
    } else if (takt_kv_take(&w->b, &fresh, 1)) {
        takt_kv_replace(&w->b, t, i, fresh.at[0]);
        takt_kv_trim(&w->b, &fresh, 0);
        EXPECT(!takt_kv_is_shared(&w->b, t, i));
    }
}

/* A text ends: a table that is not live and empty takes its blocks. */
static void rest(world *w, takt_kv_table *t, takt_kv_table *to)
{
    if (t == to || to->count > 0 || !t->is_live)
        return;
    const size_t count = t->count;
    takt_kv_rest(&w->b, t, to);
    EXPECT_EQ(t->count, 0);
    EXPECT_EQ(to->count, count);
    EXPECT(!to->is_live);
}

static void step(world *w)
{
    takt_kv_table *t = &w->tables[pick(w, TABLES)], *other = &w->tables[pick(w, TABLES)];
    switch (pick(w, 6)) {
    case 0: take(w, t); break;
    case 1: share(w, t, other); break;
    case 2: replace(w, t, other); break;
    case 3: rest(w, t, other); break;
    case 4: takt_kv_trim(&w->b, t, pick(w, t->count + 1)); break;
    default:
        if (t->count == 0)
            t->is_live = pick(w, 2) == 0;
    }
}

static void random_texts(void)
{
    takt_ctx *ctx;
    static world w;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_kv_blocks_init(&w.b, ctx, BLOCKS))) {
        bool is_good = true;
        for (size_t i = 0; i < TABLES; i++)
            w.tables[i] = (takt_kv_table){.at = w.at[i], .is_live = i % 2 == 0};
        for (size_t i = 0; i < STEPS && is_good; i++) {
            step(&w);
            is_good = EXPECT(agrees(&w), "after step %zu", i);
        }
        for (size_t i = 0; i < TABLES; i++)
            takt_kv_trim(&w.b, &w.tables[i], 0);
        EXPECT_EQ(w.b.free_count, BLOCKS);
        EXPECT_EQ(w.b.live_count, 0);
        EXPECT_EQ(w.b.shared_count, 0);
    }
    takt_kv_blocks_deinit(&w.b, ctx);
    takt_ctx_destroy(ctx);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_kv_blocks b;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_kv_blocks_init(&b, ctx, BLOCKS);
    takt_kv_blocks_deinit(&b, ctx);
    takt_ctx_destroy(ctx);
    return status;
}

static void swept(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(random_texts, swept)
