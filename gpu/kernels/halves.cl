// Counts the pairs of half boards that fit: the halves method on a graphics card.
//
// One source for CUDA C (by NVRTC) and OpenCL C. docs/GPU.md explains the stages. Constants from outside: M, the rows
// of a half board; LEAF, the lower rows that a leaf fixes; WARPS, the warps of a block that joins. In OpenCL C every
// group is one warp of 32, so that votes can go through local memory.
//
// All data lies in one block of memory, the arena. It begins with Params, which says where each array is. Kernels are
// launched one after another, with any number of blocks:
//
//   once for a board and its middle row's queen: count_tails, place_tails, write_tails;
//   for each batch of sets of columns: clear, count_heads, place_heads, write_heads, count_words, place_words, write_words, level[, level_2], sieve,
//   cut, join
//
// Arrays that the stages fill have a cursor each. A stage that needs more room than there is sets a bit of `overflow`
// and leaves its item out; then the host counts fewer sets of columns at a time, or gives up.

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

// ---- One half board ----

typedef struct { u32 n, odd, columns, middle, is_lower; } Half;
typedef struct { u32 left, rising, falling, used; u64 attacks, word; u32 path, unused; } Partial;

FN u32 column_of(u32 columns, u32 rank) {
    for (u32 i = 0; i < rank; i++) columns &= columns - 1;
    return POPC((columns & (0u - columns)) - 1u);
}
FN u32 distance_of(u32 n, u32 column) {
    u32 left = n / 2;
    return column < left ? left - column : column + 1 - left - n % 2;
}
FN Half half_of(GLOBAL const Params* params, GLOBAL const Set* set, u32 is_lower) {
    Half side;
    side.n = params->n; side.odd = params->odd; side.columns = set->columns[is_lower]; side.middle = params->middle;
    side.is_lower = is_lower;
    return side;
}
// The two diagonals of a queen that both half boards reach, as bit numbers; 64 if there is none.
FN void feet_of(u32 n, u32 odd, u32 is_lower, u32 row, u32 column, u32* a, u32* b) {
    int by = is_lower ? (int)(row - 1 + odd) : (int)row, c = (int)column, size = (int)(n - 1 - odd);
    int rising = (is_lower ? c - by : c + by) - 1, falling = (is_lower ? c + by : c - by) - (int)odd;
    *a = rising >= 0 && rising < size ? (u32)rising : 64u;
    *b = falling >= 0 && falling < size ? (u32)(falling + size) : 64u;
}
FN u64 bit_of(u32 number) { return number < 64u ? (u64)1 << number : (u64)0; }
FN u64 footprint(Half side, u32 row, u32 rank) {
    u32 a, b;
    feet_of(side.n, side.odd, side.is_lower, row, column_of(side.columns, rank), &a, &b);
    return bit_of(a) | bit_of(b);
}
FN Partial none_of(Half side) {
    Partial p;
    p.left = side.columns; p.rising = 0; p.falling = 0; p.used = 0; p.attacks = 0; p.word = 0; p.path = 0; p.unused = 0;
    return p;
}
// The columns of a row that the middle row's queen attacks.
FN u32 by_middle(Half side, u32 row) {
    return side.middle < 32u ? (1u << side.middle) << row | (1u << side.middle) >> row : 0u;
}
FN u32 free_of(Half side, u32 row, Partial p) { return p.left & ~(p.rising | p.falling | by_middle(side, row)); }
// Places a queen. `at` is the place of its rank in the path.
FN Partial put(Half side, u32 row, u32 bit, u32 at, Partial p) {
    u32 column = POPC(bit - 1u), rank = POPC(side.columns & (bit - 1u)), a, b;
    int by = (int)row - HEAD, c = (int)column, n = (int)side.n;
    feet_of(side.n, side.odd, side.is_lower, row, column, &a, &b);
    int rises = c + by - 1, falls = c - by;
    if (rises >= 0 && rises < n) p.attacks |= (u64)1 << rises;
    if (falls >= 0 && falls < n) p.attacks |= (u64)1 << (32 + falls);
    if (distance_of(side.n, column) + side.odd == 1)
        p.word |= (u64)row << (p.word >> FIRST_CENTRAL ? SECOND_CENTRAL : FIRST_CENTRAL);
    p.word |= bit_of(a) | bit_of(b);
    p.left ^= bit; p.used |= 1u << rank; p.path |= rank << 4 * at;
    p.rising = (p.rising | bit) << 1; p.falling = (p.falling | bit) >> 1;
    return p;
}
// Places the rows from `row` on by the digits of a prefix; returns whether no queen attacks another.
FN u32 put_prefix(Half side, u32 row, u32 n_rows, u32 prefix, u32 first, Partial* p) {
    u32 scale = 1;
    for (u32 i = 1; i < n_rows; i++) scale *= M;
    for (u32 i = 0; i < n_rows; i++, scale /= M) {
        u32 rank = prefix / scale % M, bit = 1u << column_of(side.columns, rank);
        if (!(free_of(side, row + i, *p) & bit) || (i == 0 && !(first >> rank & 1u))) return 0;
        *p = put(side, row + i, bit, i, *p);
    }
    return 1;
}

// Reserves `n` places of an array; NONE if there is no room.
FN u32 reserve(GLOBAL Params* params, u32 array, u32 n) {
    u32 begin = ADD(&params->cursor[array], n);
    if ((u64)begin + n > params->capacity[array]) {
        OR(&params->overflow, 1u << array);
        return NONE;
    }
    return begin;
}

// ---- Tails and heads ----

