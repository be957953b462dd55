// A simulated card with the kernels for half boards of M rows: `card ARENA_BYTES SHARED_BYTES BLOCKS`.
//
// It obeys commands from stdin, each of three numbers of 64 bits: what to do, where, and how many bytes. 0 writes the bytes
// that follow to the arena, 1 reads bytes from it to stdout, 2 runs the kernel with this number in Stage::ALL.
#include "cuda.h"

#define SIMULATED
#define MIN_BLOCKS 1
#include "../kernels/language.cl"
#include "../kernels/half_boards.cl"
#include "../kernels/words.cl"
#include "../kernels/filters.cl"
#include "../kernels/join.cl"

#if LEAF == 2
static void level_2(u64*) {}
#endif
static simulation::Kernel* const KERNELS[] = {
    count_tails, place_tails, write_tails, clear, count_heads, place_heads, write_heads, count_words,
    place_words, write_words, level, level_2, sieve, cut, join,
};

int main(int, char** arguments) {
    size_t bytes = strtoull(arguments[1], nullptr, 10), shared_bytes = strtoull(arguments[2], nullptr, 10);
    u32 n_blocks = atoi(arguments[3]);
    u64 command[3];
    char* arena = (char*)simulation::guarded(bytes);
    simulation::arena = (u64*)arena;
    while (fread(command, sizeof command, 1, stdin) == 1) {
        if (command[0] < 2 && (command[1] > bytes || command[2] > bytes - command[1])) return 1;
        if (command[0] == 0 && command[2] && fread(arena + command[1], command[2], 1, stdin) != 1) return 1;
        if (command[0] == 1 && command[2] && fwrite(arena + command[1], command[2], 1, stdout) != 1) return 1;
        if (command[0] == 2) {
            bool joins = KERNELS[command[1]] == join;
            simulation::launch(KERNELS[command[1]], n_blocks, joins ? 32 * WARPS : 128, joins ? shared_bytes : 0);
        }
        fflush(stdout);
    }
}
