/* conformance.c - every case of ONNX's backend test suite on the backends ref and cpu.
 *
 *     onnx_conformance            all cases; the score is the last lines
 *     onnx_conformance NAME...    cases whose names contain one of the words, each with its result
 *     onnx_conformance --write    all cases, and docs/onnx.md and tests/onnx/score.txt again
 *
 * Debian's libonnx-testdata has the cases stored from PyTorch, and older ones of the rest: they
 * stand in where the newest are missing (util/onnx_case.h).
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "io/onnx/import.h"
#include "util/onnx_case.h"

enum { CASES = 4096, SUITES = 6, DOCS = 1 << 18 };

typedef struct suite {
    const char *name;
    bool is_debian, stands_in; /* for the one two positions before */
    char path[1024];
    size_t count;
    bool is_here;
} suite;

static suite suites[SUITES] = {{.name = "backend-node"},
                               {.name = "backend-simple"},
                               {.name = "node", .is_debian = true, .stands_in = true},
                               {.name = "simple", .is_debian = true, .stands_in = true},
                               {.name = "pytorch-converted", .is_debian = true},
                               {.name = "pytorch-operator", .is_debian = true}};

typedef struct one {
    char name[200], why[CASE_TEXT];
    const suite *suite;
    case_result result;
    bool used_inputs, used_items;
} one;

static one *cases;
static size_t case_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const one *)a)->name, ((const one *)b)->name);
}

static bool is_wanted(const char *name, char **words, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, words[i]) != NULL)
            return true;
    return count == 0;
}

static void list_suite(suite *s, char **words, int count)
{
    DIR *dir = s->is_here ? opendir(s->path) : NULL;
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL && case_count < CASES;) {
        if (e->d_name[0] == '.' || !is_wanted(e->d_name, words, count))
            continue;
        cases[case_count].suite = s;
        snprintf(cases[case_count++].name, sizeof cases->name, "%s/%.150s", s->name, e->d_name);
        s->count++;
    }
    if (dir != NULL)
        closedir(dir);
}

static void find_suites(void)
{
    for (size_t i = 0; i < SUITES; i++) {
        suite *s = &suites[i];
        s->is_here = onnx_case_suite(s->name, s->path, sizeof s->path) &&
                     !(s->stands_in && suites[i - 2].is_here);
    }
}

/* Cases whose expected values have rounding errors larger than the suite's 1e-7: sums of a hundred
 * terms that should be zero. */
static double atol_of(const char *name)
{
    return strstr(name, "test_dft_inverse") != NULL ? 1e-6 : 1e-7;
}

static void run_one(one *c)
{
    static const char *const backends[] = {"ref", "cpu"};
    char folder[1400];
    const char *slash = strchr(c->name, '/');
    const bool is_wrong = onnx_case_is_wrong(c->suite->name, slash + 1);
    snprintf(folder, sizeof folder, "%s%s", c->suite->path, slash);
    for (size_t i = 0; i < 2 && c->result == CASE_PASS; i++) {
        case_report report;
        onnx_case_run(
            folder, backends[i],
            (case_tolerance){1e-3, atol_of(c->name), 0, NULL, onnx_case_is_random(c->name)},
            &report);
        c->result = report.result == CASE_FAIL && is_wrong ? CASE_REFUSED : report.result;
        c->used_inputs = report.used_inputs;
        c->used_items = report.used_items && !report.used_inputs;
        if (report.result != CASE_PASS || report.used_inputs)
            snprintf(c->why, sizeof c->why, "%s: %.380s", backends[i], report.why);
    }
}

/* Cases of one suite that pass, or of all with NULL. */
static size_t passed_of(const suite *s)
{
    size_t n = 0;
    for (size_t i = 0; i < case_count; i++)
        n += cases[i].result == CASE_PASS && (s == NULL || cases[i].suite == s);
    return n;
}

static size_t count_of(case_result result)
{
    size_t n = 0;
    for (size_t i = 0; i < case_count; i++)
        n += cases[i].result == result;
    return n;
}