// The number of a set of columns among all with as many.
FN u32 bucket_of(GLOBAL const u32* binomials, u32 columns) {
    u32 sum = 0;
    for (u32 k = 1; columns; k++, columns &= columns - 1) sum += binomials[8 * POPC((columns & (0u - columns)) - 1u) + k];
    return sum;
}
// Writes a tail, given by the columns of its rows, five bits each.
FN void write_tail(GLOBAL u64* arena, Half side, u32 at, u32 columns) {
    PARAMS;
    Partial p = none_of(side);
    for (u32 i = 0; i < TAIL; i++) p = put(side, HEAD + 1 + i, 1u << (columns >> 5 * i & 31u), 0, p);
    ARRAY(u64, TAIL_ATTACKS)[at] = p.attacks;
    ARRAY(u64, TAIL_WORDS)[at] = p.word;
    ARRAY(u32, TAIL_PATHS)[at] = columns;
}
// Finds the tails on each set of columns, in lexicographic order: a thread for each set and column of the first row.
FN void tails(u32 writes, GLOBAL u64* arena) {
    PARAMS;
    u32 n_items = 2 * params->n_buckets * TAIL;
    for (u32 item = THREAD; item < n_items; item += N_THREADS) {
        u32 bucket = item / TAIL, is_lower = bucket >= params->n_buckets, n = 0, depth = 1, columns = 0;
        u32 at = writes ? ARRAY(u32, TAIL_STARTS)[item] : 0, number = is_lower ? bucket - params->n_buckets : bucket;
        if (at == NONE) continue;
        for (u32 k = TAIL, column = params->n; k > 0; k--) {
            do column--; while (ARRAY(u32, BINOMIALS)[8 * column + k] > number);
            number -= ARRAY(u32, BINOMIALS)[8 * column + k];
            columns |= 1u << column;
        }
        Half side;
        side.n = params->n; side.odd = params->odd; side.columns = columns; side.middle = params->middle; side.is_lower = is_lower;
        u32 first = column_of(columns, item % TAIL), bit = 1u << first, path = first;
        // Columns that are not used yet and not tried yet in each row; columns attacked along diagonals.
        u32 unused[TAIL], left[TAIL], rising[TAIL], falling[TAIL];
        unused[1] = columns ^ bit;
        rising[1] = bit << 1;
        falling[1] = bit >> 1;
        left[1] = unused[1] & ~(rising[1] | falling[1] | by_middle(side, HEAD + 2));
        if (bit & by_middle(side, HEAD + 1) || (params->middle < 32u && columns >> params->middle & 1u)) left[1] = 0;
        while (depth > 0) {
            bit = left[depth] & (0u - left[depth]);
            if (!bit) { depth--; continue; }
            left[depth] ^= bit;
            path = (path & ((1u << 5 * depth) - 1u)) | POPC(bit - 1u) << 5 * depth;
            if (depth == TAIL - 1) {
                if (writes) write_tail(arena, side, at + n, path);
                n++;
                continue;
            }
            depth++;
            unused[depth] = unused[depth - 1] ^ bit;
            rising[depth] = (rising[depth - 1] | bit) << 1;
            falling[depth] = (falling[depth - 1] | bit) >> 1;
            left[depth] = unused[depth] & ~(rising[depth] | falling[depth] | by_middle(side, HEAD + 1 + depth));
        }
        if (!writes) ARRAY(u32, TAIL_STARTS)[item] = n;
    }
}
KERNEL void count_tails(GLOBAL u64* arena) { tails(0, arena); }
// Gives each set of columns its place.
KERNEL void place_tails(GLOBAL u64* arena) {
    PARAMS;
    for (u32 bucket = THREAD; bucket < 2 * params->n_buckets; bucket += N_THREADS) {
        GLOBAL u32* starts = ARRAY(u32, TAIL_STARTS) + (u64)bucket * TAIL;
        u32 n = 0;
        for (u32 i = 0; i < TAIL; i++) n += starts[i];
        u32 begin = n ? reserve(params, TAIL_WORDS, n) : 0;
        Range range;
        range.begin = begin; range.n = begin == NONE ? 0 : n;
        ARRAY(Range, BUCKETS)[bucket] = range;
        for (u32 i = 0; i < TAIL; i++) {
            n = starts[i];
            starts[i] = begin;
            if (begin != NONE) begin += n;
        }
    }
}
KERNEL void write_tails(GLOBAL u64* arena) { tails(1, arena); }

KERNEL void clear(GLOBAL u64* arena) {
    PARAMS;
    GLOBAL u32* upper = ARRAY(u32, UPPER_SUMS);
    GLOBAL u32* lower = ARRAY(u32, LOWER_SUMS);
    for (u32 i = THREAD; i < params->n_sets * (M * M * M); i += N_THREADS) { upper[i] = 0; lower[i] = 0; }
}

// Finds the heads, in lexicographic order: a thread for each way to place the first rows, FINE in number.
#define FINE (HEAD - 1 < 4 ? HEAD - 1 : 4)
#define FINES (FINE == 2 ? M * M : FINE == 3 ? M * M * M : M * M * M * M)
FN void find_heads(u32 writes, GLOBAL u64* arena) {
    PARAMS;
    u32 n_items = params->n_sets * (2 * FINES);
    for (u32 item = THREAD; item < n_items; item += N_THREADS) {
        u32 number = item / (2 * FINES), is_lower = item / FINES % 2, n = 0;
        u32 at = writes ? ARRAY(u32, HEAD_STARTS)[item] : 0;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        Half side = half_of(params, set, is_lower);
        Partial stack[HEAD - FINE];
        u32 left[HEAD - FINE];
        stack[0] = none_of(side);
        if (at != NONE && put_prefix(side, 1, FINE, item % FINES, set->first[is_lower], &stack[0])) {
            int depth = 0;
            left[0] = free_of(side, FINE + 1, stack[0]);
            while (depth >= 0) {
                u32 bit = left[depth] & (0u - left[depth]), here = FINE + 1 + (u32)depth;
                if (!bit) { depth--; continue; }
                left[depth] ^= bit;
                if (here < HEAD) {
                    stack[depth + 1] = put(side, here, bit, here - 1, stack[depth]);
                    depth++;
                    left[depth] = free_of(side, here + 1, stack[depth]);
                    continue;
                }
                if (writes) {
                    Partial p = put(side, here, bit, here - 1, stack[depth]);
                    Head head;
                    head.attacks = p.attacks; head.word = p.word; head.path = p.path; head.unused = 0; head.start = 0;
                    head.bucket = side.is_lower * params->n_buckets + bucket_of(ARRAY(u32, BINOMIALS), p.left);
                    ARRAY(Head, HEADS)[at + n] = head;
                }
                n++;
            }
        }
        if (!writes) ARRAY(u32, HEAD_STARTS)[item] = n;
    }
}
KERNEL void count_heads(GLOBAL u64* arena) { find_heads(0, arena); }
// Gives the heads of each prefix their place: a warp for each prefix.
KERNEL void place_heads(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, n_items = params->n_sets * (PREFIXES + LEAVES);
    for (u32 item = WARP; item < n_items; item += N_WARPS) {
        u32 number = item / (PREFIXES + LEAVES), prefix = item % (PREFIXES + LEAVES), is_lower = prefix >= PREFIXES;
        u32 n_fine = is_lower ? FINES / LEAVES : FINES / PREFIXES, n = 0, begin = 0;
        if (is_lower) prefix -= PREFIXES;
        GLOBAL u32* starts = ARRAY(u32, HEAD_STARTS) + (u64)(2 * number + is_lower) * FINES + prefix * n_fine;
        for (u32 i = lane; i < n_fine; i += WIDTH) n += starts[i];
        WARP_SUM(n);
        if (n) {
            if (lane == 0) begin = reserve(params, HEADS, n);
            BROADCAST(begin);
        }
        Range range;
        range.begin = begin == NONE ? 0 : begin; range.n = begin == NONE ? 0 : n;
        if (lane == 0) ARRAY(Range, HEAD_TABLE)[item] = range;
        for (u32 i = lane; i < (n_fine + WIDTH - 1) / WIDTH * WIDTH; i += WIDTH) {
            u32 here = i < n_fine ? starts[i] : 0, before = here;
            WARP_SCAN(before);
            if (i < n_fine) starts[i] = begin == NONE ? NONE : begin + before - here;
            LAST(before);
            if (begin != NONE) begin += before;
        }
    }
}
KERNEL void write_heads(GLOBAL u64* arena) { find_heads(1, arena); }

