#!/usr/bin/env python3
"""Counts a board through a coordinator's JSON API, and follows the job until it is over.

    count.py N [--url http://127.0.0.1:8080] [--recount PERCENT] [--token-file FILE] [--ca FILE]

Prints the number, and exits with 0 if the job is done. Needs 'requests' (Debian: python3-requests).
"""
import argparse
import sys
import time

import requests

OVER = ("done", "cancelled")
NEEDS_SOMEBODY = ("failed", "disputed", "damaged")


def arguments():
    parser = argparse.ArgumentParser(description="Counts a board through a coordinator.")
    parser.add_argument("n", type=int)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--recount", metavar="PERCENT", help="the share that others count again")
    parser.add_argument("--token-file", metavar="FILE", help="what 'queens-coordinator invite' wrote")
    parser.add_argument("--ca", metavar="FILE", help="whose TLS certificates to believe")
    return parser.parse_args()


def main():
    args = arguments()
    session = requests.Session()
    session.trust_env = False  # no proxies: coordinators are near
    if args.ca:
        session.verify = args.ca
    if args.token_file:
        with open(args.token_file, encoding="ascii") as file:
            session.headers["Authorization"] = "Bearer " + file.read().strip()

    def ask(method, path, **more):
        answer = session.request(method, f"{args.url}/api/v1{path}", timeout=30, **more)
        if not answer.ok:
            sys.exit(f"{path}: {answer.status_code} {answer.text}")
        return answer.json()

    wanted = {"n": args.n}
    if args.recount:
        wanted["recount"] = args.recount
    job = ask("POST", "/jobs", json=wanted)
    while job["state"] not in OVER:
        if job["state"] in NEEDS_SOMEBODY:
            sys.exit(f"job {job['job']} is {job['state']}: {job['failure'] or job['disputes']}")
        print(f"job {job['job']}: {job['state']}, {100 * job['fraction']:.0f} %", file=sys.stderr)
        time.sleep(1)
        job = ask("GET", f"/jobs/{job['job']}")
    if job["state"] != "done":
        sys.exit(f"job {job['job']} was {job['state']}")
    # Numbers are texts in JSON, as they outgrow doubles; Python's own are as long as they need to be.
    print(int(job["solutions"]))


if __name__ == "__main__":
    main()
