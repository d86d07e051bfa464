/* scan_known.c - the patterns of known tokenizers, by their names in files. */
#include "text/scan.h"

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define OTHERS "| ?[^\\s\\p{L}\\p{N}]+"
#define WORDS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define LINES "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const takt_scan takt_scan_gpt2 = {
    .name = "gpt-2", .patterns = {CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+" OTHERS "|\\s+(?!\\S)|\\s+"}};
const takt_scan takt_scan_digits = {.name = "smollm", .splits_digits = true};
const takt_scan takt_scan_marks = {.name = "metaspace", .is_marked = true};
#define LLAMA3 .any_case = true, .joins_any = true, .joins_lines = true, .digits = 3
static const takt_scan llama3 = {
    .name = "llama-bpe",
    LLAMA3,
    .takes_whole = true,
    .adds_first = true,
    .patterns = {"(?i:" CONTRACTIONS ")" WORDS "|\\p{N}{1,3}" OTHERS LINES,
                 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])" WORDS
                 "|\\p{N}{1,3}" OTHERS LINES}};
#define LLAMA3_PATTERN "(?i:" CONTRACTIONS ")" WORDS "|\\p{N}{1,3}" OTHERS LINES
static const takt_scan dbrx = {.name = "dbrx", LLAMA3, .patterns = {LLAMA3_PATTERN}};
static const takt_scan glm4 = {
    .name = "glm4", LLAMA3, .takes_whole = true, .patterns = {LLAMA3_PATTERN}};
static const takt_scan qwen2 = {
    .name = "qwen2",
    .any_case = true,
    .joins_any = true,
    .joins_lines = true,
    .digits = 1,
    .patterns = {"(?i:" CONTRACTIONS ")" WORDS "|\\p{N}" OTHERS LINES,
                 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])" WORDS
                 "|\\p{N}" OTHERS LINES}};
static const takt_scan qwen35 = {.name = "qwen35",
                                 .any_case = true,
                                 .joins_any = true,
                                 .joins_lines = true,
                                 .has_marks = true,
                                 .digits = 1,
                                 .patterns = {"(?i:" CONTRACTIONS
                                              ")|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                                              "| ?[^\\s\\p{L}\\p{M}\\p{N}]+" LINES}};

#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define SLASHES "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SUFFIX "(?i:" CONTRACTIONS ")?"
static const takt_scan o200k = {.name = "gpt-4o",
                                .any_case = true,
                                .joins_lines = true,
                                .joins_slashes = true,
                                .is_cased = true,
                                .is_contracted = true,
                                .digits = 3,
                                .patterns = {BEFORE UPPER "*" LOWER "+" SUFFIX "|" BEFORE UPPER
                                                          "+" LOWER "*" SUFFIX
                                                          "|\\p{N}{1,3}" SLASHES}};
static const takt_scan granite = {.name = "granite-embed-multi-97m",
                                  .any_case = true,
                                  .joins_lines = true,
                                  .joins_slashes = true,
                                  .is_cased = true,
                                  .is_contracted = true,
                                  .takes_whole = true,
                                  .digits = 3};
static const takt_scan tekken = {
    .name = "tekken",
    .joins_lines = true,
    .joins_slashes = true,
    .is_cased = true,
    .takes_whole = true,
    .adds_first = true,
    .digits = 1,
    .patterns = {BEFORE UPPER "*" LOWER "+|" BEFORE UPPER "+" LOWER "*|\\p{N}" SLASHES}};
static const takt_scan bloom = {
    .name = "bloom",
    .is_bloom = true,
    .patterns = {" ?[^(\\s|[.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C])]+",
                 " ?[^(\\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+"}};

static const takt_scan viking = {.name = "viking", .is_bloom = true, .splits_digits = true};
static const takt_scan seed_coder = {
    .name = "seed-coder",
    .any_case = true,
    .joins_any = true,
    .leaves_lines = true,
    .digits = 1,
    .patterns = {"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])" WORDS
                 "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}};

static const struct {
    const char *name;
    const takt_scan *scan;
} names[] = {
    {"gpt-2", &takt_scan_gpt2},
    {"phi-2", &takt_scan_gpt2},
    {"jina-es", &takt_scan_gpt2},
    {"jina-de", &takt_scan_gpt2},
    {"jina-v2-es", &takt_scan_gpt2},
    {"jina-v2-de", &takt_scan_gpt2},
    {"gigachat", &takt_scan_gpt2},
    {"mpt", &takt_scan_gpt2},
    {"olmo", &takt_scan_gpt2},
    {"jais", &takt_scan_gpt2},
    {"roberta-bpe", &takt_scan_gpt2},
    {"exaone4", &takt_scan_gpt2},
    {"jina-v1-en", &takt_scan_gpt2},
    {"jina-v2-code", &takt_scan_gpt2},
    {"a.x-4.0", &takt_scan_gpt2},
    {"mellum", &takt_scan_gpt2},
    {"modern-bert", &takt_scan_gpt2},
    {"trillion", &takt_scan_gpt2},
    {"granite-docling", &takt_scan_gpt2},
    {"llama3", &llama3},
    {"llama-v3", &llama3},
    {"llama-bpe", &llama3},
    {"falcon3", &llama3},
    {"falcon-h1", &llama3},
    {"pixtral", &llama3},
    {"lfm2", &llama3},
    {"midm-2.0", &llama3},
    {"jina-v5-nano", &llama3},
    {"smaug-bpe", &dbrx},
    {"dbrx", &dbrx},
    {"chatglm-bpe", &dbrx},
    {"glm4", &glm4},
    {"glm5", &glm4},
    {"gpt-4o", &o200k},
    {"llama4", &o200k},
    {"kanana2", &o200k},
    {"talkie", &o200k},
    {"minimax-m2", &o200k},
    {"granite-embed-multi-97m", &granite},
    {"tekken", &tekken},
    {"bloom", &bloom},
    {"poro-chat", &bloom},
    {"gpt3-finnish", &bloom},
    {"viking", &viking},
    {"seed-coder", &seed_coder},
    {"qwen35", &qwen35},
    {"qwen2", &qwen2},
    {"kormo", &qwen2},
    {"f2llmv2", &qwen2},
    {"solar-open", &qwen2},
    {"grok-2", &qwen2},
    {"deepseek-r1-qwen", &qwen2},
    {"stablelm2", &qwen2},
    {"hunyuan", &qwen2},
    {"megrez", &qwen2},
    {"bailingmoe", &qwen2}, /* words end at the last line end, with a + and without */
    {"bailingmoe2", &qwen2},
    {"llada-moe", &qwen2},
    {"smollm", &takt_scan_digits},
    {"starcoder", &takt_scan_digits},
    {"refact", &takt_scan_digits},
    {"command-r", &takt_scan_digits},
    {"codeshell", &takt_scan_digits},
    {"exaone", &takt_scan_digits},
    {"minerva-7b", &takt_scan_digits},
    {"mellum2", &takt_scan_digits},
};

const takt_scan *takt_scan_named(takt_span name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (takt_span_is(name, names[i].name))
            return names[i].scan;
    return NULL;
}

const takt_scan *takt_scan_of_pattern(takt_span pattern)
{
    static const takt_scan *const all[] = {&takt_scan_gpt2, &llama3, &qwen2, &qwen35,
                                           &o200k,          &tekken, &bloom, &seed_coder};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < 3 && all[i]->patterns[k] != NULL; k++)
            if (takt_span_is(pattern, all[i]->patterns[k]))
                return all[i];
    return NULL;
}
