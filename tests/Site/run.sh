#!/usr/bin/env bash
# The site (./build.sh site): every page is there, links within it lead somewhere, the API has its docstrings, the search finds pages; and a real browser shows the start page and what the search finds, if
# Debian's can be had. Its pictures are artifacts/site/*.png.
set -euo pipefail
source "$(dirname "$0")/../../eng/common.sh"
cd "$root"
own_temporary_files
html="$artifacts/site/html"
passed=0
failed=0

# same <name> <expected> <actual>
same() {
  if diff <(echo "$2") <(echo "$3"); then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1 (< expected, > found)"
    failed=$((failed + 1))
  fi
}

code=0
eng/site.sh || code=$?
same "the site is made, without a warning" 0 "$code"
if [ "$code" -ne 0 ]; then
  echo "$passed passed, $failed failed"
  exit 1
fi

same "a page for each page of docs" "" "$(git ls-files --cached --others --exclude-standard 'docs/*.md' | sed 's/\.md$/.html/' | while IFS= read -r page; do [ -f "$html/$page" ] || echo "$page"; done)"
same "pages of the API" "" "$(for type in System.Heap System.HeapScope System.HeapStatistics System.DanglingReferenceException Freehold.Collections.TreeList-1 Freehold.Testing.HeapAssert Freehold.BenchmarkDotNet.FreeholdJobAttribute; do
  [ -f "$html/api/$type.html" ] || echo "$type"; done)"
same "the API has the docstrings" "true" "$(grep -q 'Ends the life of one object' "$html/api/System.Heap.html" && echo true)"
same "the page of the benchmarks" "true" "$([ -f "$html/report.html" ] && echo true)"

# Each link and picture of each page: the file, and the anchor in it.
broken=$(cd "$html" && find . -name '*.html' -print0 | xargs -0 perl -ne '
  BEGIN { use File::Basename; }
  sub anchors { my ($file) = @_; $anchors{$file} //= do { local (@ARGV, $/) = ($file); my $text = <>; +{ map { $_ => 1 } $text =~ /\s(?:id|name)="([^"]*)"/g } } }
  while (/<(?:a|img|link|script)\s[^>]*?\b(?:href|src)="([^"]*)"/g) {
    my $target = $1;
    next if $target =~ /^(?:[a-z]+:|\/\/|$)/;
    $target =~ s/&amp;/&/g;
    my ($file, $anchor) = $target =~ /^([^#?]*)(?:\?[^#]*)?(?:#(.*))?$/;
    my $at = $file eq "" ? $ARGV : dirname($ARGV) . "/$file";
    $at .= "index.html" if $at =~ m{/$};
    push @wanted, [$ARGV, $target, $at, $anchor];
  }
  END {
    for (@wanted) {
      my ($page, $target, $at, $anchor) = @$_;
      print "$page: $target\n" if !-e $at || (defined $anchor && $anchor ne "" && $at =~ /\.html$/ && !anchors($at)->{$anchor});
    }
  }' | LC_ALL=C sort -u | head -20)
same "links of the site" "" "$broken"

# The search looks in this file.
same "the search knows the pages" "" "$(for page in docs/testing.html docs/contract.html docs/internals/reclaim.html api/System.Heap.html; do grep -qF "\"$page\"" "$html/index.json" || echo "$page"; done)"

# A browser draws it. The pages are read as a server gives them: the search is a script that asks for a file.
browser=$(command -v chromium || command -v chromium-headless-shell || true)
if [ -z "$browser" ] && [ "$(id -u)" = 0 ] && apt-get install -q -y --no-install-recommends chromium-headless-shell fonts-dejavu-core > "$artifacts/logs/site-browser.log" 2>&1; then
  browser=$(command -v chromium-headless-shell || true)
fi
if [ -z "$browser" ]; then
  echo "skipped: no chromium, and Debian's could not be installed: no picture of the site"
else
  coproc server { exec perl -MIO::Socket::INET -MSocket -e '
    my %types = (html => "text/html", css => "text/css", js => "text/javascript", json => "application/json", svg => "image/svg+xml", png => "image/png", woff2 => "font/woff2");
    my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 50, ReuseAddr => 1) or die;
    $| = 1;
    print $listener->sockport, "\n";
    $SIG{CHLD} = "IGNORE";
    while (my $client = $listener->accept) {
      next if fork;
      my ($path) = (<$client> // "") =~ m{^GET /([^ ?#]*)};
      while (<$client>) { last if /^\r?\n$/ }
      $path = "index.html" if !defined $path || $path eq "";
      my ($ending) = $path =~ /\.([^.]*)$/;
      if ($path !~ /\.\./ && open my $file, "<:raw", "$ARGV[0]/$path") {
        local $/; my $body = <$file>;
        print $client "HTTP/1.0 200 OK\r\nContent-Type: ", $types{$ending // ""} // "application/octet-stream", "\r\nContent-Length: ", length $body, "\r\n\r\n", $body;
      } else { print $client "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n" }
      exit;
    }' "$html"; }
  server_id=$server_PID
  read -r port <&"${server[0]}"
  # draw <name> <page>: a picture, and the page as the browser has it after its scripts.
  draw() {
    local options=(--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --window-size=1280,1600 --virtual-time-budget=20000 "--user-data-dir=$TMPDIR/browser")
    timeout 300 "$browser" "${options[@]}" "--screenshot=$artifacts/site/$1.png" "http://127.0.0.1:$port/$2" > "$artifacts/logs/site-$1.log" 2>&1 || true
    timeout 300 "$browser" "${options[@]}" --dump-dom "http://127.0.0.1:$port/$2" > "$artifacts/site/$1.dom" 2>> "$artifacts/logs/site-$1.log" || true
  }
  draw start index.html
  draw api api/System.Heap.html
  draw search 'index.html?q=compaction'
  same "pictures of three pages" "true true true" "$(for name in start api search; do [ "$(stat -c %s "$artifacts/site/$name.png" 2>/dev/null || echo 0)" -gt 20000 ] && echo true || echo false; done | xargs)"
  same "the browser shows the start page" "true" "$(grep -q 'safe manual memory management' "$artifacts/site/start.dom" && echo true)"
  same "the browser shows the tables of contents" "true" "$(grep -q 'Freehold.Testing' "$artifacts/site/api.dom" && echo true)"
  kill "$server_id"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
