//===- Settings.cpp - Every setting of a training run ---------------------===//

#include "module/Settings.h"

namespace hone::rt {

std::vector<Setting *> Settings::all() {
  std::vector<Setting *> out = members();
  for (const Section *section : {static_cast<const Section *>(&weights),
                                 static_cast<const Section *>(&lora),
                                 static_cast<const Section *>(&train),
                                 static_cast<const Section *>(&target)})
    out.insert(out.end(), section->members().begin(), section->members().end());
  return out;
}

std::vector<const Setting *> Settings::all() const {
  std::vector<Setting *> out = const_cast<Settings *>(this)->all();
  return {out.begin(), out.end()};
}

} // namespace hone::rt
