package sqlite

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/callid"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

const (
	// blockRecords is how many records share their entries in the index. A reader looks
	// at all records of a block, and a tool or principal has one entry in it however
	// often it called: a row for each record cost six times as much.
	blockRecords = 16
	// nearBlocks is how many blocks a reader looks at for a call, from the first one that
	// its time allows.
	nearBlocks = 9
)

// blocksSchema is the index of the record by blocks. A block has the records whose
// numbers, divided by blockRecords, give its own. First is the number of its first
// record that was indexed, at the place of that, and newest the latest time up to its
// last one; latest is the greatest timed name of a call up to there, which is the number
// that [callid.ReadTime] reads, 0 in a block that an older version made. Neither falls from block to block. A name is a part of a digest, so
// that it says nothing of a record that was pruned; see indexName. Files of older
// versions had a row for each record.
//
// Most calls need no name. A timed name is left out where it is greater than the latest
// of the block nearBlocks before: then its block is one of the nearBlocks from the first
// one whose latest is not below the name. Only blocks that there are count: numbers are
// missing where records are.
//
// Files hold what blockRecords and nearBlocks say: neither changes without a migration.
const blocksSchema = `
	CREATE TABLE record_blocks(
		block INTEGER PRIMARY KEY,
		first INTEGER NOT NULL,
		at INTEGER NOT NULL,
		newest INTEGER NOT NULL,
		latest INTEGER NOT NULL
	) STRICT;
	CREATE TABLE record_names(
		kind INTEGER NOT NULL,
		name INTEGER NOT NULL,
		block INTEGER NOT NULL,
		PRIMARY KEY(kind, name, block)
	) STRICT, WITHOUT ROWID;
	INSERT INTO record_blocks SELECT seq / 16, min(seq), min(at), max(newest), 0 FROM records GROUP BY seq / 16;
	INSERT OR IGNORE INTO record_names SELECT 16, call, seq / 16 FROM records;
	INSERT OR IGNORE INTO record_names SELECT 1, tool, seq / 16 FROM records;
	INSERT OR IGNORE INTO record_names SELECT 2, principal, seq / 16 FROM records;
	INSERT OR IGNORE INTO record_names SELECT 3, (tool | principal) - (tool & principal), seq / 16 FROM records;
	INSERT OR IGNORE INTO record_names SELECT 4, 0, seq / 16 FROM records WHERE denied = 1;
	INSERT OR IGNORE INTO record_names SELECT 5, tool, seq / 16 FROM records WHERE denied = 1;
	INSERT OR IGNORE INTO record_names SELECT 6, principal, seq / 16 FROM records WHERE denied = 1;
	INSERT OR IGNORE INTO record_names SELECT 7, (tool | principal) - (tool & principal), seq / 16 FROM records WHERE denied = 1;
	DROP TABLE records;
`

// nameKind says what a name in the index is of: a sum of ofTool, ofPrincipal and
// ofDenied, or one of the kinds of a call.
type nameKind int64

const (
	ofTool nameKind = 1 << iota
	ofPrincipal
	ofDenied
	// ofCall is a call with a timed name, ofOtherCall any other.
	ofCall
	ofOtherCall
)

// indexName is what records are found by. Two may be the same by chance: what is found
// is compared with the record.
type indexName struct {
	kind nameKind
	name int64
}