/* Cases that pass with the values of inputs given when the model is loaded. */
static size_t valued(void)
{
    size_t n = 0;
    for (size_t i = 0; i < case_count; i++)
        n += cases[i].result == CASE_PASS && cases[i].used_inputs;
    return n;
}

static void score(FILE *f)
{
    size_t items = 0, drawn = 0;
    for (size_t i = 0; i < case_count; i++) {
        items += cases[i].result == CASE_PASS && cases[i].used_items;
        drawn += cases[i].result == CASE_PASS && onnx_case_is_random(cases[i].name);
    }
    fprintf(f,
            "ONNX conformance: %zu of %zu cases pass on ref and cpu, %zu are refused, %zu fail;\n"
            "in %zu of those that pass, a shape depends on the value of an input, which was given "
            "at load;\n"
            "in %zu the number of items of a sequence or optional, and their shapes, were given at "
            "load;\n"
            "in %zu the values are random: Takt draws from its own stream, so element types and "
            "shapes are compared",
            count_of(CASE_PASS), case_count, count_of(CASE_REFUSED), count_of(CASE_FAIL), valued(),
            items, drawn);
    for (size_t i = 0; i < SUITES; i++)
        if (suites[i].count > 0)
            fprintf(f, ";\n%s: %zu of %zu", suites[i].name, passed_of(&suites[i]), suites[i].count);
    fputs("\n", f);
}

/* The operators of other domains, which the suite does not reach. */
static void list_domain(FILE *f, const char *domain)
{
    fprintf(f, "\nOperators of `%s` (`tests/onnx/contrib.txt` has cases):", domain);
    const char *mark = "";
    const takt_onnx_op *a;
    for (size_t i = 0; (a = takt_onnx_adapter(i)) != NULL; i++)
        for (size_t k = 0;
             a->domain != NULL && strcmp(a->domain, domain) == 0 && k < 24 && a->names[k] != NULL;
             k++, mark = ",")
            fprintf(f, "%s %s", mark, a->names[k]);
    fputs(".\n", f);
}

static void write_docs(void)
{
    FILE *f = fopen("docs/onnx.md", "w");
    if (f == NULL)
        return;
    fputs("# ONNX\n\nGenerated by `onnx_conformance --write`; do not edit.\n\n", f);
    score(f);
    list_domain(f, "com.microsoft");
    list_domain(f, "ai.onnx.ml");
    fputs(
        "\n"
        "Resize by scales whose products with the sizes are not whole numbers follows ONNX's\n"
        "reference evaluator for align_corners and tf_crop_and_resize: it takes the fractional\n"
        "length, where onnxruntime takes the whole one.\n\n"
        "`clip` of LSTM is for the inputs of all activations, as ONNX says; onnxruntime leaves\n"
        "out the cell, which goes into the last one. A Slice with a negative step that stops at\n"
        "the largest integer is empty, as ONNX says; onnxruntime goes to the first element.\n\n"
        "Where ONNX leaves it open: Cast from a float beyond the integer's range gives the nearest"
        " end of\nthe range, and 0 for NaN. ArgMax, ArgMin and Hardmax along an empty axis are"
        " refused, as the\nreference does. ConvTranspose with auto_pad SAME has stride times the"
        " input's size also where the\nstride is larger than the kernel; what no element reaches"
        " is 0 (`tests/unit/onnx_choices.c`).\n",
        f);
    fputs("\n| case | why it is refused |\n|---|---|\n", f);
    for (size_t i = 0; i < case_count; i++)
        if (cases[i].result != CASE_PASS)
            fprintf(f, "| %s | %s |\n", cases[i].name, cases[i].why);
    fputs("\n| case that needs a value at load | why |\n|---|---|\n", f);
    for (size_t i = 0; i < case_count; i++)
        if (cases[i].result == CASE_PASS && cases[i].used_inputs)
            fprintf(f, "| `%s` | %s |\n", cases[i].name, cases[i].why);
    fclose(f);
}

/* tests/onnx/score.txt: how many of each suite passed before, and in how many the values of inputs
 * were given at load. Suites that are not here stay. */
