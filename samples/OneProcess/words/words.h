// Words and how often each was asked for. Thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct words;

struct words* words_create(void);
void words_destroy(struct words* words);
// How often the word was asked for, this time included; 0: no memory.
uint64_t words_ask(struct words* words, const char* word, size_t length);
// The word that begins so and was asked for most often; its length, or 0 when there is none.
size_t words_best(struct words* words, const char* start, size_t length, char* to, size_t room);
// Forgets the words that were asked for less often; returns how many.
size_t words_forget(struct words* words, uint64_t below);
size_t words_count(struct words* words);
