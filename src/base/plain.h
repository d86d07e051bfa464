/* plain.h - text for people, without control sequences for their terminal. */
#ifndef TAKT_BASE_PLAIN_H
#define TAKT_BASE_PLAIN_H

#include "base/inner.h"
#include "base/text.h"

/* Replaces control characters other than line ends and tabs by '?': C0, DEL, and C1 in UTF-8. Names
 * in reports come from untrusted files. */
TAKT_INNER void takt_text_plain(takt_text *text);
/* Whether it is an image (PNG): binary data that is written unchanged. */
bool takt_text_is_picture(const takt_text *text);

#endif