// ---- Lists ----

// What a lower placement looks up: the numbers of table entries, seven bits each, and in the upper half the places of its
// queens in rows before those of the tables. A place is the number of a column among those that the leaf's queens leave.
// `raw` holds the tail's columns, five bits each, and in the upper half the head's ranks, four bits each.
FN u64 code_of(u64 raw, u32 fixed, u32 free) {
    u32 path = (u32)(raw >> 32), tail = (u32)raw, place[R], entry[4], singles = 0;
    UNROLL
    for (int row = LEAF; row < HEAD; row++) {
        u32 rank = path >> 4 * row & 15u;
        place[row - LEAF] = rank - POPC(fixed & ((1u << rank) - 1u));
    }
    UNROLL
    for (int row = HEAD; row < M; row++) place[row - LEAF] = POPC(free & ((1u << (tail >> 5 * (row - HEAD) & 31u)) - 1u));
    for (int row = 0; row < N_SINGLES; row++) singles |= place[row] << 4 * row;
    for (int table = 0; table < N_TABLES; table++) {
        u32 a = place[N_SINGLES + 2 * table], b = place[N_SINGLES + 2 * table + 1];
        entry[table] = 1 + a * (R - 1) + b - (b > a ? 1u : 0u);
    }
    u32 code = entry[N_TABLES - 1] << 7 | entry[N_TABLES - 2] << 14;
    if (N_TABLES > 2) code |= entry[N_TABLES > 2 ? N_TABLES - 3 : 0] << 21;
    if (N_TABLES > 3) code |= entry[0];
    return (u64)singles << 32 | code;
}

// Meets heads with tails. A warp takes as many heads as it has lanes, one after another, and its lanes take the tails.
FN void meet(u32 writes, GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, n_heads = params->cursor[HEADS];
    if (params->overflow) return;
    GLOBAL const u64* tail_attacks = ARRAY(u64, TAIL_ATTACKS);
    GLOBAL const u64* tail_words = ARRAY(u64, TAIL_WORDS);
    GLOBAL const u32* tail_paths = ARRAY(u32, TAIL_PATHS);
    GLOBAL Head* all_heads = ARRAY(Head, HEADS);
    for (u32 first = WIDTH * WARP; first < n_heads; first += WIDTH * N_WARPS) {
        u32 mine = first + lane < n_heads ? first + lane : n_heads - 1, n_here = n_heads - first < WIDTH ? n_heads - first : WIDTH;
        Head my_head = all_heads[mine];
        Range my_tails = ARRAY(Range, BUCKETS)[my_head.bucket];
        u32 my_is_lower = my_head.bucket >= params->n_buckets, my_n = 0;
        for (u32 h = 0; h < n_here; h++) {
            u64 attacks = SHUFFLE64(my_head.attacks, h);
            u32 begin = SHUFFLE(my_tails.begin, h), end = begin + SHUFFLE(my_tails.n, h), mask;
            if (!writes) {
                u32 n = 0;
                UNROLL_4
                for (u32 i = begin + lane; i < end; i += WIDTH) n += tail_attacks[i] & attacks ? 0u : 1u;
                WARP_SUM(n);
                if (h == lane) my_n = n;
            } else {
                u64 word = SHUFFLE64(my_head.word, h);
                u32 path = SHUFFLE(my_head.path, h), at = SHUFFLE(my_head.start, h);
                u32 is_lower = SHUFFLE(my_is_lower, h);
                if (at == NONE) continue;
                GLOBAL u64* words = (is_lower ? ARRAY(u64, LOWER) : ARRAY(u64, UPPER)) + at;
                GLOBAL u64* codes = ARRAY(u64, CODES) + at;
                for (u32 i = begin + lane; i < end + lane; i += 4 * WIDTH) {
                    u64 tail[4];
                    u32 tail_path[4], fits[4];
                    for (u32 k = 0; k < 4; k++)
                        fits[k] = i + k * WIDTH < end ? !(tail_attacks[i + k * WIDTH] & attacks) : 0;
                    for (u32 k = 0; k < 4; k++) {
                        if (fits[k]) tail[k] = tail_words[i + k * WIDTH];
                        if (fits[k] && is_lower) tail_path[k] = tail_paths[i + k * WIDTH];
                    }
                    for (u32 k = 0; k < 4; k++) {
                        BALLOT(mask, fits[k]);
                        if (fits[k]) {
                            u32 to = POPC(mask & ((1u << lane) - 1u));
                            if (word >> FIRST_CENTRAL)
                                tail[k] = (tail[k] & (((u64)1 << SECOND_CENTRAL) - 1)) | tail[k] >> FIRST_CENTRAL << SECOND_CENTRAL;
                            words[to] = word | tail[k];
                            if (is_lower) codes[to] = (u64)path << 32 | tail_path[k];
                        }
                        words += POPC(mask);
                        codes += POPC(mask);
                    }
                }
            }
        }
        if (!writes && first + lane < n_heads) all_heads[mine].start = my_n;
    }
}
KERNEL void count_words(GLOBAL u64* arena) { meet(0, arena); }
// Gives the words of each prefix their place, in the order of the heads: a warp for each prefix.
KERNEL void place_words(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, n_items = params->n_sets * (PREFIXES + LEAVES);
    if (params->overflow) return;
    for (u32 item = WARP; item < n_items; item += N_WARPS) {
        u32 number = item / (PREFIXES + LEAVES), prefix = item % (PREFIXES + LEAVES), is_lower = prefix >= PREFIXES;
        Range heads = ARRAY(Range, HEAD_TABLE)[item], range;
        GLOBAL Head* head = ARRAY(Head, HEADS) + heads.begin;
        u32 n = 0, begin = 0;
        for (u32 h = lane; h < heads.n; h += WIDTH) n += head[h].start;
        WARP_SUM(n);
        if (n) {
            if (lane == 0) begin = reserve(params, is_lower ? LOWER : UPPER, n);
            BROADCAST(begin);
        }
        range.begin = begin; range.n = begin == NONE ? 0 : n;
        if (lane == 0) {
            if (is_lower) ARRAY(Range, LOWER_TABLE)[(u64)number * LEAVES + prefix - PREFIXES] = range;
            else ARRAY(Range, UPPER_TABLE)[(u64)number * PREFIXES + prefix] = range;
        }
        for (u32 h = lane; h < (heads.n + WIDTH - 1) / WIDTH * WIDTH; h += WIDTH) {
            u32 here = h < heads.n ? head[h].start : 0, before = here;
            WARP_SCAN(before);
            if (h < heads.n) head[h].start = begin == NONE ? NONE : begin + before - here;
            LAST(before);
            if (begin != NONE) begin += before;
        }
    }
}
KERNEL void write_words(GLOBAL u64* arena) { meet(1, arena); }

