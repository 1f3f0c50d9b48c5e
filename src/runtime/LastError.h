/*===- LastError.h - the message of a thread's last failed call
 * -------------===*/

#ifndef TLM_RUNTIME_LASTERROR_H
#define TLM_RUNTIME_LASTERROR_H

#include "tlm/tlm.h"

/* Stores the formatted message for this thread and returns `status`. */
tlm_status tlmFail(tlm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Never NULL; "" before the first failure. */
const char *tlmLastError(void);

#endif /* TLM_RUNTIME_LASTERROR_H */
