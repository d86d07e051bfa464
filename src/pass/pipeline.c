/* pipeline.c - the order of the passes and the reason for each position. */
#include <string.h>

#include "base/near.h"
#include "base/text.h"
#include "pass/pass.h"
#include "pass/passes.h"

typedef struct stage {
    const takt_pass *pass;
    const char *reason;
} stage;

static const stage stages[] = {
    {&takt_pass_cse, "first, so that every later pass sees each value once"},
    {&takt_pass_join_scans, "before their bodies are rewritten, each by itself"},
    {&takt_pass_canonicalize,
     "one spelling of everything, so that later rules need not look twice"},
    {&takt_pass_fold_shapes, "sizes become numbers before anything asks whether they are 1"},
    {&takt_pass_fold_identity, "arithmetic that does nothing hides chains from the next passes"},
    {&takt_pass_fold_moves, "transposes and reshapes that cancel hide producers from consumers"},
    {&takt_pass_recognise, "wants moves merged, and arithmetic before other passes change it"},
    {&takt_pass_join_attention, "wants transposes merged, and scales where they were written"},
    {&takt_pass_tiny_weights, "wants weights next to their products, where layout puts moves"},
    {&takt_pass_bytes, "puts quantize behind what it rounds, where the next pass looks for it"},
    {&takt_pass_quantized, "wants weights right behind their dequantize, where layout puts moves"},
    {&takt_pass_layout, "sinks transposes, so after those that cancel by themselves are gone"},
    {&takt_pass_fold_weights, "wants convolutions next to their scales, which the moves uncovered"},
    {&takt_pass_fold_branches, "after scales are in the weights that it adds"},
    {&takt_pass_siblings, "after scales are in the weights, which it puts side by side"},
    {&takt_pass_padded_taps, "wants channels last; before winograd, which hides dilation"},
    {&takt_pass_winograd, "hides convolutions from rules, so after the last that looks for them"},
    {&takt_pass_reduce_strength, "cheaper arithmetic last, once nothing else will match its form"},
    {&takt_pass_widen_late, "after the passes that move weights about"},
    {&takt_pass_widen_activations,
     "the plan does it, after all passes: in `exact`, for the cpu backend, not to save memory"},
    {&takt_pass_narrow_activations,
     "the plan does it, after all passes: only under `numerics = fast`, for the cpu backend"},
};

/* The last two are selected like the others, but applied by the plan if its settings request it. */
enum { STAGES = sizeof stages / sizeof *stages, STANDARD = STAGES - 2 };

size_t takt_pipeline_count(void)
{
    return STAGES;
}

const takt_pass *takt_pipeline_pass(size_t index)
{
    return stages[index].pass;
}

const char *takt_pipeline_reason(size_t index)
{
    return stages[index].reason;
}

bool takt_pass_is_on(const takt_pass *pass, uint64_t off)
{
    for (size_t i = 0; i < STAGES; i++)
        if (stages[i].pass == pass)
            return (off >> i & 1) == 0;
    return false;
}

