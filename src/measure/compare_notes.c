/* compare_notes.c - caveats of a verdict: different settings, busy machines, aborted runs. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "measure/plot.h"
#include "stats/compare.h"

static bool differ(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

void takt_compared_unlike(takt_text *text, const takt_compared *of,
                          void (*name)(takt_text *text, const char *value))
{
    const takt_run_config *a = &of->a_config, *b = &of->b_config;
    const char *const pairs[][3] = {{"backend", a->backend, b->backend},
                                    {"weights stored in", a->precision, b->precision},
                                    {"numerics", a->numerics, b->numerics}};
    bool is_first = true;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (differ(pairs[i][1], pairs[i][2])) {
            takt_text_add(text, "%s%s ", is_first ? "they are not computed alike: " : "; ",
                          pairs[i][0]);
            name(text, pairs[i][1]);
            takt_text_add(text, " and ");
            name(text, pairs[i][2]);
            is_first = false;
        }
    if (!is_first)
        takt_text_add(text, "\n");
}

/* ---- doubts ---- */

static bool is_busy(const char *grade)
{
    return grade != NULL && (grade[0] == 'C' || grade[0] == 'D');
}

void takt_compared_doubt(takt_text *text, const takt_comparison *c, const takt_compared *of)
{
    takt_text_add(text,
                  "they were measured apart: the smallest change that this comparison could see is "
                  "about %.2f %%\n",
                  100 * c->detectable);
    const bool busy[] = {is_busy(of->a_grade), is_busy(of->b_grade)};
    if (busy[0] || busy[1])
        takt_text_add(text, "noise: %s%s%s%s%s%s%s, others computed or times varied meanwhile\n",
                      busy[0] ? of->a : "", busy[0] ? " has grade " : "",
                      busy[0] ? of->a_grade : "", busy[0] && busy[1] ? ", " : "",
                      busy[1] ? of->b : "", busy[1] ? " has grade " : "",
                      busy[1] ? of->b_grade : "");
    if (busy[0] || busy[1] || c->verdict == TAKT_INCONCLUSIVE)
        takt_text_add(
            text, "hint: `takt benchmark compare MODEL MODEL` alternates the models "
                  "and sees smaller changes; or measure each with --repeat-process 5 or more\n");
}

void takt_compared_grade(takt_json_writer *w, const char *key, const char *grade)
{
    if (grade == NULL)
        return;
    takt_json_put_string(w, key, grade);
}

/* ---- warnings of a page ---- */

static void say_incomplete(takt_text *text, const takt_compared *of)
{
    const char *const names[] = {of->a_incomplete ? of->a : NULL, of->b_incomplete ? of->b : NULL};
    for (size_t i = 0; i < 2; i++) {
        if (names[i] == NULL)
            continue;
        takt_text_add(text, "<p class=\"warn\">Incomplete: ");
        takt_html_text(text, names[i]);
        takt_text_add(text, " was broken off.</p>\n");
    }
}

static void say_busy(takt_text *text, const char *name, const char *grade)
{
    if (!is_busy(grade))
        return;
    takt_text_add(text, "<p class=\"warn\">Noise: ");
    takt_html_text(text, name);
    takt_text_add(text, " has grade %s: others computed or times varied meanwhile.</p>\n", grade);
}

void takt_compared_warn(takt_text *text, const takt_compared *of)
{
    say_incomplete(text, of);
    say_busy(text, of->a, of->a_grade);
    say_busy(text, of->b, of->b_grade);
}
