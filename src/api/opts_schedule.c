/* opts_schedule.c - how a training step trades time for memory. */
#include "api/opts.h"
#include "base/number.h"

#include <string.h>

takt_status takt_settle_tradeoff(takt_ctx *ctx, const char *word, takt_plan_settings *s)
{
    s->has_tradeoff = word != NULL;
    if (word == NULL || (takt_number_read(word, strlen(word), &s->tradeoff) && s->tradeoff >= 0 &&
                         s->tradeoff <= 1))
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "the tradeoff %s is not a number from 0 to 1", word);
    return takt_fail_hint(ctx, "1 is fastest, 0 needs the least memory");
}

takt_status takt_opts_schedule(takt_ctx *ctx, takt_plan_options *options,
                               const takt_schedule_opts *schedule)
{
    /* Words, because options are texts that outlive the call. */
    static const char *const words[] = {"0",    "0.05", "0.1",  "0.15", "0.2",  "0.25", "0.3",
                                        "0.35", "0.4",  "0.45", "0.5",  "0.55", "0.6",  "0.65",
                                        "0.7",  "0.75", "0.8",  "0.85", "0.9",  "0.95", "1"};
    if (ctx == NULL || options == NULL || schedule == NULL)
        return TAKT_ERR_ARGUMENT;
    const size_t last = sizeof words / sizeof *words - 1;
    const double share = schedule->memory_speed_tradeoff;
    const bool asks =
        share != 0 || schedule->recompute_activations || schedule->max_activation_memory != 0;
    if (!(share >= 0 && share <= 1))
        return takt_fail(ctx, TAKT_E_OPTION, "memory_speed_tradeoff must be from 0 to 1, not %g",
                         share);
    if (!schedule->enable_checkpointing && asks)
        return takt_fail(ctx, TAKT_E_OPTION,
                         "memory is traded for speed only with enable_checkpointing");
    options->activation_limit = schedule->max_activation_memory;
    if (!schedule->enable_checkpointing)
        options->tradeoff = words[last];
    else if (schedule->recompute_activations)
        options->tradeoff = words[0];
    else
        options->tradeoff = share > 0 ? words[(size_t)(share * (double)last + 0.5)] : NULL;
    return TAKT_OK;
}
