/* stops.c - where a run can be stopped by a deadline or a cancel, and where it cannot. */
#include "backend/cpu/cost_model.h"
#include "measure/report/report.h"
#include "plan/finish.h"
#include "train/phase.h"

/* By the cost model that splits tasks. */
static double step_us(const takt_plan *plan, const takt_step *s)
{
    const takt_cost cost = takt_step_cost(plan, s);
    return takt_cost_model_us(takt_cost_model_of(s->isas), cost.flops, cost.bytes);
}

void takt_report_stops(takt_report *r, const takt_plan *plan)
{
    size_t tasks = 0, longest = 0, commits = 0, first = plan->step_count;
    double longest_us = 0, commit_us = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        if (s->space != TAKT_HOST) /* spaces.c reports those */
            continue;
        /* A step that overwrites state early is not interrupted between its tasks either. */
        const double us = step_us(plan, s) / (double)(s->undo == NULL ? s->task_count : 1);
        if (s->is_commit) {
            first = commits++ == 0 ? i : first;
            commit_us += step_us(plan, s);
            continue;
        }
        tasks += s->undo == NULL ? s->task_count : 1;
        longest = us > longest_us ? i : longest;
        longest_us = us > longest_us ? us : longest_us;
    }
    if (r->is_json) {
        takt_json_put_open(&r->json, "stops", '{');
        takt_report_count(r, "tasks", tasks);
        takt_report_count(r, "longest_step", longest);
        takt_report_count(r, "longest_ns", takt_whole(1e3 * longest_us));
        takt_report_count(r, "commit_first", first);
        takt_report_count(r, "commit_steps", commits);
        takt_report_count(r, "commit_ns", takt_whole(1e3 * commit_us));
        takt_json_close(&r->json, '}');
        return;
    }
    if (tasks > 0)
        takt_text_add(&r->text,
                      "deadline and cancellation are checked before each of %zu task%s and inside "
                      "long ones; the longest, in step %zu, takes about %.3g us\n",
                      tasks, tasks == 1 ? "" : "s", longest, longest_us);
    if (commits > 0)
        takt_text_add(
            &r->text,
            "commit phase: %zu step%s from step %zu on, about %.3g us, not interrupted%s\n",
            commits, commits == 1 ? "" : "s", first, commit_us,
            takt_is_training_step(plan->graph) ? "; it begins with the first update" : "");
}
