/* verify_vnnlib.c - VNN-LIB: valid files, refusals with reasons, and running out of memory. */
#include <dirent.h>
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "base/mem.h"
#include "test.h"
#include "util/inject.h"
#include "verify/property.h"

static takt_ctx *ctx;

static int read_text(const char *text, takt_property *p)
{
    const takt_span span = {text, strlen(text)};
    const takt_status status = takt_property_read(ctx, "t.vnnlib", span, p);
    return status == TAKT_OK ? 0 : takt_last_error_info(ctx)->id;
}

static char corpus_text[1 << 16];

static int read_seed(const char *name, takt_property *p)
{
    char path[300];
    snprintf(path, sizeof path, "tests/corpus/vnnlib/%s", name);
    FILE *f = fopen(path, "rb");
    if (!EXPECT(f != NULL, "%s", path))
        return -1;
    const size_t length = fread(corpus_text, 1, sizeof corpus_text - 1, f);
    fclose(f);
    const takt_status status = takt_property_read(ctx, name, (takt_span){corpus_text, length}, p);
    return status == TAKT_OK ? 0 : takt_last_error_info(ctx)->id;
}

static void cases(void)
{
    takt_property p;
    if (EXPECT(read_seed("good_first", &p) == 0, "%s", takt_last_error(ctx))) {
        EXPECT(p.case_count == 1 && p.input_count == 2 && p.output_count == 2, "counts");
        const takt_case *c = &p.cases[0];
        EXPECT(c->lo[0] == -1 && c->hi[0] == 1 && c->lo[1] == 0 && c->hi[1] == 0.5, "box");
        EXPECT(c->row_count == 1 && c->rows[0].count == 2 && c->rows[0].bound == 0, "rows");
        EXPECT(c->rows[0].terms[0].factor == 1 && c->rows[0].terms[1].factor == -1, "signs");
    }
    takt_property_deinit(&p);
    if (EXPECT(read_seed("good_or", &p) == 0, "%s", takt_last_error(ctx))) {
        EXPECT(p.case_count == 2 && p.cases[0].lo == p.cases[1].lo, "cases share their box");
        EXPECT(p.cases[0].row_count == 2 && p.cases[1].row_count == 1, "rows");
        EXPECT(p.cases[1].rows[0].is_strict && !p.cases[0].rows[0].is_strict, "strict");
    }
    takt_property_deinit(&p);
    EXPECT(read_seed("good_boxes", &p) == 0 && p.case_count == 4, "%zu cases", p.case_count);
    EXPECT(p.case_count == 4 && p.cases[3].lo[0] == 2 && p.cases[3].hi[1] == 1, "second box");
    takt_property_deinit(&p);
    EXPECT(read_seed("good_empty_box", &p) == 0 && p.cases[0].is_empty, "an empty box");
    takt_property_deinit(&p);
}

/* 2 y0 - y1 + 0.5 <= x0 - 3, and y0 == y1 as two rows. */
static void linear(void)
{
    takt_property p;
    if (!EXPECT(read_seed("good_linear", &p) == 0, "%s", takt_last_error(ctx)))
        return;
    const takt_case *c = &p.cases[0];
    double at[3] = {0};
    bool is_found = false;
    EXPECT(c->row_count == 3, "%zu rows", c->row_count);
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].count == 3) {
            is_found = true;
            for (size_t k = 0; k < 3; k++)
                at[c->rows[i].terms[k].is_input ? 2 : c->rows[i].terms[k].index] =
                    c->rows[i].terms[k].factor;
            EXPECT(c->rows[i].bound == -3.5, "bound %g", c->rows[i].bound);
        }
    EXPECT(is_found && at[0] == 2 && at[1] == -1 && at[2] == -1, "%g %g %g", at[0], at[1], at[2]);
    takt_property_deinit(&p);
}

static void second_version(void)
{
    takt_property p, q;
    EXPECT(read_seed("good_first", &p) == 0, "%s", takt_last_error(ctx));
    EXPECT(read_seed("good_second", &q) == 0, "%s", takt_last_error(ctx));
    EXPECT(p.case_count == q.case_count && memcmp(p.cases[0].lo, q.cases[0].lo, 16) == 0 &&
               memcmp(p.cases[0].hi, q.cases[0].hi, 16) == 0 && q.cases[0].row_count == 1,
           "1.0 and 2.0 say the same");
    takt_property_deinit(&p);
    takt_property_deinit(&q);
    EXPECT(read_seed("good_scalar", &p) == 0 && p.input_count == 1, "%s", takt_last_error(ctx));
    takt_property_deinit(&p);
    EXPECT(read_seed("good_function", &p) == 0 && p.cases[0].lo[0] == 0.25, "declare-fun");
    takt_property_deinit(&p);
}

