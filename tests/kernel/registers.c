/* registers.c - a kernel called through a stub that fills the registers which it must preserve.
 *
 * The stub takes any arguments: it touches neither the stack pointer nor a register that carries
 * one, fills the callee-saved registers with patterns, calls the kernel, keeps what it finds in
 * them, and puts the caller's own back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { KEPT = 20 }; /* slots; how many are used depends on the processor */

typedef struct check_frame {
    takt_kernel_fn *target;
    uint64_t back;
    uint64_t saved[KEPT], want[KEPT], got[KEPT];
} check_frame;

extern check_frame check_stub_frame;
__attribute__((visibility("hidden"), used)) check_frame check_stub_frame;

#if defined __aarch64__ && defined __linux__

static const char *const names[] = {"x19", "x20", "x21", "x22", "x23", "x24", "x25",
                                    "x26", "x27", "x28", "x29", "",    "d8",  "d9",
                                    "d10", "d11", "d12", "d13", "d14", "d15"};

#define AT "adrp x16, check_stub_frame\nadd x16, x16, :lo12:check_stub_frame\n"
#define PAIRS(op, base)                                                                            \
    op " x19, x20, [x16, " base "]\n" op " x21, x22, [x16, " base " + 16]\n" op                    \
       " x23, x24, [x16, " base " + 32]\n" op " x25, x26, [x16, " base " + 48]\n" op               \
       " x27, x28, [x16, " base " + 64]\n" op " d8, d9, [x16, " base " + 96]\n" op                 \
       " d10, d11, [x16, " base " + 112]\n" op " d12, d13, [x16, " base " + 128]\n" op             \
       " d14, d15, [x16, " base " + 144]\n"

__asm__(".text\n.balign 16\n.hidden check_stub\n.globl check_stub\n.type check_stub, %function\n"
        "check_stub:\n" AT "str x30, [x16, 8]\n" PAIRS("stp", "16") "str x29, [x16, 96]\n" PAIRS(
            "ldp",
            "176") "ldr x29, [x16, 256]\n"
                   "ldr x17, [x16]\nblr x17\n" AT PAIRS("stp", "336") "str x29, [x16, 416]\n" PAIRS(
                       "ldp", "16") "ldr x29, [x16, 96]\n"
                                    "ldr x30, [x16, 8]\nret\n");

#elif defined __x86_64__ && defined __linux__

static const char *const names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15", "", "", "", "",
                                    "",    "",    "",    "",    "",    "",    "", "", "", ""};

#define AT "leaq check_stub_frame(%rip), %r11\n"
#define EACH(before, after)                                                                        \
    before(rbx, 0) after before(rbp, 8) after before(r12, 16) after before(r13, 24) after before(  \
        r14, 32) after                                                                             \
    before(r15, 40) after
#define KEEP(reg, at) "movq %" #reg ", 16+" #at "(%r11)\n"
#define FILL(reg, at) "movq 176+" #at "(%r11), %" #reg "\n"
#define FIND(reg, at) "movq %" #reg ", 336+" #at "(%r11)\n"
#define GIVE(reg, at) "movq 16+" #at "(%r11), %" #reg "\n"

__asm__(".text\n.balign 16\n.hidden check_stub\n.globl check_stub\n.type check_stub, @function\n"
        "check_stub:\n" AT "popq 8(%r11)\n" EACH(KEEP, "")
            EACH(FILL, "") "callq *(%r11)\n" AT EACH(FIND, "")
                EACH(GIVE, "") "pushq 8(%r11)\nretq\n");

#else
#define NO_STUB
#endif

#ifndef NO_STUB
void check_stub(void);
#endif

takt_kernel_fn *check_guard(takt_check *c, takt_kernel_fn *kernel)
{
#ifndef NO_STUB
    if ((c->bench && !c->once) || kernel == NULL)
        return kernel;
    check_stub_frame.target = kernel;
    for (size_t i = 0; i < KEPT; i++)
        check_stub_frame.want[i] = UINT64_C(0x7ff4beef00000000) + 0x1111 * (i + 1);
    memcpy(check_stub_frame.got, check_stub_frame.want, sizeof check_stub_frame.got);
    return (takt_kernel_fn *)check_stub;
#else
    (void)c;
    return kernel;
#endif
}

void check_registers(takt_check *c)
{
#ifndef NO_STUB
    const check_frame *f = &check_stub_frame;
    for (size_t i = 0; i < KEPT; i++) {
        if (names[i][0] == '\0' || f->got[i] == f->want[i])
            continue;
        const uint64_t found = f->got[i];
        memcpy(check_stub_frame.got, check_stub_frame.want, sizeof check_stub_frame.got);
        check_fail(c, "register %s came back as %016" PRIx64, names[i], found);
        return;
    }
#else
    (void)c;
#endif
}
