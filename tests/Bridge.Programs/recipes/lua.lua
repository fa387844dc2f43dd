-- Tables, strings, closures, coroutines, metatables, weak tables, sorting and patterns.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(18))
local t = {}
for i = 1, 3000 do t[i] = { i, tostring(i) } end
table.sort(t, function(a, b) return a[2] < b[2] end)
local sum = 0
for i, v in ipairs(t) do sum = sum + v[1] * i % 7 end
print(sum, t[1][2], t[3000][2])
local counts = setmetatable({}, { __index = function() return 0 end })
for i = 1, 20000 do local key = "k" .. i % 500 counts[key] = counts[key] + i end
print(counts.k77, counts.none)
local parts = {}
for i = 1, 3000 do parts[#parts + 1] = string.format("%d:%s", i, ("x"):rep(i % 10)) end
local text = table.concat(parts, ",")
print(#text, text:gsub("x+", "y"):len(), select(2, text:gsub("%d+:", "")))
local generator = coroutine.wrap(function() for i = 1, 500 do coroutine.yield(i * i) end end)
local squares = 0
for value in generator do squares = squares + value end
print(squares)
local weak = setmetatable({}, { __mode = "v" })
for i = 1, 200 do weak[i] = { i } end
collectgarbage()
print(next(weak))
print(pcall(error, { code = 3 }), select(2, pcall(string.rep)))
print(load("return ...", "chunk")(1, 2.5, "three"))
