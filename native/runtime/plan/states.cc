#include "runtime/plan/states.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "runtime/file/file_error.h"
#include "runtime/file/json.h"

namespace vta {

namespace {

PlanState state(const Json& value, const Archive& archive, const Plan& plan) {
  const std::string& name = value["name"].text();
  const auto found = std::find_if(plan.inputs.begin(), plan.inputs.end(), [&](const NamedValue& input) { return input.name == name; });
  if (found == plan.inputs.end()) value["name"].fail("= " + shown(name) + " is no input");
  const auto output = static_cast<size_t>(value["output"].integer(0, static_cast<int64_t>(plan.outputs.size()) - 1));
  const PlanState made{static_cast<size_t>(found - plan.inputs.begin()), output, archive.member("arrays/" + value["initial"].text())};
  const PlanValue &held = plan.values[found->value], &after = plan.values[plan.outputs[output].value];
  if (held.dtype != after.dtype || held.nbytes != after.nbytes) value["output"].fail("is of another type than " + shown(name));
  if (made.initial.size != held.nbytes) value["initial"].fail("has not as many bytes as " + shown(name));
  return made;
}

}  // namespace

std::vector<PlanState> read_states(const Archive& archive, const Plan& plan) {
  std::vector<PlanState> states;
  if (!archive.has("graph.json")) return states;
  const Span content = archive.member("graph.json");
  const std::string_view text(reinterpret_cast<const char*>(content.data), content.size);
  // Most graphs have none, and are not worth reading for that.
  if (text.find("\"states\"") == std::string_view::npos) return states;
  const Json graph = Json::parse(text, "graph.json");
  const Json* found = graph.find("states");
  if (found == nullptr) return states;
  for (const Json& item : found->list()) states.push_back(state(item, archive, plan));
  return states;
}

}  // namespace vta
