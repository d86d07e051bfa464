/* inject.c - the injector itself: it must inject what it claims. */
#include "util/inject.h"

#include <errno.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "test.h"

/* The number of faults after `act` was done to a block of 100 bytes. */
static int faults_after(void (*act)(takt_inject *, unsigned char *), const char *says)
{
    takt_inject inject;
    takt_inject_init(&inject);
    unsigned char *block = inject.memory.get(&inject, 100, 64);
    EXPECT(block != NULL && (uintptr_t)block % 64 == 0 && block[0] == 0xA5 && block[99] == 0xA5);
    act(&inject, block);
    takt_inject_check(&inject);
    takt_inject_deinit(&inject);
    EXPECT(says == NULL || strstr(inject.fault, says) != NULL, "\"%s\"", inject.fault);
    return inject.faults;
}

static void good(takt_inject *inject, unsigned char *block)
{
    memset(block, 0, 100);
    inject->memory.put(inject, block, 100);
}

static void overrun(takt_inject *inject, unsigned char *block)
{
    (void)inject;
    block[100] = 0;
}

static void underrun(takt_inject *inject, unsigned char *block)
{
    block[-1] = 0;
    inject->memory.put(inject, block, 100);
}

static void twice(takt_inject *inject, unsigned char *block)
{
    inject->memory.put(inject, block, 100);
    inject->memory.put(inject, block, 100);
}

static void wrong_size(takt_inject *inject, unsigned char *block)
{
    inject->memory.put(inject, block, 99);
}

static void after_free(takt_inject *inject, unsigned char *block)
{
    inject->memory.put(inject, block, 100);
    block[50] = 1; /* still ours to touch: it is kept for a while */
}

static void sees_misuse(void)
{
    EXPECT_EQ(faults_after(good, NULL), 0);
    EXPECT_EQ(faults_after(overrun, "behind"), 1);
    EXPECT_EQ(faults_after(underrun, "before"), 1);
    EXPECT_EQ(faults_after(twice, "twice"), 1);
    EXPECT_EQ(faults_after(wrong_size, "size"), 1);
    EXPECT_EQ(faults_after(after_free, "after it was freed"), 1);
}

static void counts(void)
{
    takt_inject in;
    takt_inject_init(&in);
    void *a = in.memory.get(&in, 10, 16), *b = in.memory.get(&in, 20, 4096);
    EXPECT_EQ((uintptr_t)b % 4096, 0);
    EXPECT_EQ(in.live_bytes, 30);
    EXPECT_EQ(in.gets, 2);
    in.memory.put(&in, a, 10);
    in.memory.put(&in, NULL, 10);
    EXPECT_EQ(in.live_bytes, 20);
    EXPECT_EQ(in.peak_bytes, 30);
    EXPECT_EQ(in.puts, 1);
    EXPECT(in.memory.get(&in, SIZE_MAX - 10, 64) == NULL);
    EXPECT(takt_inject_deinit(&in) == 1, "one block leaked");
    EXPECT_EQ(in.faults, 0);
}

static void strikes(void)
{
    takt_inject in;
    takt_inject_init(&in);
    for (int mode = TAKT_INJECT_OFF; mode <= TAKT_INJECT_EVER; mode++) {
        takt_inject_plan(&in, (takt_inject_mode)mode, TAKT_INJECT_MEMORY, 3);
        for (int i = 1; i <= 5; i++) {
            void *block = in.memory.get(&in, 8, 8);
            const bool fails =
                (mode == TAKT_INJECT_ONCE && i == 3) || (mode == TAKT_INJECT_EVER && i >= 3);
            EXPECT((block == NULL) == fails, "mode %d, call %d", mode, i);
            in.memory.put(&in, block, 8);
        }
        EXPECT_EQ(in.operations, 5);
        EXPECT_EQ(in.hits, (uint64_t)(mode == 0 ? 0 : mode == 1 ? 1 : 3));
    }
    takt_inject_plan(&in, TAKT_INJECT_EVER, TAKT_INJECT_FILES, 1);
    takt_file *f;
    in.error = ENOSPC;
    EXPECT(in.files.create(&in, "/tmp/never", &f) == ENOSPC && f == NULL);
    void *block = in.memory.get(&in, 8, 8);
    EXPECT(block != NULL, "another kind is not touched");
    in.memory.put(&in, block, 8);
    EXPECT_EQ(takt_inject_deinit(&in), 0);
}

/* What takt_sweep must complain about. */
typedef enum defect { NONE, LEAK, WRONG_STATUS, NEVER_WORKS, OVERRUN, LEAK_LATE } defect;

static takt_status scenario(takt_inject *inject, void *user)
{
    const defect d = *(const defect *)user;
    takt_config config = {0};
    takt_ctx *ctx;
    void *a = NULL, *b = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return d == WRONG_STATUS ? TAKT_ERR_SHAPE : status;
    status = takt_mem_get(ctx, 10, "a", &a);
    if (status == TAKT_OK)
        status = takt_mem_get(ctx, 20, "b", &b);
    if (d == OVERRUN && b != NULL)
        ((char *)b)[20] = 1;
    takt_mem_put(ctx, b, 20);
    if (!(d == LEAK || (d == LEAK_LATE && status != TAKT_OK)))
        takt_mem_put(ctx, a, 10);
    takt_ctx_destroy(ctx);
    return d == NEVER_WORKS ? TAKT_ERR_MEMORY : status;
}

static void sweep_sees(void)
{
    defect d = NONE;
    takt_sweep_report r = takt_sweep(scenario, &d, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good && r.operations == 3 && r.runs == 6 && r.survived == 0, "%s", r.message);
    static const struct {
        defect defect;
        const char *says;
    } rows[] = {
        {LEAK, "leaked 1 blocks (10 bytes)"},
        {WRONG_STATUS, "TAKT_ERR_SHAPE"},
        {NEVER_WORKS, "mode off"},
        {OVERRUN, "behind a block"},
        {LEAK_LATE, "mode once, operation 3 of 3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        d = rows[i].defect;
        r = takt_sweep(scenario, &d, TAKT_INJECT_MEMORY);
        EXPECT(!r.is_good && strstr(r.message, rows[i].says) != NULL, "%s: \"%s\"", rows[i].says,
               r.message);
    }
}

TEST_MAIN(sees_misuse, counts, strikes, sweep_sees)
