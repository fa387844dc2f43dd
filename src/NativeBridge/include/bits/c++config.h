// In front of libstdc++'s header of this name (freehold-c++ adds this folder). The templates that libstdc++.so has ready, std::string first of
// all, are compiled with the program instead: its copies know no handles, and an object that both kinds of code see has pointers to itself.
#include_next <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE 0
