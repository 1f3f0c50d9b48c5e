//===- RuntimeObject.h - the runtime, embedded ------------------*- C++ -*-===//

#ifndef TLM_DRIVER_RUNTIMEOBJECT_H
#define TLM_DRIVER_RUNTIMEOBJECT_H

#include <string_view>

namespace tlm {

/// The runtime/ library as one relocatable object, to be linked into artifacts.
std::string_view runtimeObject();

} // namespace tlm

#endif // TLM_DRIVER_RUNTIMEOBJECT_H
