package recallstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/internal/recall"
)

// Find implements recall.Store. Notes with all words come first, the newest first; then
// those with some of them, the rarer words before the common ones.
func (s *Store) Find(ctx context.Context, shelves map[recall.Reach]string, q recall.Query) (found recall.Found, err error) {
	f := noteSearch{now: s.o.Now().UnixNano(), key: q.Key}
	f.most = min(max(q.Most, 1), recall.MaxFound)
	if q.Key == "" {
		f.terms = splitTerms(q.Words)
		if q.Words != "" && len(f.terms) == 0 {
			return found, nil
		}
	}
	trusted, untrusted := sidesOf(shelves, q.Reaches, false), sidesOf(shelves, q.Reaches, true)
	if q.Untrusted {
		maps.Copy(trusted, untrusted)
	}
	err = s.runOn(ctx, func(c *sqlite3.Conn) (err error) {
		f.c = c
		if f.useSides(trusted); len(f.sides) > 0 {
			if found.Notes, err = f.findNotes(); err != nil {
				return err
			}
		}
		if f.useSides(untrusted); len(f.sides) > 0 && !q.Untrusted {
			found.Withheld, err = f.countNotes()
		}
		return err
	})
	return found, err
}

// sideMeaning is what a side stands for.
type sideMeaning struct {
	reach     recall.Reach
	untrusted bool
}

func sidesOf(shelves map[recall.Reach]string, reaches []recall.Reach, untrusted bool) map[string]sideMeaning {
	sides := map[string]sideMeaning{}
	for r, shelf := range shelves {
		if shelf != "" && (len(reaches) == 0 || slices.Contains(reaches, r)) {
			sides[sideOf(shelf, untrusted)] = sideMeaning{r, untrusted}
		}
	}
	return sides
}

// noteSearch is one query for notes.
type noteSearch struct {
	wordSearch
	now   int64
	sides map[string]sideMeaning
	key   string
}

// useSides looks at some sides from here on.
func (f *noteSearch) useSides(sides map[string]sideMeaning) {
	f.sides, f.on = sides, slices.Sorted(maps.Keys(sides))
}

// inSides returns the condition that a note stands on one of the sides, which are digests.
func (f *noteSearch) inSides() string {
	return "side IN ('" + strings.Join(f.on, "','") + "')"
}

// countNotes returns how many notes match, at most MaxFound.
func (f *noteSearch) countNotes() (n int, err error) {
	count := func(*sqlite3.Stmt) { n++ }
	if len(f.terms) > 0 {
		err = runQuery(f.c, fmt.Sprintf(`SELECT 1 FROM words JOIN notes ON notes.id = words.rowid
			WHERE words MATCH ?1 AND notes.expires > ?2 LIMIT %d`, recall.MaxFound), []any{f.joinTerms("OR", f.terms...), f.now}, count)
		return n, err
	}
	err = runQuery(f.c, fmt.Sprintf(`SELECT 1 FROM notes WHERE %s AND (?1 = '' OR key = ?1) AND expires > ?2 LIMIT %d`, f.inSides(), recall.MaxFound),
		[]any{f.key, f.now}, count)
	return n, err
}

// findNotes returns the notes that match, best first.
func (f *noteSearch) findNotes() (notes []recall.Note, err error) {
	if len(f.terms) == 0 {
		return f.newestNotes()
	}
	ids, err := f.rankRows()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		err := runQuery(f.c, "SELECT "+columns+" FROM notes WHERE id = ?1 AND expires > ?2", []any{id, f.now},
			func(st *sqlite3.Stmt) { notes = append(notes, f.readNote(st)) })
		if err != nil || len(notes) == f.most {
			return notes, err
		}
	}
	return notes, nil
}

// newestNotes returns the newest notes, of the key if one is asked for.
func (f *noteSearch) newestNotes() (notes []recall.Note, err error) {
	for _, side := range f.on {
		sql, args := "SELECT "+columns+" FROM notes WHERE side = ?1 AND expires > ?2", []any{side, f.now}
		if f.key != "" {
			sql, args = sql+" AND key = ?3", append(args, f.key)
		}
		err := runQuery(f.c, fmt.Sprintf("%s ORDER BY id DESC LIMIT %d", sql, f.most), args,
			func(st *sqlite3.Stmt) { notes = append(notes, f.readNote(st)) })
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(notes, func(a, b recall.Note) int { return b.Written.Compare(a.Written) })
	return notes[:min(len(notes), f.most)], nil
}

// columns are those that readNote reads.
const columns = "side, key, text, call, written, expires"

func (f *noteSearch) readNote(st *sqlite3.Stmt) recall.Note {
	p := f.sides[st.ColumnText(0)]
	return recall.Note{
		Reach: p.reach, Untrusted: p.untrusted, Key: st.ColumnText(1), Text: st.ColumnText(2), Call: st.ColumnText(3),
		Written: time.Unix(0, st.ColumnInt64(4)).UTC(), Expires: time.Unix(0, st.ColumnInt64(5)).UTC(),
	}
}
