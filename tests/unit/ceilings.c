/* ceilings.c - the machine's ceilings: measured, stored, and refused if they are from another
 * machine. */
#include "measure/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/peak/peak.h"
#include "measure/roofline.h"
#include "test.h"

static takt_ctx *ctx;
static char path[1024];

static void begin(void)
{
    const char *folder = getenv("TAKT_TEST_TMP");
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    snprintf(path, sizeof path, "%s/ceilings.json", folder != NULL ? folder : "/tmp");
    remove(path);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "wb");
    if (EXPECT(file != NULL)) {
        fputs(text, file);
        fclose(file);
    }
}

/* True on every machine: rates are positive, and nearer caches are not slower. */
static void plausible(const takt_ceilings *c)
{
    EXPECT_EQ(c->one.threads, 1);
    EXPECT_IS(c->all.threads, >=, 1);
    EXPECT_IS(c->one.f32_gflops, >, 0.05);
    EXPECT_IS(c->one.f64_gflops, >, 0.05);
    EXPECT_IS(c->one.int8_gops, >, 0.05);
    const takt_kernel *f16 = takt_kernel_find("peak_f16", takt_isa_detect(), NULL, 0, NULL);
    EXPECT((c->one.f16_gflops > 0) == (f16 != NULL && f16->rank > 0), "%g", c->one.f16_gflops);
    EXPECT_IS(c->all.f32_gflops, >=, c->one.f32_gflops);
    EXPECT_IS(c->one.read_gbs[TAKT_LEVELS - 1], >, 0.05);
    EXPECT_IS(c->one.copy_gbs[TAKT_LEVELS - 1], >, 0.05);
    EXPECT_EQ(strlen(c->fingerprint), 16);
}

static void measured_and_kept(void)
{
    takt_ceilings first, second;
    EXPECT_OK(ctx, takt_ceilings_get(ctx, NULL, false, &first));
    EXPECT(!first.from_file);
    plausible(&first);
    takt_text text;
    takt_json_writer w;
    takt_text_init(&text, ctx);
    takt_json_begin(&w, &text, true);
    takt_json_open(&w, '{');
    takt_ceilings_write(&w, &first);
    takt_json_close(&w, '}');
    write_file(takt_text_get(&text));
    takt_text_deinit(&text);
    EXPECT_OK(ctx, takt_ceilings_get(ctx, path, false, &second));
    EXPECT(second.from_file);
    EXPECT_EQ(second.one.f32_gflops, first.one.f32_gflops);
    EXPECT_EQ(second.one.f16_gflops, first.one.f16_gflops);
    EXPECT_EQ(second.all.bf16_gflops, first.all.bf16_gflops);
    EXPECT_EQ(memcmp(second.all.read_gbs, first.all.read_gbs, sizeof first.all.read_gbs), 0);
}

static void foreign_files(void)
{
    static const char *const bad[] = {
        "",
        "nonsense",
        "{}",
        "[1,2]",
        "{\"fingerprint\": \"0123456789abcdef\"}",
        "{\"fingerprint\": \"0123456789abcdef\", \"cache_bytes\": [1, 2, 3, 4], \"one\": {}}"};
    takt_ceilings c;
    for (size_t i = 2; i < sizeof bad / sizeof *bad; i++) {
        takt_arena arena;
        const takt_json *root;
        takt_arena_init(&arena, ctx);
        EXPECT_OK(ctx, takt_json_parse(ctx, &arena, bad[i], strlen(bad[i]), &root));
        EXPECT(!takt_ceilings_read(root, &c), "text %zu was believed", i);
        takt_arena_deinit(&arena);
    }
    for (size_t i = 0; i < 2; i++) {
        write_file(bad[i]);
        EXPECT_OK(ctx, takt_ceilings_get(ctx, path, false, &c));
        EXPECT(!c.from_file, "file %zu was believed", i);
    }
}

/* Every available instruction set and type; stored and read again; and entries that a file of
 * another build lacks are measured. */
static void peaks(void)
{
    static takt_system_rates first, second;
    const char *folder = getenv("TAKT_TEST_TMP");
    bool has_scalar = false, is_missing = false;
    folder = folder != NULL ? folder : "/tmp";
    remove(path);
    EXPECT_OK(ctx, takt_system_rates_get(ctx, folder, path, false, &first));
    EXPECT(!first.from_file && first.peak_count == takt_isa_peaks_here(), "%d", first.peak_count);
    for (int i = 0; i < first.peak_count; i++) {
        const takt_isa_peak *p = &first.peaks[i];
        EXPECT_IS(p->one_thread, >, 0);
        EXPECT_IS(p->all_threads, >=, p->one_thread);
        EXPECT_IS(p->threads, >=, 1);
        has_scalar |= strcmp(p->type, "f32") == 0 && strcmp(p->isa, "scalar") == 0;
        is_missing |= strcmp(p->type, "f16") == 0 && strcmp(p->isa, "scalar") == 0;
    }
    EXPECT(has_scalar && !is_missing, "portable code has no arithmetic in 16 bits");
    EXPECT_OK(ctx, takt_system_rates_get(ctx, folder, path, false, &second));
    EXPECT(second.from_file);
    EXPECT_EQ(second.peak_count, first.peak_count);
    EXPECT_EQ(memcmp(first.peaks, second.peaks, sizeof first.peaks), 0);
}

