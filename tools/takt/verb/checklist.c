/* checklist.c - the boxes of the performance guides: those that a machine can tick, with evidence,
 * and those that take a person, with the reason. */
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "checklist.h"

typedef enum check_id {
#define X(name) CHECK_ID_##name,
    TAKT_CHECKS(X)
#undef X
        CHECK_ID_COUNT
} check_id;

typedef struct box {
    const char *guide, *name;
    const char *person; /* why only a person can tick it; NULL: `check` does */
    check_id check;
} box;

#define CHECK(name) NULL, CHECK_ID_##name
#define PERSON(reason) reason, CHECK_ID_COUNT
#define X(guide, name, by) {guide, name, by},
static const box boxes[] = {
#include "checklist.def"
};
#undef X

static check_fn *const checks[] = {
#define X(name) check_##name,
    TAKT_CHECKS(X)
#undef X
};

typedef struct list {
    check_sheet sheet;
    check_result results[CHECK_ID_COUNT];
    size_t ticked, open, persons;
} list;

static void print_json(const box *b, const check_result *r, bool is_first)
{
    printf("%s\n  {\"guide\": \"%s\", \"box\": ", is_first ? "" : ",", b->guide);
    tool_print_string(stdout, b->name);
    printf(", \"by\": \"%s\", \"ticked\": %s, \"evidence\": ", r != NULL ? "machine" : "person",
           r != NULL && r->ticked ? "true" : "false");
    tool_print_string(stdout, r != NULL ? r->evidence : b->person);
    printf(", \"fix\": ");
    tool_print_string(stdout, r != NULL && !r->ticked ? r->fix : "");
    printf("}");
}

static void print_text(const box *b, const check_result *r)
{
    if (r == NULL)
        return;
    printf("[%c] %s: %s\n", r->ticked ? 'x' : ' ', b->name, r->evidence);
    if (!r->ticked)
        printf("      %s\n", r->fix);
}

static void look_at(list *l, size_t index, bool json)
{
    const box *b = &boxes[index];
    check_result *r = b->person == NULL ? &l->results[b->check] : NULL;
    if (r != NULL && !r->is_known) {
        checks[b->check](&l->sheet, r);
        r->is_known = true;
    }
    if (!json && (index == 0 || strcmp(boxes[index - 1].guide, b->guide) != 0))
        printf("%sguide %s\n", index > 0 ? "\n" : "", b->guide);
    if (json)
        print_json(b, r, index == 0);
    else
        print_text(b, r);
    l->ticked += r != NULL && r->ticked;
    l->open += r != NULL && !r->ticked;
    l->persons += r == NULL;
}

/* Whether the box of --slo is ticked. */
static bool is_latency_kept(const list *l)
{
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (boxes[i].person == NULL && checks[boxes[i].check] == check_latency)
            return l->results[boxes[i].check].ticked;
    return true;
}

static void print_persons(void)
{
    printf("\nby a person:\n");
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (boxes[i].person != NULL)
            printf("[ ] %s %s: %s\n", boxes[i].guide, boxes[i].name, boxes[i].person);
}

static int look(tool_patient *p)
{
    static const size_t count = sizeof boxes / sizeof *boxes;
    list *l = calloc(1, sizeof *l);
    if (l == NULL)
        return tool_finish(p->t, TAKT_ERR_MEMORY);
    l->sheet.p = p;
    const bool json = tool_on(p->t, TAKT_F_JSON);
    if (json)
        printf("{\"schema\": \"takt-checklist/1\", \"boxes\": [");
    for (size_t i = 0; i < count; i++)
        look_at(l, i, json);
    if (json) {
        printf("\n], \"ticked\": %zu, \"open\": %zu, \"by_person\": %zu, \"of\": %zu}\n", l->ticked,
               l->open, l->persons, count);
    } else {
        print_persons();
        printf("\n%zu boxes: %zu ticked, %zu open, %zu by a person\n", count, l->ticked, l->open,
               l->persons);
    }
    const bool is_kept = tool_text_of(p->t, TAKT_F_SLO) == NULL || is_latency_kept(l);
    takt_profile_destroy(l->sheet.profile);
    free(l);
    return is_kept ? TAKT_EXIT_OK : TAKT_EXIT_BUDGET;
}

static int run(takt_tool *t)
{
    takt_slo slo = {0};
    if (!bench_take_slo(t, &slo)) /* errors are reported before anything is measured */
        return TAKT_EXIT_USAGE;
    return tool_patient_examine(t, look);
}

const takt_verb takt_verb_checklist = {
    .name = "checklist",
    .task = TAKT_TASK_MEASURE,
    .summary =
        "the 69 boxes of the performance guides, ticked with evidence or with what is missing",
    .arguments = "MODEL",
    .arg_min = 1,
    .arg_max = 1,
    .about = "A box is ticked if the model does what it asks for, or if doing so would save less\n"
             "than 5 % of the time; the others say what would tick them. What no program can\n"
             "determine is listed last.",
    .example = "takt checklist examples/mlp.takt -D batch=32 --memory-limit 80%",
    .often = (const tool_flag_id[]){TAKT_F_DIM, TAKT_F_SHAPE, TAKT_F_THREADS, TAKT_F_BACKEND,
                                    TAKT_F_LEVEL, TAKT_FLAG_IDS},
    .flags = {TAKT_F_MODEL, TAKT_F_SELECT, TAKT_F_WEIGHTS, TAKT_F_ALLOW_LINKS, TAKT_F_INPUT,
              TAKT_F_SHAPE, TAKT_F_DIM, TAKT_F_SEED, TAKT_F_THREADS, TOOL_PLAN_FLAGS, TAKT_F_SLO,
              TAKT_F_QPS, TAKT_F_DURATION, TAKT_FLAG_IDS},
    .run = run,
};
