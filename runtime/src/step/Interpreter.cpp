//===- Interpreter.cpp - Runs a schedule ----------------------------------===//
//
// Nothing is allocated while items run: their memory is sized before.
//
//===----------------------------------------------------------------------===//

#include "step/Interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace hone::rt {

/// The first item that sends, or receives, on the channel of item `index`.
static uint32_t firstOfChannel(const hone_schedule &schedule, uint32_t index) {
  const hone_item &item = schedule.items[index];
  uint32_t first = 0;
  auto isSame = [&](const hone_item &other) {
    return other.kind == item.kind && strcmp(other.peer, item.peer) == 0 &&
           strcmp(other.channel, item.channel) == 0;
  };
  while (isExchange(item) && first < index && !isSame(schedule.items[first]))
    ++first;
  return isExchange(item) ? first : index;
}

/// For each item that calls, where its results begin, after its arguments. A
/// value is made once, by the first item in the table that has it.
static std::vector<uint32_t> firstResults(const hone_schedule &schedule) {
  std::vector<bool> isMade(schedule.value_count);
  for (uint32_t i = 0; i < schedule.setting_count; ++i)
    isMade[schedule.settings[i].value] = true;
  std::vector<uint32_t> first;
  for (uint32_t i = 0; i < schedule.item_count; ++i) {
    const hone_item &item = schedule.items[i];
    auto isResult = [&](uint32_t value) { return !isMade[value]; };
    const uint32_t *begin = item.values, *end = begin + item.value_count;
    if (item.kind == HONE_REPEAT) { // its results exist after it
      begin += 1 + item.carried;
      end = begin + item.carried;
    }
    const uint32_t *result = std::find_if(begin, end, isResult);
    first.push_back(uint32_t(result - item.values));
    std::for_each(result, end, [&](uint32_t value) { isMade[value] = true; });
  }
  return first;
}

/// The bytes of the first `count` pieces of a batch.
static uint64_t pieceBytes(const hone_item &item, uint32_t count) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i)
    bytes += item.pieces[i].bytes;
  return bytes;
}

static uint64_t sizeOf(const hone_piece &piece, int64_t rows) {
  return piece.row_bytes ? piece.row_bytes * uint64_t(rows) : piece.bytes;
}

/// The rows for which every value and every exchanged input has room.
static int64_t mostRows(const hone_schedule &schedule) {
  uint64_t most = INT64_MAX;
  auto bound = [&](uint64_t bytes, uint64_t rowBytes) {
    if (rowBytes > 0)
      most = std::min(most, bytes / rowBytes);
  };
  for (uint32_t i = 0; i < schedule.value_count; ++i)
    bound(schedule.values[i].bytes, schedule.values[i].row_bytes);
  for (uint32_t i = 0; i < schedule.item_count; ++i)
    for (uint32_t k = 0; k < schedule.items[i].piece_count; ++k)
      bound(schedule.items[i].pieces[k].bytes,
            schedule.items[i].pieces[k].row_bytes);
  return int64_t(most);
}

Interpreter::Interpreter(const hone_schedule &schedule, Device &device,
                         const hone_frame &frame, Transport *transport)
    : schedule(schedule), device(device), frame(frame),
      values(schedule, device, frame.arena), transport(transport),
      results(firstResults(schedule)), streaming(frame.streaming),
      offloading(device.offloadsTo()) {
  uint32_t most = 0, exchanges = 0, slots = 1;
  for (uint32_t i = 0; i < schedule.item_count; ++i) {
    most = std::max(most, schedule.items[i].value_count);
    exchanges += isExchange(schedule.items[i]);
  }
  for (uint32_t i = 0; i < schedule.value_count; ++i)
    slots = std::max(slots, schedule.values[i].slots);
  pointers.resize(most);
  numbers.resize(most);
  batchRows.resize(uint64_t(schedule.value_count) * schedule.batch_slots);
  sent.resize(schedule.item_count);
  channels.resize(schedule.item_count);
  for (uint32_t i = 0; i < schedule.item_count; ++i)
    channels[i] = firstOfChannel(schedule, i);
  maxRows = mostRows(schedule);
  staging.resize(schedule.item_count);
  uint64_t messages = uint64_t(exchanges) * slots;
  for (uint32_t i = 0; i < schedule.item_count; ++i) {
    const hone_item &item = schedule.items[i];
    messages += uint64_t(item.piece_count) * schedule.batch_slots;
    if (isBatchExchange(item) && !device.isHostVisible())
      staging[i].resize(pieceBytes(item, item.piece_count) *
                        schedule.batch_slots);
  }
  posted.reserve(messages);
}

