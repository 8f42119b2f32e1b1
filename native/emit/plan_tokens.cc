#include <algorithm>
#include <array>
#include <vector>

#include "vta_cycle.h"
#include "vta_plan.h"

namespace {

constexpr int kUnits = 3;
constexpr int kNone = -1;

using Clock = std::array<int64_t, kUnits>;
constexpr Clock kNever = {kNone, kNone, kNone};

int64_t last_row(const vta_plan_access& access) { return access.start + access.stride * (access.runs - 1) + access.length; }

// For one unit and memory, the position of the last instruction that accessed each row.
class Table {
 public:
  // Of the rows of an access; there has been one before.
  int64_t latest(const vta_plan_access& access) const {
    Position latest = kNone;
    for (int64_t run = 0; run < access.runs; ++run) {
      const Position* row = last_.data() + access.start + run * access.stride;
      if (access.length > 0 && row[0] == newest_) return newest_;
      for (int64_t i = 0; i < access.length; ++i) latest = std::max(latest, row[i]);
    }
    return latest;
  }

  void record(const vta_plan_access& access, int64_t rows, int64_t position) {
    if (last_.empty()) last_.assign(static_cast<size_t>(rows), kNone);
    newest_ = static_cast<Position>(position);
    for (int64_t run = 0; run < access.runs; ++run) {
      const auto row = last_.begin() + access.start + run * access.stride;
      std::fill(row, row + access.length, newest_);
    }
  }

  // Of all rows.
  int64_t newest() const { return newest_; }

 private:
  using Position = int32_t;  // half the memory to look through

  std::vector<Position> last_;
  Position newest_ = kNone;
};

// Each unit runs in order. `known` says up to which position of every unit each unit has waited; the clock of an instruction is
// what its unit knew when it was done.
class Planner {
 public:
  Planner(const vta_plan_job& job, vta_plan_entry* entries) : job_(job), entries_(entries) { known_.fill(kNever); }

  int64_t run() {
    int64_t begin = 0;
    for (int64_t i = 0; i < job_.instruction_count; ++i) {
      const int64_t end = job_.access_ends[i];
      for (int64_t a = begin; a < end; ++a) {
        const vta_plan_access& access = job_.accesses[a];
        if (access.start < 0 || last_row(access) > job_.rows[access.space]) return -1 - a;
      }
      place(i, begin, end);
      begin = end;
    }
    finish();
    return count_;
  }

 private:
  void place(int64_t index, int64_t begin, int64_t end) {
    const int unit = job_.units[index];
    Clock needs = job_.serial ? before(unit) : needs_of(unit, begin, end);
    relay(unit, needs);
    const int64_t position = append(index);
    wait(position, unit, needs);
    close(position, unit);
    for (int64_t a = begin; a < end; ++a) {
      const vta_plan_access& access = job_.accesses[a];
      tables_[access.space][unit][access.writes].record(access, job_.rows[access.space], position);
    }
    previous_ = unit;
  }

  void finish() {
    Clock needs = known_[VTA_UNIT_COMPUTE];
    bool any = false;
    for (int unit : {VTA_UNIT_LOAD, VTA_UNIT_STORE}) {
      const bool open = known_[unit][unit] > needs[unit];
      needs[unit] = open ? known_[unit][unit] : kNone;
      any |= open;
    }
    needs[VTA_UNIT_COMPUTE] = kNone;
    if (any) carrier(needs);
    close(append(kNone), VTA_UNIT_COMPUTE);
  }

  // The instruction before the next one, if it is of another unit.
  Clock before(int unit) const {
    Clock needs = kNever;
    if (previous_ < 0 || previous_ == unit) return needs;
    const int64_t position = known_[previous_][previous_];
    if (position > known_[unit][previous_]) needs[previous_] = position;
    return needs;
  }

  // Last position of each other unit that must be complete before these accesses.
  Clock needs_of(int unit, int64_t begin, int64_t end) const {
    Clock needs = kNever;
    for (int64_t a = begin; a < end; ++a) {
      const vta_plan_access& access = job_.accesses[a];
      for (int other = 0; other < kUnits; ++other) {
        if (other == unit) continue;
        for (int writes = access.writes ? 0 : 1; writes < 2; ++writes) {
          const Table& table = tables_[access.space][other][writes];
          const int64_t enough = std::max(known_[unit][other], needs[other]);
          if (table.newest() <= enough) continue;
          const int64_t latest = table.latest(access);
          if (latest > enough) needs[other] = latest;
        }
      }
    }
    return needs;
  }

  // Load and store are not neighbours: replaces a need between them by a need of the compute instruction that implies it.
  void relay(int unit, Clock& needs) {
    if (unit == VTA_UNIT_COMPUTE) return;
    const int far = unit == VTA_UNIT_LOAD ? VTA_UNIT_STORE : VTA_UNIT_LOAD;
    const int64_t wanted = needs[far];
    if (wanted == kNone) return;
    needs[far] = kNone;
    const int64_t near = needs[VTA_UNIT_COMPUTE];
    if (near >= 0 && clocks_[near][far] >= wanted) return;
    const auto found = std::lower_bound(compute_.begin(), compute_.end(), wanted,
                                        [&](int64_t position, int64_t value) { return clocks_[position][far] < value; });
    Clock need = kNever;
    need[far] = wanted;
    needs[VTA_UNIT_COMPUTE] = std::max(near, found != compute_.end() ? *found : carrier(need));
  }

  // Appends a compute instruction that does nothing but wait.
  int64_t carrier(const Clock& needs) {
    const int64_t position = append(kNone);
    wait(position, VTA_UNIT_COMPUTE, needs);
    close(position, VTA_UNIT_COMPUTE);
    return position;
  }

  int64_t append(int64_t source) {
    entries_[count_] = {source, 0, 0, 0, 0};
    return count_++;
  }

  void wait(int64_t position, int unit, const Clock& needs) {
    std::array<int, kUnits> order = {0, 1, 2};
    std::sort(order.begin(), order.end(), [&](int a, int b) { return needs[a] > needs[b]; });
    for (int other : order) {
      const int64_t wanted = needs[other];
      if (wanted == kNone || known_[unit][other] >= wanted) continue;
      (unit > other ? entries_[wanted].push_next : entries_[wanted].push_prev) = 1;
      (unit > other ? entries_[position].pop_prev : entries_[position].pop_next) = 1;
      for (int i = 0; i < kUnits; ++i) known_[unit][i] = std::max(known_[unit][i], clocks_[wanted][i]);
    }
  }

  void close(int64_t position, int unit) {
    known_[unit][unit] = position;
    clocks_.push_back(known_[unit]);
    if (unit == VTA_UNIT_COMPUTE) compute_.push_back(position);
  }

  const vta_plan_job& job_;
  vta_plan_entry* entries_;
  int64_t count_ = 0;
  int previous_ = -1;
  std::array<std::array<std::array<Table, 2>, kUnits>, VTA_PLAN_SPACES> tables_;
  std::array<Clock, kUnits> known_;
  std::vector<Clock> clocks_;
  std::vector<int64_t> compute_;
};

}  // namespace

int64_t vta_plan_tokens(const vta_plan_job* job, vta_plan_entry* entries) { return Planner(*job, entries).run(); }
