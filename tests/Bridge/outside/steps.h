struct cell {
  struct cell *self, *other;
  long number;
};
int plain_is_self(struct cell** cells, int i);
void plain_store(struct cell** cells, int i);
struct cell* plain_exchange(struct cell** cells, int i);
struct cell* plain_compare_exchange(struct cell** cells, int i, struct cell* wanted);
struct cell* plain_far(struct cell** cells, int i);
struct cell* plain_indexed(struct cell** cells, int i);
struct cell* plain_load(struct cell** cells, int i);
int plain_reset(struct cell** cells, int i);
