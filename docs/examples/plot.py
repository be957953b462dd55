#!/usr/bin/env python3
"""Draws how Q(n) and the time to count it grow, from the jobs that a coordinator has done, by its JSON API.

    plot.py FILE [--url http://127.0.0.1:8080]

FILE is a .png, .svg or .pdf. Needs 'matplotlib' and 'requests' (Debian: python3-matplotlib, python3-requests).
"""
import argparse

import matplotlib
import requests

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def done(url):
    """The jobs that are done, of which lists have a thousand at most."""
    session = requests.Session()
    session.trust_env = False  # no proxies: coordinators are near
    offset, total = 0, 1
    while offset < total:
        answer = session.get(f"{url}/api/v1/jobs", params={"offset": offset}, timeout=30)
        answer.raise_for_status()
        page = answer.json()
        total = page["total"]
        offset += max(len(page["jobs"]), 1)
        # A part of a board, which has 'part_range', is no Q(n).
        yield from (job for job in page["jobs"] if job["state"] == "done" and not job["part_range"])


def main():
    parser = argparse.ArgumentParser(description="Draws what a coordinator has counted.")
    parser.add_argument("file")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    args = parser.parse_args()
    jobs = {job["n"]: job for job in done(args.url)}
    boards = sorted(jobs)
    figure, (numbers, times) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
    numbers.plot(boards, [int(jobs[n]["solutions"]) for n in boards], marker="o")
    numbers.set(title="Solutions", xlabel="n", ylabel="Q(n)", yscale="log", xticks=boards)
    times.plot(boards, [max(jobs[n]["seconds"], 0.01) for n in boards], marker="o", color="tab:red")
    times.set(title="Time", xlabel="n", ylabel="seconds", yscale="log", xticks=boards)
    figure.savefig(args.file)
    print(f"{len(boards)} boards are in {args.file}")


if __name__ == "__main__":
    main()