// digestName returns a part of the digest of a name.
func digestName(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// combineNames returns the name of a kind that says more than one thing.
func combineNames(kind nameKind, tool, principal int64) indexName {
	n := indexName{kind: kind}
	if kind&ofTool != 0 {
		n.name ^= tool
	}
	if kind&ofPrincipal != 0 {
		n.name ^= principal
	}
	return n
}

// addNames adds the names by which a record is found, except the timed one of its call.
func addNames(names map[indexName]struct{}, r *audit.Record) {
	if _, ok := callid.ReadTime(r.Call); !ok {
		names[indexName{ofOtherCall, digestName(r.Call)}] = struct{}{}
	}
	tool, principal := digestName(r.Tool), digestName(r.Principal)
	for _, kind := range []nameKind{ofTool, ofPrincipal, ofTool | ofPrincipal} {
		names[combineNames(kind, tool, principal)] = struct{}{}
		if r.Denied {
			names[combineNames(kind|ofDenied, tool, principal)] = struct{}{}
		}
	}
	if r.Denied {
		names[indexName{kind: ofDenied}] = struct{}{}
	}
}

// findNames returns the names of which each block with records of a query has one, but
// for the near ones of a call; nil when the query names nothing.
func findNames(q *audit.Query) []indexName {
	if q.Call != "" {
		// An older version had digests of all ids.
		names := []indexName{{ofOtherCall, digestName(q.Call)}}
		if name, ok := callid.ReadTime(q.Call); ok {
			names = append(names, indexName{ofCall, name})
		}
		return names
	}
	var kind nameKind
	if q.Tool != "" {
		kind |= ofTool
	}
	if q.Principal != "" {
		kind |= ofPrincipal
	}
	if q.Denied {
		kind |= ofDenied
	}
	if kind == 0 {
		return nil
	}
	return []indexName{combineNames(kind, digestName(q.Tool), digestName(q.Principal))}
}

// indexBlock is an entry of the index.
type indexBlock struct {
	number, first int64
	at            recordlog.Position
	newest        int64
	latest        int64
}

// findStart returns where the first record of the block stands in a view, and its number.
func (b *indexBlock) findStart(v *recordlog.View) (recordlog.Position, int64) {
	if b.at < v.First {
		return v.First, v.Checkpoint.Seq + 1
	}
	return b.at, b.first
}

// dropBlocks removes what the index knows of records up to a number. A block that has
// records after it stays.
func (c *conn) dropBlocks(seq int64) error {
	_, err := c.exec("DELETE FROM record_names WHERE block < ?1", seq/blockRecords)
	if err == nil {
		_, err = c.exec("DELETE FROM record_blocks WHERE block < ?1", seq/blockRecords)
	}
	return err
}

// findBlock returns the newest block up to a number; the zero one when there is none.
func (c *conn) findBlock(number int64) (b indexBlock, err error) {
	blocks, err := c.scanBlocks(`SELECT block, first, at, newest, latest FROM record_blocks WHERE block <= ?1 ORDER BY block DESC LIMIT 1`, number)
	if len(blocks) > 0 {
		b = blocks[0]
	}
	return b, err
}

func (c *conn) scanBlocks(sql string, args ...any) (blocks []indexBlock, err error) {
	err = c.query(sql, args, func(s *sqlite3.Stmt) (bool, error) {
		blocks = append(blocks, indexBlock{s.ColumnInt64(0), s.ColumnInt64(1), recordlog.Position(s.ColumnInt64(2)), s.ColumnInt64(3), s.ColumnInt64(4)})
		return true, nil
	})
	return blocks, err
}

// findFirst returns the number of the first block from low to high of which a column that
// never falls is not below a value, and high + 1 when there is none.
func (c *conn) findFirst(column string, value, low, high int64) (int64, error) {
	sql := "SELECT " + column + " FROM record_blocks WHERE block >= ?1 ORDER BY block LIMIT 1"
	for high++; low < high; {
		middle := low + (high-low)/2
		has, err := c.readInt(sql, middle)
		switch {
		case err != nil:
			return 0, err
		case has >= value:
			high = middle
		default:
			low = middle + 1
		}
	}
	return high, nil
}

// findBlocks returns the first blocks, or the last, that may have records of a query
// among the numbers low to high, in that order; no more than most.
func (c *conn) findBlocks(q *audit.Query, low, high int64, newestFirst bool, most int) (blocks []indexBlock, err error) {
	order := ""
	if newestFirst {
		order = "DESC"
	}
	names := findNames(q)
	if names == nil {
		return c.scanBlocks(fmt.Sprintf(`SELECT block, first, at, newest, latest FROM record_blocks
			WHERE block BETWEEN ?1 AND ?2 ORDER BY block %s LIMIT %d`, order, most), low, high)
	}
	sql := fmt.Sprintf(`SELECT b.block, b.first, b.at, b.newest, b.latest FROM record_names n CROSS JOIN record_blocks b ON b.block = n.block
		WHERE n.kind = ?3 AND n.name = ?4 AND n.block BETWEEN ?1 AND ?2 ORDER BY n.block %s LIMIT %d`, order, most)
	for _, n := range names {
		some, err := c.scanBlocks(sql, low, high, int64(n.kind), n.name)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, some...)
	}
	if name, ok := callid.ReadTime(q.Call); ok {
		from, err := c.findFirst("latest", name, low, high)
		if err != nil {
			return nil, err
		}
		// By the blocks that there are, as they are counted when a name is left out.
		near, err := c.scanBlocks(fmt.Sprintf(`SELECT block, first, at, newest, latest FROM record_blocks
			WHERE block BETWEEN ?1 AND ?2 ORDER BY block LIMIT %d`, nearBlocks), from, high)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, near...)
	}
	slices.SortFunc(blocks, func(a, b indexBlock) int {
		if newestFirst {
			a, b = b, a
		}
		return cmp.Compare(a.number, b.number)
	})
	// Others may index more of the newest between two looks.
	blocks = slices.CompactFunc(blocks, func(a, b indexBlock) bool { return a.number == b.number })
	return blocks[:min(len(blocks), most)], nil
}