// The upper words that weigh two (or one, if all weigh one): from `main` on. Those that may weigh one: two ranges of
// words, each as its first word and its length.
typedef struct { u64 main, start_0, n_0, start_1, n_1; u32 near, far; } Weights;

FN Weights weights_of(u32 n, GLOBAL const Set* set, u32 lower_1, u32 upper_1) {
    u32 a = distance_of(n, column_of(set->columns[0], upper_1)), b = distance_of(n, column_of(set->columns[1], lower_1));
    Weights w;
    u64 one = (u64)1 << FIRST_CENTRAL;
    w.near = a < b ? a : b; w.far = a < b ? b : a;
    w.main = 0; w.start_0 = 0; w.n_0 = 0; w.start_1 = 0; w.n_1 = 0;
    if (set->weighing == 1) { w.start_0 = set->distance * one; w.n_0 = one; w.main = w.start_0 + one; }
    if (set->weighing == 2) {
        w.n_0 = (u64)1 << SECOND_CENTRAL; w.start_0 = (w.near << 4 | w.far) * w.n_0; w.main = w.start_0 + w.n_0;
    }
    if (set->weighing == 3) {
        w.main = w.near * one; w.start_0 = w.main; w.n_0 = one;
        if (w.near != w.far) { w.start_1 = w.far * one; w.n_1 = one; }
    }
    return w;
}

// Upper lists that the first lower queen leaves: a warp for each two first queens.
KERNEL void level(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * (M * M); item += N_WARPS) {
        u32 number = item / (M * M), lower_1 = item / M % M, upper_1 = item % M, n = 0, n_equal = 0;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        u64 attacked = footprint(half_of(params, set, 1), 1, lower_1);
        u64 own = footprint(half_of(params, set, 0), 1, upper_1);
        Lists lists;
        lists.begin = 0; lists.n = 0; lists.equal_begin = 0; lists.equal_n = 0;
        u32 wanted = (set->first[0] >> upper_1 & 1u) && (set->first[1] >> lower_1 & 1u) && !(attacked & own);
        Weights w = weights_of(params->n, set, lower_1, upper_1);
        GLOBAL const Range* table = ARRAY(Range, UPPER_TABLE) + (u64)number * PREFIXES + upper_1 * M;
        if (wanted) {
            for (u32 second = 0; second < M; second++) {
                GLOBAL const u64* words = ARRAY(u64, UPPER) + table[second].begin;
                UNROLL_4
                for (u32 i = lane; i < table[second].n; i += WIDTH) {
                    u64 word = words[i];
                    u32 fits = word & attacked ? 0u : 1u;
                    n += fits && word >= w.main ? 1u : 0u;
                    n_equal += fits && (word - w.start_0 < w.n_0 || word - w.start_1 < w.n_1) ? 1u : 0u;
                }
            }
            WARP_SUM(n);
            WARP_SUM(n_equal);
        }
        if (n + n_equal > 0) {
            u32 begin = 0;
            if (lane == 0) begin = reserve(params, LEVEL, n + n_equal);
            BROADCAST(begin);
            if (begin == NONE) n = n_equal = 0;
            else {
                lists.begin = begin; lists.n = n; lists.equal_begin = begin + n; lists.equal_n = n_equal;
            }
        }
        if (lane == 0) ARRAY(Lists, LEVEL_TABLE)[item] = lists;
        if (n + n_equal == 0) continue;
        GLOBAL u64* to = ARRAY(u64, LEVEL) + lists.begin;
        GLOBAL u64* to_equal = to + n;
        for (u32 second = 0; second < M; second++) {
            GLOBAL const u64* words = ARRAY(u64, UPPER) + table[second].begin;
            u32 n_here = table[second].n;
            for (u32 at = lane; at < n_here + lane; at += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = at + k * WIDTH < n_here ? words[at + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    u32 fits = word[k] & attacked ? 0u : 1u;
                    u32 is_main = fits && word[k] >= w.main;
                    u32 is_equal = fits && (word[k] - w.start_0 < w.n_0 || word[k] - w.start_1 < w.n_1);
                    BALLOT(mask, is_main);
                    if (is_main) to[POPC(mask & ((1u << lane) - 1u))] = word[k];
                    to += POPC(mask);
                    BALLOT(mask, is_equal);
                    if (is_equal) to_equal[POPC(mask & ((1u << lane) - 1u))] = word[k];
                    to_equal += POPC(mask);
                }
            }
        }
    }
}

// Returns how many words of a list some queens leave: its share of a lane.
FN u32 count_left(GLOBAL const u64* words, u32 n, u64 attacked, u32 lane) {
    u32 sum = 0;
    UNROLL_4
    for (u32 i = lane; i < n; i += WIDTH) sum += words[i] & attacked ? 0u : 1u;
    return sum;
}
// Writes the words of a list that some queens leave, in order; returns their number. All lanes call it.
FN u32 write_left(GLOBAL const u64* words, u32 n, u64 attacked, GLOBAL u64* to, u32 lane) {
    u32 n_written = 0, mask;
    for (u32 at = lane; at < n + lane; at += 4 * WIDTH) {
        u64 word[4];
        // All are read before one is written, as reading takes long.
        for (u32 k = 0; k < 4; k++) word[k] = at + k * WIDTH < n ? words[at + k * WIDTH] : ~(u64)0;
        for (u32 k = 0; k < 4; k++) {
            u32 fits = word[k] & attacked ? 0u : 1u;
            BALLOT(mask, fits);
            if (fits) to[n_written + POPC(mask & ((1u << lane) - 1u))] = word[k];
            n_written += POPC(mask);
        }
    }
    return n_written;
}

