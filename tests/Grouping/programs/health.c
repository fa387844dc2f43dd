// Lists of two kinds of objects that are used together, allocated between others that are not, all through one function: in the manner of health of Olden.
#include <stdio.h>
#include <stdlib.h>

struct patient {
  int hosts, time, left;
};
struct list {
  struct list* next;
  struct patient* patient;
};
struct noise {
  long words[2];
  struct noise* next;
};

static void* get(size_t size) { return malloc(size); }

static struct patient* new_patient(void) {
  struct patient* patient = get(sizeof *patient);
  patient->hosts = 0;
  patient->time = 0;
  patient->left = 3;
  return patient;
}
static struct list* new_list(struct patient* patient, struct list* next) {
  struct list* list = get(sizeof *list);
  list->patient = patient;
  list->next = next;
  return list;
}
static struct noise* new_noise(struct noise* next) {
  struct noise* noise = get(sizeof *noise);
  noise->words[0] = 1;
  noise->next = next;
  return noise;
}

int main(int count, char** arguments) {
  int patients = count > 1 ? atoi(arguments[1]) : 2000;
  struct list* list = NULL;
  struct noise* noise = NULL;
  for (int i = 0; i < patients; i++) {
    list = new_list(new_patient(), list);
    for (int k = 0; k < 3; k++) noise = new_noise(noise);
  }
  long sum = 0;
  for (int round = 0; round < 50; round++) {
    for (struct list* at = list; at != NULL; at = at->next) {
      at->patient->time++;
      sum += at->patient->time + at->patient->left;
    }
  }
  for (struct noise* at = noise; at != NULL; at = at->next) sum += at->words[0];
  printf("%ld\n", sum);
  return 0;
}
