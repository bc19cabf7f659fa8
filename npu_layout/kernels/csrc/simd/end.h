/* The end of what a header of an instruction set begins. */
#if defined(__clang__)
#pragma clang attribute pop
#endif
