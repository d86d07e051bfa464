/* pass_cases.c - tests/pass/<pass>/<case>.takt before a pass, <case>.want.takt after it.
 *
 *     pass_pass_cases --bless     rewrites the .want files, to be reviewed before they are kept
 *
 * Every case is compared as text, with the rules that fired and refused as comments, and evaluated:
 * the interpreter gives the same results before and after. Together the cases must make every rule
 * of every pass fire, and every refusal in src/pass happen.
 */
#define _GNU_SOURCE /* scandir */
#include <dirent.h>

#include "pass/meaning.h"
#include "pass/pass.h"
#include "pass/passes.h"

enum { RULES = 64, REASONS = 128, PATH = 512 };

static takt_ctx *ctx;
static bool is_blessing;
static size_t case_count;
static struct {
    const takt_pass *pass;
    const char *law;
    size_t fired;
} rule[16 * RULES];
static size_t rule_count;
static char *reasons[REASONS];
static size_t reason_count;

/* ---- files ---- */

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    size_t length = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    for (size_t got;
         text != NULL && (got = fread(text + length, 1, capacity - length - 1, file));) {
        length += got;
        if (capacity - length < 2)
            text = realloc(text, capacity *= 2);
    }
    fclose(file);
    if (text != NULL)
        text[length] = '\0';
    return text;
}

static void write_all(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    EXPECT(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s", path);
}

static bool ends(const char *name, const char *end)
{
    const size_t n = strlen(name), e = strlen(end);
    return n > e && strcmp(name + n - e, end) == 0;
}

/* Calls `each` for the files of a folder in the order of their names. */
static size_t each_file(const char *folder, const char *end, void (*each)(const char *path, void *),
                        void *user)
{
    struct dirent **list;
    const int count = scandir(folder, &list, NULL, alphasort);
    size_t found = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH];
        if (ends(list[i]->d_name, end) && !ends(list[i]->d_name, ".want.takt")) {
            snprintf(path, sizeof path, "%.200s/%.255s", folder, list[i]->d_name);
            each(path, user);
            found++;
        }
        free(list[i]);
    }
    if (count >= 0)
        free(list);
    return found;
}

/* ---- what must be seen ---- */

/* The passes of the pipeline, then those that run on request; NULL beyond the last. */
static const takt_pass *pass_at(size_t index)
{
    static const takt_pass *const asked[] = {&takt_pass_precision};
    const size_t count = takt_pipeline_count();
    if (index < count)
        return takt_pipeline_pass(index);
    return index - count < sizeof asked / sizeof *asked ? asked[index - count] : NULL;
}

static void find_rules(void)
{
    const takt_pass *pass;
    for (size_t p = 0; (pass = pass_at(p)) != NULL; p++) {
        for (size_t i = 0; i < pass->rule_count; i++, rule_count++) {
            rule[rule_count].pass = pass;
            rule[rule_count].law = pass->rules[i].law;
        }
    }
}

/* The sentences in calls of takt_refuse; every occurrence but the definition has one. */
static void find_reasons(const char *path, void *user)
{
    (void)user;
    char *text = read_all(path);
    for (char *at = text; at != NULL && (at = strstr(at, "takt_refuse(r")) != NULL;) {
        char *open = strchr(at, '"'), *stop = strchr(at, ';');
        at = stop;
        char *close = open != NULL && open < stop ? strchr(open + 1, '"') : NULL;
        if (close != NULL && reason_count < REASONS)
            reasons[reason_count++] = strndup(open + 1, (size_t)(close - open - 1));
    }
    free(text);
}

static void note_event(const takt_pass *pass, const takt_pass_event *e)
{
    for (size_t i = 0; e->refused == NULL && i < rule_count; i++)
        rule[i].fired += rule[i].pass == pass && strcmp(rule[i].law, e->law) == 0;
    for (size_t i = 0; e->refused != NULL && i < reason_count; i++)
        if (reasons[i] != NULL && strcmp(reasons[i], e->refused) == 0) {
            free(reasons[i]);
            reasons[i] = NULL;
        }
}

/* ---- a case ---- */

/* Named dimensions become 3 everywhere. */
static takt_graph *concrete(const takt_graph *g)
{
    int64_t sizes[16];
    takt_graph *out = NULL;
    for (size_t i = 0; i < 16; i++)
        sizes[i] = 3;
    const size_t count = takt_dims_name_count(g->dims);
    EXPECT_IS(count, <=, 16);
    EXPECT_OK(ctx, takt_graph_specialize(g, sizes, count, &out));
    return out;
}

/* Results of 16 bits are rounded elsewhere. */
static double bound_of(const takt_pass *pass, const takt_graph *g)
{
    bool is_half = false;
    for (size_t i = 0; i < g->output_count; i++)
        is_half |= takt_dtype_bits(takt_type_of(g, g->outputs[i].id)->dtype) == 16;
    return pass->licence == NULL                              ? 0
           : is_half || pass == &takt_pass_narrow_activations ? 3e-2
                                                              : 1e-5;
}

