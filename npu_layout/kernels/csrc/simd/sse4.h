/* What follows is compiled for this instruction set, up to end.h. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("sse4.1"))), apply_to = function)
#else
#pragma GCC target("sse4.1")
#endif
#define LEVEL sse4
#define VB 16
