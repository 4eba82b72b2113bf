package recallstore

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

const (
	// maxTerms bounds the words of a query that count.
	maxTerms = 12
	// nearby is how many of the newest rows with a word are compared: a word that
	// nearly every row has would else cost as much as there are rows.
	nearby = 200
)

// splitTerms returns the words of a query that count.
func splitTerms(query string) []string {
	terms := splitWords(query)
	return terms[:min(len(terms), maxTerms)]
}

// wordSearch looks for rows of the table words, in which each word begins with its side.
type wordSearch struct {
	c *sqlite3.Conn
	// on lists the sides that are looked at, sorted.
	on    []string
	terms []string
	// also is a word that has to stand in each row, too; empty for none.
	also string
	// from is the least number of a row that counts.
	from int64
	// backwards is true where rows have the negative numbers of what they stand for: the
	// index goes through them from the newest on, which is the way that it is fast.
	backwards bool
	// most is the number of rows that are wanted.
	most int
}

// joinTerms returns the expression of the index for terms on any of the sides. A quoted term
// is a word to the index, whatever it holds.
func (f *wordSearch) joinTerms(operator string, terms ...string) string {
	var list []string
	for _, side := range f.on {
		one := `("` + side + strings.Join(terms, `" `+operator+` "`+side) + `")`
		if f.also != "" {
			one = `("` + side + f.also + `" AND ` + one + `)`
		}
		list = append(list, one)
	}
	return strings.Join(list, " OR ")
}

// rankRows returns the numbers of the rows that match, best first: those with all words,
// the newest first, and then those with some of them, the rarer words before the common
// ones. There are more than are wanted, since the caller may leave some out.
func (f *wordSearch) rankRows() ([]int64, error) {
	ids, err := f.newestWith(f.joinTerms("AND", f.terms...))
	if err != nil || len(f.terms) == 1 || len(ids) >= 2*f.most {
		return ids, err
	}
	scores := map[int64]float64{}
	for _, term := range f.terms {
		some, err := f.newestWith(f.joinTerms("AND", term))
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			scores[id] += 1 / (1 + math.Log(float64(len(some))))
		}
	}
	for _, id := range ids {
		delete(scores, id)
	}
	rest := slices.SortedFunc(maps.Keys(scores), func(a, b int64) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
	return append(ids, rest...), nil
}

// newestWith returns the newest rows that match an expression of the index.
func (f *wordSearch) newestWith(match string) (ids []int64, err error) {
	sql, from, sign := "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid >= ?2 ORDER BY rowid DESC LIMIT %d", f.from, int64(1)
	if f.backwards {
		sql, from, sign = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid <= ?2 ORDER BY rowid LIMIT %d", -f.from, -1
	}
	err = runQuery(f.c, fmt.Sprintf(sql, nearby), []any{match, from}, func(st *sqlite3.Stmt) { ids = append(ids, sign*st.ColumnInt64(0)) })
	return ids, err
}
