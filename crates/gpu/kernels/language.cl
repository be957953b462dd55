// Counts the pairs of half boards that fit: the halves method on a graphics card.
//
// One source for CUDA C (by NVRTC) and OpenCL C. docs/GPU.md explains the stages. Constants from outside: M, the rows
// of a half board; HEAD, those of a head; LEAF, the lower rows that a leaf fixes; WARPS, the warps of a block that joins.
// In OpenCL C, which has no votes of a warp, single threads make the lists, and a group that joins is one warp.
//
// All data lies in one block of memory, the arena. It begins with Params, which says where each array is. Kernels are
// launched one after another, with any number of blocks:
//
//   once for a board and its middle row's queen: count_tails, place_tails, write_tails;
//   for each batch of sets of columns: clear, count_heads, place_heads, write_heads, count_words, place_words,
//   write_words, level[, level_2], sieve, cut, join.
//
// Arrays that the stages fill have a cursor each. A stage that needs more room than there is sets a bit of `overflow`
// and leaves its item out; later stages do nothing, as tables may be incomplete, and the host counts fewer sets at a time.

#ifdef __CUDACC__
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
#define KERNEL extern "C" __global__ __launch_bounds__(128)
#define KERNEL_JOIN extern "C" __global__ __launch_bounds__(32 * WARPS, MIN_BLOCKS)
#define GLOBAL
#define SHARED
#define FN static __device__ __forceinline__
#define SYNC() __syncthreads()
#define SYNC_WARP() __syncwarp()
#define WIDTH 32u
#define LANE (threadIdx.x & 31u)
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define N_THREADS (gridDim.x * blockDim.x)
#define POPC(x) __popc(x)
#define ADD(at, by) atomicAdd(at, by)
#define OR(at, bits) atomicOr(at, bits)
#define BALLOT(mask, p) mask = __ballot_sync(~0u, p)
#define BROADCAST(x) x = __shfl_sync(~0u, x, 0)
#define WARP_SUM(x) { for (int by_ = 16; by_ > 0; by_ >>= 1) x += __shfl_xor_sync(~0u, x, by_); }
// The sum of all lanes up to this one.
#define WARP_SCAN(x) { for (u32 by_ = 1; by_ < 32; by_ *= 2) { u32 from_ = __shfl_up_sync(~0u, x, by_); if (LANE >= by_) x += from_; } }
#define LAST(x) x = __shfl_sync(~0u, x, 31)
#define SHUFFLE(x, from) __shfl_sync(~0u, x, from)
#define SHUFFLE64(x, from) __shfl_sync(~0u, x, from)
#define UNROLL_2 _Pragma("unroll 2")
#define UNROLL_4 _Pragma("unroll 4")
#define UNROLL _Pragma("unroll")
extern __shared__ __align__(128) u32 sm[];
#define SM_ARG
#define SM_PASS
#define SM_LOCAL
struct __align__(16) quad32 { u32 x, y, z, w; };
typedef quad32 U4;
#else
typedef uint u32;
typedef ulong u64;
typedef ushort u16;
#define KERNEL __kernel
#define KERNEL_JOIN __kernel
#define GLOBAL __global
#define SHARED __local
#define FN
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#define SYNC_WARP() barrier(CLK_LOCAL_MEM_FENCE)
#define WIDTH 1u
#define LANE 0u
#define THREAD ((u32)get_global_id(0))
#define N_THREADS ((u32)get_global_size(0))
#define POPC(x) popcount(x)
#define ADD(at, by) atomic_add(at, by)
#define OR(at, bits) atomic_or(at, bits)
#define BALLOT(mask, p) mask = (p) ? 1u : 0u
#define BROADCAST(x)
#define WARP_SUM(x)
#define WARP_SCAN(x)
#define LAST(x)
#define SHUFFLE(x, from) (x)
#define SHUFFLE64(x, from) (x)
#define UNROLL_2
#define UNROLL_4
#define UNROLL
#define SM_ARG SHARED u32* sm,
#define SM_PASS sm,
#define SM_LOCAL , SHARED u32* sm
typedef struct { u32 x, y, z, w; } U4;
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1
#endif

#define WARP (THREAD / WIDTH)
#define N_WARPS (N_THREADS / WIDTH)

// Rows and ranks that are not fixed in a leaf.
#define TAIL (M - HEAD)
#define R (M - LEAF)
#define N_TABLES (R / 2 < 4 ? R / 2 : 4)
// Rows before those of the tables.
#define N_SINGLES (R - 2 * N_TABLES)
// Prefixes of two rows, and of a leaf's rows: one digit of base M for each row, the first row in the highest digit.
#define PREFIXES (M * M)
#if LEAF == 2
#define LEAVES (M * M)
#elif LEAF == 3
#define LEAVES (M * M * M)
#else
#define LEAVES (M * M * M * M)
#endif
#define NONE (~0u)
#define LANES 1024u
// The highest bits of a word: the rows of the queens in the central columns, four bits each.
#define FIRST_CENTRAL 60
#define SECOND_CENTRAL 56

// Arrays in the arena, in the order of Params.at.
enum { SETS, BINOMIALS, TAIL_STARTS, UPPER_SUMS, LOWER_SUMS, BUCKETS, TAIL_ATTACKS, TAIL_WORDS, TAIL_PATHS, HEADS, HEAD_TABLE,
       UPPER, UPPER_TABLE, LOWER, CODES, LOWER_TABLE, LEVEL, LEVEL_TABLE, LEVEL_2, LEVEL_2_TABLE, PIECE_WORDS,
       PIECE_CODES, PIECES, OUT, SIFTED_TABLE, HEAD_STARTS, N_ARRAYS };

typedef struct {
    // Columns of the board, the middle row's queen (99 if there is none), sets of columns, whether there is a middle row.
    u32 n, middle, n_sets, odd;
    // Sets of columns that a tail may have; digits of a subproblem's number within a set.
    u32 n_buckets, n_digits, unused_0, unused_1;
    // Zero before each batch: cursors of the arrays, then the piece that is taken next, and what overflowed.
    u32 cursor[N_ARRAYS], next, overflow;
    u32 capacity[N_ARRAYS];
    u64 at[N_ARRAYS];
} Params;

// A set of columns. First come the upper half board, then the lower.
typedef struct {
    u32 columns[2];
    // Ranks that the first row's queen may have.
    u32 first[2];
    // Numbers within the set that are counted.
    u32 from, to;
    // What each pair is multiplied by.
    u32 factor, unused;
    // How pairs weigh: 0 all one; 1 by the upper central queen's row and `distance`; 2 both central columns in the
    // upper half board; 3 one in each.
    u32 weighing, distance, unused_0, unused_1;
} Set;

// `start` is the number of its words until they have their place, then the first.
typedef struct { u64 attacks, word; u32 path, bucket, unused, start; } Head;
typedef struct { u32 begin, n; } Range;
typedef struct { u32 begin, n, equal_begin, equal_n; } Lists;
// Up to LANES upper placements, and the lower ones that meet them. kind: 0 all pairs, 1 greater, 2 equal.
typedef struct { u32 set, words, codes, n_codes, fixed, kind, near_far, weight; } Piece;

#define PARAMS GLOBAL Params* params = (GLOBAL Params*)arena
#define ARRAY(type, name) ((GLOBAL type*)((GLOBAL char*)arena + params->at[name]))
