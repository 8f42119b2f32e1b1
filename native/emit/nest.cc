#include "emit/nest.h"

#include <algorithm>
#include <string>

#include "emit/emit_error.h"

namespace vta {

namespace {

constexpr int64_t kMaxExtent = (1 << 14) - 1;

// Joins loops where one continues the other.
void merge(std::vector<Dim>& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t j = 0; j < dims.size(); ++j) {
      if (i == j) continue;
      const Dim outer = dims[i], inner = dims[j];
      Rows continued;
      for (int k = 0; k < 3; ++k) continued[k] = inner.step[k] * inner.extent;
      if (outer.step != continued || outer.extent * inner.extent > kMaxExtent) continue;
      dims.erase(dims.begin() + std::max(i, j));
      dims.erase(dims.begin() + std::min(i, j));
      dims.push_back({outer.extent * inner.extent, inner.step});
      return merge(dims);
    }
  }
}

std::vector<Dim> without(const std::vector<Dim>& dims, int a, int b) {
  std::vector<Dim> rest;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    if (i != a && i != b) rest.push_back(dims[i]);
  }
  return rest;
}

int64_t count(const std::vector<Dim>& dims) {
  int64_t product = 1;
  for (const Dim& dim : dims) product *= dim.extent;
  return product;
}

// The micro-ops of a nest; loops that do not move dst are outermost.
Uops written_out(std::vector<Dim> dims, const Rows& base) {
  std::stable_sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return (a.step[0] != 0) < (b.step[0] != 0); });
  Uops uops = {base};
  for (const Dim& dim : dims) {
    Uops longer;
    longer.reserve(uops.size() * dim.extent);
    for (const Rows& uop : uops) {
      for (int64_t i = 0; i < dim.extent; ++i) {
        longer.push_back({uop[0] + i * dim.step[0], uop[1] + i * dim.step[1], uop[2] + i * dim.step[2]});
      }
    }
    uops.swap(longer);
  }
  return uops;
}

bool nest_spaced(const std::vector<Dim>& dims, int64_t distance) {
  return distance == 1 || spaced(written_out(dims, {0, 0, 0}), distance);
}

// Spreads the shortest loop, one that does not move dst where there is one, over several instructions.
void split(const std::vector<Dim>& dims, const Rows& base, const FoldLimits& limits, std::vector<Folded>& result) {
  if (dims.empty()) throw EmitError("a single micro-op does not fit the uop buffer of " + std::to_string(limits.uop_depth));
  const auto chosen = std::min_element(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::make_pair(a.step[0] != 0, a.extent) < std::make_pair(b.step[0] != 0, b.extent);
  });
  const std::vector<Dim> rest = without(dims, static_cast<int>(chosen - dims.begin()), -1);
  for (int64_t i = 0; i < chosen->extent; ++i) {
    const Rows start = {base[0] + i * chosen->step[0], base[1] + i * chosen->step[1], base[2] + i * chosen->step[2]};
    fold(rest, start, limits, result);
  }
}

}  // namespace

bool spaced(const Uops& uops, int64_t distance) {
  const int64_t size = static_cast<int64_t>(uops.size());
  for (int64_t gap = 1; gap < std::min(distance, size); ++gap) {
    for (int64_t i = gap; i < size; ++i) {
      if (uops[i][0] == uops[i - gap][0]) return false;
    }
  }
  return true;
}

void fold(std::vector<Dim> dims, const Rows& base, const FoldLimits& limits, std::vector<Folded>& result) {
  dims.erase(std::remove_if(dims.begin(), dims.end(), [](const Dim& dim) { return dim.extent <= 1; }), dims.end());
  merge(dims);
  std::vector<int> allowed;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    bool fits = dims[i].extent <= kMaxExtent;
    for (int k = 0; k < 3; ++k) fits &= dims[i].step[k] < limits.steps[k];
    if (fits) allowed.push_back(i);
  }
  // Pairs of loops, then single ones, then none, in order: the first with the fewest micro-ops wins.
  std::vector<std::pair<int, int>> choices;
  for (size_t a = 0; a < allowed.size(); ++a) {
    for (size_t b = a + 1; b < allowed.size(); ++b) choices.emplace_back(allowed[a], allowed[b]);
  }
  for (int a : allowed) choices.emplace_back(a, -1);
  choices.emplace_back(-1, -1);
  int64_t fewest = limits.uop_depth + 1;
  std::pair<int, int> best = {-2, -2};
  for (const auto& choice : choices) {
    const std::vector<Dim> rest = without(dims, choice.first, choice.second);
    const int64_t uops = count(rest);
    if (uops >= fewest || !nest_spaced(rest, limits.dst_distance)) continue;
    fewest = uops;
    best = choice;
  }
  if (best.first == -2) {
    split(dims, base, limits, result);
    return;
  }
  const Dim outer = best.first >= 0 ? dims[best.first] : kNoLoop;
  const Dim inner = best.second >= 0 ? dims[best.second] : kNoLoop;
  result.push_back({written_out(without(dims, best.first, best.second), base), outer, inner});
}

}  // namespace vta
