#!/usr/bin/env bash
# Judges logs, shows the verdict in the summary of the run, and ends with the
# exit code of trainyard verify. Part of action.yml.
set -euo pipefail

args=(--expect "$EXPECT")
if [[ -n $RANKS ]]; then args+=(--ranks "$RANKS"); fi
if [[ -n $NODES ]]; then args+=(--nodes "$NODES"); fi
args+=(--)
while IFS= read -r line; do
	if [[ -z $line ]]; then continue; fi
	matches=$(compgen -G "$line" || true)
	while IFS= read -r match; do args+=("$match"); done <<<"${matches:-$line}"
done <<<"$PATHS"

summary=$RUNNER_TEMP/trainyard-verify.md
code=0
"$TRAINYARD" verify -o markdown "${args[@]}" >"$summary" || code=$?
cat "$summary"
cat "$summary" >>"$GITHUB_STEP_SUMMARY"
sed -n 's/^### \([A-Z]*\): .*/verdict=\1/p' "$summary" >>"$GITHUB_OUTPUT"
if [[ -n $JUNIT && -s $summary ]]; then
	"$TRAINYARD" verify --progress quiet -o junit "${args[@]}" >"$JUNIT" 2>/dev/null || true # said above
fi
exit "$code"
