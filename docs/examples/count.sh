#!/usr/bin/env bash
# Counts boards through a coordinator's JSON API, by curl and jq: submits a job for each n, waits for all, and prints a
# line for each: n, the number, and the seconds for which it was counted.
#
#   count.sh N...
#
# QUEENS_PAGES is where the coordinator's pages are (http://127.0.0.1:8080); QUEENS_TOKEN is sent if it is set.
set -euo pipefail
pages=${QUEENS_PAGES:-http://127.0.0.1:8080}
options=(--fail --silent --show-error --max-time 30)
api() {
    # By a file: everybody on a machine can read the arguments of a program.
    curl "${options[@]}" --header @<(printf '%s' "${QUEENS_TOKEN:+Authorization: Bearer $QUEENS_TOKEN}") \
        "$pages/api/v1$1" "${@:2}"
}

jobs=()
for n in "$@"; do
    jobs+=("$(api /jobs --json "{\"n\": $n}" | jq --raw-output .job)")
done
for job in "${jobs[@]}"; do
    # Numbers are texts in JSON, as they outgrow doubles: jq leaves them as they are.
    until status=$(api "/jobs/$job") && jq --exit-status '.state == "done"' <<<"$status" >/dev/null; do
        if jq --exit-status '.state | IN("cancelled", "failed", "disputed", "damaged")' <<<"$status" >/dev/null; then
            echo "job $job is $(jq --raw-output .state <<<"$status")" >&2
            exit 1
        fi
        sleep 1
    done
    jq --raw-output '[.n, .solutions, (.seconds * 10 | round / 10)] | @tsv' <<<"$status"
done
