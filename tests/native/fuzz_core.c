/* Inputs of a fuzzer as moves, conversions, gray, argmax, top_k, softmax, sigmoid, peaks, tops and rows of pictures, at
 * every level of this machine, against plain loops. Every buffer is allocated to the byte, so that AddressSanitizer sees
 * what leaves it. With libFuzzer (scripts/fuzz core), or with -DREPLAY a program that runs the files it is given. */
#include "fuzz_gray.h"
#include "fuzz_moves.h"
#include "fuzz_reductions.h"
#include "fuzz_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input = data, left = size;
    const int kind = (int)take(1);
    switch (kind < 252 ? kind % 9 : 9) { /* findings of before know of nine */
        case 0: one_move(1); break;
        case 1: one_conversion(1); break;
        case 2: one_gray(); break;
        case 3: one_reduction(ARGMAX); break;
        case 4: one_reduction(SOFTMAX); break;
        case 5: one_peaks(); break;
        case 6: one_fill(); break;
        case 7: one_move(0); break;
        case 9: kind < 254 ? one_reduction(SIGMOID) : kind == 254 ? one_rows() : one_top_k(); break;
        default: one_conversion(0); break;
    }
    return 0;
}

#ifdef REPLAY
int main(int count, char **files) {
    for (int i = 1; i < count; ++i) {
        static uint8_t content[1 << 16];
        FILE *file = fopen(files[i], "rb");
        if (!file) return perror(files[i]), 2;
        const size_t size = fread(content, 1, sizeof content, file);
        fclose(file);
        uint8_t *exact = malloc(size + !size);
        memcpy(exact, content, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%d inputs, %ld cases at %d level(s): as plain loops have them\n", count - 1, work, level_count());
    return 0;
}
#endif
