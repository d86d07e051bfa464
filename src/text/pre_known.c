/* pre_known.c - how the BPE of GGUF files splits texts into words, by the file's name for it, for
 * names without a scanner in scan_known.c. */
#include "text/tokenizer.h"

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define CONTRACTIONS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define LINES "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define ENDINGS "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

static const takt_pre known[] = {
    {.name = "default",
     .patterns = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {.name = "minicpm5",
     .patterns = {"\\p{N}{1,3}",
                  CONTRACTIONS "|" BEFORE "\\p{L}+|\\p{N}+| ?[^\\s\\p{L}\\p{N}]+" LINES},
     .takes_whole = true},
    {.name = "deepseek-llm",
     .patterns = {"[\r\n]",
                  "\\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-"
                  "\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-"
                  "\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5"
                  "\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
                  "\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77"
                  "\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D"
                  "\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-"
                  "\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB"
                  "\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113"
                  "\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134"
                  "\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B"
                  "\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B"
                  "\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06"
                  "\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F"
                  "\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2"
                  "\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943]+",
                  "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+", "\\s+$",
                  "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", "\\p{N}+"}},
    {.name = "deepseek-coder",
     .patterns = {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+",
                  "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+", "\\p{N}"}},
    {.name = "deepseek-v3",
     .patterns = {"\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
                  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}"
                  "\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+"
                  "|\\s+(?!\\S)|\\s+"}},
    {.name = "spark2_5",
     .patterns = {"\\p{N}{1,3}", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
                  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}"
                  "\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\r\n]|\\s+(?!\\S)"
                  "|\\s+",
                  "\\p{N}"}},
    {.name = "youtu",
     .patterns = {"[\uAC00-\uD7A3\u3131-\u318E]+|[\uFF01\u2026\u201C\u201D\u2018"
                  "\u2019\u2014\uFF1A\uFF1B\uFF0C\u3001-\u303F\uFE30-\uFE4F]+|[\u3105"
                  "-\u312F]+|[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
                  BEFORE UPPER "*" LOWER "+" CONTRACTIONS "?|" BEFORE UPPER "+" LOWER
                               "*" CONTRACTIONS
                               "?|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)"
                               "|\\s+"},
     .takes_whole = true},
    {.name = "falcon", .patterns = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {.name = "jais-2",
     .patterns = {CONTRACTIONS "|" BEFORE
                               "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                               "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s"
                               "{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!"
                               "\\S)|\\s{1}"}},
    {.name = "gemma4", .patterns = {"[^\\n]+|[\\n]+"}, .is_plain = true},
    {.name = "sarvam-moe", .patterns = {"[^\\n]+|[\\n]+"}, .is_plain = true},
    {.name = "whitespace", .patterns = {"\\S+"}, .is_words = true},
    {.name = "exaone-moe",
     .patterns = {CONTRACTIONS "|" BEFORE
                               "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"
                               "[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {.name = "chameleon",
     .patterns = {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )",
                  "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     .adds_first = true},
    {.name = "tiny_aya",
     .patterns = {"\\d{1,3}(?=(?:\\d{3})*\\b)", BEFORE UPPER
                  "*" LOWER "+" CONTRACTIONS "?|" BEFORE UPPER "+" LOWER "*" CONTRACTIONS
                  "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?"
                  "!\\S)|\\s+"}},
    {.name = "superbpe", .patterns = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    {.name = "afmoe",
     .patterns = {"\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))",
                  "[\u4E00-\u9FFF\u3400-\u4DBF\u8C48-\uFAFF\u3040-\u309F\u30A0-\u30FF"
                  "\uFF65-\uFF9F\u2F00-\u2FDF\u0E40-\u0E7F\u0E80-\u0EFF\u1780-\u17FF"
                  "\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF\uAC00-\uD7AF\u1100-\u11FF]"
                  "+",
                  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{"
                  "L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+" LINES}},
    {.name = "laguna",
     .patterns = {"[^\\n]+|[\\n]+",
                  CONTRACTIONS "|" BEFORE "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+" LINES}},
    {.name = "ufakzeka", .patterns = {BEFORE "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+" LINES}},
    {.name = "kimi-k2",
     .patterns = {"[\\p{Han}]+|" BEFORE
                  "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}"
                  "\\p{Lo}\\p{M}&&[^\\p{Han}]]+" ENDINGS "|" BEFORE
                  "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+[\\p{Ll}\\p{Lm}"
                  "\\p{Lo}\\p{M}&&[^\\p{Han}]]*" ENDINGS
                  "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+" LINES}},
};

static const struct {
    const char *name, *as;
} others[] = {
    {"hunyuan-dense", "deepseek-v3"},       {"joyai-llm", "deepseek-v3"}, {"hy_v4", "deepseek-v3"},
    {"granite-embed-multi-311m", "gemma4"}, {"cohere2moe", "tiny_aya"},
};

const takt_pre *takt_pre_named(takt_span name)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (takt_span_is(name, others[i].name))
            name = takt_span_of(others[i].as);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (takt_span_is(name, known[i].name))
            return &known[i];
    return NULL;
}

const char *takt_pre_of(const takt_cut *cuts, size_t count)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *const *p = known[i].patterns;
        bool is = !known[i].is_plain && !known[i].is_words;
        size_t k = 0;
        for (; is && k < count && p[k] != NULL; k++)
            is = takt_span_is(cuts[k].pattern, p[k]) && cuts[k].kind == TAKT_CUT_ISOLATED &&
                 !cuts[k].is_inverted;
        if (is && k == count && p[k] == NULL)
            return known[i].name;
    }
    return NULL;
}
