-- For wrk: wrk -s load.lua URL -- KEYS. Gets values of keys that are exponentially distributed, as Client.cs. Prints 'name value' lines.
local keys
local lambda = 1.5
local all = 1 - math.exp(-lambda)

function init(arguments)
  keys = tonumber(arguments[1])
  math.randomseed(20260101)
end

function request()
  local key = math.floor(-math.log(1 - math.random() * all) / lambda * keys)
  return wrk.format("GET", "/values/" .. math.min(key, keys - 1))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("requests %d\nduration_us %d\nerrors %d\n", summary.requests, summary.duration, errors.connect + errors.read + errors.write + errors.status + errors.timeout))
  io.write(string.format("p50_us %d\np99_us %d\np999_us %d\nmax_us %d\n", latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
