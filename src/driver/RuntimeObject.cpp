//===- RuntimeObject.cpp --------------------------------------------------===//

#include "driver/RuntimeObject.h"

// TLM_RUNTIME_OBJECT: path of the object, from CMake; not stored.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden tlmRuntimeObjectBegin\n"
    ".globl tlmRuntimeObjectBegin\n"
    "tlmRuntimeObjectBegin:\n"
    ".incbin \"" TLM_RUNTIME_OBJECT "\"\n"
    ".hidden tlmRuntimeObjectEnd\n"
    ".globl tlmRuntimeObjectEnd\n"
    "tlmRuntimeObjectEnd:\n"
    ".popsection\n");

extern "C" const char tlmRuntimeObjectBegin[];
extern "C" const char tlmRuntimeObjectEnd[];

namespace tlm {

std::string_view runtimeObject() {
  return {tlmRuntimeObjectBegin,
          size_t(tlmRuntimeObjectEnd - tlmRuntimeObjectBegin)};
}

} // namespace tlm
