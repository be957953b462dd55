// The join: bit planes, tables and steps.

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
#else
#define BYTES4(a, b, c, d, s) (((a) >> 8 * (s) & 255u) | ((b) >> 8 * (s) & 255u) << 8 | ((c) >> 8 * (s) & 255u) << 16 | ((d) >> 8 * (s)) << 24)
#endif
// The simulation of a card on a processor knows no PTX.
#if defined(__CUDACC__) && !defined(SIMULATED)
// Four words from a byte offset in shared memory; the second only where `want` is not zero.
#define LOAD4(to, base, off) asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + %5];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(off), "n"(4 * (base)))
#define LOAD4_IF(want, to, base, off) asm volatile("{ .reg .pred p; setp.ne.u32 p, %6, 0; @p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4 + %5]; }" : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3]) : "r"(off), "n"(4 * (base)), "r"(want))
#define LOAD1(to, off) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(to) : "r"(off))
#define SM_BASE ((u32)__cvta_generic_to_shared(sm))
#else
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
