/* unicode.h - character properties for tokenizers: classes, lower case, normal forms. */
#ifndef TAKT_TEXT_UNICODE_H
#define TAKT_TEXT_UNICODE_H

#include "base/text.h"

/* The general categories that patterns distinguish. */
typedef enum takt_unicode_class {
    TAKT_U_OTHER, /* unassigned */
    TAKT_U_LU,
    TAKT_U_LL,
    TAKT_U_LT,
    TAKT_U_LM,
    TAKT_U_LO,
    TAKT_U_MN,
    TAKT_U_M, /* Mc, Me */
    TAKT_U_ND,
    TAKT_U_N, /* Nl, No */
    TAKT_U_P,
    TAKT_U_S,
    TAKT_U_Z,
    TAKT_U_CC,
    TAKT_U_CF,
    TAKT_U_CO, /* Co, Cs */
} takt_unicode_class;

enum { TAKT_U_BAD = 0xFFFD }; /* the class of a byte that is not valid UTF-8 */

/* The character at `at`, which has `left` > 0 bytes, and its length in bytes. A byte that is not
 * part of valid UTF-8 is a character by itself. */
uint32_t takt_unicode_take(const char *at, size_t left, size_t *bytes);
takt_unicode_class takt_unicode_class_of(uint32_t c);
bool takt_unicode_is_letter(uint32_t c);
bool takt_unicode_is_number(uint32_t c);
bool takt_unicode_is_space(uint32_t c);
/* As BERT splits words: also every ASCII character that is neither letter, digit nor space. */
bool takt_unicode_is_punctuation(uint32_t c);
/* As BERT splits words: each such character is a word. */
bool takt_unicode_is_ideograph(uint32_t c);

/* Each appends the text in another form to `to`, whose failure is sticky. */
void takt_unicode_lower(takt_span text, takt_text *to);
/* NFD; COMPOSED: NFC; COMPATIBLE: NFKD; both: NFKC. */
enum { TAKT_U_COMPOSED = 1, TAKT_U_COMPATIBLE = 2 };
void takt_unicode_form(takt_span text, unsigned kind, takt_text *to);
/* Without characters of class Mn, or of all of M. */
void takt_unicode_strip_marks(takt_span text, bool all, takt_text *to);

#endif