#if LEAF > 2
// Lists that the second lower queen leaves, too: a warp for each first upper and two lower queens.
KERNEL void level_2(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * (M * M * M); item += N_WARPS) {
        u32 number = item / (M * M * M), lower_1 = item / (M * M) % M, lower_2 = item / M % M, upper_1 = item % M;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        Lists from = ARRAY(Lists, LEVEL_TABLE)[(number * M + lower_1) * M + upper_1];
        Half below = half_of(params, set, 1);
        u64 attacked = footprint(below, 2, lower_2);
        GLOBAL const u64* words = ARRAY(u64, LEVEL) + from.begin;
        u32 d = column_of(below.columns, lower_1), e = column_of(below.columns, lower_2);
        u32 apart = (d > e ? d - e : e - d) > 1;
        u32 n = apart ? count_left(words, from.n, attacked, lane) : 0;
        u32 n_equal = apart ? count_left(words + from.n, from.equal_n, attacked, lane) : 0;
        WARP_SUM(n);
        WARP_SUM(n_equal);
        Lists lists;
        lists.begin = 0; lists.n = 0; lists.equal_begin = 0; lists.equal_n = 0;
        if (n + n_equal > 0) {
            u32 begin = 0;
            if (lane == 0) begin = reserve(params, LEVEL_2, n + n_equal);
            BROADCAST(begin);
            if (begin == NONE) n = n_equal = 0;
            else {
                lists.begin = begin; lists.n = n; lists.equal_begin = begin + n; lists.equal_n = n_equal;
            }
        }
        if (lane == 0) {
            ARRAY(Lists, LEVEL_2_TABLE)[item] = lists;
            ARRAY(u32, UPPER_SUMS)[((number * M + upper_1) * M + lower_1) * M + lower_2] = n;
        }
        if (n + n_equal == 0) continue;
        GLOBAL u64* to = ARRAY(u64, LEVEL_2) + lists.begin;
        // The equal ones follow the others in both lists.
        write_left(words, from.n + from.equal_n, attacked, to, lane);
    }
}
#endif

// Whether a subproblem with these first queens is counted.
FN u32 is_wanted(GLOBAL const Params* params, GLOBAL const Set* set, u32 lower_1, u32 upper_1, u32 lower_2) {
    u32 number = params->n_digits == 0 ? 0 : params->n_digits == 1 ? lower_1
        : params->n_digits == 2 ? lower_1 * M + upper_1 : (lower_1 * M + upper_1) * M + lower_2;
    return number >= set->from && number < set->to;
}

// For each leaf, the codes of the lower placements that each first upper queen leaves: a warp for each leaf. If each
// half board has a central queen, those for `greater` and for `equal` pairs differ.
KERNEL void sieve(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * LEAVES; item += N_WARPS) {
        u32 number = item / LEAVES, leaf = item % LEAVES;
        u32 lower_1 = leaf / (LEAVES / M), lower_2 = leaf / (LEAVES / (M * M)) % M;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
        Range range = ARRAY(Range, LOWER_TABLE)[item];
        GLOBAL const u64* lower = ARRAY(u64, LOWER) + range.begin;
        GLOBAL const u64* codes = ARRAY(u64, CODES) + range.begin;
        GLOBAL Lists* table = ARRAY(Lists, SIFTED_TABLE) + (u64)item * M;
        Half above = half_of(params, set, 0);
        u32 fixed = 0, free = 0;
        for (u32 scale = 1; scale < LEAVES; scale *= M) fixed |= 1u << (leaf / scale % M);
        for (u32 rank = 0, left = set->columns[1]; rank < M; rank++, left &= left - 1)
            if (!(fixed >> rank & 1u)) free |= left & (0u - left);
        for (u32 equal = 0; equal < 2; equal++) {
            u32 is_split = set->weighing == 3, near_far[M], n[M], start[M], total = 0, begin = 0;
            u64 own[M];
            if (equal && !is_split) continue;
            UNROLL
            for (u32 u = 0; u < M; u++) {
                Lists lists = ARRAY(Lists, LEVEL_TABLE)[(number * M + lower_1) * M + u];
                u32 wanted = range.n && (equal ? lists.equal_n : lists.n + lists.equal_n) && is_wanted(params, set, lower_1, u, lower_2);
                own[u] = wanted ? footprint(above, 1, u) : ~(u64)0;
                near_far[u] = 0;
                if (is_split) {
                    u32 p = distance_of(params->n, column_of(set->columns[0], u)), q = distance_of(params->n, column_of(set->columns[1], lower_1));
                    near_far[u] = p < q ? p << 8 | q : q << 8 | p;
                }
                n[u] = 0;
            }
#define PASSES(word, u) (!((word) & own[u]) && (equal ? (u32)((word) >> FIRST_CENTRAL) == near_far[u] >> 8 || (u32)((word) >> FIRST_CENTRAL) == (near_far[u] & 255u) \
                                                       : (u32)((word) >> FIRST_CENTRAL) >= near_far[u] >> 8))
            for (u32 i = lane; i < range.n; i += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = i + k * WIDTH < range.n ? lower[i + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    UNROLL
                    for (u32 u = 0; u < M; u++) n[u] += PASSES(word[k], u) ? 1u : 0u;
                }
            }
            UNROLL
            for (u32 u = 0; u < M; u++) {
                WARP_SUM(n[u]);
                start[u] = total;
                total += n[u];
            }
            if (total) {
                if (lane == 0) begin = reserve(params, PIECE_CODES, total);
                BROADCAST(begin);
            }
            UNROLL
            for (u32 u = 0; u < M; u++) {
                if (lane == 0) {
                    if (!equal) {
                        table[u].begin = begin + start[u]; table[u].n = begin == NONE ? 0 : n[u];
                        table[u].equal_begin = begin + start[u]; table[u].equal_n = begin == NONE ? 0 : n[u];
                        if (n[u]) ADD(&ARRAY(u32, LOWER_SUMS)[((number * M + u) * M + lower_1) * M + lower_2], n[u]);
                    } else {
                        table[u].equal_begin = begin + start[u]; table[u].equal_n = begin == NONE ? 0 : n[u];
                    }
                }
                n[u] = 0;
            }
            if (begin == NONE || !total) continue;
            GLOBAL u64* to = ARRAY(u64, PIECE_CODES) + begin;
            for (u32 i = lane; i < range.n + lane; i += 2 * WIDTH) {
                u64 word[2], code[2];
                for (u32 k = 0; k < 2; k++) {
                    word[k] = i + k * WIDTH < range.n ? lower[i + k * WIDTH] : ~(u64)0;
                    code[k] = i + k * WIDTH < range.n ? codes[i + k * WIDTH] : 0;
                }
                for (u32 k = 0; k < 2; k++) {
                    code[k] = code_of(code[k], fixed, free);
                    UNROLL
                    for (u32 u = 0; u < M; u++) {
                        u32 passes = PASSES(word[k], u);
                        BALLOT(mask, passes);
                        if (passes) to[start[u] + POPC(mask & ((1u << lane) - 1u))] = code[k];
                        start[u] += POPC(mask);
                    }
                }
            }
        }
    }
}

