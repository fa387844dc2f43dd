// Linked lists, trees and hash tables: pointers that are loaded, stored, compared and freed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *left, *right;
  int key;
  char name[20];
};

static struct node* insert(struct node* root, int key) {
  if (root == NULL) {
    struct node* made = calloc(1, sizeof *made);
    made->key = key;
    snprintf(made->name, sizeof made->name, "n%d", key);
    return made;
  }
  if (key < root->key) root->left = insert(root->left, key);
  else if (key > root->key) root->right = insert(root->right, key);
  return root;
}
static long sum(const struct node* root) { return root == NULL ? 0 : root->key + (long)strlen(root->name) + sum(root->left) + sum(root->right); }
static struct node* drop(struct node* root, int key) {
  if (root == NULL) return NULL;
  if (key < root->key) {
    root->left = drop(root->left, key);
    return root;
  }
  if (key > root->key) {
    root->right = drop(root->right, key);
    return root;
  }
  if (root->left == NULL || root->right == NULL) {
    struct node* rest = root->left != NULL ? root->left : root->right;
    free(root);
    return rest;
  }
  struct node* next = root->right;
  while (next->left != NULL) next = next->left;
  root->key = next->key;
  memcpy(root->name, next->name, sizeof root->name);
  root->right = drop(root->right, next->key);
  return root;
}

struct link {
  struct link* next;
  int value;
};

int main(void) {
  unsigned seed = 12345;
  struct node* root = NULL;
  for (int i = 0; i < 3000; i++) {
    seed = seed * 1103515245 + 12345;
    root = insert(root, (int)(seed >> 16 & 1023));
  }
  printf("%ld\n", sum(root));
  for (int i = 0; i < 2000; i++) {
    seed = seed * 1103515245 + 12345;
    root = drop(root, (int)(seed >> 16 & 1023));
  }
  printf("%ld\n", sum(root));

  struct link* head = NULL;
  for (int i = 0; i < 1000; i++) {
    struct link* l = malloc(sizeof *l);
    l->value = i;
    l->next = head;
    head = l;
  }
  struct link** at = &head;
  while (*at != NULL) {
    if ((*at)->value % 3 == 0) {
      struct link* gone = *at;
      *at = gone->next;
      free(gone);
    } else at = &(*at)->next;
  }
  struct link* reversed = NULL;
  while (head != NULL) {
    struct link* next = head->next;
    head->next = reversed;
    reversed = head;
    head = next;
  }
  long total = 0;
  int n = 0;
  for (struct link* l = reversed; l != NULL; l = l->next) total += (long)l->value * ++n;
  printf("%ld %d\n", total, n);

  // A table of chains, keyed by the low bits of addresses too.
  struct link* buckets[64] = {0};
  for (int i = 0; i < 500; i++) {
    struct link* l = malloc(sizeof *l);
    l->value = i;
    l->next = buckets[i * 7 % 64];
    buckets[i * 7 % 64] = l;
  }
  long check = 0;
  for (int b = 0; b < 64; b++) {
    int depth = 0;
    for (struct link* l = buckets[b]; l != NULL; l = l->next) check += (long)l->value * ++depth;
    while (buckets[b] != NULL) {
      struct link* next = buckets[b]->next;
      free(buckets[b]);
      buckets[b] = next;
    }
  }
  printf("%ld\n", check);
  return 0;
}
