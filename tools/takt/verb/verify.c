/* verify.c - proves a property of a model, or shows an input that breaks it. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "signals.h"
#include "verify_data.h"

static bool is_cancelled(void *user)
{
    (void)user;
    return tool_is_interrupted();
}

static int exit_code(const takt_verify_summary *s)
{
    return s->verdict == TAKT_PROOF_FOUND     ? TAKT_EXIT_OK
           : s->verdict == TAKT_PROOF_REFUTED ? TAKT_EXIT_FAILED
                                              : TAKT_EXIT_INCONCLUSIVE;
}

static int real_of(takt_tool *t, tool_flag_id id, const char *name, double fallback, double *value)
{
    const char *text = tool_text_of(t, id);
    char *end;
    *value = fallback;
    if (text == NULL)
        return TAKT_EXIT_OK;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value >= 0))
        return tool_usage_error(t, 1003, NULL, "--%s takes a number that is not negative, not %s",
                                name, text);
    return TAKT_EXIT_OK;
}

static int prove(takt_tool *t, const takt_model *model, takt_verify_options *o)
{
    takt_verify_summary summary = {0};
    tool_signals signals;
    tool_interrupts_catch(&signals);
    const bool has_data = tool_text_of(t, TAKT_F_DATA_SET) != NULL;
    const int code = has_data ? verify_data(t, model, o)
                              : tool_finish(t, takt_model_verify(model, o, tool_format_of(t),
                                                                 tool_to_screen, t, &summary));
    tool_signals_restore(&signals);
    if (has_data)
        return code;
    return code != TAKT_EXIT_OK ? code : exit_code(&summary);
}

static int verify(takt_tool *t, const takt_model *model)
{
    tool_sizes sizes;
    takt_tensor_view view = {0};
    const char *input = tool_text_of(t, TAKT_F_AROUND);
    const char *file = tool_text_of(t, TAKT_F_COUNTEREXAMPLE);
    if (!tool_sizes_init(t, model, &sizes))
        return TAKT_EXIT_USAGE;
    takt_verify_options o = {.size = sizeof o,
                             .property = tool_text_of(t, TAKT_F_PROPERTY),
                             .norm = tool_text_of(t, TAKT_F_NORM),
                             .sizes = sizes.text,
                             .method = tool_text_of(t, TAKT_F_PROOF_METHOD),
                             .arithmetic = tool_text_of(t, TAKT_F_ARITHMETIC),
                             .threads = (int)tool_number_of(t, TAKT_F_THREADS, 0),
                             .counterexample = file != NULL ? file : "counterexample.npy",
                             .certificate = tool_text_of(t, TAKT_F_CERTIFICATE),
                             .check = tool_text_of(t, TAKT_F_CHECKED_PROOF),
                             .vnncomp = tool_text_of(t, TAKT_F_VNNCOMP),
                             .is_cancelled = is_cancelled};
    int code = real_of(t, TAKT_F_EPS, "eps", 0, &o.eps);
    if (code == TAKT_EXIT_OK)
        code = real_of(t, TAKT_F_TIMEOUT, "timeout", 60, &o.timeout_s);
    if (code == TAKT_EXIT_OK && input != NULL)
        code = tool_finish(t, takt_npy_load(t->ctx, input, &view));
    if (code != TAKT_EXIT_OK)
        return code;
    o.input = input != NULL ? &view : NULL;
    code = prove(t, model, &o);
    takt_view_free(t->ctx, &view);
    return code;
}

static int run(takt_tool *t)
{
    int code;
    takt_model *model = tool_open_model(t, &code);
    if (model == NULL)
        return code;
    code = verify(t, model);
    takt_model_destroy(model);
    return code;
}

const takt_verb takt_verb_verify = {
    .name = "verify",
    .task = TAKT_TASK_TRUST,
    .is_main = true,
    .summary = "prove a property for all inputs of a box, or refute it",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "Proofs hold for the bits that Takt computes, on every machine. Exit code 0: proved,\n"
             "1: violated, and the input is written to a file; 5: unknown, with the best bound.",
    .example = "takt verify examples/bounded.takt --property examples/bounded.vnnlib",
    .often = (const tool_flag_id[]){TAKT_F_PROPERTY, TAKT_F_AROUND, TAKT_F_EPS, TAKT_F_NORM,
                                    TAKT_F_DATA_SET, TAKT_F_TIMEOUT, TAKT_F_PROOF_METHOD,
                                    TAKT_F_ARITHMETIC, TAKT_F_CERTIFICATE, TAKT_F_CHECKED_PROOF,
                                    TAKT_F_THREADS, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL,       TAKT_F_SELECT,        TAKT_F_WEIGHTS,
              TAKT_F_ALLOW_LINKS, TAKT_F_PROPERTY,      TAKT_F_AROUND,
              TAKT_F_EPS,         TAKT_F_NORM,          TAKT_F_DATA_SET,
              TAKT_F_SPLIT,       TAKT_F_SAMPLES,       TAKT_F_PROOF_METHOD,
              TAKT_F_ARITHMETIC,  TAKT_F_TIMEOUT,       TAKT_F_COUNTEREXAMPLE,
              TAKT_F_CERTIFICATE, TAKT_F_CHECKED_PROOF, TAKT_F_VNNCOMP,
              TAKT_F_DIM,         TAKT_F_SHAPE,         TAKT_F_THREADS,
              TAKT_FLAG_IDS},
    .run = run,
};