// For each leaf and first upper queen, the upper placements that the leaf's queens leave, cut into pieces: a warp for
// each upper queen and all but the last of the leaf's queens.
KERNEL void cut(GLOBAL u64* arena) {
    PARAMS;
    u32 lane = LANE, mask;
    for (u32 item = WARP; item < params->n_sets * (LEAVES / M) * M; item += N_WARPS) {
        u32 number = item / LEAVES, prefix = item / M % (LEAVES / M), upper_1 = item % M;
        u32 lower_1 = prefix / (LEAVES / (M * M)), fixed = 0, central_row = 0, last_column;
        u64 attacked = 0;
        GLOBAL const Set* set = ARRAY(Set, SETS) + number;
#if LEAF == 2
        Lists lists = ARRAY(Lists, LEVEL_TABLE)[(number * M + lower_1) * M + upper_1];
        GLOBAL const u64* words = ARRAY(u64, LEVEL);
#else
        Lists lists = ARRAY(Lists, LEVEL_2_TABLE)[((number * M + lower_1) * M + prefix / (LEAVES / (M * M * M)) % M) * M + upper_1];
        GLOBAL const u64* words = ARRAY(u64, LEVEL_2);
#endif
        if (lists.n + lists.equal_n == 0) continue;
        Half below = half_of(params, set, 1);
        for (u32 row = 1, scale = LEAVES / (M * M); row < LEAF; row++, scale /= M) {
            u32 rank = prefix / scale % M;
            fixed |= 1u << rank;
            // The lists are without what the first queens attack.
            if (row > 2) attacked |= footprint(below, row, rank);
            last_column = column_of(below.columns, rank);
            if (distance_of(params->n, last_column) + params->odd == 1) central_row = row;
        }
        GLOBAL const Lists* table = ARRAY(Lists, SIFTED_TABLE) + ((u64)number * LEAVES + prefix * M) * M + upper_1;
        u32 p = distance_of(params->n, column_of(set->columns[0], upper_1)), q = distance_of(params->n, column_of(set->columns[1], lower_1));
        for (u32 equal = 0; equal < 2; equal++) {
            GLOBAL const u64* from = words + (equal ? lists.equal_begin : lists.begin);
            u32 n_from = equal ? lists.equal_n : lists.n, n[M], start[M], total = 0, slot = 0, first = 0;
            u64 by[M];
            if (n_from == 0) continue;
            UNROLL
            for (u32 last = 0; last < M; last++) {
                by[last] = (equal ? table[last * M].equal_n : table[last * M].n) ? attacked | footprint(below, LEAF, last) : ~(u64)0;
                n[last] = 0;
            }
            for (u32 i = lane; i < n_from; i += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = i + k * WIDTH < n_from ? from[i + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    UNROLL
                    for (u32 last = 0; last < M; last++) n[last] += word[k] & by[last] ? 0u : 1u;
                }
            }
            UNROLL
            for (u32 last = 0; last < M; last++) {
                WARP_SUM(n[last]);
                start[last] = total;
                total += (n[last] + LANES - 1) / LANES;
                if (LEAF == 2 && !equal && lane == 0)
                    ARRAY(u32, UPPER_SUMS)[((number * M + upper_1) * M + lower_1) * M + last] = n[last];
            }
            if (!total) continue;
            if (lane == 0) { slot = reserve(params, PIECE_WORDS, total); first = reserve(params, PIECES, total); }
            BROADCAST(slot);
            BROADCAST(first);
            if (slot == NONE || first == NONE) continue;
            UNROLL
            for (u32 last = 0; last < M; last++) {
                u32 n_pieces = (n[last] + LANES - 1) / LANES, column = column_of(below.columns, last);
                Lists sifted = table[last * M];
                for (u32 i = lane; i < n_pieces; i += WIDTH) {
                    Piece piece;
                    piece.set = number; piece.words = slot + start[last] + i;
                    piece.codes = equal ? sifted.equal_begin : sifted.begin;
                    piece.n_codes = equal ? sifted.equal_n : sifted.n;
                    piece.fixed = fixed | 1u << last
                        | (distance_of(params->n, column) + params->odd == 1 ? (u32)LEAF : central_row) << 16;
                    piece.kind = set->weighing == 3 ? 1 + equal : 0;
                    piece.near_far = p < q ? p << 8 | q : q << 8 | p;
                    piece.weight = (set->weighing && !equal ? 2 : 1) * set->factor;
                    ARRAY(Piece, PIECES)[first + start[last] + i] = piece;
                }
                // The lanes that stay empty.
                GLOBAL u64* to = ARRAY(u64, PIECE_WORDS) + (u64)(slot + start[last]) * LANES;
                for (u32 i = n[last] + lane; i < n_pieces * LANES; i += WIDTH) to[i] = ~(u64)0;
                start[last] *= LANES;
            }
            GLOBAL u64* to = ARRAY(u64, PIECE_WORDS) + (u64)slot * LANES;
            for (u32 i = lane; i < n_from + lane; i += 4 * WIDTH) {
                u64 word[4];
                for (u32 k = 0; k < 4; k++) word[k] = i + k * WIDTH < n_from ? from[i + k * WIDTH] : ~(u64)0;
                for (u32 k = 0; k < 4; k++) {
                    UNROLL
                    for (u32 last = 0; last < M; last++) {
                        u32 fits = word[k] & by[last] ? 0u : 1u;
                        BALLOT(mask, fits);
                        if (fits) to[start[last] + POPC(mask & ((1u << lane) - 1u))] = word[k];
                        start[last] += POPC(mask);
                    }
                }
            }
        }
    }
}

// ---- Join ----

// Shared memory, in words. The planes lie where the tables will.
#define ENTRY 32u
#define ENTRIES (R * (R - 1) + 1)
#define S_SINGLES 0u
#define S_TABLES (S_SINGLES + R * R * ENTRY)
#define S_PLANES S_TABLES
#define N_REGION (N_TABLES * ENTRIES > 65 ? N_TABLES * ENTRIES : 65)
#define CODES_AT_HAND 128u
#define BUFFER ((CODES_AT_HAND + 8u) * (N_SINGLES ? 3u : 2u) / 2u)
#define S_BUFFERS (S_TABLES + N_REGION * ENTRY)
#define S_FEET (S_BUFFERS + WARPS * BUFFER)
#define S_MISC (S_FEET + (R * R + 3) / 4 * 4)
#define SLOT(table) ((u32)(S_TABLES + (table) * ENTRIES * ENTRY))

