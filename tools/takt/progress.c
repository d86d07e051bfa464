/* progress.c - how far a command is that takes longer than a second: on terminals only.
 *
 * It goes to standard error past the filter of control characters, and is gone before a result is
 * written. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "measure.h"

#define SECOND UINT64_C(1000000000)

/* TAKT_PROGRESS: seconds before a bar appears; default 1. */
static uint64_t patience_ns(void)
{
    const char *text = getenv("TAKT_PROGRESS");
    char *end = NULL;
    const double seconds = text != NULL ? strtod(text, &end) : 1;
    const bool is_good = text == NULL || (end != text && *end == '\0' && seconds >= 0);
    return is_good && seconds < 1e6 ? (uint64_t)(seconds * 1e9) : SECOND;
}

bool tool_progress_wanted(const takt_tool *t)
{
    return isatty(STDERR_FILENO) && !tool_on(t, TAKT_F_QUIET);
}

void tool_progress_wipe(const takt_tool *t)
{
    if (tool_progress_wanted(t))
        dprintf(STDERR_FILENO, "\r\x1b[K");
}

void tool_progress_bar(uint64_t done, uint64_t total, char cells[static TOOL_BAR + 1])
{
    const double part = total > 0 && done < total ? (double)done / (double)total : 1;
    for (int i = 0; i < TOOL_BAR; i++)
        cells[i] = i < (int)(part * TOOL_BAR) ? '=' : ' ';
    cells[TOOL_BAR] = '\0';
}

static size_t columns(void)
{
    struct winsize size;
    const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : 80;
}

void tool_progress_show(const tool_progress_piece *pieces, size_t count)
{
    char line[512];
    const size_t room = columns() < sizeof line ? columns() : sizeof line;
    for (int most = 9; most >= 0; most--) {
        size_t used = 0;
        line[0] = '\0';
        for (size_t i = 0; i < count; i++)
            if (pieces[i].spare <= most && used < sizeof line)
                used += (size_t)snprintf(line + used, sizeof line - used, "%s", pieces[i].text);
        if (used < room)
            break;
    }
    dprintf(STDERR_FILENO, "\r%.*s\x1b[K", (int)room - 1, line);
}

tool_progress tool_progress_begin(const takt_tool *t, const char *what, const char *unit,
                                  uint64_t total)
{
    return (tool_progress){
        .t = t, .what = what, .unit = unit, .total = total, .begun_ns = tool_now_ns()};
}

void tool_progress_part(void *user, const char *what, uint64_t done, uint64_t total)
{
    tool_progress *p = user;
    if (p->what == NULL || strcmp(p->what, what) != 0 || p->total != total || done == 0) {
        tool_progress_end(p);
        *p = tool_progress_begin(p->t, what, "", total);
    }
    tool_progress_at(p, done);
}

void tool_progress_at(tool_progress *p, uint64_t done)
{
    char cells[TOOL_BAR + 1], rate[64] = "";
    const uint64_t now = tool_now_ns(), passed = now - p->begun_ns;
    if (passed < patience_ns() || now - p->drawn_ns < SECOND / 10 || done == 0 || done > p->total ||
        !tool_progress_wanted(p->t))
        return;
    p->drawn_ns = now;
    tool_progress_bar(done, p->total, cells);
    const double speed = (double)done * 1e9 / (double)passed;
    if (p->unit[0] != '\0')
        snprintf(rate, sizeof rate, "  %.*f %s/s", speed < 100 ? 1 : 0, speed, p->unit);
    char chart[TOOL_BAR + 4], part[16], rest[32];
    snprintf(chart, sizeof chart, " [%s]", cells);
    snprintf(part, sizeof part, " %3.0f %%", 100 * (double)done / (double)p->total);
    snprintf(rest, sizeof rest, "  %.0f s left",
             (double)(p->total - done) * (double)passed / (double)done * 1e-9);
    tool_progress_show(
        (const tool_progress_piece[]){{p->what, 0}, {chart, 1}, {part, 0}, {rate, 2}, {rest, 0}},
        5);
}

void tool_progress_end(tool_progress *p)
{
    if (p->drawn_ns != 0)
        tool_progress_wipe(p->t);
    p->drawn_ns = 0;
}

int tool_progress_report(void *user, const char *text, size_t length)
{
    tool_progress *p = user;
    tool_progress_end(p);
    return tool_to_screen((void *)(uintptr_t)p->t, text, length);
}
