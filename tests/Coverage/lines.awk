# Finds the lines that the rows of cannot-run.txt name: one line 'file:line TAB number of the row TAB never or rarely TAB row' for each.
#   awk -v sources=src/Allocator -f tests/Coverage/lines.awk tests/Coverage/cannot-run.txt
# A row that names no line, or leaves it open which one, is an error: else a later line with the same words would be taken for the one that the row is about.
BEGIN { FS = " \\| " }

function wrong(text) {
  print FILENAME ":" FNR ": " text > "/dev/stderr"
  errors++
}

# Reads a file into text[1..], once.
function read_source(name,    line) {
  if (name == current) return length_of > 0
  current = name
  length_of = 0
  delete text
  while ((getline line < (sources "/" name)) > 0) text[++length_of] = line
  close(sources "/" name)
  return length_of > 0
}

# The definition whose first line, which begins in the first column, contains `words`: sets first and last. What it answers is how many there are.
function find_definition(words,    i, found) {
  found = 0
  places = ""
  for (i = 1; i <= length_of; i++) {
    if (text[i] ~ /^[ }#\/]/ || index(text[i], words) == 0) continue
    if (text[i] ~ /;$/ && text[i] !~ /[{}]/) continue
    found++
    places = places (found > 1 ? ", " : "") i
    first = i
  }
  for (last = first; found && last < length_of && text[last] !~ /^}/ && !(last == first && text[last] ~ /}$/); last++) {}
  return found
}

# The one line from first to last with the fragment; with 'anchor … fragment', the next one behind the anchor's.
function find_line(fragment,    steps, count, i, step, found, at) {
  count = split(fragment, steps, " … ")
  found = 0
  places = ""
  for (i = first; i <= last; i++)
    if (index(text[i], steps[1]) != 0) {
      found++
      places = places (found > 1 ? ", " : "") i
      at = i
    }
  if (found == 0) { wrong(name ": '" where "' has no line with '" steps[1] "'"); return 0 }
  if (found > 1) { wrong(name ": '" where "' has " found " lines with '" steps[1] "' (" places "): give more of it, or a line before it, as 'line before … line'"); return 0 }
  for (step = 2; step <= count; step++) {
    for (at++; at <= last && index(text[at], steps[step]) == 0; at++) {}
    if (at > last) { wrong(name ": '" where "' has no line with '" steps[step] "' behind '" steps[step - 1] "'"); return 0 }
  }
  return at
}

function note(line, row,    key) {
  key = name ":" line
  if (key in taken) { wrong(key " has a row before: line " taken[key]); return }
  taken[key] = FNR
  print key "\t" FNR "\t" often "\t" row
}

/^#/ || /^$/ { next }
NF != 5 { wrong("a row is 'file | definition | part of a line, or {} | never or rarely | why', not " NF " cells"); next }
{
  rows++
  name = $1; where = $2; often = $4
  if (often != "never" && often != "rarely") { wrong("'" often "' is neither never nor rarely"); next }
  if (!read_source(name)) { wrong("there is no " sources "/" name); next }
  number = find_definition(where)
  if (number != 1) { wrong(name " has " (number == 0 ? "no definition" : number " definitions (" places ")") " whose first line has '" where "'"); next }
  row = name ": " where ": " $3
  if ($3 == "{}") { for (i = first; i <= last; i++) note(i, row); next }
  line = find_line($3)
  if (line != 0) note(line, row)
}
END {
  if (rows == 0) { print FILENAME ": no rows" > "/dev/stderr"; errors++ }
  exit errors != 0
}
