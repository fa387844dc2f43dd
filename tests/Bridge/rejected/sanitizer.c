// cannot be combined with handles
// options: -fsanitize=address
int x;
