#!/usr/bin/env python3
"""Reads a certificate of an n-queens count and checks what needs no solver: python3 read_certificate.py FILE

Plain Python and nothing else. The format is explained in CERTIFICATE.md. What is not checked here: that the crosses,
their images, weights and subproblems are those of the board, and that any record was counted right. `queens check` does
that."""
import gzip
import hashlib
import sys

# Ed25519 (RFC 8032), slow and short.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    c, d = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    e, f = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return (d - c) * (f - e) % P, (f + e) * (d + c) % P, (f - e) * (f + e) % P, (d - c) * (d + c) % P


def times(n, point):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, point)
        point, n = add(point, point), n >> 1
    return result


def unpacked(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - square) % P == 0 and y < P, "no point of the curve"
    return (P - x if x & 1 != sign else x), y, 1, (P - x if x & 1 != sign else x) * y % P


def has_signed(key, message, signature):
    base = unpacked((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    a, b = times(s, base), add(unpacked(signature[:32]), times(h, unpacked(key)))
    return s < L and (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def part(lines):
    """Reads a part and checks sums, tree and signature. Returns what is said of it as a whole, and its totals."""
    head, totals, tree, n_leaves, signed = {}, {}, [], 0, b""
    cross, found = None, None  # what a cross says of itself, and what its records come to: end, solutions, nodes

    def close():
        if cross:
            assert found == [cross[3], cross[5], cross[6]], f"cross {cross[1]} of pass {cross[0]}: {found}, not {cross}"
            total = totals.setdefault(cross[0], [0, 0, 0])
            total[1] += cross[4] * cross[5]
            total[2] += cross[6]

    for line in lines:
        kind, *fields = line.decode().rstrip("\n").split("\t")
        if kind in ("counter", "cross", "record", "again", "verdict"):
            node, size = hashlib.sha256(b"\0" + line.rstrip(b"\n")).digest(), 1
            while tree and tree[-1][1] == size:
                node, size = hashlib.sha256(b"\1" + tree.pop()[0] + node).digest(), 2 * size
            tree.append((node, size))
            n_leaves += 1
        elif kind != "signature":
            signed += line
        if kind == "cross":
            close()
            cross, found = [int(field) for field in fields[:7]], [0, 0, 0]
            identity = head["pass" + fields[0]][5:6]  # of the job
            assert fields[7:] == identity, f"cross {cross[1]} is of job {fields[7:]}, its pass of {identity}"
        elif kind == "record":
            number, first, until, solutions, nodes = (int(field) for field in fields[1:6])
            assert cross and number == cross[1] and first == found[0] < until, f"a gap or overlap: {line}"
            found = [until, found[1] + solutions, found[2] + nodes]
            totals.setdefault(int(fields[0]), [0, 0, 0])[0] += 1
        elif kind == "total":
            close()
            cross = None
            said = [int(field) for field in fields]
            assert totals.setdefault(said[0], [0, 0, 0]) == said[1:], f"pass {said[0]}: {totals[said[0]]}, not {said[1:]}"
        elif kind == "tree":
            root = tree.pop()[0] if tree else hashlib.sha256().digest()
            while tree:
                root = hashlib.sha256(b"\1" + tree.pop()[0] + root).digest()
            assert fields == [str(n_leaves), root.hex()], "the root of the tree is not that of these lines"
        elif kind == "signature":
            key, signature = bytes.fromhex(head["signer"][0]), bytes.fromhex(fields[0])
            assert has_signed(key, signed, signature), f"{key.hex()} has not signed this"
            return head, totals
        elif kind == "pass":
            head[kind + fields[0]] = fields[1:]
        elif kind not in ("counter", "again", "verdict"):
            head[kind] = fields
    raise AssertionError("the file ends too early")


def main(path):
    with gzip.open(path) as lines:
        magic, version, n_parts = next(lines).decode().rstrip("\n").split("\t")
        assert magic == "queens certificate" and version == "2", "no certificate of a format that is known here"
        solutions, until = 0, None
        for _ in range(int(n_parts)):
            head, totals = part(lines)
            first, end, n_crosses = (int(field) for field in head["crosses"])
            assert until is None or first == until, f"a gap or overlap: {until} and {first}"
            start, until = first if until is None else start, end
            solutions += totals[1][1]
            for number, (n_records, weighted, nodes) in totals.items():
                method, version, _, _, _, identity, _ = head[f"pass{number}"]
                print(f"pass {number} by {method} {version}: {n_records} records, {weighted} solutions, {nodes} nodes")
                print(f"pass {number} is job {identity}")
            print(f"signed by {head['signer'][0]}")
        assert not lines.read(1), "something follows the last part"
    if (start, until) == (0, n_crosses):
        symmetric = [int(field) for field in head["symmetric"]]
        reflected = 4 if int(head["board"][0]) <= 1 else 0
        unchanged = solutions + symmetric[0] + 2 * symmetric[1] + reflected
        assert unchanged % 8 == 0, "Burnside's lemma contradicts this"
        print(f"Q({head['board'][0]}) = {solutions}, {unchanged // 8} of them fundamental")
    else:
        print(f"crosses {start}..{until} of {n_crosses} of n = {head['board'][0]}: {solutions} solutions")


if __name__ == "__main__":
    main(sys.argv[1])