void *Interpreter::find(const char *name, uint32_t dtype) {
  for (uint32_t i = 0; i < schedule.setting_count; ++i) {
    const hone_number &setting = schedule.settings[i];
    if (setting.dtype == dtype && strcmp(setting.name, name) == 0)
      return values.onHost(setting.value, Values::Use::Write);
  }
  return nullptr;
}

void Interpreter::set(const char *name, double value) {
  if (void *place = find(name, HONE_F64))
    *static_cast<double *>(place) = value;
}

void Interpreter::set(const char *name, int64_t value) {
  if (void *place = find(name, HONE_I64))
    *static_cast<int64_t *>(place) = value;
}

void Interpreter::set(const char *name, const float *several) {
  if (void *place = find(name, HONE_F32))
    memcpy(place, several, countOf(schedule, name) * sizeof(float));
}

const hone_number *Interpreter::findReport(const char *name,
                                           uint32_t dtype) const {
  const hone_number *end = schedule.reports + schedule.report_count;
  const hone_number *found =
      std::find_if(schedule.reports, end, [&](const hone_number &report) {
        return report.dtype == dtype && strcmp(report.name, name) == 0;
      });
  return found == end ? nullptr : found;
}

double Interpreter::report(const char *name) {
  const hone_number *found = findReport(name, HONE_F64);
  return found ? number<double>(found->value)
               : std::numeric_limits<double>::quiet_NaN();
}

const float *Interpreter::reports(const char *name) {
  const hone_number *found = findReport(name, HONE_F32);
  return found ? reinterpret_cast<const float *>(
                     values.onHost(found->value, Values::Use::Read))
               : nullptr;
}

const double *Interpreter::exactReports(const char *name) {
  const hone_number *found = findReport(name, HONE_F64);
  return found ? reinterpret_cast<const double *>(
                     values.onHost(found->value, Values::Use::Read))
               : nullptr;
}

/// From where the inputs of the batch that value `index` is count.
char *Interpreter::batchAt(uint32_t index) const {
  return frame.arena + values.slotOf(index) * schedule.values[index].stride;
}

int64_t &Interpreter::rowsOf(uint32_t index) {
  return batchRows[uint64_t(index) * schedule.batch_slots +
                   values.slotOf(index)];
}

void Interpreter::beginStep(uint64_t completed) {
  step = completed;
  rounds = 0;
  std::fill(sent.begin(), sent.end(), 0);
}

static Status misfit() {
  return Status(ErrorCode::DamagedSuspended, "the suspended step",
                "the schedule does not come to where it stopped",
                "remove it: the run then goes on from its newest checkpoint");
}

Result<bool> Interpreter::run(BatchSource &batches, LaunchPause *pauses,
                              const Position *begin) {
  source = &batches;
  failure = Status::ok();
  stopped = false;
  pause = pauses;
  from = begin;
  at = Position();
  if (from)
    HONE_TRY(goOnAt(*from));
  else
    clearReports();
  if (pause || from || offloading)
    device.guard(this);
  const bool isWhole = runItems(0, schedule.item_count, 0);
  device.guard(nullptr);
  setFiles(true);
  values.settle();
  settlePosted();
  if (!failure.isOk())
    return failure;
  return from ? Result<bool>(misfit()) : isWhole;
}

void Interpreter::clearReports() {
  const hone_number *end = schedule.settings + schedule.setting_count;
  auto isSetting = [&](uint32_t value) {
    return std::any_of(
        schedule.settings, end,
        [value](const hone_number &setting) { return setting.value == value; });
  };
  for (uint32_t i = 0; i < schedule.report_count; ++i)
    if (schedule.reports[i].dtype == HONE_F64 &&
        !isSetting(schedule.reports[i].value))
      *reinterpret_cast<double *>(
          values.onHost(schedule.reports[i].value, Values::Use::Write)) =
          std::numeric_limits<double>::quiet_NaN();
}

