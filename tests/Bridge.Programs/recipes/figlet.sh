package=figlet
tests='all fonts, its control files'
built='make'
quick=true
build() { make -s CC="$CC" LD="$CC" CFLAGS="$CFLAGS" LDFLAGS= DEFAULTFONTDIR=fonts figlet chkfont; }
check() {
  local font
  for font in fonts/*.flf; do
    ./figlet -d fonts -f "$(basename "$font" .flf)" -w 100 -c 'Handles move, quickly 1234!'
    ./chkfont "$font" | md5sum
  done | md5sum
  head -n 40 README | ./figlet -d fonts -f small -p -k | md5sum
  ./figlet -d fonts -C fonts/upper.flc -r -S 'mixed Case' | head -n 5
  ./figlet -d fonts -f nothing x && exit 1
  true
}
