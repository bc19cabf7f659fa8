/* The instructions that every machine of this architecture has: SSE2 or NEON. */
#define LEVEL base
#define VB 16
