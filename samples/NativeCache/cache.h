// A cache of byte strings by number that forgets what was not used for longest. Thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cache;

struct cache* cache_create(size_t most_bytes);
void cache_destroy(struct cache* cache);
// Replaces what the key had. 0: no memory.
int cache_put(struct cache* cache, uint64_t key, const void* value, size_t size);
// Copies at most `room` bytes; returns the size, or -1 when the cache does not have the key.
int64_t cache_get(struct cache* cache, uint64_t key, void* to, size_t room);
// From now on; what was not used for longest goes at once.
void cache_set_most(struct cache* cache, size_t most_bytes);
// What is in it now.
size_t cache_count(struct cache* cache);
size_t cache_bytes(struct cache* cache);
// How many were forgotten.
uint64_t cache_evictions(struct cache* cache);