bool Interpreter::runItems(uint32_t first, uint32_t end, uint32_t depth) {
  for (uint32_t i = first; i < end; i += 1 + schedule.items[i].body)
    if (!isBehind(i, depth) && !runItem(i, depth))
      return false;
  return true;
}

bool Interpreter::runItem(uint32_t index, uint32_t depth) {
  const hone_item &item = schedule.items[index];
  at.path[depth].item = index;
  if (from && index != from->path[depth].item)
    return goesOn(misfit());
  switch (item.kind) {
  case HONE_RUN:
    if (share != Whose::All) {
      shareRun(item);
      return true;
    }
    at.depth = depth;
    comeTo();
    call(item);
    if (offloading && !goesOn(offloading->settle()))
      return false;
    return !stopped && (leftOut == 0 || goesOn(misfit()));
  case HONE_SCALAR:
    call(item);
    return true;
  case HONE_LOAD:
    if (share != Whose::All) {
      shareLoad(item);
      return true;
    }
    rowsOf(item.batch) = source->load(batchAt(item.batch));
    return true;
  case HONE_REPEAT:
    return isShared(index) ? repeatShared(index, depth) : repeat(index, depth);
  case HONE_FOLD:
    return fold();
  case HONE_CHECK:
    // Results of a batch are checked where all ranks have them.
    if (share == Whose::Own || share == Whose::None)
      return true;
    failedCheck = &item;
    return std::all_of(
        item.values, item.values + item.value_count,
        [&](uint32_t value) { return std::isfinite(number<double>(value)); });
  case HONE_SEND:
  case HONE_RECEIVE:
    return exchange(item);
  default:
    return wait(item);
  }
}

void Interpreter::call(const hone_item &item) {
  hone_entry_fn run = item.run;
  if (item.condition != HONE_NO_VALUE && number<int64_t>(item.condition) == 0)
    run = item.otherwise;
  if (!run)
    return;
  const bool isScalar = item.kind == HONE_SCALAR;
  const uint32_t firstResult = results[&item - schedule.items];
  if (isScalar &&
      values.postpone(run, frame, item.values, item.value_count, firstResult))
    return;
  for (uint32_t i = 0; i < item.value_count; ++i) {
    auto use = i < firstResult ? Values::Use::Read : Values::Use::Write;
    const uint32_t side = isScalar     ? HONE_ON_HOST
                          : item.sides ? item.sides[i]
                                       : HONE_ON_DEVICE;
    numbers[i] =
        side & HONE_ON_HOST ? values.onHost(item.values[i], use) : nullptr;
    pointers[i] =
        side & HONE_ON_DEVICE ? values.onDevice(item.values[i], use) : nullptr;
  }
  if (isScalar)
    return run(&frame, numbers.data());
  frame.numbers = numbers.data();
  frame.work = frame.arena + item.work;
  if (item.batch != HONE_NO_VALUE) {
    frame.batch = batchAt(item.batch);
    frame.rows = rowsOf(item.batch);
  }
  run(&frame, pointers.data());
}

