/* facts.c - why a fact of a model's rules holds or does not. */
#include "facts.h"

#include <stdlib.h>
#include <string.h>

#include "kept.h"
#include "run.h"

/* ---- what is random ---- */

static bool is_random(const tool_run *r, const char *name, size_t length)
{
    for (size_t i = 0; i < r->input_count; i++)
        if (r->is_random[i] && strlen(r->names[i]) == length &&
            memcmp(r->names[i], name, length) == 0)
            return true;
    return false;
}

/* A line of a proof; a fact of an input filled by --random was not given by the user. */
static void print_line(const tool_run *r, const char *line, size_t length)
{
    static const char fact[] = "  fact";
    const size_t end = sizeof fact - 1, from = strspn(line, " ");
    if (length > end && memcmp(line + length - end, fact, end) == 0 &&
        is_random(r, line + from, strcspn(line + from, "(")))
        printf("%.*s  random\n", (int)(length - end), line);
    else
        printf("%.*s\n", (int)length, line);
}

static void print_names(const tool_run *r, bool json)
{
    const char *before = "";
    for (size_t i = 0; i < r->input_count; i++) {
        if (!r->is_random[i])
            continue;
        printf("%s", before);
        before = ", ";
        if (json)
            tool_print_string(stdout, r->names[i]);
        else
            printf("%s", r->names[i]);
    }
}

/* The library's report; with --random also the inputs that it depends on. */
static void print_written(const tool_run *r, const char *text)
{
    if (r->random_count == 0) {
        printf("%s", text);
    } else if (tool_on(r->t, TAKT_F_JSON)) {
        printf("{\"random\": [");
        print_names(r, true);
        printf("], %s", text + strspn(text, "{ \n"));
    } else {
        for (size_t length; *text != '\0'; text += length + (text[length] == '\n')) {
            length = strcspn(text, "\n");
            print_line(r, text, length);
        }
        printf("filled by --random: ");
        print_names(r, false);
        printf("\n");
    }
}

/* ---- proofs ---- */

static takt_status write_proof(const takt_tool *t, const char *fact, const takt_derivation *proof,
                               tool_kept *to)
{
    char text[512];
    if (proof != NULL)
        return takt_derivation_write(proof, tool_format_of(t), tool_keep_text, to);
    const int length =
        snprintf(text, sizeof text,
                 tool_on(t, TAKT_F_JSON) ? "{\"holds\": false, \"steps\": []}\n"
                                         : "%.400s does not hold: --why-not tells why\n",
                 fact);
    return tool_keep_text(to, text, (size_t)length) == 0 ? TAKT_OK : TAKT_ERR_MEMORY;
}

static int print_proof(const tool_run *r, takt_session *s)
{
    const takt_tool *t = r->t;
    const char *fact = tool_text_of(t, TAKT_F_FACT);
    takt_derivation *proof = NULL;
    tool_kept written = {0};
    takt_status status;
    if (tool_on(t, TAKT_F_WHY_NOT)) {
        status = takt_fact_why_not(r->model, fact, s, tool_format_of(t), tool_keep_text, &written);
    } else {
        status = takt_fact_prove(r->model, fact, s, &proof);
        if (status == TAKT_OK)
            status = write_proof(t, fact, proof, &written);
        takt_derivation_free(proof);
    }
    if (status == TAKT_OK && written.at != NULL)
        print_written(r, written.at);
    free(written.at);
    return tool_finish(t, status);
}

static int run_session(tool_run *r, takt_session *s)
{
    const int code = tool_bind_inputs(r, s);
    if (code != TAKT_EXIT_OK)
        return code;
    if (takt_session_run(s) != TAKT_OK)
        return tool_report_error(r->t, takt_session_error(s));
    return print_proof(r, s);
}

int tool_explain_fact(takt_tool *t, const takt_model *model)
{
    tool_run r = {.t = t, .model = model, .needs_all = true};
    tool_kept outputs = {0};
    tool_request request;
    const char *fact = tool_text_of(t, TAKT_F_FACT);
    int code = tool_finish(t, takt_fact_outputs(model, fact, tool_keep_text, &outputs));
    if (code == TAKT_EXIT_OK)
        code = tool_load_inputs(&r);
    if (code == TAKT_EXIT_OK)
        code = tool_request_init(t, r.sizes.text, &request);
    if (code == TAKT_EXIT_OK) {
        request.options.outputs = outputs.at;
        takt_plan *plan = tool_request_plan(t, model, &request, &code);
        takt_session *s = plan != NULL ? tool_make_session(t, plan, &code) : NULL;
        if (s != NULL)
            code = run_session(&r, s);
        takt_session_destroy(s);
        takt_plan_destroy(plan);
    }
    free(outputs.at);
    tool_free_inputs(&r);
    return code;
}