// Lanes whose number of four bits is at least `least`.
FN u32 rows_from(u32 b3, u32 b2, u32 b1, u32 b0, u32 least) {
    u32 greater = 0, equal = ~0u, bits[4];
    bits[3] = b3; bits[2] = b2; bits[1] = b1; bits[0] = b0;
    for (int i = 3; i >= 0; i--) {
        if (least >> i & 1u) equal &= bits[i]; else { greater |= equal & bits[i]; equal &= ~bits[i]; }
    }
    return least > 15 ? 0 : greater | equal;
}
// The lanes whose upper central queen goes with a lower central queen in this row.
FN u32 centre(u32 b3, u32 b2, u32 b1, u32 b0, u32 kind, u32 near, u32 far, u32 row) {
#define FROM(x) rows_from(b3, b2, b1, b0, x)
    if (kind == 1) return row < near ? 0 : row == near ? FROM(far + 1) : row <= far ? FROM(near + 1) : FROM(near);
    return row == near ? FROM(far) & ~FROM(far + 1) : row == far ? FROM(near) & ~FROM(near + 1) : 0;
}
// Eight planes of 32 words: bit p of byte `b` of word 4 k + j comes to bit 8 j + k of r[p].
FN void transpose8(u32* r) {
#define SWAP(a, b, s, m) { u32 t = (r[a] >> s ^ r[b]) & m; r[b] ^= t; r[a] ^= t << s; }
    SWAP(0, 4, 4, 0x0F0F0F0Fu) SWAP(1, 5, 4, 0x0F0F0F0Fu) SWAP(2, 6, 4, 0x0F0F0F0Fu) SWAP(3, 7, 4, 0x0F0F0F0Fu)
    SWAP(0, 2, 2, 0x33333333u) SWAP(1, 3, 2, 0x33333333u) SWAP(4, 6, 2, 0x33333333u) SWAP(5, 7, 2, 0x33333333u)
    SWAP(0, 1, 1, 0x55555555u) SWAP(2, 3, 1, 0x55555555u) SWAP(4, 5, 1, 0x55555555u) SWAP(6, 7, 1, 0x55555555u)
}
#ifdef __CUDACC__
#define BYTES4(a, b, c, d, s) __byte_perm(__byte_perm(a, b, (s) | ((s) + 4) << 4), __byte_perm(c, d, (s) | ((s) + 4) << 4), 0x5410)
// Four words from a byte offset in shared memory; the second only where `want` is not zero.
#define LOAD4(to, base, off) asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + %5];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(off), "n"(4 * (base)))
#define LOAD4_IF(want, to, base, off) asm volatile("{ .reg .pred p; setp.ne.u32 p, %6, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + %5]; }" : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3]) : "r"(off), "n"(4 * (base)), "r"(want))
#define LOAD1(to, off) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(off))
#define SM_BASE ((u32)__cvta_generic_to_shared(sm))
#else
#define BYTES4(a, b, c, d, s) (((a) >> 8 * (s) & 255u) | ((b) >> 8 * (s) & 255u) << 8 | ((c) >> 8 * (s) & 255u) << 16 | ((d) >> 8 * (s)) << 24)
#define LOAD4(to, base, off) { SHARED const u32* at_ = sm + (base) + (off) / 4; to[0] = at_[0]; to[1] = at_[1]; to[2] = at_[2]; to[3] = at_[3]; }
#define LOAD4_IF(want, to, base, off) if (want) LOAD4(to, base, off)
#define LOAD1(to, off) to = sm[(off) / 4]
#define SM_BASE 0
#endif
// Where the number of a table's entry stands in a code: shifted so that it is 128 times that number.
#define FIELD_LAST(c) (c)
#define FIELD_NEXT(c) ((c) >> 7)
#define FIELD_1(c) ((c) >> 14)
#define FIELD_0(c) ((c) << 7)
#define ENTRY_BITS 0x3F80u
#define SINGLES_DIFFER (1u << 28)

// Tests `n` lower placements, whose codes a warp has at hand, against all lanes; returns this thread's share of the
// pairs that fit. A quarter of a warp takes one lower placement: 8 threads of 128 bits are the 1024 lanes, and each of
// the four phases of a load reads one entry, without conflicts. A quarter goes through placements that follow each
// other, and loads again only what differs from the one before.
FN u32 steps(SM_ARG u32 warp, u32 lane, u32 n) {
    SHARED u32* buffer = sm + S_BUFFERS + warp * BUFFER;
    SHARED u16* singles = (SHARED u16*)(buffer + CODES_AT_HAND + 8);
    u32 quarter = (n + 7) / 8 * 2;
    SYNC_WARP();
    for (u32 i = n + lane; i < 4 * quarter; i += 32) { buffer[i] = 0; if (N_SINGLES) singles[i] = 0; }
    SYNC_WARP();
    if (N_SINGLES)
        for (u32 i = lane; i < 4 * quarter; i += 32)
            if (i % quarter == 0 || singles[i] != singles[i - 1]) buffer[i] |= SINGLES_DIFFER;
    SYNC_WARP();
    u32 base = SM_BASE, mine = 16 * (lane & 7u) + base;
    u32 start = base + 4 * (S_BUFFERS + warp * BUFFER), at = start + 4 * (lane >> 3) * quarter;
    u32 s[4], t0[4], t1[4], one = 0, two = 0, before = ~0u;
    for (int w = 0; w < 4; w++) s[w] = t0[w] = t1[w] = ~0u;
    UNROLL_2
    for (u32 end = at + 4 * quarter; at != end; at += 4) {
        u32 code, x[4], y[4];
        LOAD1(code, at);
        if (N_SINGLES) {
            if (code & SINGLES_DIFFER) {
                u32 p = singles[(at - start) / 4];
                for (int w = 0; w < 4; w++) s[w] = ~0u;
                for (int row = 0; row < N_SINGLES; row++) {
                    u32 one_row[4];
                    LOAD4(one_row, S_SINGLES, 128 * (R * row + (p >> 4 * row & 15u)) + mine);
                    for (int w = 0; w < 4; w++) s[w] &= one_row[w];
                }
            }
        }
        u32 differs = code ^ before;
        before = code;
        if (N_TABLES > 3) LOAD4_IF(differs & ENTRY_BITS >> 7, t0, SLOT(0), (FIELD_0(code) & ENTRY_BITS) + mine);
        if (N_TABLES > 2) LOAD4_IF(differs & ENTRY_BITS << 14, t1, SLOT(N_TABLES > 2 ? N_TABLES - 3 : 0), (FIELD_1(code) & ENTRY_BITS) + mine);
        LOAD4(x, SLOT(N_TABLES - 2), (FIELD_NEXT(code) & ENTRY_BITS) + mine);
        LOAD4(y, SLOT(N_TABLES - 1), (FIELD_LAST(code) & ENTRY_BITS) + mine);
        for (int w = 0; w < 4; w++) {
            u32 three = t1[w] & x[w] & y[w];
            x[w] = N_TABLES > 3 ? (N_SINGLES ? three & t0[w] & s[w] : three & t0[w]) : N_SINGLES ? three & s[w] : three;
        }
        u32 carry = (one & x[0]) | (one & x[1]) | (x[0] & x[1]);
        one ^= x[0] ^ x[1];
        u32 carry2 = (one & x[2]) | (one & x[3]) | (x[2] & x[3]);
        one ^= x[2] ^ x[3];
        two += POPC(carry) + POPC(carry2);
    }
    SYNC_WARP();
    return 2 * two + POPC(one);
}