static void same_meaning(const char *path, const takt_pass *pass, const takt_graph *before,
                         const takt_graph *after)
{
    static meaning in, want, got;
    takt_graph *a = concrete(before), *b = concrete(after);
    for (uint64_t seed = 1; a != NULL && b != NULL && seed <= 4; seed++) {
        const bool spice = pass->licence == NULL && seed > 2;
        EXPECT_OK(ctx, meaning_draw(ctx, a, seed, NULL, spice, &in));
        /* If the graph cannot be evaluated (a zero divisor), neither can the new one. */
        const takt_status first = meaning_run(a, &in, &want), second = meaning_run(b, &in, &got);
        EXPECT(first == second, "%s: %s became %s", path, takt_status_name(first),
               takt_status_name(second));
        if (first == TAKT_OK && second == TAKT_OK)
            meaning_same(&want, &got, bound_of(pass, a), path);
        meaning_deinit(&want);
        meaning_deinit(&got);
        meaning_deinit(&in);
    }
    takt_graph_destroy(a);
    takt_graph_destroy(b);
}

/* The trace in the order of events, then the graph with its types. */
static void describe(const takt_pass *pass, const takt_pass_report *report, const takt_graph *g,
                     takt_text *text)
{
    static const takt_print_options options = {.types = true};
    for (const takt_pass_event *e = report->first; e != NULL; e = e->next) {
        note_event(pass, e);
        takt_text_add(text, "# %s: %s\n", e->refused != NULL ? "refused" : "fired", e->law);
        if (e->refused != NULL)
            takt_text_add(text, "#   %s\n", e->refused);
    }
    takt_graph_print(g, &options, text);
}

static void compare(const char *path, const char *got)
{
    char want_path[PATH + 8];
    snprintf(want_path, sizeof want_path, "%.*s.want.takt", (int)(strlen(path) - 5), path);
    if (is_blessing) {
        write_all(want_path, got);
        return;
    }
    char *want = read_all(want_path);
    EXPECT(want != NULL && strcmp(want, got) == 0, "%s\n%s\nexpected\n%s", path, got,
           want != NULL ? want : "(no .want.takt: run with --bless and look at it)");
    free(want);
}

static const char *settings = ""; /* of the pass: "to=f16" */

static void run_case(const char *path, void *user)
{
    const takt_pass *pass = user;
    takt_pass_given given = takt_pass_defaults(pass);
    char *source = read_all(path);
    takt_graph *before = NULL, *after = NULL;
    takt_pass_report report;
    takt_text text;
    case_count++;
    takt_pass_report_init(&report, ctx);
    takt_text_init(&text, ctx);
    if (EXPECT_OK(ctx, takt_parse(ctx, path, source, strlen(source), NULL, &before)) &&
        EXPECT_OK(ctx, takt_pass_read(ctx, pass, settings, strlen(settings), &given)) &&
        EXPECT_OK(ctx, takt_pass_apply_with(pass, &given, before, &report, &after))) {
        EXPECT_OK(ctx, takt_graph_verify(after));
        describe(pass, &report, after, &text);
        compare(path, takt_text_get(&text));
        meaning_reads_back(after, path);
        same_meaning(path, pass, before, after);
    }
    takt_graph_destroy(before);
    takt_graph_destroy(after);
    takt_text_deinit(&text);
    takt_pass_report_deinit(&report);
    free(source);
}

/* The words of the first setting have a folder each: precision-f16. */
static size_t cases_of(const takt_pass *pass, const char *word)
{
    char folder[PATH], set[64] = "";
    snprintf(folder, sizeof folder, "tests/pass/%s%s%s", pass->name, word != NULL ? "-" : "",
             word != NULL ? word : "");
    if (word != NULL)
        snprintf(set, sizeof set, "%s=%s", pass->args[0].name, word);
    settings = set;
    const size_t found = (size_t)each_file(folder, ".takt", run_case, (void *)pass);
    settings = "";
    EXPECT(found > 0, "%s has no cases", folder);
    return found;
}

static void all_cases(void)
{
    find_rules();
    each_file("src/pass", ".c", find_reasons, NULL);
    EXPECT(reason_count > 5, "found %zu refusals in src/pass", reason_count);
    const takt_pass *pass;
    for (size_t p = 0; (pass = pass_at(p)) != NULL; p++) {
        const char *const *words = pass->args[0].words;
        if (words == NULL)
            cases_of(pass, NULL);
        for (size_t i = 0; words != NULL && words[i] != NULL; i++)
            cases_of(pass, words[i]);
    }
    for (size_t i = 0; i < rule_count; i++)
        EXPECT(rule[i].fired > 0, "%s: rule '%s' never fired", rule[i].pass->name, rule[i].law);
    for (size_t i = 0; i < reason_count; i++) {
        EXPECT(reasons[i] == NULL, "no case is refused with '%s'", reasons[i]);
        free(reasons[i]);
    }
}

int main(int argc, char **argv)
{
    is_blessing = argc > 1 && strcmp(argv[1], "--bless") == 0;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    all_cases();
    takt_ctx_destroy(ctx);
    printf("%zu cases, %zu rules, %zu refusals\n", case_count, rule_count, reason_count);
    return test_done();
}
