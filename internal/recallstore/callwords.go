package recallstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// callVersion is that of the schema and of how calls are taken apart. The index of
	// another version is built anew.
	callVersion = 1
	// maxSaidBytes bounds what is indexed of a value or an error, maxCallWords the words
	// of one call.
	maxSaidBytes, maxCallWords = 64 << 10, 2000
	// quietRecords is how many records without a call may wait for the mark: a search is
	// recorded itself, and its own record need not be a write.
	quietRecords = 64
	// maxBatchBytes bounds the words of one transaction.
	maxBatchBytes = 4 << 20
)

// callSchema is the index of the words of calls, by the number of the record that has the
// outcome, and how far it goes. Each word begins with the side of role and principal.
var callSchema = `
	DROP TABLE IF EXISTS words;
	DROP TABLE IF EXISTS mark;
	CREATE TABLE mark(
		id INTEGER PRIMARY KEY CHECK(id = 1),
		seq INTEGER NOT NULL,
		hash TEXT NOT NULL,
		first INTEGER NOT NULL
	) STRICT;
	CREATE VIRTUAL TABLE words USING fts5(list, content='', contentless_delete=1, tokenize='ascii', detail='none');
	PRAGMA user_version = ` + fmt.Sprint(callVersion) + `;
`

// prepareCalls brings the file to the present schema.
func prepareCalls(c *sqlite3.Conn) error {
	have, err := readVersion(c)
	if err != nil || have == callVersion {
		return err
	}
	return c.Exec(callSchema)
}

// callMark says how far the record is indexed: the newest record that is, and the number
// up to which none is.
type callMark struct {
	audit.Head
	first int64
}

func readCallMark(c *sqlite3.Conn) (m callMark, err error) {
	var bad error
	err = runQuery(c, "SELECT seq, hash, first FROM mark", nil, func(st *sqlite3.Stmt) {
		m.Seq, m.first = st.ColumnInt64(0), st.ColumnInt64(2)
		bad = m.Hash.UnmarshalText(st.ColumnRawText(1))
	})
	return m, errors.Join(err, bad)
}

func (m *callMark) storeMark(c *sqlite3.Conn) error {
	return runQuery(c, "INSERT OR REPLACE INTO mark(id, seq, hash, first) VALUES(1, ?1, ?2, ?3)", []any{m.Seq, m.Hash.String(), m.first}, func(*sqlite3.Stmt) {})
}

// callBatch is what the next transaction adds to the index: the words of calls, by the
// numbers of their records.
type callBatch struct {
	from, to callMark
	seqs     []int64
	lists    []string
	bytes    int
}

// newBatch begins a batch behind a mark.
func newBatch(m callMark) *callBatch { return &callBatch{from: m, to: m} }

// addRecord adds what is indexed of a record. Searches of calls are left out: they have the
// words of what they looked for. So is what cannot be read, which a verification names.
func (b *callBatch) addRecord(rec *audit.Record) {
	if b.to.Head = rec.Head(); rec.Kind == audit.KindCheckpoint {
		b.to.first = rec.Seq
	}
	var call callTexts
	if rec.Kind != audit.KindOutcome || rec.Tool == recall.SearchTool || json.Unmarshal(rec.Body, &call) != nil {
		return
	}
	list := wordsOfCall(rec, &call)
	b.seqs, b.lists, b.bytes = append(b.seqs, rec.Seq), append(b.lists, list), b.bytes+len(list)
}

// countRecords is how many records the batch goes over.
func (b *callBatch) countRecords() int64 { return b.to.Seq - b.from.Seq }

// indexRecords indexes the record up to its end. When another process went on with the
// index, it is to be called again.
func (x *CallIndex) indexRecords(ctx context.Context) (again bool, err error) {
	// A selected query brings the index of the state near its end, so that single records
	// are found there.
	for _, err := range x.records.Read(ctx, audit.Query{Tool: recall.SearchTool, Last: 1}) {
		if err != nil {
			return false, err
		}
	}
	var m callMark
	err = x.file.runTx(ctx, func(c *sqlite3.Conn) (err error) {
		m, err = x.followRecord(ctx, c)
		return err
	})
	if err != nil {
		return false, err
	}
	b := newBatch(m)
	for rec, err := range x.records.Read(ctx, audit.Query{After: m.Seq}) {
		if err != nil {
			return false, err
		}
		if rec.Kind == "" {
			break // the state knows of more than its record has
		}
		if b.addRecord(&rec); b.countRecords() < int64(x.o.Batch) && b.bytes < maxBatchBytes {
			continue
		}
		if again, err := x.storeBatch(ctx, b); again || err != nil {
			return again, err
		}
		b = newBatch(b.to)
	}
	if len(b.seqs) == 0 && b.countRecords() < quietRecords {
		return false, nil
	}
	return x.storeBatch(ctx, b)
}

