// CUDA C on a processor, lane by lane, for tests without a card.
//
// Every thread of every block is a fiber, which runs until it waits for others. Warps run in random order, and their lanes
// forwards or backwards, so that a missing barrier shows. Votes, shuffles and barriers wait for all lanes of the warp or
// block, which must meet at the same line. Shared memory and the arena begin as garbage, and end at a page that nobody may
// touch. It has no caches and no time, and an atomic operation is never interrupted.
#pragma once
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#define __CUDACC__ 1
#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__
// Each block has its own.
#define sm (*shared_memory)
__align__(128) uint32_t (*shared_memory)[];
struct Dim { volatile uint32_t x; };
static Dim threadIdx, blockIdx, gridDim, blockDim;

namespace simulation {

typedef void Kernel(unsigned long long*);
enum State { NEW, READY, WAITS, ENDED };
// Lanes that wait for each other: those of a warp, or the threads of a block.
struct Group { uint32_t n, n_waiting, line; std::vector<uint32_t> fibers; };
struct Fiber { State state; uint32_t block, thread; jmp_buf at; ucontext_t start; };

static std::vector<Fiber> fibers;
static std::vector<Group> warps, blocks;
static jmp_buf scheduler;
static uint32_t current;
static uint64_t random_state = 1;
static Kernel* kernel;
static unsigned long long* arena;
static std::vector<uint8_t*> shared;

[[noreturn]] static void fail(const char* reason, uint32_t line, uint32_t other) {
    fprintf(stderr, "%s: lines %u and %u of kernels, block %u, thread %u\n", reason, line, other, blockIdx.x, threadIdx.x);
    exit(1);
}

static uint32_t random_below(uint32_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

// Reserves memory that begins as garbage and ends where nothing may be read or written.
static uint8_t* guarded(size_t bytes) {
    size_t page = 4096, size = (bytes + page - 1) / page * page;
    void* at = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect((uint8_t*)at + size, page, PROT_NONE)) { perror("memory"); exit(1); }
    memset(at, 0xA5, size);
    return (uint8_t*)at + (size - bytes) / 16 * 16;
}

// Lets other lanes run.
__attribute__((noinline)) static void pause() {
    if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1);
}

// Waits until all of a group wait at this line.
__attribute__((noinline)) static void wait(Group& group, uint32_t line) {
    if (group.n_waiting && group.line != line) fail("lanes wait at different places", line, group.line);
    group.line = line;
    fibers[current].state = WAITS;
    if (++group.n_waiting < group.n) return pause();
    group.n_waiting = 0;
    for (uint32_t fiber : group.fibers) fibers[fiber].state = READY;
}

static Group& warp() { return warps[current / 32]; }

// Shows a value to the warp, and returns that of another lane.
template <class T> static T exchange(T value, uint32_t from, uint32_t line) {
    static uint64_t shown[1 << 12][32];
    uint64_t* here = shown[current / 32];
    here[threadIdx.x % 32] = value;
    wait(warp(), line);
    T result = (T)here[from % 32];
    wait(warp(), line);
    return result;
}

static uint32_t ballot(bool vote, uint32_t line) {
    static uint32_t votes[1 << 12];
    uint32_t& here = votes[current / 32];
    if (!warp().n_waiting) here = 0;
    here |= (uint32_t)vote << threadIdx.x % 32;
    wait(warp(), line);
    uint32_t result = here;
    wait(warp(), line);
    return result;
}

static void whole_fiber() {
    kernel(arena);
    fibers[current].state = ENDED;
    _longjmp(scheduler, 1);
}

// Runs a fiber until it waits or ends.
__attribute__((noinline)) static void run(uint32_t number) {
    Fiber& fiber = fibers[number];
    current = number;
    threadIdx.x = fiber.thread;
    blockIdx.x = fiber.block;
    if (fiber.block < shared.size()) shared_memory = (uint32_t(*)[])shared[fiber.block];
    if (_setjmp(scheduler)) return;
    if (fiber.state != NEW) _longjmp(fiber.at, 1);
    fiber.state = READY;
    setcontext(&fiber.start);
}

// Runs a kernel with some blocks of some threads, a multiple of 32.
static void launch(Kernel* of, uint32_t n_blocks, uint32_t n_threads, size_t shared_bytes) {
    const size_t STACK = 1 << 16;
    static std::vector<uint8_t*> stacks;
    uint32_t n = n_blocks * n_threads;
    kernel = of;
    gridDim.x = n_blocks;
    blockDim.x = n_threads;
    fibers.assign(n, Fiber());
    warps.assign(n / 32, Group{32, 0, 0, {}});
    blocks.assign(n_blocks, Group{n_threads, 0, 0, {}});
    while (shared_bytes && shared.size() < n_blocks) shared.push_back(guarded(shared_bytes));
    for (uint8_t* at : shared) memset(at, 0xA5, shared_bytes);
    while (stacks.size() < n) stacks.push_back((uint8_t*)malloc(STACK));
    for (uint32_t i = 0; i < n; i++) {
        fibers[i].block = i / n_threads;
        fibers[i].thread = i % n_threads;
        warps[i / 32].fibers.push_back(i);
        blocks[i / n_threads].fibers.push_back(i);
        getcontext(&fibers[i].start);
        fibers[i].start.uc_stack.ss_sp = stacks[i];
        fibers[i].start.uc_stack.ss_size = STACK;
        fibers[i].start.uc_link = nullptr;
        makecontext(&fibers[i].start, whole_fiber, 0);
    }
    for (;;) {
        for (uint32_t k = 0; k < n / 32; k++) {
            uint32_t first = 32 * random_below(n / 32), turned = random_below(2) ? 31 : 0;
            for (uint32_t i = 0; i < 32; i++)
                if (fibers[first + (i ^ turned)].state < WAITS) run(first + (i ^ turned));
        }
        uint32_t n_ended = 0, n_ready = 0;
        for (Fiber& fiber : fibers) {
            n_ended += fiber.state == ENDED;
            n_ready += fiber.state < WAITS;
        }
        if (n_ended == n) return;
        if (!n_ready) fail("lanes wait for others that have ended", warp().line, blocks[blockIdx.x].line);
    }
}

} // namespace simulation

#define __syncthreads() simulation::wait(simulation::blocks[blockIdx.x], __LINE__)
#define __syncwarp() simulation::wait(simulation::warp(), __LINE__)
#define __ballot_sync(mask, vote) simulation::ballot(vote, __LINE__)
#define __shfl_sync(mask, value, from) simulation::exchange(value, from, __LINE__)
#define __shfl_xor_sync(mask, value, by) simulation::exchange(value, threadIdx.x % 32 ^ (by), __LINE__)
// Lanes without a lower neighbour get their own value.
#define __shfl_up_sync(mask, value, by) simulation::exchange(value, threadIdx.x % 32 < (by) ? threadIdx.x % 32 : threadIdx.x % 32 - (by), __LINE__)
static uint32_t atomicAdd(uint32_t* at, uint32_t by) { uint32_t before = *at; *at += by; return before; }
static uint32_t atomicOr(uint32_t* at, uint32_t bits) { uint32_t before = *at; *at |= bits; return before; }
static uint32_t __popc(uint32_t x) { return __builtin_popcount(x); }
static uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) result |= (uint32_t)(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return result;
}