// indexing adds records to the index, in a transaction.
type indexing struct {
	c     *conn
	block indexBlock
	names map[indexName]struct{}
	// before is as findLatestBefore returns it.
	before [nearBlocks]int64
}

// beginIndexing goes on behind the record of a number.
func (c *conn) beginIndexing(seq int64) (*indexing, error) {
	x := &indexing{c: c, names: map[indexName]struct{}{}}
	var err error
	if x.block, err = c.findBlock(seq / blockRecords); err == nil {
		x.before, err = c.findLatestBefore(x.block.number)
	}
	return x, err
}

// findLatestBefore returns the latest of the blocks before one, that of the block before first.
func (c *conn) findLatestBefore(number int64) (before [nearBlocks]int64, err error) {
	blocks, err := c.scanBlocks(fmt.Sprintf(`SELECT block, first, at, newest, latest FROM record_blocks
		WHERE block < ?1 ORDER BY block DESC LIMIT %d`, nearBlocks), number)
	for i := range blocks {
		before[i] = blocks[i].latest
	}
	return before, err
}

// addRecord adds a record, which has a greater number than those before it.
func (x *indexing) addRecord(e *recordlog.Entry) error {
	b := &x.block
	if number := e.Seq / blockRecords; number != b.number || b.first == 0 {
		if err := x.storeBlock(); err != nil {
			return err
		}
		copy(x.before[1:], x.before[:])
		x.before[0] = b.latest
		*b = indexBlock{number: number, first: e.Seq, at: e.At, newest: b.newest, latest: b.latest}
	}
	b.newest = max(b.newest, e.Time)
	addNames(x.names, &e.Record)
	if name, ok := callid.ReadTime(e.Call); ok {
		if name <= x.before[nearBlocks-1] {
			x.names[indexName{ofCall, name}] = struct{}{}
		}
		b.latest = max(b.latest, name)
	}
	return nil
}

// storeBlock writes the block that was added to.
func (x *indexing) storeBlock() error {
	if len(x.names) == 0 {
		return nil
	}
	b := &x.block
	_, err := x.c.exec(`INSERT OR REPLACE INTO record_blocks(block, first, at, newest, latest) VALUES(?1, ?2, ?3, ?4, ?5)`,
		b.number, b.first, int64(b.at), b.newest, b.latest)
	if err != nil {
		return err
	}
	s, err := x.c.preparedStmt(`INSERT OR IGNORE INTO record_names(kind, name, block) VALUES(?1, ?2, ?3)`)
	if err != nil {
		return err
	}
	for n := range x.names {
		if err := errors.Join(s.BindInt64(1, int64(n.kind)), s.BindInt64(2, n.name), s.BindInt64(3, b.number)); err != nil {
			return err
		}
		if err := s.Exec(); err != nil {
			return err
		}
	}
	clear(x.names)
	return nil
}