// storeBatch adds a batch to the index; moved is true when another process was first.
func (x *CallIndex) storeBatch(ctx context.Context, b *callBatch) (moved bool, err error) {
	err = x.file.runTx(ctx, func(c *sqlite3.Conn) error {
		m, err := readCallMark(c)
		if moved = m != b.from; moved || err != nil {
			return err
		}
		st, _, err := c.Prepare("INSERT INTO words(rowid, list) VALUES(?1, ?2)")
		if err != nil {
			return err
		}
		defer func() { _ = st.Close() }() // Exec has said what went wrong.
		for i, list := range slices.Backward(b.lists) {
			if err := errors.Join(st.BindInt64(1, -b.seqs[i]), st.BindText(2, list)); err != nil {
				return err
			}
			if err := st.Exec(); err != nil {
				return err
			}
		}
		if err := x.keepWithin(c, &b.to); err != nil {
			return err
		}
		return b.to.storeMark(c)
	})
	return moved, err
}

// followRecord returns the mark once what the record has no more is out of the index: all
// of it when the record is another one, or ends before it.
func (x *CallIndex) followRecord(ctx context.Context, c *sqlite3.Conn) (m callMark, err error) {
	if m, err = readCallMark(c); err != nil {
		return m, err
	}
	if m.Seq != 0 {
		rec, err := x.readRecord(ctx, m.Seq-1)
		if err != nil {
			return m, err
		}
		if rec.Head() != m.Head {
			m = callMark{}
			return m, errors.Join(c.Exec("INSERT INTO words(words) VALUES('delete-all')"), m.storeMark(c))
		}
	}
	oldest, err := x.readRecord(ctx, 0)
	if err != nil || oldest.Kind != audit.KindCheckpoint || oldest.Seq <= m.first {
		return m, err
	}
	// A batch that another process has read before is not stored behind another mark.
	m.first = oldest.Seq
	return m, errors.Join(removeCalls(c, m.first), m.storeMark(c))
}

// removeCalls removes the words of the calls up to a number. What is left is written anew,
// since the index only marks what is removed.
func removeCalls(c *sqlite3.Conn, upTo int64) error {
	if err := runQuery(c, "DELETE FROM words WHERE rowid >= ?1", []any{-upTo}, func(*sqlite3.Stmt) {}); err != nil {
		return err
	}
	return c.Exec("INSERT INTO words(words) VALUES('optimize')")
}

// keepWithin lets the oldest quarter of the calls go when the index takes more than a
// third of what the file may have.
func (x *CallIndex) keepWithin(c *sqlite3.Conn, m *callMark) error {
	var pages int64
	for _, part := range []struct {
		pragma string
		sign   int64
	}{{"PRAGMA page_count", 1}, {"PRAGMA freelist_count", -1}} {
		if err := runQuery(c, part.pragma, nil, func(st *sqlite3.Stmt) { pages += part.sign * st.ColumnInt64(0) }); err != nil {
			return err
		}
	}
	if pages*4096 <= x.o.MaxBytes/3 {
		return nil
	}
	m.first += (m.Seq - m.first + 3) / 4
	return removeCalls(c, m.first)
}

// callTexts is what is read of the outcome of a call.
type callTexts struct {
	Personality, Session, Args, Error, Full string
}

// wordsOfCall returns what the index has of a call.
func wordsOfCall(rec *audit.Record, call *callTexts) string {
	said := text.FirstBytes(call.Full, maxSaidBytes) + " " + text.FirstBytes(call.Error, maxSaidBytes)
	words := splitWords(rec.Tool + " " + textsOf(call.Args) + " " + said)
	words = append(words[:min(len(words), maxCallWords)], "", sessionWord(call.Session))
	side := callSide(call.Personality, rec.Principal)
	for i := range words {
		words[i] = side + words[i]
	}
	return strings.Join(words, " ")
}

// textsOf returns the names and values of arguments, which are JSON; the text itself when
// it was cut and is none.
func textsOf(args string) string {
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	for {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return b.String()
		case err != nil:
			return args
		case token != nil:
			fmt.Fprint(&b, token, " ")
		}
	}
}

// callSide returns the side of the calls of a principal in a role.
func callSide(role, principal string) string {
	return sideOf("calls/"+url.PathEscape(role)+"/"+url.PathEscape(principal), false)
}

// sessionWord returns the word of the calls of a session, which no text has: a dot in the
// middle is of a word to the index alone.
func sessionWord(session string) string { return "·" + sideOf("session/"+session, false) }
