/*===- Unresolved.c - a kernel that cannot be linked
 * ------------------------===*/

#include <stdint.h>

/* Refers to a function that does not exist anywhere. */
void tiny_missing_function(int64_t);
void tiny_unresolved(void *const *args, void *scratch, int64_t begin,
                     int64_t end) {
  (void)args;
  (void)scratch;
  tiny_missing_function(end - begin);
}