static void fewer_peaks(void)
{
    static takt_system_rates r;
    takt_arena arena;
    const takt_json *list;
    static const char text[] = "[{\"type\": \"f32\", \"isa\": \"scalar\", \"threads\": 1,"
                               "\"one_thread_gops\": 3, \"all_threads_gops\": 3}]";
    takt_arena_init(&arena, ctx);
    EXPECT_OK(ctx, takt_json_parse(ctx, &arena, text, strlen(text), &list));
    EXPECT(!takt_isa_peaks_read(list, &r), "the others are missing");
    EXPECT_EQ(r.peak_count, 1);
    EXPECT_EQ(r.peaks[0].one_thread, 3);
    EXPECT(!takt_isa_peaks_read(NULL, &r) && r.peak_count == 0);
    takt_arena_deinit(&arena);
}

static void levels(void)
{
    takt_ceilings c = {.cache_bytes = {1000, 10000, 0, 1 << 30}};
    c.one.read_gbs[0] = 100;
    c.one.read_gbs[1] = 50;
    c.one.read_gbs[3] = 10;
    EXPECT_EQ(takt_ceilings_level(&c, 500), 0);
    EXPECT_EQ(takt_ceilings_level(&c, 1001), 1);
    EXPECT(takt_ceilings_level(&c, 20000) == 3, "there is no third level");
    EXPECT(takt_ceilings_read_gbs(&c, 2, false) == 10, "the next that was measured");
}

/* A step of a known size: 1000 floats in, 1000 out, 4000 operations. */
static void roofs(void)
{
    takt_ceilings c = {.cache_bytes = {65536, 1 << 20, 1 << 25, 1 << 30}};
    c.one = c.all = (takt_ceiling){.threads = 1, .f32_gflops = 80, .f64_gflops = 40};
    for (int i = 0; i < TAKT_LEVELS; i++)
        c.one.read_gbs[i] = c.all.read_gbs[i] = 100 - 20 * i;
    takt_view views[2] = {{.dtype = TAKT_F32, .rank = 1, .dim = {1000}},
                          {.dtype = TAKT_F32, .rank = 1, .dim = {1000}}};
    takt_buffer buffer = {.place = TAKT_PLACE_ARENA};
    takt_plan plan = {.threads = 1, .buffers = &buffer, .buffer_count = 1};
    takt_step step = {.kind = "map", .name = "x", .kernel = "map_f32/neon", .task_count = 1};
    takt_roof roof;
    step.in = &views[0];
    step.out = &views[1];
    step.in_count = step.out_count = 1;
    step.cost.flops = 4000;
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.bytes == 8000 && roof.level == 0, "%g bytes, level %d", roof.bytes, roof.level);
    EXPECT_EQ(roof.compute_ns, 50);
    EXPECT_EQ(roof.memory_ns, 80);
    EXPECT_EQ(roof.floor_ns, 80);
    EXPECT_TEXT(takt_roof_bound(&roof, 100), "L1");
    EXPECT_TEXT(takt_roof_bound(&roof, 2000), "overhead");
    step.cost.flops = 80000;
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT_TEXT(takt_roof_bound(&roof, 2000), "compute");
    EXPECT_EQ(roof.floor_ns, 1000);
    step.cost.bytes = 80; /* looks at a hundredth of everything */
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(fabs(roof.bytes - 80) < 1e-9, "%g", roof.bytes);
    views[0].dim[0] = 1000000; /* a gather of 1000 numbers out of many */
    step.cost.bytes = 8000;
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.bytes == 8000 && roof.memory_ns == 80, "%g %g", roof.bytes, roof.memory_ns);
    for (int i = 0; i < TAKT_LEVELS; i++)
        c.one.copy_gbs[i] = c.all.copy_gbs[i] = 160; /* both ways at once */
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.memory_ns == 50, "%g", roof.memory_ns);
    plan.threads = 2; /* integers on two threads have the ceiling of two */
    views[0] = views[1] = (takt_view){.dtype = TAKT_I8, .rank = 1, .dim = {1000}};
    step = (takt_step){.kind = "gemm", .name = "x", .kernel = "gemm_i8/neon", .task_count = 2};
    step.facts.arithmetic = TAKT_I8;
    step.in = &views[0];
    step.in_count = 1;
    step.cost.flops = 80000;
    c.one.int8_gops = 600, c.all.int8_gops = 1200, c.all.threads = 2;
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.gflops == 1200 && roof.threads == 2, "%g", roof.gflops);
    views[0] = (takt_view){.dtype = TAKT_F32, .rank = 1, .dim = {1000}};
    c.all.f32_gflops = 160;
    step.facts.arithmetic = TAKT_F16; /* a peak that was not measured is that of f32 */
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.gflops == 160, "%g", roof.gflops);
    c.one.f16_gflops = 170, c.all.f16_gflops = 330, c.one.bf16_gflops = c.all.bf16_gflops = 500;
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.gflops == 330, "%g", roof.gflops);
    step.facts.arithmetic = TAKT_BF16;
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.gflops == 500, "%g", roof.gflops);
}