#ifdef __CUDACC__
#define TID threadIdx.x
#else
#define TID ((u32)get_local_id(0))
#endif
#define BLOCK (32 * WARPS)

KERNEL_JOIN void join(GLOBAL u64* arena SM_LOCAL) {
    PARAMS;
    u32 tid = TID, lane = tid & 31u, warp = tid >> 5;
    u32 n = params->n, odd = params->odd;
    u64 sum = 0;
    u32 n_pieces = params->cursor[PIECES] < params->capacity[PIECES] ? params->cursor[PIECES] : params->capacity[PIECES];
    if (params->overflow) n_pieces = 0;
    for (;;) {
        SYNC();
        if (tid == 0) sm[S_MISC] = ADD(&params->next, 1u);
        SYNC();
        if (sm[S_MISC] >= n_pieces) break;
        Piece piece = ARRAY(Piece, PIECES)[sm[S_MISC]];
        u32 below = ARRAY(Set, SETS)[piece.set].columns[1], fixed = piece.fixed & 0xFFFFu;
        // The feet of a queen of each row and place, and the row of its central queen.
        for (u32 e = tid; e < R * R; e += BLOCK) {
            u32 left = ((1u << M) - 1u) & ~fixed, row = LEAF + 1 + e / R, a, b;
            u32 column = column_of(below, column_of(left, e % R));
            feet_of(n, odd, 1, row, column, &a, &b);
            u32 central_row = piece.fixed >> 16 ? (e < R ? piece.fixed >> 16 : 0u)
                : distance_of(n, column) + odd == 1 ? row : 0u;
            sm[S_FEET + e] = a | b << 8 | central_row << 16;
        }
        // Bit planes.
        GLOBAL const u32* from = ARRAY(u32, PIECE_WORDS) + (u64)piece.words * (2 * LANES) + 2 * lane;
        for (u32 b = warp; b < 8; b += WARPS) {
            u32 r[8], high = b >> 2;
            for (int k = 0; k < 8; k++)
                r[k] = BYTES4(from[256 * k + high], from[256 * k + 64 + high], from[256 * k + 128 + high], from[256 * k + 192 + high], b & 3u);
            transpose8(r);
            for (int p = 0; p < 8; p++) sm[S_PLANES + (8 * b + p) * ENTRY + lane] = r[p];
        }
        for (u32 e = tid; e < ENTRY; e += BLOCK) sm[S_PLANES + 64 * ENTRY + e] = 0;
        SYNC();
        // Where a queen of a row attacks none: a quarter of a warp for each.
        u32 quarter = tid >> 3, o = 4 * (lane & 7u), kind = piece.kind;
        u32 near = piece.near_far >> 8, far = piece.near_far & 255u;
        for (u32 e = quarter; e < R * R; e += 4 * WARPS) {
            u32 feet = sm[S_FEET + e];
            SHARED const U4* a = (SHARED const U4*)(sm + S_PLANES + (feet & 255u) * ENTRY + o);
            SHARED const U4* b = (SHARED const U4*)(sm + S_PLANES + (feet >> 8 & 255u) * ENTRY + o);
            u32 x[4];
            x[0] = ~(a->x | b->x); x[1] = ~(a->y | b->y); x[2] = ~(a->z | b->z); x[3] = ~(a->w | b->w);
            if (kind && feet >> 16) {
                for (int w = 0; w < 4; w++) {
                    SHARED const u32* bits = sm + S_PLANES + FIRST_CENTRAL * ENTRY + o + w;
                    x[w] &= centre(bits[3 * ENTRY], bits[2 * ENTRY], bits[ENTRY], bits[0], kind, near, far, feet >> 16);
                }
            }
            U4 y;
            y.x = x[0]; y.y = x[1]; y.z = x[2]; y.w = x[3];
            *(SHARED U4*)(sm + S_SINGLES + e * ENTRY + o) = y;
        }
        SYNC();
        // And where those of two rows attack none. The first entry of a table is empty.
        for (u32 e = quarter; e < N_TABLES * R; e += 4 * WARPS) {
            u32 table = e / R, first = e % R;
            SHARED const U4* s = (SHARED const U4*)(sm + S_SINGLES + (N_SINGLES + 2 * table) * R * ENTRY + o);
            SHARED U4* to = (SHARED U4*)(sm + SLOT(table) + (1 + first * (R - 1)) * ENTRY + o);
            U4 one = s[first * ENTRY / 4];
            for (u32 place = 0; place < R; place++) {
                U4 x = s[(R + place) * ENTRY / 4];
                x.x &= one.x; x.y &= one.y; x.z &= one.z; x.w &= one.w;
                if (place != first) { *to = x; to += ENTRY / 4; }
            }
        }
        for (u32 e = tid; e < N_TABLES * ENTRY; e += BLOCK) sm[SLOT(e / ENTRY) + e % ENTRY] = 0;
        SYNC();
        // Each warp takes its share of the lower placements.
        u32 share = (piece.n_codes + WARPS - 1) / WARPS, begin = share * warp, end = begin + share;
        if (end > piece.n_codes) end = piece.n_codes;
        GLOBAL const u64* codes = ARRAY(u64, PIECE_CODES) + piece.codes;
        SHARED u32* buffer = sm + S_BUFFERS + warp * BUFFER;
        u64 here = 0;
        for (; begin < end; begin += CODES_AT_HAND) {
            u32 n_here = end - begin < CODES_AT_HAND ? end - begin : CODES_AT_HAND;
            for (u32 i = lane; i < n_here; i += 32) {
                u64 code = codes[begin + i];
                buffer[i] = (u32)code;
                if (N_SINGLES) ((SHARED u16*)(buffer + CODES_AT_HAND + 8))[i] = (u16)(code >> 32);
            }
            here += steps(SM_PASS warp, lane, n_here);
        }
        sum += here * piece.weight;
    }
    // The sum of a block: at most 2^10 threads.
    SHARED u32* mine = sm + 2 * tid;
    mine[0] = (u32)sum;
    mine[1] = (u32)(sum >> 32);
    SYNC();
    if (tid == 0) {
        for (u32 i = 1; i < BLOCK; i++) sum += (u64)sm[2 * i] | (u64)sm[2 * i + 1] << 32;
#ifdef __CUDACC__
        ARRAY(u64, OUT)[blockIdx.x] = sum;
#else
        ARRAY(u64, OUT)[get_group_id(0)] = sum;
#endif
    }
}
