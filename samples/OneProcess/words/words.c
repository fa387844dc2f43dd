// A ternary search tree. Ordinary C that knows of no handles: its objects have addresses, and keep them.
#include "words.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct record {
  uint64_t asked;
  size_t length;
  char text[];
};

struct node {
  struct node *less, *equal, *greater;
  struct record* record;  // of the word that ends here
  char letter;
};

struct words {
  pthread_mutex_t lock;
  struct node* root;
  size_t count;
};

struct words* words_create(void) {
  struct words* words = calloc(1, sizeof *words);
  if (words != NULL) pthread_mutex_init(&words->lock, NULL);
  return words;
}

static void forget_all(struct node* node) {
  while (node != NULL) {
    forget_all(node->less);
    forget_all(node->equal);
    struct node* next = node->greater;
    free(node->record);
    free(node);
    node = next;
  }
}

void words_destroy(struct words* words) {
  forget_all(words->root);
  pthread_mutex_destroy(&words->lock);
  free(words);
}

// Where the node is that ends the word; with `add` it is made. Null: no memory, or no such word.
static struct node* find(struct words* words, const char* word, size_t length, int add) {
  struct node** place = &words->root;
  for (size_t i = 0; i < length;) {
    if (*place == NULL) {
      if (!add || (*place = calloc(1, sizeof **place)) == NULL) return NULL;
      (*place)->letter = word[i];
    }
    struct node* node = *place;
    if (word[i] == node->letter) {
      if (++i == length) return node;
      place = &node->equal;
    } else {
      place = word[i] < node->letter ? &node->less : &node->greater;
    }
  }
  return NULL;
}

uint64_t words_ask(struct words* words, const char* word, size_t length) {
  uint64_t asked = 0;
  pthread_mutex_lock(&words->lock);
  struct node* node = find(words, word, length, 1);
  if (node != NULL && node->record == NULL) {
    node->record = malloc(sizeof *node->record + length);
    if (node->record != NULL) {
      node->record->asked = 0;
      node->record->length = length;
      memcpy(node->record->text, word, length);
      words->count++;
    }
  }
  if (node != NULL && node->record != NULL) asked = ++node->record->asked;
  pthread_mutex_unlock(&words->lock);
  return asked;
}

// Of two that were asked for as often, the one that comes first.
static void look_for_best(const struct node* node, const struct record** best) {
  for (; node != NULL; node = node->greater) {
    look_for_best(node->less, best);
    if (node->record != NULL && (*best == NULL || node->record->asked > (*best)->asked)) *best = node->record;
    look_for_best(node->equal, best);
  }
}

size_t words_best(struct words* words, const char* start, size_t length, char* to, size_t room) {
  pthread_mutex_lock(&words->lock);
  const struct record* best = NULL;
  const struct node* node = length != 0 ? find(words, start, length, 0) : NULL;
  if (node != NULL) best = node->record;
  look_for_best(length == 0 ? words->root : node != NULL ? node->equal : NULL, &best);
  size_t size = best == NULL ? 0 : best->length < room ? best->length : room;
  if (best != NULL) memcpy(to, best->text, size);
  pthread_mutex_unlock(&words->lock);
  return size;
}

// A node that leads to no word goes, if it has one child at most: that one takes its place.
static struct node* forget(struct words* words, struct node* node, uint64_t below, size_t* forgotten) {
  if (node == NULL) return NULL;
  node->less = forget(words, node->less, below, forgotten);
  node->equal = forget(words, node->equal, below, forgotten);
  node->greater = forget(words, node->greater, below, forgotten);
  if (node->record != NULL && node->record->asked < below) {
    free(node->record);
    node->record = NULL;
    words->count--;
    ++*forgotten;
  }
  if (node->record != NULL || node->equal != NULL || (node->less != NULL && node->greater != NULL)) return node;
  struct node* rest = node->less != NULL ? node->less : node->greater;
  free(node);
  return rest;
}

size_t words_forget(struct words* words, uint64_t below) {
  size_t forgotten = 0;
  pthread_mutex_lock(&words->lock);
  words->root = forget(words, words->root, below, &forgotten);
  pthread_mutex_unlock(&words->lock);
  return forgotten;
}

size_t words_count(struct words* words) {
  pthread_mutex_lock(&words->lock);
  size_t count = words->count;
  pthread_mutex_unlock(&words->lock);
  return count;
}
