// std::getline and >> into a std::string. libstdc++.so has them ready for char and wchar_t, and there a string whose characters lie in the string itself
// is told by the address of these characters: in an object of the heap that is a handle, so the string would be taken for one of another kind.
// So they are compiled with handles and linked into each program, in front of libstdc++'s own. What they do is what the standard says.
#include <bits/cxxabi_forced.h>

#include <istream>
#include <locale>
#include <string>

namespace std {

namespace {

// Takes characters while `is_wanted` says so, `most` at most, and adds them to the text. Returns how many, and the one that it has stopped at.
template <typename Char, typename Wanted>
size_t take(basic_streambuf<Char>& from, basic_string<Char>& text, size_t most, typename char_traits<Char>::int_type* last, Wanted is_wanted) {
  using Traits = char_traits<Char>;
  size_t taken = 0;
  *last = from.sgetc();
  while (taken < most && !Traits::eq_int_type(*last, Traits::eof()) && is_wanted(Traits::to_char_type(*last))) {
    text.push_back(Traits::to_char_type(*last));
    taken++;
    *last = from.snextc();
  }
  return taken;
}

// `read` gets the state to add to, and says whether it has taken a character.
template <typename Char, typename Read>
basic_istream<Char>& read_into(basic_istream<Char>& in, bool keeps_white_space, Read read) {
  ios_base::iostate state = ios_base::goodbit;
  bool has_any = false;
  typename basic_istream<Char>::sentry ready(in, keeps_white_space);
  if (ready) {
    try {
      has_any = read(state);
    } catch (__cxxabiv1::__forced_unwind&) {  // of pthread_cancel: it goes on
      in._M_setstate(ios_base::badbit);
      throw;
    } catch (...) {
      in._M_setstate(ios_base::badbit);
    }
  }
  if (!has_any) state |= ios_base::failbit;
  if (state != ios_base::goodbit) in.setstate(state);
  return in;
}

template <typename Char>
basic_istream<Char>& read_line(basic_istream<Char>& in, basic_string<Char>& line, Char end) {
  using Traits = char_traits<Char>;
  return read_into(in, true, [&](ios_base::iostate& state) {
    line.erase();
    typename Traits::int_type last;
    size_t taken = take(*in.rdbuf(), line, line.max_size(), &last, [&](Char one) { return !Traits::eq(one, end); });
    if (Traits::eq_int_type(last, Traits::eof())) {
      state |= ios_base::eofbit;
    } else if (Traits::eq(Traits::to_char_type(last), end)) {
      in.rdbuf()->sbumpc();
      return true;
    } else {
      state |= ios_base::failbit;  // too long
    }
    return taken != 0;
  });
}

}  // namespace

template <>
basic_istream<char>& getline(basic_istream<char>& in, basic_string<char>& line, char end) {
  return read_line(in, line, end);
}
template <>
basic_istream<wchar_t>& getline(basic_istream<wchar_t>& in, basic_string<wchar_t>& line, wchar_t end) {
  return read_line(in, line, end);
}

template <>
basic_istream<char>& operator>>(basic_istream<char>& in, basic_string<char>& word) {
  using Traits = char_traits<char>;
  return read_into(in, false, [&](ios_base::iostate& state) {
    word.erase();
    size_t most = in.width() > 0 ? static_cast<size_t>(in.width()) : word.max_size();
    const auto& kinds = use_facet<ctype<char>>(in.getloc());
    Traits::int_type last;
    size_t taken = take(*in.rdbuf(), word, most, &last, [&](char one) { return !kinds.is(ctype_base::space, one); });
    if (taken < most && Traits::eq_int_type(last, Traits::eof())) state |= ios_base::eofbit;
    in.width(0);
    return taken != 0;
  });
}

}  // namespace std
