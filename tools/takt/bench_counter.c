/* bench_counter.c - instructions of a run: counted by the processor, else simulated by callgrind.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "process.h"

enum { FEW = 2, MANY = 7, COUNTED_RUNS = 20 };

/* Flags that a simulated run needs to compute the same. */
static const tool_flag_id carried[] = {TAKT_F_SELECT, TAKT_F_BACKEND, TAKT_F_ISA,   TAKT_F_PASS,
                                       TAKT_F_LEVEL,  TAKT_F_SEED,    TAKT_FLAG_IDS};

static void carry(tool_command *c, const takt_tool *t)
{
    for (const tool_flag_id *id = carried; *id != TAKT_FLAG_IDS; id++)
        for (size_t i = 0; i < t->value_count; i++)
            if (t->values[i].id == *id)
                tool_command_add(c, "--%s=%s", tool_flags[*id].name, t->values[i].text);
}

static void carry_sizes(tool_command *c, const char *sizes)
{
    for (const char *at = sizes; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        tool_command_add(c, "--dim=%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
}

/* "==123== Collected : 456789", of so many runs; 0 if callgrind did not get there. */
static double collected(takt_tool *t, const char *model, const char *sizes, int runs)
{
    tool_command c = {0};
    tool_buffer err = {0};
    char self[4096];
    double count = 0;
    tool_command_add(&c, "valgrind");
    tool_command_add(&c, "--tool=callgrind");
    tool_command_add(&c, "--callgrind-out-file=/dev/null");
    tool_command_add(&c, "%s", tool_self(self, sizeof self));
    tool_command_add(&c, "run");
    tool_command_add(&c, "--random");
    tool_command_add(&c, "--threads=1");
    tool_command_add(&c, "--repeat=%d", runs);
    carry(&c, t);
    carry_sizes(&c, sizes);
    tool_command_add(&c, "%s", model);
    if (tool_spawn(&c, NULL, &err) == 0 && err.at != NULL) {
        const char *at = strstr(err.at, "Collected :");
        count = at != NULL ? strtod(at + strlen("Collected :"), NULL) : 0;
    }
    tool_command_free(&c);
    free(err.at);
    return count;
}

/* What loading and planning take is in both counts, and falls out of the difference. */
double bench_simulate(takt_tool *t, const char *model, const char *sizes)
{
    const double few = collected(t, model, sizes, FEW);
    const double many = few > 0 ? collected(t, model, sizes, MANY) : 0;
    return many > few ? (many - few) / (MANY - FEW) : 0;
}

/* By the processor; false: it does not count for us. */
static bool count_really(bench_job *j, const char *sizes, double *per_run)
{
    takt_plan *plan;
    takt_session *s = NULL;
    takt_status status = tool_try_plan(j->t, j->model, sizes, 1, &plan);
    if (status == TAKT_OK)
        status = takt_session_create(plan, NULL, &s);
    if (status == TAKT_OK && tool_fill_inputs(j->t, s) == TAKT_EXIT_OK)
        status = takt_session_count(s, j->event, COUNTED_RUNS, per_run);
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    return status == TAKT_OK && *per_run > 0;
}

int bench_count_events(bench_job *j, size_t index, const char *sizes)
{
    double per_run = 0;
    const char *source = "measured";
    if (!count_really(j, sizes, &per_run)) {
        source = "simulated";
        per_run = bench_simulate(j->t, j->info.model, sizes);
    }
    if (per_run == 0) {
        takt_error e = {.status = TAKT_ERR_UNSUPPORTED, .id = 8004, .offset = -1};
        snprintf(e.message, sizeof e.message,
                 "%s cannot be counted here: the kernel grants no counter, and valgrind could not "
                 "run the model",
                 j->event);
        snprintf(e.hint, sizeof e.hint, "sudo apt install valgrind");
        return tool_report_error(j->t, &e);
    }
    return tool_finish(j->t, takt_bench_set_counter(j->bench, index, j->event, per_run, source));
}
