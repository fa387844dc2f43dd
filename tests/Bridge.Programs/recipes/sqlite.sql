-- Tables, indices, joins, recursive queries, windows, triggers, JSON, text search, rollbacks, blobs, a vacuum and a check of the whole database.
.bail on
PRAGMA cache_size = 50;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INT, price REAL, data BLOB);
CREATE INDEX item_kind ON item(kind, name);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
INSERT INTO item SELECT i, printf('item-%05d-%s', i * 7919 % 4001, hex(i)), i % 17, i * 1.25, zeroblob(i % 300) FROM n;
SELECT kind, count(*), round(avg(price), 2), min(name), max(name) FROM item GROUP BY kind ORDER BY 1;
CREATE TABLE log(what, old, new);
CREATE TRIGGER changed AFTER UPDATE OF price ON item WHEN new.price > 4000 BEGIN INSERT INTO log VALUES (new.name, old.price, new.price); END;
UPDATE item SET price = price * 1.5 WHERE kind IN (3, 5, 7);
SELECT count(*), sum(new - old) FROM log;
SELECT a.name, b.name FROM item a JOIN item b ON b.kind = a.kind AND b.name > a.name WHERE a.id < 40 ORDER BY a.name, b.name LIMIT 12;
SELECT name, rank() OVER (PARTITION BY kind ORDER BY price DESC) r, sum(price) OVER (ORDER BY id ROWS 3 PRECEDING) FROM item WHERE id % 401 = 0;
BEGIN; DELETE FROM item WHERE kind < 9; SELECT count(*) FROM item; ROLLBACK; SELECT count(*) FROM item;
SAVEPOINT s; UPDATE item SET data = randomblob(100) WHERE id < 500; RELEASE s;
SELECT sum(length(data)) FROM item;
WITH RECURSIVE queens(depth, board) AS (SELECT 0, '' UNION ALL SELECT depth + 1, board || c FROM queens, (SELECT '1' c UNION SELECT '2' UNION SELECT '3' UNION SELECT '4' UNION SELECT '5' UNION SELECT '6')
  WHERE depth < 6 AND instr(board, c) = 0 AND (depth < 1 OR abs(substr(board, depth, 1) - c) <> 1) AND (depth < 2 OR abs(substr(board, depth - 1, 1) - c) <> 2)
  AND (depth < 3 OR abs(substr(board, depth - 2, 1) - c) <> 3) AND (depth < 4 OR abs(substr(board, depth - 3, 1) - c) <> 4) AND (depth < 5 OR abs(substr(board, depth - 4, 1) - c) <> 5))
SELECT board FROM queens WHERE depth = 6 ORDER BY 1;
SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT id, name FROM item WHERE id % 997 = 0);
SELECT json_extract(value, '$.name') FROM json_each((SELECT json_group_array(json_object('id', id, 'name', name)) FROM (SELECT * FROM item WHERE id < 4)));
SELECT name, price FROM item WHERE name LIKE '%-03%' OR name GLOB '*A[0-3]' ORDER BY price DESC, name LIMIT 5;
SELECT group_concat(DISTINCT upper(substr(name, 1, 7))) FROM item WHERE id % 211 = 0;
ALTER TABLE item ADD COLUMN note TEXT DEFAULT 'none';
CREATE VIEW cheap AS SELECT * FROM item WHERE price < 100;
SELECT count(*), max(note) FROM cheap;
EXPLAIN QUERY PLAN SELECT * FROM item WHERE kind = 3 AND name > 'item-01';
DELETE FROM item WHERE id % 3 <> 0;
VACUUM;
PRAGMA integrity_check;
SELECT count(*), total(price) FROM item;
.mode csv
SELECT kind, printf('%.3f', price), quote(name), typeof(data) FROM item WHERE id > 3980;
.dump log
