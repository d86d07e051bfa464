/* unicode_tables.h - looks up characters in the generated tables. */
#ifndef TAKT_TEXT_UNICODE_TABLES_H
#define TAKT_TEXT_UNICODE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int takt_unicode_class_at(uint32_t c);
/* The script of a character as Hugging Face's tokenizers has it: Chinese and Japanese are one; 0: a
 * space, or a character without one, which matches any. */
int takt_unicode_script(uint32_t c);
/* Canonical combining class; 0 for most. */
int takt_unicode_order(uint32_t c);
uint32_t takt_unicode_lower_of(uint32_t c);
/* One step of the canonical decomposition; `parts[1]` is 0 if there is one part only. */
bool takt_unicode_split(uint32_t c, uint32_t parts[2]);
/* The complete compatibility decomposition; 0 parts if there is none, or if it is canonical. */
size_t takt_unicode_compatible(uint32_t c, const uint32_t **parts);
/* What two characters compose to; 0: nothing. */
uint32_t takt_unicode_join(uint32_t a, uint32_t b);

#endif
