/* What every machine of this kind can do: SSE2 or NEON. */
#define LEVEL base
#define VB 16
#include "level.h"