/* The first two digits of a seed's name are the class of its defect. */
static void refusals(void)
{
    static const int ids[] = {0,
                              TAKT_E_VNNLIB_NAME,
                              TAKT_E_PROPERTY_UNBOUNDED,
                              TAKT_E_VNNLIB,
                              TAKT_E_VNNLIB,
                              TAKT_E_PROPERTY_LIMIT};
    DIR *dir = opendir("tests/corpus/vnnlib");
    int count = 0;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        takt_property p;
        if (e->d_name[0] == '.')
            continue;
        const bool is_good = strncmp(e->d_name, "good", 4) == 0;
        const int want = is_good ? 0 : ids[(e->d_name[1] - '0') % 6];
        const int got = read_seed(e->d_name, &p);
        EXPECT(got == want, "%s: %d, not %d: %s", e->d_name, got, want, takt_last_error(ctx));
        EXPECT(got == 0 || p.case_count == 0, "%s leaves something", e->d_name);
        takt_property_deinit(&p);
        count++;
    }
    if (dir != NULL)
        closedir(dir);
    EXPECT(count >= 30, "%d seeds", count);
}

static int read_large(const char *head, const char *piece, size_t bytes)
{
    takt_property p;
    void *block;
    const size_t one = strlen(piece), begin = strlen(head);
    if (takt_mem_get(ctx, bytes, "text", &block) != TAKT_OK)
        return -1;
    char *text = block;
    memcpy(text, head, begin);
    size_t at = begin;
    for (; at + one <= bytes; at += one)
        memcpy(text + at, piece, one);
    const takt_status status = takt_property_read(ctx, "large", (takt_span){text, at}, &p);
    takt_mem_put(ctx, block, bytes);
    takt_property_deinit(&p);
    return status == TAKT_OK ? 0 : takt_last_error_info(ctx)->id;
}

#define HEAD "(declare-const X_0 Real)(declare-const Y_0 Real)(assert "

static void large(void)
{
    EXPECT(read_large(HEAD, "(and ", 5 << 20) == TAKT_E_PROPERTY_LIMIT, "nesting 10^6");
    EXPECT(read_large(HEAD, "(or ", 100 << 20) == TAKT_E_PROPERTY_LIMIT, "100 MB of or");
    EXPECT(read_large(HEAD "(<= ", "(- ", 1 << 20) == TAKT_E_PROPERTY_LIMIT, "nested sums");
    EXPECT(read_large(HEAD "(or ", "(<= Y_0 0)", 10 << 20) == TAKT_E_VNNLIB, "a long or, cut off");
    EXPECT(read_large("", "((((((((", 1 << 20) == TAKT_E_VNNLIB, "brackets");
}

/* The same text as a file, plain and compressed, if the test data is available. */
static void files(void)
{
    takt_property p;
    const char *data = getenv("TAKT_DATA");
    char path[400];
    snprintf(path, sizeof path, "%s/vnn/acasxu/prop_6.vnnlib.gz",
             data != NULL ? data : "../shared/data");
    FILE *f = fopen(path, "rb");
    EXPECT(takt_property_load(ctx, "tests/corpus/vnnlib/good_or", &p) == TAKT_OK, "%s",
           takt_last_error(ctx));
    takt_property_deinit(&p);
    EXPECT(takt_property_load(ctx, "tests/corpus/vnnlib/none", &p) == TAKT_ERR_NOT_FOUND ||
               takt_last_error_info(ctx)->id == TAKT_E_FILE_OPEN,
           "no file");
    takt_property_deinit(&p);
    if (f == NULL)
        return;
    fclose(f);
    EXPECT(takt_property_load(ctx, path, &p) == TAKT_OK && p.case_count == 8, "%s",
           takt_last_error(ctx));
    takt_property_deinit(&p);
}

static takt_status scenario(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_property p;
    takt_inject_config(inject, &config);
    takt_ctx *const old = ctx;
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status == TAKT_OK) {
        const char *path = user;
        status = takt_property_load(ctx, path, &p);
        takt_property_deinit(&p);
        takt_ctx_destroy(ctx);
    }
    ctx = old;
    return status;
}

static void sweeps(void)
{
    static const char *const paths[] = {"tests/corpus/vnnlib/good_boxes",
                                        "tests/corpus/vnnlib/good_linear",
                                        "tests/corpus/vnnlib/good_second"};
    for (size_t i = 0; i < 3; i++) {
        const takt_sweep_report r = takt_sweep(scenario, (void *)paths[i], TAKT_INJECT_ALL);
        EXPECT(r.is_good, "%s: %s", paths[i], r.message);
    }
}

static void start(void)
{
    takt_property p;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT(read_text("(assert", &p) == TAKT_E_VNNLIB, "%s", takt_last_error(ctx));
    EXPECT(takt_last_error_info(ctx)->line == 1, "line");
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, cases, linear, second_version, refusals, large, files, sweeps, stop)
