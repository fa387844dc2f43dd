// Objects, closures, strings, regular expressions, sorting, JSON, exceptions, and enough garbage for the collector.
var out = typeof print === 'function' ? print : console.log;
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
out(fib(17));
var list = [];
for (var i = 0; i < 2000; i++) list.push({ key: 'k' + (i * 7919) % 2003, n: i, more: [i, i + 1] });
list.sort(function (a, b) { return a.key < b.key ? -1 : a.key > b.key ? 1 : 0; });
out(list[0].key, list[1999].key, list[700].more[1]);
var text = list.slice(0, 300).map(function (one) { return one.key + ':' + one.n; }).join(',');
out(text.length, text.replace(/k(\d)(\d*)/g, '$2-$1').substring(0, 60));
var counts = {};
text.split(/[,:]/).forEach(function (word) { counts[word.charAt(0)] = (counts[word.charAt(0)] || 0) + 1; });
out(Object.keys(counts).sort().map(function (key) { return key + '=' + counts[key]; }).join(' '));
var json = JSON.stringify({ list: list.slice(0, 200), nested: { a: [1, 2.5, null, true, 'x\u00e9\n'] } });
out(json.length, JSON.parse(json).list[77].key, JSON.stringify(JSON.parse(json)) === json);
function Node(value, next) { this.value = value; this.next = next; }
Node.prototype.sum = function () { return this.value + (this.next ? this.next.sum() : 0); };
for (var round = 0; round < 30; round++) {
  var chain = null;
  for (var j = 0; j < 20; j++) chain = new Node(j + round, chain);
}
out(chain.sum());
function deep(n) { if (n === 0) throw new Error('at the bottom'); try { deep(n - 1); } finally { depth++; } }
var depth = 0;
try { deep(15); } catch (error) { out(error.message, depth); }
var makers = [];
for (var k = 0; k < 50; k++) makers.push((function (n) { var calls = 0; return function () { return n * ++calls; }; })(k));
out(makers.reduce(function (sum, make) { make(); return sum + make(); }, 0));
out(new Date(86400000 * 365).getTime(), parseInt('ff', 16), (255).toString(2), (1 / 3).toFixed(12), isNaN('x' * 1));
try { null.missing; } catch (error) { out(error instanceof TypeError); }
try { eval('1 +'); } catch (error) { out(error instanceof SyntaxError); }
