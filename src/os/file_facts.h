/* file_facts.h - facts about an open file: takt_files.size and stamp. */
#ifndef TAKT_OS_FILE_FACTS_H
#define TAKT_OS_FILE_FACTS_H

#include <stdint.h>

/* Both return 0 or a positive errno. */
int takt_os_file_size(int fd, uint64_t *bytes);
/* By length and time of modification. Not by the time that its status changed: a file that gets
 * another name, or loses its last one to a file that replaces it, still has the same content. */
int takt_os_file_stamp(int fd, uint64_t *stamp);

#endif
