//===- Progress.cpp - The progress of a run, for a person -----------------===//
//
// The figures are smoothed over some twenty steps, and over at least a second,
// so that one slow step does not make the estimate jump.
//
//===----------------------------------------------------------------------===//

#include "program/Progress.h"

#include "base/ByteCount.h"
#include "platform/Files.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace hone::rt {

// A line that wraps could not be redrawn: wrapping is off while it is written.
static const char redraw[] = "\r\x1b[?7l";
static const char redrawn[] = "\x1b[K\x1b[?7h";

/// An error says that nobody watches; the run goes on.
static void show(int file, const char *text, size_t size) {
  (void)platform::write(file, text, size);
}

static void renderDuration(char *out, size_t size, double seconds) {
  double bounded = std::fmin(std::fmax(seconds, 0), 1e9);
  uint64_t total = uint64_t(std::llround(bounded));
  unsigned s = total % 60, m = total / 60 % 60;
  unsigned long h = total / 3600;
  if (h > 0)
    snprintf(out, size, "%luh%02um", h, m);
  else if (m > 0)
    snprintf(out, size, "%um%02us", m, s);
  else
    snprintf(out, size, "%us", s);
}

int Progress::render(char *out, int size, const StepRecord &record,
                     uint64_t steps, uint64_t plannedBytes, double rate,
                     double eta) {
  char left[32], total[24], norm[32] = "", offloaded[40] = "", speed[32] = "";
  char peak[24] = "?"; // where the system does not say
  if (record.peakAnonymousBytes > 0)
    snprintf(peak, sizeof(peak), "%.1f",
             inMebibytes(record.peakAnonymousBytes));
  renderDuration(left, sizeof(left), eta);
  int width = snprintf(total, sizeof(total), "%" PRIu64, steps);
  if (!std::isnan(record.gradientNorm))
    snprintf(norm, sizeof(norm), "  norm %.3g", record.gradientNorm);
  if (rate > 0) // only the program with the data counts tokens
    snprintf(speed, sizeof(speed), "  %.0f tok/s", rate);
  if (record.offloadedBytes > 0)
    snprintf(offloaded, sizeof(offloaded), "  offloaded %.1f MiB",
             inMebibytes(record.offloadedBytes));
  return snprintf(out, size_t(size),
                  "step %*" PRIu64 "/%s  loss %.4f%s  lr %.1e%s  "
                  "peak %s/%.1f MiB%s  eta %s",
                  width + 1, record.step, total, record.loss, norm,
                  record.learningRate, speed, peak, inMebibytes(plannedBytes),
                  offloaded, left);
}

void Progress::step(const StepRecord &record, double now, double seconds) {
  bool first = record.step == firstStep;
  // The mean of all steps until there are enough of them.
  double weight = std::fmax(1.0 / double(record.step - firstStep + 1),
                            std::fmin(0.1, smoothSeconds));
  smoothSeconds += weight * (seconds - smoothSeconds);
  smoothRate += weight * (record.tokensPerSecond - smoothRate);
  bool last = record.step == steps;
  double pause = terminal ? 0.1 : 1.0;
  if (!first && !last && now - lastShown < pause)
    return;
  lastShown = now;
  char line[256];
  int used = terminal ? snprintf(line, sizeof(line), "%s", redraw) : 0;
  used += render(line + used, int(sizeof(line)) - used - 16, record, steps,
                 plannedBytes, smoothRate,
                 smoothSeconds * double(steps - record.step));
  used += snprintf(line + used, sizeof(line) - size_t(used), "%s",
                   terminal ? redrawn : "\n");
  show(file, line, size_t(used));
  lineOpen = terminal;
}

void Progress::note(const char *line) {
  finish();
  show(file, line, strlen(line));
  show(file, "\n", 1);
}

void Progress::finish() {
  if (lineOpen)
    show(file, "\n", 1);
  lineOpen = false;
}

} // namespace hone::rt
