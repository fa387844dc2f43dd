// handles need 64-bit pointers
// options: -m32
int x;
