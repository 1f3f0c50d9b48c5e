#include "measure/Measurement.h"

std::string_view tlm::nameOf(Outcome outcome) {
  switch (outcome) {
  case Outcome::Ok:
    return "ok";
  case Outcome::Rejected:
    return "rejected";
  case Outcome::WrongValues:
    return "wrong_values";
  case Outcome::Crashed:
    return "crashed";
  case Outcome::TimedOut:
    return "timed_out";
  case Outcome::OutOfMemory:
    return "out_of_memory";
  case Outcome::Exited:
    return "exited";
  case Outcome::CutOff:
    return "cut_off";
  case Outcome::NoTime:
    return "no_time";
  case Outcome::Unloadable:
    return "unloadable";
  }
  return "?";
}