/* A device's ceilings, not the host's: 4 MB read and written, then more than its cache holds. */
static void device_roofs(void)
{
    const takt_device_rate rates[] = {
        {"", "f32_flops", "FLOP/s", 60e12},    {"", "read_bytes_per_s", "B/s", 4e12},
        {"", "copy_bytes_per_s", "B/s", 2e12}, {"", "l2_bytes_per_s", "B/s", 8e12},
        {"", "up_bytes_per_s", "B/s", 50e9},   {"", "down_bytes_per_s", "B/s", 40e9},
        {"", "launch_s", "s", 7e-6},           {"", "node_s", "s", 1e-6}};
    const takt_device_peaks d = takt_device_peaks_of(rates, sizeof rates / sizeof *rates);
    const takt_device_peaks none = takt_device_peaks_of(rates, 0);
    takt_ceilings c = {.cache_bytes = {65536, 1 << 20, 1 << 25, 1 << 30}};
    takt_view views[2] = {{.dtype = TAKT_F32, .rank = 1, .dim = {500000}},
                          {.dtype = TAKT_F32, .rank = 1, .dim = {500000}}};
    takt_buffer buffer = {.place = TAKT_PLACE_ARENA, .space = 1};
    takt_plan plan = {.threads = 4, .buffers = &buffer, .buffer_count = 1};
    takt_step step = {.kind = "map", .name = "x", .task_count = 1, .space = 1};
    takt_roof roof;
    step.in = &views[0];
    step.out = &views[1];
    step.in_count = step.out_count = 1;
    step.cost.flops = 1e6;
    EXPECT(takt_roof_is_away(&step));
    takt_roof_of(&plan, &step, &c, &roof);
    EXPECT(roof.floor_ns == 0, "the host's ceilings are not applied");
    takt_roof_of_device(&plan, &step, &d, &roof);
    EXPECT(fabs(roof.memory_ns - 500) < 1e-6, "4 MB of the cache: %g", roof.memory_ns);
    EXPECT(strcmp(takt_roof_bound(&roof, 9000), "launch") == 0, "%s", takt_roof_bound(&roof, 9000));
    step.cost.flops = 60e8; /* 100 us */
    takt_roof_of_device(&plan, &step, &d, &roof);
    EXPECT_TEXT(takt_roof_bound(&roof, 2e5), "FMA");
    EXPECT_IS(fabs(roof.floor_ns - 1e5), <, 1e-3);
    step.cost.flops = 1e6;
    views[0].dim[0] = views[1].dim[0] = 50000000;
    takt_roof_of_device(&plan, &step, &d, &roof);
    EXPECT_TEXT(takt_roof_bound(&roof, 3e5), "HBM");
    EXPECT_IS(fabs(roof.floor_ns - 2e5), <, 1e-3);
    takt_roof_of_device(&plan, &step, &none, &roof);
    EXPECT_TEXT(takt_roof_bound(&roof, 3e5), "unknown");
    EXPECT_EQ(roof.floor_ns, 0);
    step.space = 0;
    step.transfer = (takt_transfer){TAKT_COPY_UP, 200000000};
    takt_roof_of_device(&plan, &step, &d, &roof);
    EXPECT_TEXT(takt_roof_bound(&roof, 5e6), "PCIe");
    EXPECT_IS(fabs(roof.floor_ns - 4e6), <, 1e-3);
    EXPECT_EQ(takt_bound_read("FMA"), TAKT_BOUND_COMPUTE);
    EXPECT_EQ(takt_bound_read("launch"), TAKT_BOUND_OVERHEAD);
    EXPECT_EQ(takt_bound_read("HBM"), TAKT_BOUND_MEMORY);
    EXPECT_EQ(takt_bound_read("unknown"), TAKT_BOUND_UNKNOWN);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, measured_and_kept, foreign_files, peaks, fewer_peaks, levels, roofs, device_roofs,
          end)