static takt_status fail_unknown(takt_ctx *ctx, takt_span word)
{
    char name[64];
    const size_t length = word.length < sizeof name - 1 ? word.length : sizeof name - 1;
    memcpy(name, word.at, length);
    name[length] = '\0';
    takt_nearest near = takt_nearest_to(name);
    for (size_t i = 0; i < STAGES; i++)
        takt_nearest_try(&near, stages[i].pass->name);
    static const char *const others[] = {"fuse", "all", "licensed"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        takt_nearest_try(&near, others[i]);
    takt_fail(ctx, TAKT_E_NAME, "there is no pass called %s", name);
    return near.best != NULL ? takt_fail_hint(ctx, "did you mean %s?", near.best)
                             : takt_fail_hint(ctx, "`takt opt --list` shows them");
}

/* "fuse", or "fuse:min-gain=1.5": not a pass over graphs, but selected like one. */
static bool is_fuse(takt_span word, takt_span *more)
{
    static const char name[] = "fuse";
    const size_t length = sizeof name - 1;
    if (word.length < length || memcmp(word.at, name, length) != 0 ||
        (word.length > length && word.at[length] != ':'))
        return false;
    *more = (takt_span){word.at + length, word.length - length};
    return true;
}

/* It is read as if it were a pass. */
static const takt_pass fuse = {
    .name = "fuse",
    .summary = "nodes of one step",
    .args = {{.name = "min-gain",
              .summary = "the gain that a fusion has at least, e.g. 1.5",
              .most = 1e9}},
};

static takt_status choose_fuse(takt_ctx *ctx, takt_span more, bool off, takt_pass_choice *choice)
{
    takt_pass_given given = {.arg = {choice->min_gain}};
    choice->fuse = off ? -1 : 1;
    if (more.length == 0)
        return TAKT_OK;
    if (off || more.length == 1) {
        takt_fail(ctx, TAKT_E_OPTION, "fuse%.*s is not understood", (int)more.length, more.at);
        return takt_fail_hint(ctx, "its one setting is fuse:min-gain=1.5");
    }
    TAKT_TRY(takt_pass_read(ctx, &fuse, more.at + 1, more.length - 1, &given));
    choice->min_gain = given.arg[0];
    return TAKT_OK;
}

static takt_status choose_word(takt_ctx *ctx, takt_span word, takt_pass_choice *choice)
{
    const bool off = word.length > 0 && word.at[0] == '-';
    if (word.length > 0 && (off || word.at[0] == '+')) {
        word.at++;
        word.length--;
    }
    if (takt_span_is(word, "all")) {
        choice->off = off ? UINT64_MAX : 0;
        return TAKT_OK;
    }
    takt_span more;
    if (is_fuse(word, &more))
        return choose_fuse(ctx, more, off, choice);
    const bool licensed = takt_span_is(word, "licensed");
    for (size_t i = 0; i < STAGES && licensed; i++)
        if (stages[i].pass->licence != NULL)
            choice->off = off ? choice->off | UINT64_C(1) << i : choice->off & ~(UINT64_C(1) << i);
    if (licensed)
        return TAKT_OK;
    for (size_t i = 0; i < STAGES; i++) {
        if (!takt_span_is(word, stages[i].pass->name))
            continue;
        const uint64_t bit = UINT64_C(1) << i;
        choice->off = off ? choice->off | bit : choice->off & ~bit;
        return TAKT_OK;
    }
    return fail_unknown(ctx, word);
}

takt_status takt_pass_choose(takt_ctx *ctx, const char *words, takt_pass_choice *choice)
{
    while (words != NULL && *words != '\0') {
        const size_t length = strcspn(words, ",");
        if (length > 0)
            TAKT_TRY(choose_word(ctx, (takt_span){words, length}, choice));
        words += length + (words[length] == ',');
    }
    return TAKT_OK;
}

/* Every pass needs its own graph to start from. */
static takt_status copy_graph(const takt_graph *in, bool keeps_equals, takt_graph **out)
{
    takt_graph like = *in;
    like.keeps_equals = keeps_equals;
    static const takt_pass copy = {.name = "copy", .summary = "copy what is live"};
    return takt_pass_apply(&copy, &like, NULL, out);
}

/* Passes that would undo the lowering of composites, or read all weights again. */
static bool is_early(const takt_pass *pass)
{
    return pass == &takt_pass_recognise || pass == &takt_pass_join_attention ||
           pass == &takt_pass_tiny_weights;
}

takt_status takt_pipeline_run(takt_ctx *ctx, const takt_graph *in,
                              const takt_pipeline_options *options, takt_graph **out)
{
    *out = NULL;
    takt_graph *current;
    TAKT_TRY(copy_graph(in, (options->choice.off & 1) != 0, &current));
    for (size_t i = 0; i < STANDARD; i++) {
        if ((options->choice.off >> i & 1) != 0 ||
            (options->is_lowered && is_early(stages[i].pass)))
            continue;
        takt_graph *next;
        takt_status status = takt_pass_apply(stages[i].pass, current, options->report, &next);
        takt_graph_destroy(current);
        if (status == TAKT_OK && options->watch != NULL)
            status = options->watch(options->watch_user, stages[i].pass, next);
        if (status != TAKT_OK) {
            takt_graph_destroy(next);
            return status;
        }
        current = next;
    }
    (void)ctx;
    *out = current;
    return TAKT_OK;
}
