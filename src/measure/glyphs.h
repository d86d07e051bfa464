/* glyphs.h - the letters of pictures, as strokes: ASCII from the space on.
 *
 * A point is two digits of base 36, x and y: the baseline is at 4, small letters reach e (14),
 * capitals i (18). M begins a line, and more points go on with it, as after L; Q has a control
 * point and an end; E is an ellipse, its middle and its radii; D is a dot.
 */
#ifndef TAKT_MEASURE_GLYPHS_H
#define TAKT_MEASURE_GLYPHS_H

typedef struct takt_glyph {
    int width;
    const char *strokes;
} takt_glyph;

enum { TAKT_GLYPH_FIRST = ' ', TAKT_GLYPH_BASE = 4, TAKT_GLYPH_CAPITAL = 14, TAKT_GLYPH_GAP = 4 };

static const takt_glyph takt_glyphs[] = {
    {6, ""},                                       /*   */
    {2, "M1i18D14"},                               /* ! */
    {6, "M1i1eM5i5e"},                             /* " */
    {10, "M3i24M8i74M0dadM09a9"},                  /* # */
    {8, "M8gQ8i4iQ0i0fQ0c4bQ8a87Q8444Q0406M4k42"}, /* $ */
    {12, "E2f23Ea723Mai24"},                       /* % */
    {10, "Ma42eQ1i4iQ7i7fQ7c3bQ0a07Q0444Q84aa"},   /* & */
    {2, "M1i1e"},                                  /* ' */
    {4, "M4kQ0b42"},                               /* ( */
    {4, "M0kQ4b02"},                               /* ) */
    {8, "M4i4cM1h7dM7h1d"},                        /* * */
    {8, "M4e46M0a8a"},                             /* + */
    {3, "M2511"},                                  /* , */
    {6, "M0a6a"},                                  /* - */
    {2, "D14"},                                    /* . */
    {7, "M7i02"},                                  /* / */
    {8, "E4b47"},                                  /* 0 */
    {5, "M0f4i44"},                                /* 1 */
    {8, "M0eQ0i4iQ8i8eQ8b04L84"},                  /* 2 */
    {8, "M0gQ1i4iQ8i8eQ8b3bM4bQ8b87Q8444Q1406"},   /* 3 */
    {8, "M646i0888"},                              /* 4 */
    {8, "M8i1i0bQ2d4dQ8d89Q8444Q1406"},            /* 5 */
    {8, "M6iQ0f08E4844"},                          /* 6 */
    {8, "M0i8i34"},                                /* 7 */
    {8, "E4f33E4844"},                             /* 8 */
    {8, "E4e44M24Q878e"},                          /* 9 */
    {2, "D14D1c"},                                 /* : */
    {3, "M2511D2c"},                               /* ; */
    {8, "M8f0a85"},                                /* < */
    {8, "M0c8cM0888"},                             /* = */
    {8, "M0f8a05"},                                /* > */
    {8, "M0fQ0i4iQ8i8eQ8b4aL48D44"},               /* ? */
    {14, "E7a77E7a33MadQa6c6"},                    /* @ */
    {10, "M045ia4M2989"},                          /* A */
    {9, "M040i4iQ8i8eQ8b4bL0bM4bQ9b98Q9444L04"},   /* B */
    {10, "MagQ8i5iQ0i0bQ0454Q84a6"},               /* C */
    {10, "M040i4iQaiabQa444L04"},                  /* D */
    {8, "M8i0i0484M0b7b"},                         /* E */
    {8, "M8i0i04M0b7b"},                           /* F */
    {10, "MagQ8i5iQ0i0bQ0454Q84a6Lab6b"},          /* G */
    {9, "M0i04M9i94M0b9b"},                        /* H */
    {2, "M1i14"},                                  /* I */
    {6, "M6i68Q6434Q0407"},                        /* J */
    {9, "M0i04M9i0aM3c94"},                        /* K */
    {7, "M0i0474"},                                /* L */
    {12, "M040i68cic4"},                           /* M */
    {9, "M040i949i"},                              /* N */
    {10, "E5b57"},                                 /* O */
    {8, "M040i4iQ8i8eQ8a4aL0a"},                   /* P */
    {10, "E5b57M68a3"},                            /* Q */
    {8, "M040i4iQ8i8eQ8a4aL0aM4a84"},              /* R */
    {8, "M8gQ8i4iQ0i0fQ0c4bQ8a87Q8444Q0406"},      /* S */
    {10, "M0iaiM5i54"},                            /* T */
    {8, "M0i09Q0444Q8489L8i"},                     /* U */
    {10, "M0i54ai"},                               /* V */
    {14, "M0i347fb4ei"},                           /* W */
    {9, "M0i94M9i04"},                             /* X */
    {10, "M0i5baiM5b54"},                          /* Y */
    {9, "M0i9i0494"},                              /* Z */
    {4, "M4k0k0242"},                              /* [ */
    {7, "M0i72"},                                  /* backslash */
    {4, "M0k4k4202"},                              /* ] */
    {8, "M0c4i8c"},                                /* ^ */
    {9, "M0292"},                                  /* _ */
    {3, "M0i2f"},                                  /* ` */
    {8, "E4945M8e84"},                             /* a */
    {8, "E4945M0i04"},                             /* b */
    {8, "M8cQ6e4eQ0e09Q0444Q6486"},                /* c */
    {8, "E4945M8i84"},                             /* d */
    {8, "M0989Q8e4eQ0e09Q0444Q7486"},              /* e */
    {5, "M5iQ2i2fL24M0e5e"},                       /* f */
    {8, "E4945M8e83Q8040Q1002"},                   /* g */
    {8, "M0i04M0aQ0e4eQ8e8aL84"},                  /* h */
    {2, "M1e14D1i"},                               /* i */
    {3, "M2e22Q2000D2i"},                          /* j */
    {7, "M0i04M7e08M3b74"},                        /* k */
    {2, "M1i14"},                                  /* l */
    {12, "M0e04M0aQ0e3eQ6e6aL64M6aQ6e9eQcecaLc4"}, /* m */
    {8, "M0e04M0aQ0e4eQ8e8aL84"},                  /* n */
    {8, "E4945"},                                  /* o */
    {8, "M0e00E4945"},                             /* p */
    {8, "M8e80E4945"},                             /* q */
    {5, "M0e04M0aQ0e5e"},                          /* r */
    {7, "M7cQ6e3eQ0e0bQ0939Q7977Q7434Q1406"},      /* s */
    {5, "M2i26Q2444L54M0e5e"},                     /* t */
    {8, "M0e08Q0444Q8488M8e84"},                   /* u */
    {8, "M0e448e"},                                /* v */
    {12, "M0e346c94ce"},                           /* w */
    {8, "M0e84M8e04"},                             /* x */
    {8, "M0e44M8e20"},                             /* y */
    {7, "M0e7e0474"},                              /* z */
    {5, "M5kQ2k2gQ2b0bQ2b26Q2252"},                /* { */
    {2, "M1k12"},                                  /* | */
    {5, "M0kQ3k3gQ3b5bQ3b36Q3202"},                /* } */
    {8, "M09Q1c4aQ788b"},                          /* ~ */
};

#endif
