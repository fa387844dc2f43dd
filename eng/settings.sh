#!/usr/bin/env bash
# What is made of a table of settings (knobs.inc):
#   eng/settings.sh page TABLE     its rows of docs/settings.md; a test compares the two
#   eng/settings.sh items TABLE    the package's items FreeholdSetting, for eng/pack.sh: name of the configuration, property, what the property may be
set -euo pipefail
# One setting a line, a column a field; the parser, which is the last one, is none. A column consists of one or more string literals.
tr '\n' ' ' < "$2" | sed 's/FREEHOLD_KNOB(/\n&/g' | sed -nE 's/^FREEHOLD_KNOB\(("[^"]*"([ ,]*"[^"]*")*).*/\1/p' | sed -E 's/" +"//g; s/", *"/\t/g; s/^"|"$//g' |
  awk -F '\t' -v what="$1" '
    NF != 6 { print "error: 6 columns expected: " $0 > "/dev/stderr"; exit 1 }
    function quoted(text) { return text == "" ? "" : "`" text "`" }
    function kind(values) {
      if (values == "0 or 1") return "boolean"
      if (values ~ /^a size.* or none$/) return "size|none"
      if (values ~ /^a size/) return "size"
      if (values ~ /^a number/) return "count"
      sub(/^0, 1/, "true, false", values)
      gsub(/, | or /, "|", values)
      return values
    }
    what == "page" { row = "| " quoted($1) " | " quoted($2) " | " quoted($3) " | " $4 " | " $5 " | " $6 " |"; gsub(/\|  \|/, "| |", row); gsub(/\|  \|/, "| |", row); print row }
    what == "items" && $2 != "" { printf "    <FreeholdSetting Include=\"%s\" Property=\"%s\" Value=\"$(%s)\" Kind=\"%s\" />\n", $2, $3, $3, kind($4) }'
