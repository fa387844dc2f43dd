-- For wrk: wrk -s load.lua URL -- KIND ITEMS. Kinds: plaintext, json, put, and mixed, where every tenth request is a put. Prints 'name value' lines.
local kind, items

function init(arguments)
  kind, items = arguments[1], tonumber(arguments[2])
  math.randomseed(20260101)
end

function request()
  if kind == "plaintext" then return wrk.format("GET", "/plaintext") end
  local path = "/items/" .. math.random(0, items - 1)
  if kind == "put" or (kind == "mixed" and math.random(10) == 1) then return wrk.format("PUT", path) end
  return wrk.format("GET", path)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("requests %d\nduration_us %d\nerrors %d\n", summary.requests, summary.duration, errors.connect + errors.read + errors.write + errors.status + errors.timeout))
  io.write(string.format("p50_us %d\np99_us %d\np999_us %d\nmax_us %d\n", latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
