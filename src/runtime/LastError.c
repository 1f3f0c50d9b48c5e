/*===- LastError.c
 * ----------------------------------------------------------===*/

#include "LastError.h"

#include <stdarg.h>
#include <stdio.h>

/* Not inlined: before glibc 2.40 the first access to a TLS descriptor may
 * clobber vector registers, which a call is expected to do anyway. */
__attribute__((noinline)) static char *buffer(size_t *size) {
  static _Thread_local char text[1024];
  *size = sizeof(text);
  return text;
}

tlm_status tlmFail(tlm_status status, const char *format, ...) {
  size_t size;
  char *text = buffer(&size);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, size, format, arguments);
  va_end(arguments);
  return status;
}

const char *tlmLastError(void) {
  size_t size;
  return buffer(&size);
}
