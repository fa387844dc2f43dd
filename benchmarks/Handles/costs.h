struct box {
  struct box* inner;
  long number;
};
void plain_nothing(void);
long plain_read(const struct box* box);
long plain_moves(struct box* const* inner, long count);
long plain_sums(struct box* const* inner, long count);
void plain_call(void (*function)(void), long count);
