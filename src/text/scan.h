/* scan.h - splits texts into words, like the patterns of known tokenizers.
 *
 * Those patterns are variations of one: contractions, letters, digits, other characters, white
 * space. A record describes a variation, and takt_scan_word finds the end of the next word without
 * a regular expression.
 */
#ifndef TAKT_TEXT_SCAN_H
#define TAKT_TEXT_SCAN_H

#include "base/text.h"

typedef struct takt_scan {
    const char *name;
    bool any_case;           /* contractions also in capitals */
    bool joins_any;          /* letters may take any one character before them, else only a space */
    bool joins_lines;        /* other characters take the line ends after them; lines end words */
    bool leaves_lines;       /* other characters do not, but lines end words */
    bool splits_digits;      /* each digit is a word of its own */
    bool is_marked;          /* words begin with U+2581, nothing else */
    bool is_cased;           /* capitals begin words: o200k, tekken */
    bool is_contracted;      /* such words may be followed by contractions */
    bool joins_slashes;      /* other characters may be followed by slashes as well as line ends */
    bool has_marks;          /* marks are letters */
    bool is_bloom;           /* words: all but white space and a dozen punctuation marks */
    bool takes_whole;        /* GGUF: a word that is a token is that token, regardless of merges */
    bool adds_first;         /* GGUF: texts begin with the first token unless the file forbids it */
    unsigned digits;         /* digits in one word; 0: any number, with a space before them */
    const char *patterns[3]; /* the equivalent regular expressions; NULL after the last */
} takt_scan;

/* By the name in GGUF files; NULL: not known. */
const takt_scan *takt_scan_named(takt_span name);
/* By a regular expression; NULL: not known. */
const takt_scan *takt_scan_of_pattern(takt_span pattern);
extern const takt_scan takt_scan_gpt2;
/* The scanner of gpt2 after one that makes each digit a word. */
extern const takt_scan takt_scan_digits;

extern const takt_scan takt_scan_marks;

/* The end of the word that begins at `at` < text.length. */
size_t takt_scan_word(const takt_scan *s, takt_span text, size_t at);

#endif