static void check_score(bool writes)
{
    long recorded[SUITES] = {0}, most = 0, n;
    char word[64];
    FILE *f = fopen("tests/onnx/score.txt", "r");
    while (f != NULL && fscanf(f, "%63s %ld", word, &n) == 2) {
        most = strcmp(word, "values-at-load") == 0 ? n : most;
        for (size_t i = 0; i < SUITES; i++)
            recorded[i] = strcmp(word, suites[i].name) == 0 ? n : recorded[i];
    }
    const bool is_newest = suites[0].is_here && suites[1].is_here;
    EXPECT(writes || !is_newest || (long)valued() <= most,
           "%zu cases need values at load, %ld did before", valued(), most);
    most = is_newest ? (long)valued() : most;
    if (EXPECT(f != NULL, "tests/onnx/score.txt is missing"))
        fclose(f);
    for (size_t i = 0; i < SUITES; i++) {
        const long now = (long)passed_of(&suites[i]);
        EXPECT(recorded[i] > 0, "tests/onnx/score.txt lacks %s", suites[i].name);
        EXPECT(writes || !suites[i].is_here || now >= recorded[i], "%s: %ld pass, %ld did before",
               suites[i].name, now, recorded[i]);
        recorded[i] = suites[i].is_here ? now : recorded[i];
    }
    f = writes ? fopen("tests/onnx/score.txt", "w") : NULL;
    for (size_t i = 0; f != NULL && i < SUITES; i++)
        fprintf(f, "%s %ld\n", suites[i].name, recorded[i]);
    if (f != NULL) {
        fprintf(f, "values-at-load %ld\n", most);
        fclose(f);
    }
}

/* docs/onnx.md lists every refusal with its present message, and no others. */
static void check_docs(void)
{
    static char docs[DOCS];
    char row[CASE_TEXT + 256];
    FILE *f = fopen("docs/onnx.md", "r");
    docs[f != NULL ? fread(docs, 1, DOCS - 1, f) : 0] = '\0';
    if (EXPECT(f != NULL, "docs/onnx.md is missing"))
        fclose(f);
    for (size_t i = 0; i < case_count; i++) {
        snprintf(row, sizeof row, "| %s | %s |\n", cases[i].name, cases[i].why);
        if (cases[i].result != CASE_PASS)
            EXPECT(cases[i].suite->stands_in || strstr(docs, row) != NULL,
                   "docs/onnx.md is old: it lacks %s", row);
        snprintf(row, sizeof row, "| %s |", cases[i].name);
        if (cases[i].result == CASE_PASS)
            EXPECT(strstr(docs, row) == NULL, "docs/onnx.md is old: %s passes", cases[i].name);
    }
}

int main(int argc, char **argv)
{
    const bool writes = argc == 2 && strcmp(argv[1], "--write") == 0;
    const int words = writes ? 0 : argc - 1;
    cases = calloc(CASES, sizeof *cases);
    find_suites();
    for (size_t i = 0; cases != NULL && i < SUITES; i++)
        list_suite(&suites[i], argv + 1, words);
    if (case_count == 0)
        TEST_SKIP("no ONNX test data; set TAKT_DATA, or install Debian's libonnx-testdata");
    qsort(cases, case_count, sizeof *cases, by_name);
    for (size_t i = 0; i < case_count; i++) {
        run_one(&cases[i]);
        if (cases[i].result != CASE_PASS && (words > 0 || cases[i].result == CASE_FAIL))
            printf("%s %s: %s\n", cases[i].result == CASE_FAIL ? "FAIL" : "refused", cases[i].name,
                   cases[i].why);
        else if (words > 0 && cases[i].used_inputs)
            printf("needs a value %s: %s\n", cases[i].name, cases[i].why);
        fflush(stdout);
    }
    EXPECT(count_of(CASE_FAIL) == 0, "%zu cases fail", count_of(CASE_FAIL));
    if (words == 0)
        check_score(writes);
    if (writes)
        write_docs();
    else if (words == 0)
        check_docs();
    for (size_t i = 0; i < SUITES; i++)
        if (!suites[i].is_here && !suites[i].stands_in)
            printf("%s is not here: skipped\n", suites[i].name);
    score(stdout);
    free(cases);
    return test_done();
}
