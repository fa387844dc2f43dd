#include "cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  struct entry* next;           // in its bucket
  struct entry *newer, *older;  // by the last use
  uint64_t key;
  size_t size;
  unsigned char* value;
};

struct cache {
  pthread_mutex_t lock;
  struct entry** buckets;
  size_t bucket_count, count, bytes, most_bytes;
  struct entry *newest, *oldest;
  uint64_t evictions;
};

static struct entry** place_of(struct cache* cache, uint64_t key) {
  struct entry** at = &cache->buckets[(key * 0x9e3779b97f4a7c15u >> 32) & (cache->bucket_count - 1)];
  while (*at != NULL && (*at)->key != key) at = &(*at)->next;
  return at;
}

static void unlink_entry(struct cache* cache, struct entry* entry) {
  *(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
  *(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct cache* cache, struct entry* entry) {
  entry->newer = NULL;
  entry->older = cache->newest;
  *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = entry;
  cache->newest = entry;
}

static void forget(struct cache* cache, struct entry** place) {
  struct entry* entry = *place;
  *place = entry->next;
  unlink_entry(cache, entry);
  cache->bytes -= entry->size;
  cache->count--;
  free(entry->value);
  free(entry);
}

static void evict(struct cache* cache) {
  while (cache->bytes > cache->most_bytes) {
    forget(cache, place_of(cache, cache->oldest->key));
    cache->evictions++;
  }
}

static void grow(struct cache* cache) {
  size_t count = cache->bucket_count * 2;
  struct entry** old = cache->buckets;
  struct entry** made = calloc(count, sizeof *made);
  if (made == NULL) return;  // longer chains
  for (size_t i = 0; i < cache->bucket_count; i++) {
    for (struct entry *entry = old[i], *next; entry != NULL; entry = next) {
      next = entry->next;
      struct entry** at = &made[(entry->key * 0x9e3779b97f4a7c15u >> 32) & (count - 1)];
      entry->next = *at;
      *at = entry;
    }
  }
  cache->buckets = made;
  cache->bucket_count = count;
  free(old);
}

struct cache* cache_create(size_t most_bytes) {
  struct cache* cache = calloc(1, sizeof *cache);
  if (cache == NULL) return NULL;
  cache->bucket_count = 64;
  cache->most_bytes = most_bytes;
  cache->buckets = calloc(cache->bucket_count, sizeof *cache->buckets);
  if (cache->buckets == NULL) {
    free(cache);
    return NULL;
  }
  pthread_mutex_init(&cache->lock, NULL);
  return cache;
}

void cache_destroy(struct cache* cache) {
  while (cache->oldest != NULL) forget(cache, place_of(cache, cache->oldest->key));
  pthread_mutex_destroy(&cache->lock);
  free(cache->buckets);
  free(cache);
}

int cache_put(struct cache* cache, uint64_t key, const void* value, size_t size) {
  struct entry* entry = malloc(sizeof *entry);
  unsigned char* copy = malloc(size != 0 ? size : 1);
  if (entry == NULL || copy == NULL) {
    free(entry);
    free(copy);
    return 0;
  }
  memcpy(copy, value, size);
  pthread_mutex_lock(&cache->lock);
  struct entry** place = place_of(cache, key);
  if (*place != NULL) forget(cache, place);
  if (cache->count >= cache->bucket_count) grow(cache);
  place = place_of(cache, key);
  *entry = (struct entry){.next = *place, .key = key, .size = size, .value = copy};
  *place = entry;
  link_newest(cache, entry);
  cache->bytes += size;
  cache->count++;
  evict(cache);
  pthread_mutex_unlock(&cache->lock);
  return 1;
}

void cache_set_most(struct cache* cache, size_t most_bytes) {
  pthread_mutex_lock(&cache->lock);
  cache->most_bytes = most_bytes;
  evict(cache);
  pthread_mutex_unlock(&cache->lock);
}

int64_t cache_get(struct cache* cache, uint64_t key, void* to, size_t room) {
  int64_t size = -1;
  pthread_mutex_lock(&cache->lock);
  struct entry* entry = *place_of(cache, key);
  if (entry != NULL) {
    size = (int64_t)entry->size;
    memcpy(to, entry->value, entry->size < room ? entry->size : room);
    unlink_entry(cache, entry);
    link_newest(cache, entry);
  }
  pthread_mutex_unlock(&cache->lock);
  return size;
}

size_t cache_count(struct cache* cache) { return cache->count; }
size_t cache_bytes(struct cache* cache) { return cache->bytes; }
uint64_t cache_evictions(struct cache* cache) { return cache->evictions; }
