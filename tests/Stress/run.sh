#!/usr/bin/env bash
# That limited.sh ends what uses too much or hangs, and nothing else; that shrink.sh finds the smallest failing case of a program that fails from a known size on, and refuses what it cannot run.
set -euo pipefail
shrink="$(cd "$(dirname "$0")" && pwd)/shrink.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# Fails with FAULTY=1, seed 7, at least 137 steps and 3 threads, and 40 slots where slots are given.
cat > "$scratch/program" <<'END'
#!/usr/bin/env bash
[ "${FAULTY:-}" = 1 ] && [ "$1 $2 $3" = "run model 7" ] && [ "$4" -ge 137 ] && [ "$5" -ge 3 ] && [ "${6:-40}" -ge 40 ] && exit 134
exit 0
END
# Fails every third time.
cat > "$scratch/sometimes" <<'END'
#!/usr/bin/env bash
runs=$(($(cat "$0.runs" 2> /dev/null || echo 0) + 1))
echo "$runs" > "$0.runs"
[ $((runs % 3)) -ne 0 ]
END
chmod +x "$scratch/program" "$scratch/sometimes"

# answers <name> <exit code> <last line of the output, or a part of an error> <argument>…
answers() {
  local name=$1 wanted=$2 text=$3 code=0 output
  shift 3
  output=$("$shrink" "$@" 2>&1) || code=$?
  if [ "$code" -eq "$wanted" ] && { [ "$(tail -n 1 <<< "$output")" = "$text" ] || { [ "$code" -eq 2 ] && grep -qF -- "$text" <<< "$output"; }; }; then
    echo "ok: $name"
    passed=$((passed + 1))
  else
    echo "FAILED: $name: exit code $code, and not '$text' but:"
    echo "$output"
    failed=$((failed + 1))
  fi
}

# ends <name> <exit code> <argument of limited.sh>…
ends() {
  local name=$1 wanted=$2 code=0
  shift 2
  "$(dirname "$shrink")/limited.sh" "$@" > "$scratch/output" 2>&1 || code=$?
  if [ "$code" -eq "$wanted" ]; then
    echo "ok: $name"
    passed=$((passed + 1))
  else
    echo "FAILED: $name: exit code $code instead of $wanted"
    cat "$scratch/output"
    failed=$((failed + 1))
  fi
}

ends code 7 60 bash -c 'sleep 0.3; exit 7'
ends works 0 60 true
ends processor-time 124 2 bash -c 'while true; do :; done'
ends processor-time-of-children 124 2 bash -c 'bash -c "while true; do :; done"; true'
ends hangs 125 --idle 3 60 sleep 1000
ends speaks 0 --idle 6 60 bash -c 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 1; done'

answers smallest 0 "FAULTY=1 $scratch/program run model 7 137 3" --attempts 1 FAULTY=1 -- "$scratch/program" run model 7 100000 16
answers smallest-with-slots 0 "FAULTY=1 $scratch/program run model 7 137 3 40 10" --attempts 1 FAULTY=1 -- "$scratch/program" run model 7 100000 16 3000 10
answers unreliable 0 "$scratch/sometimes run model 7 1 1" --attempts 3 -- "$scratch/sometimes" run model 7 100 4
answers passes 1 "It did not fail in 2 attempts." --attempts 2 -- "$scratch/program" run model 7 100000 16
answers no-separator 2 "is no option and no VARIABLE=value" "$scratch/program" run model 7 1 1
answers no-program 2 "there is no program" -- "$scratch/none" run model 7 1 1
answers too-few 2 "three to five numbers are needed" -- "$scratch/program" run model 7 1
answers no-number 2 "'many' is not a number" -- "$scratch/program" run model 7 many 1
answers no-value 2 "an option needs a value" --attempts

# preempt.sh in a repository of its own, whose programs are scripts. Two of them fail with FAULTY=1; dotnet stands for the tests of the integration.
copy="$scratch/copy"
mkdir -p "$copy/eng" "$copy/tests" "$scratch/bin"
cp "$(dirname "$shrink")/../../eng/common.sh" "$copy/eng"
cp -r "$(dirname "$shrink")" "$copy/tests/Stress"
cat > "$scratch/fake" <<'END'
#!/usr/bin/env bash
if [ "$1" = list ]; then printf '%s\n' first second third crash-now; exit; fi
[[ $2 = second && $0 = *freehold* && $0 != */Differential && ${FAULTY:-} = 1 ]] && exit 1
[ "$2" = crash-now ] && exit 134
echo "$2"
echo ok
END
for name in Contract-freehold Differential-freehold Differential-stock Ecosystem-freehold Ecosystem-stock; do
  mkdir -p "$copy/artifacts/integration/$name"
  cp "$scratch/fake" "$copy/artifacts/integration/$name/${name%-*}"
  chmod +x "$copy/artifacts/integration/$name/${name%-*}"
  # Of the compared ones all are run.
  if [[ $name != Contract* ]]; then sed -i 's/ crash-now;/;/' "$copy/artifacts/integration/$name/${name%-*}"; fi
done
printf '#!/usr/bin/env bash\nexit 0\n' > "$scratch/bin/dotnet"
chmod +x "$scratch/bin/dotnet"

# slices <name> <exit code> <a line of the output> <argument>…
slices() {
  local name=$1 wanted=$2 text=$3 code=0 output
  shift 3
  output=$(PATH="$scratch/bin:$PATH" "$copy/tests/Stress/stress.sh" preempt "$@" 2>&1) || code=$?
  if [ "$code" -eq "$wanted" ] && grep -qF -- "$text" <<< "$output"; then
    echo "ok: $name"
    passed=$((passed + 1))
  else
    echo "FAILED: $name: exit code $code, and not '$text' but:"
    echo "$output"
    failed=$((failed + 1))
  fi
}

FAULTY=1 slices slice-fails 1 "3 passed, 2 failed, 0 passed before, 0 left" --no-publish --seed 7 --slice 2/2
slices slice-goes-on 0 "2 passed, 0 failed, 3 passed before, 0 left" --no-publish --slice 2/2
slices other-slice 0 "all slices of 2 so far: 11 of 11 passed, 2 failures" --no-publish --slice 1/2
slices other-seed 2 "have seed 7" --no-publish --seed 8
slices no-slice 2 "--slice needs K/N" --slice 3/2
slices again 0 "11 passed, 0 failed, 0 passed before, 0 left" --no-publish --again

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