bool Interpreter::repeat(uint32_t index, uint32_t depth) {
  const hone_item &item = schedule.items[index];
  int64_t count = number<int64_t>(item.values[0]);
  const uint32_t *begin = item.values + 1, *carried = begin + item.carried,
                 *yielded = carried + item.carried;
  for (uint32_t i = 0; i < item.carried && !from; ++i)
    values.copy(carried[i], begin[i]);
  int64_t &iteration = values.iterations[depth];
  uint32_t end = index + 1 + item.body;
  int64_t &tick = at.path[depth + 1].tick;
  // Whether stage `stage` has an iteration at `tick`; if so, it is set.
  auto begins = [&](int64_t tick, uint32_t stage) {
    iteration = tick - int64_t(stage);
    return iteration >= 0 && iteration < count;
  };
  for (tick = from ? from->path[depth + 1].tick : 0;
       tick < count + item.stages - 1; ++tick) {
    for (uint32_t i = index + 1; i < end; i += 1 + schedule.items[i].body)
      if (begins(tick, schedule.items[i].stage) && !isBehind(i, depth + 1) &&
          !runItem(i, depth + 1))
        return false;
    for (uint32_t i = 0; i < item.carried; ++i)
      if (begins(tick, schedule.values[yielded[i]].stage))
        values.copy(carried[i], yielded[i]);
  }
  iteration = 0;
  return true;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

bool Interpreter::has(const Position &position) const {
  if (position.depth > Values::maxDepth ||
      position.batchRows.size() != batchRows.size())
    return false;
  for (int64_t rows : position.batchRows)
    if (rows < 0 || rows > maxRows)
      return false;
  bool isPlace = position.batch == 0;
  for (uint32_t i = 0; i < schedule.item_count; ++i)
    for (uint32_t slot = 0; slot < schedule.batch_slots; ++slot)
      isPlace |= schedule.items[i].batch != HONE_NO_VALUE &&
                 position.batch ==
                     slot * schedule.values[schedule.items[i].batch].stride;
  if (!isPlace)
    return false;
  uint32_t first = 0, end = schedule.item_count;
  for (uint32_t depth = 0; depth <= position.depth; ++depth) {
    const uint32_t item = position.path[depth].item;
    uint32_t sibling = first;
    while (sibling < item && sibling < end)
      sibling += 1 + schedule.items[sibling].body;
    const bool isLast = depth == position.depth;
    if (sibling != item || item >= end || position.path[depth].tick < 0 ||
        schedule.items[item].kind != (isLast ? HONE_RUN : HONE_REPEAT))
      return false;
    first = item + 1;
    end = first + schedule.items[item].body;
  }
  return position.rows >= 0 && position.rows <= maxRows;
}

Status Interpreter::goOnAt(const Position &position) {
  if (!has(position))
    return misfit();
  at.number = position.number;
  batchRows = position.batchRows;
  frame.batch = frame.arena + position.batch;
  frame.rows = position.rows;
  return Status::ok();
}

/// The launches from here on are of the item that the run is at.
void Interpreter::comeTo() {
  at.launches = 0;
  leftOut = from ? from->launches : 0;
  from = nullptr;
  setFiles(leftOut == 0);
}

void Interpreter::setFiles(bool areUsed) {
  frame.streaming = areUsed ? streaming : nullptr;
  device.offloadTo(areUsed ? offloading : nullptr);
}

bool Interpreter::admits(uint32_t kernel) {
  if (stopped || (offloading && offloading->hasFailed()))
    return false;
  if (leftOut > 0) {
    ++at.launches;
    if (--leftOut == 0)
      setFiles(true);
    return false;
  }
  if (!pause || pause->goesOn(kernel))
    return true;
  stopped = true;
  setFiles(false);
  return false;
}

void Interpreter::launched(uint32_t kernel) {
  ++at.launches;
  ++at.number;
  if (pause)
    pause->ran(kernel);
}

Position Interpreter::position() const {
  Position position = at;
  position.batchRows = batchRows;
  position.batch = uint64_t(frame.batch - frame.arena);
  position.rows = frame.rows;
  return position;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

uint64_t Interpreter::bytesOf(const hone_item &item) {
  const hone_value &value = schedule.values[item.values[0]];
  return item.batch == HONE_NO_VALUE
             ? value.bytes
             : value.row_bytes * uint64_t(rowsOf(item.batch));
}

bool Interpreter::goesOn(Status status) {
  if (status.isOk())
    return true;
  failure = std::move(status);
  return false;
}

bool Interpreter::post(const hone_item &item, const Transport::Message &message,
                       char *bytes, uint64_t size) {
  if (!goesOn(message.isSent ? transport->postSend(message, bytes, size)
                             : transport->postReceive(message, bytes, size)))
    return false;
  posted.push_back({&item, uint32_t(values.slotOf(item.values[0])), message});
  return true;
}

bool Interpreter::exchange(const hone_item &item) {
  const uint32_t value = item.values[0];
  uint64_t &next = sent[channels[&item - schedule.items]];
  const bool isSent = item.kind == HONE_SEND;
  const uint64_t behind = isSent ? 0 : item.behind;
  Transport::Message message{
      schedule.purpose, step - behind, item.channel, next, item.peer, isSent};
  next += 1 + item.piece_count;
  if (isBatchExchange(item))
    return exchangeBatch(item, message);
  const auto use = message.isSent ? Values::Use::Read : Values::Use::Write;
  char *bytes = values.onHost(value, use);
  if (behind <= step)
    return post(item, message, bytes, bytesOf(item));
  memset(bytes, 0, bytesOf(item));
  return true;
}

Status Interpreter::sendAgain(
    uint64_t completed,
    const std::function<const std::vector<float> *(const std::string &report)>
        &reported) {
  for (uint32_t i = 0; transport && i < schedule.item_count; ++i) {
    const hone_item &item = schedule.items[i];
    const uint64_t most = item.kind == HONE_SEND ? item.behind : 0;
    for (uint64_t ago = 1; ago <= std::min(most, completed); ++ago) {
      const std::vector<float> *numbers =
          reported(item.channel + ("." + std::to_string(ago)));
      if (!numbers)
        continue;
      const Transport::Message message{schedule.purpose, completed - ago,
                                       item.channel,     /*index=*/0,
                                       item.peer,        /*isSent=*/true};
      HONE_TRY(transport->postSend(
          message, reinterpret_cast<const char *>(numbers->data()),
          numbers->size() * sizeof(float)));
      HONE_TRY(transport->wait(message));
    }
  }
  return Status::ok();
}

bool Interpreter::wait(const hone_item &item) {
  uint32_t value = item.values[0];
  uint64_t slot = values.slotOf(value);
  for (size_t i = 0; i < posted.size();) {
    const Posted own = posted[i];
    if (own.item->values[0] != value || own.slot != slot) {
      ++i;
      continue;
    }
    if (!goesOn(transport->wait(own.message)))
      return false;
    posted.erase(posted.begin() + long(i));
    if (isBatchExchange(*own.item) && own.item->kind == HONE_RECEIVE)
      return receivePieces(*own.item, own.message);
  }
  return true;
}

void Interpreter::settlePosted() {
  for (const Posted &own : posted)
    if (!failure.isOk() || !goesOn(transport->wait(own.message)))
      transport->cancel(own.message);
  posted.clear();
}

//===----------------------------------------------------------------------===//
// Batches: the number of rows, then the inputs
//===----------------------------------------------------------------------===//

char *Interpreter::pieceOnHost(const hone_item &item, uint32_t index) {
  std::vector<char> &own = staging[&item - schedule.items];
  if (own.empty())
    return batchAt(item.batch) + item.pieces[index].offset;
  return own.data() +
         values.slotOf(item.batch) * (own.size() / schedule.batch_slots) +
         pieceBytes(item, index);
}

bool Interpreter::exchangeBatch(const hone_item &item,
                                Transport::Message message) {
  int64_t &rows = rowsOf(item.batch);
  if (!post(item, message, reinterpret_cast<char *>(&rows), sizeof(rows)))
    return false;
  for (uint32_t i = 0; message.isSent && i < item.piece_count; ++i) {
    const hone_piece &piece = item.pieces[i];
    const uint64_t size = sizeOf(piece, rows);
    char *bytes = pieceOnHost(item, i);
    if (!device.isHostVisible() &&
        !goesOn(
            device.copyOut(bytes, batchAt(item.batch) + piece.offset, size)))
      return false;
    ++message.index;
    if (!post(item, message, bytes, size))
      return false;
  }
  return true;
}

bool Interpreter::receivePieces(const hone_item &item,
                                Transport::Message message) {
  const int64_t rows = rowsOf(item.batch);
  if (rows < 1 || rows > maxRows)
    return goesOn(Status(ErrorCode::MessageMisfit, message.describe(),
                         "expects a batch of 1 to " + std::to_string(maxRows) +
                             " rows but got " + std::to_string(rows),
                         "compile all parts from one spec"));
  for (uint32_t i = 0; i < item.piece_count; ++i) {
    const hone_piece &piece = item.pieces[i];
    const uint64_t size = sizeOf(piece, rows);
    char *bytes = pieceOnHost(item, i);
    ++message.index;
    if (!post(item, message, bytes, size) || !goesOn(transport->wait(message)))
      return false;
    posted.pop_back();
    if (!device.isHostVisible())
      device.copyIn(batchAt(item.batch) + piece.offset, bytes, size);
  }
  return true;
}

} // namespace hone::rt
